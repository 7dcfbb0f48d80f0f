/* report/build/subject.h: what a recording is about: pipeprobe's own loader on a data set, somebody's
 * training job, or a program that records itself. A verdict holds for that subject and no other. */
#ifndef PP_REPORT_BUILD_SUBJECT_H
#define PP_REPORT_BUILD_SUBJECT_H

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/source/source.h"

/* Sets the report's subject, its kind and its loader from the sections run and config. Texts are allocated
 * from arena. */
void pp_subject_read(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r);

#endif
