/* report/rules/advice.h: what is known of libraries: rows that say what is expensive, and what to do instead.
 * Rows are constant; any thread may call this. */
#pragma once

#include "probe/base/arena.h"

/* What is known of the libraries that data sets keep their samples in. A recording says which types a PyTorch
 * data set holds (config.dataset_holds); a row says what makes a sample of such a type expensive, and what to
 * do instead. */

struct pp_held {
    const char *type;   /* as names of types begin: "pandas." */
    const char *advice; /* NULL: the type is one of transforms, of which the cause augment speaks */
};

/* held: "pandas.DataFrame, list of 300000". The first row that one of the names begins with, and that name,
 * from the arena, in *name. NULL: none of them is known. */
const struct pp_held *pp_held_find(const char *held, int of_transforms, struct pp_arena *arena,
                                   const char **name);

/* What is known to be faster than an operation that the stacks found (measure/ops.h): by the library's code
 * that it spends its time in. */

struct pp_op_advice {
    const char *code; /* as "package/module.py:Function" begins; several, separated by spaces */
    const char *advice;
};

/* code: functions of the op, each as "package/module.py:Class.function", separated by spaces. NULL: nothing
 * is known but that it can be done less often. */
const char *pp_op_advice_find(const char *code);
/* Also where a sample is a few calls of Python. */
#define PP_ADVICE_BY_BATCH \
    "Fetch a whole batch with one index operation: __getitems__ in the data set, or batch_size=None with a BatchSampler as the sampler."
/* Where nothing is known. */
extern const char pp_op_advice_any[];
