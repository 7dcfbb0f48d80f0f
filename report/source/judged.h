/* report/source/judged.h: the configuration of a PyTorch job as if another of its DataLoaders were the judged
 * one: what section config says of the chosen loader, of that one. */
#ifndef PP_REPORT_SOURCE_JUDGED_H
#define PP_REPORT_SOURCE_JUDGED_H

#include "report/source/source.h"

struct pp_judged;

/* The loader whose variable, place, last part of a place, or row is `name`; of several, the first that was
 * waited for longest. PP_E_USAGE: there is none, and which there are. Free with pp_judged_free. */
pp_status pp_judged_read(const struct pp_source *source, const char *name, struct pp_judged **out,
                         struct pp_err *err);
void pp_judged_free(struct pp_judged *j); /* NULL: nothing */
/* 1: the value is another; *value NULL: it has none. */
int pp_judged_has(const struct pp_judged *j, const char *section, const char *key, const char **value);

#endif
