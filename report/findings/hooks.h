/* report/findings/hooks.h: of a job that `pipeprobe exec` recorded through its Python hooks: what the hooks
 * could not see, and which of several DataLoaders the verdict is about. */
#ifndef PP_REPORT_FINDINGS_HOOKS_H
#define PP_REPORT_FINDINGS_HOOKS_H

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/source/source.h"

/* partly-recorded and several-loaders; nothing for other recordings. */
void pp_findings_of_hooks(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r);

#endif
