/* dataset/warnings.h: sentences about defects of the data that did not stop the open ("shard-000003.tar ends
 * in the middle"), kept with the data set until they are asked for. One thread at a time. */
#ifndef PP_DATASET_WARNINGS_H
#define PP_DATASET_WARNINGS_H

#include <stddef.h>

struct pp_warnings {
    char **text;       /* owned; zero-initialise the struct */
    size_t n, dropped; /* dropped: beyond the limit of 255, or without memory */
};

/* Best effort: without memory the sentence is only counted. */
void pp_warn(struct pp_warnings *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends; from is empty afterwards. */
void pp_warnings_move(struct pp_warnings *to, struct pp_warnings *from);
/* After the last one: a sentence that counts those that were dropped. */
void pp_warnings_end(struct pp_warnings *w);
void pp_warnings_free(struct pp_warnings *w);

#endif
