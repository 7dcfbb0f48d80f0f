/* tui/cli/exec/exec_tune.h: exec --tune: settings of the job's DataLoader are tried while it runs, and what
 * gains is kept. Here the recording so far is replayed, as a report does, and its best changes of num_workers
 * and prefetch_factor go into the session; the job itself tries them (pipeprobe_tune.py) and says what came
 * of it, which is stored as rows of section "loader_change" and said on stderr. A thread of its own. When it
 * ends with exec, the job goes on with what it has.
 *
 * Session files, both of text. PP_TUNE_ASKED, written here as a whole: "process PID", "loader NUMBER" and up
 * to three lines "try WORKERS PREFETCH GAIN" (0: as it is). PP_TUNE_TOLD, lines of the job's with fields
 * apart by tabs: what ("trial", "back", "kept", "undone", "found", "refused", "failed"), ns of
 * CLOCK_MONOTONIC, loader (PID.NUMBER), its batches so far, workers and prefetch of the candidate and as it
 * was; of a decision gain, low, high and both rates in samples/s as well; "refused" has a reason in their
 * place. "left": ns, loader, reason. */
#pragma once

#define PP_TUNE_ASKED "answer-tune"
#define PP_TUNE_TOLD "answer-tuned"
#define PP_TUNE_VARIABLE "PIPEPROBE_LIVE" /* of the job's environment: "keep" or "advise" */

#include "probe/base/opts.h"

struct exec_tune;
struct pp_store;

enum exec_tune_mode { EXEC_TUNE_OFF, EXEC_TUNE_KEEP, EXEC_TUNE_ADVISE };

/* Of --tune=MODE, from EXEC_TUNE_KEEP on; --tune alone is the first. The names are the job's as well. */
extern const struct pp_opt_choice exec_tune_choices[];

/* recording and session are borrowed until exec_tune_stop; store takes the rows. NULL: off, or no memory. */
struct exec_tune *exec_tune_start(enum exec_tune_mode mode, const char *recording, const char *session,
                                  struct pp_store *store, int quiet);
/* After the program's end and before the recording's. ranks: the job had several, of which none is tuned. */
void exec_tune_stop(struct exec_tune *t, int ranks);
/* After the recording's end: what was predicted and measured goes into it (table proof); NULL: not kept.
 * Frees. */
void exec_tune_end(struct exec_tune *t, const char *recording);
