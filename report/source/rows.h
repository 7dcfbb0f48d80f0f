/* report/source/rows.h: the rows of the model that are copied or grouped from stored rows, rather than
 * computed from spans. */
#pragma once

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/source/source.h"

/* Environment, configuration with its notes, queues, error kinds and losses of the source, and predictions
 * that were run for real, with a sentence each, into r. Texts go to the arena. Also returns, when the source
 * has no total, the errors found by counting rows (those that were not cured by a retry). */
pp_status pp_rows_read(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r,
                       uint64_t *errors, struct pp_err *err);

/* The rows of DataLoaders alone, and which of them is judged (config.dataloader). */
pp_status pp_rows_loaders(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r,
                          struct pp_err *err);

/* The value of key in the row of a DataLoader, as collectors/attach/loaders.c writes it:
 * "dataset=__main__.Images samples=600 num_workers=2 ..."; NULL: it is not there. */
const char *pp_rows_word(const char *text, const char *key, int *length);

/* A loss the reading side found out itself. */
void pp_rows_add_loss(struct pp_arena *arena, struct pp_report *r, const char *what, uint64_t count,
                      const char *why);

/* By its key, in which "batch-size" is "batch_size"; NULL when it is not there. */
const struct pp_report_pair *pp_rows_find(const struct pp_report_pair *pairs, size_t n, const char *key);
