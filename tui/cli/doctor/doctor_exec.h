/* tui/cli/doctor/doctor_exec.h: what `pipeprobe exec -- python3 train.py` needs, found by doing it: a
 * DataLoader of that Python with one worker reads a file, under exec. One probe per process, made when the
 * first row asks; it imports torch, which takes seconds. Nothing is left. One thread. */
#ifndef PP_TUI_CLI_DOCTOR_DOCTOR_EXEC_H
#define PP_TUI_CLI_DOCTOR_DOCTOR_EXEC_H

#include "tui/cli/doctor/doctor_checks.h"

/* A path or a name in PATH, borrowed; before the first row. "python3" else. */
void pp_doctor_of_python(const char *python);

void pp_look_python(struct pp_finding *f);
void pp_look_torch(struct pp_finding *f);
void pp_look_hooks_fit(struct pp_finding *f);
void pp_look_reads(struct pp_finding *f);
void pp_look_attach(struct pp_finding *f);

#endif
