/* tui/cli/attach/attach_words.h: what `pipeprobe attach` prints: the table, the verdict of a job whose stacks
 * were seen, or a hint, and what cannot be known from outside a process. A hint says what was seen; which
 * cause it has is not decided here. */
#ifndef PP_TUI_CLI_ATTACH_ATTACH_WORDS_H
#define PP_TUI_CLI_ATTACH_ATTACH_WORDS_H

#include "collectors/gpu/nvml.h"
#include "probe/base/err.h"
#include "probe/base/page.h"
#include "report/measure/looks.h"
#include "tui/cli/attach/attach_enter.h"
#include "tui/cli/attach/attach_rows.h"

#include <stdio.h>

enum { ATTACH_INDENT = 12 };

/* Machine-wide, while it was watched. */
struct attach_machine {
    double usable_cpus, busy_cpus; /* NAN: not known */
};

/* The machine's first GPU while it was watched, by NVML. */
struct attach_gpu {
    struct pp_nvml *nvml; /* NULL: why says why not */
    struct pp_err why;
    unsigned looks;
    double busy_percent; /* sum over the looks: a kernel was running */
    double memory_bytes; /* in use; NAN: not told */
};

void attach_print_table(const struct attach_rows *r, FILE *out);
/* What its stacks tell (report/rules/looks_rules.h). 0: not even how long the
 * training waits; why not is printed. */
int attach_print_looks(const struct pp_looks *seen, const struct attach_rows *r,
                       const struct attach_machine *m, const struct pp_page *page);
/* One sentence into text. */
char *attach_hint(const struct attach_workers *w, const struct attach_machine *m, char *text, size_t size);
/* That sentence; why: its stacks tell nothing; NULL: said already. */
void attach_print_hint(const struct attach_workers *w, const struct attach_machine *m, const char *why,
                       const struct pp_page *page);
/* Of a GPU that was looked at. */
void attach_print_gpu(const struct attach_gpu *gpu, const struct pp_page *page);
/* What is not known this way, and the command that would tell: the job's own, under pipeprobe exec. why: what
 * keeps the hooks out of it; NULL: they were not wanted. */
void attach_print_rest(const struct attach_rows *r, const struct attach_gpu *gpu, int has_verdict,
                       const char *why, const struct pp_page *page);
/* Of a job that took the hooks: since when, which of its processes, and what that leaves out. */
void attach_print_inside(const struct attach_rows *r, const struct attach_enter *e,
                         const struct pp_page *page);

#endif
