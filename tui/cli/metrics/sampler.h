/* tui/cli/metrics/sampler.h: the metrics of a recording, growing or complete, as text whenever it is asked
 * for. Reads the file as the dashboard does (report/live, and a verdict on a thread of its own). */
#ifndef PP_TUI_CLI_METRICS_SAMPLER_H
#define PP_TUI_CLI_METRICS_SAMPLER_H

#include "tui/cli/metrics/metrics_opts.h"

struct metrics_sampler;

/* watches: the verdict is kept up to date on a thread; else it is made here, once. o is borrowed. */
pp_status metrics_sampler_open(const char *path, const struct metrics_opts *o, int watches,
                               struct metrics_sampler **out, struct pp_err *err);
void metrics_sampler_close(struct metrics_sampler *s);

/* The text of now, of a second ago at most; the caller frees. NULL: no memory. Any thread. */
char *metrics_sampler_text(struct metrics_sampler *s, enum pp_sink_format format, size_t *n);
/* The run has ended: reads the rest, and makes the verdict on all of it. By the thread that opened. */
void metrics_sampler_complete(struct metrics_sampler *s);
/* As of the last text. */
int metrics_sampler_is_running(struct metrics_sampler *s);
long metrics_sampler_rank(struct metrics_sampler *s);
/* What became of pushes, for the metrics that tell it. */
void metrics_sampler_note_pushes(struct metrics_sampler *s, struct pp_sink_count pushes);

/* The run with times, as of pp_metrics_history. */
pp_status metrics_sampler_history(struct metrics_sampler *s, FILE *out, struct pp_err *err);
/* The same as an event file of TensorBoard's, and what that is called. */
pp_status metrics_sampler_events(struct metrics_sampler *s, FILE *out, char *name, size_t size,
                                 struct pp_err *err);

#endif
