/* report/rules/held.h: what is known of the libraries that data sets keep their samples in. A recording says
 * which types a PyTorch data set holds (config.dataset_holds); a row says what makes a sample of such a type
 * expensive, and what to do instead.
 *
 * Rows are constant; any thread may call this. */
#ifndef PP_REPORT_RULES_HELD_H
#define PP_REPORT_RULES_HELD_H

#include "probe/base/arena.h"

struct pp_held {
    const char *type;   /* as names of types begin: "pandas." */
    const char *advice; /* NULL: the type is one of transforms, of which the cause augment speaks */
};

/* held: "pandas.DataFrame, list of 300000". The first row that one of the names begins with, and that name,
 * from the arena, in *name. NULL: none of them is known. */
const struct pp_held *pp_held_find(const char *held, int of_transforms, struct pp_arena *arena,
                                   const char **name);

#endif
