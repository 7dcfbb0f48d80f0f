/* tui/cli/resume/resume_starts.h: recordings as starts of a job (report/resume/resume.h). */
#ifndef PP_TUI_CLI_RESUME_RESUME_STARTS_H
#define PP_TUI_CLI_RESUME_RESUME_STARTS_H

#include "report/resume/resume.h"

/* The ranks of one start: a recording, a digest, or a directory of them; as taken, not finished. Free with
 * resume_start_free, also after a failure. */
pp_status resume_start_read(const char *path, struct pp_resume_start *out, struct pp_err *err);
/* What was trained on, with the lag of the control. */
void resume_start_finish(struct pp_resume_start *s, uint32_t lag);
void resume_start_free(struct pp_resume_start *s);

#endif
