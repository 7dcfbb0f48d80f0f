/* report/build/sentence.h: the verdict in words. What the report begins with, its cause, and both as the one
 * sentence of JSON and the dashboard are made here from the same parts, so that no two outputs differ. */
#ifndef PP_REPORT_BUILD_SENTENCE_H
#define PP_REPORT_BUILD_SENTENCE_H

#include "probe/base/arena.h"
#include "report/model/model.h"

/* Fills verdict.head, .cause_line and .sentence. Last: the verdict, the rates and the action are known. */
void pp_sentence_compose(struct pp_arena *arena, struct pp_report *r);

/* "waits 16 % of the time for data and 80 % for a CPU", or for other ranks, or the device; of: " of the
 * time", or "". "": no share is known. */
const char *pp_sentence_waits(const struct pp_report *r, const char *of, char *buf, size_t size);

#endif
