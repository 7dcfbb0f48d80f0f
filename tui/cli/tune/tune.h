/* tui/cli/tune/tune.h: what the parts of `pipeprobe tune` share: the candidates, from the prediction to the
 * measurement, and how they are shown. */
#pragma once

#include "probe/base/opts.h"
#include "report/model/model.h"
#include "report/render/answer.h"
#include "report/replay/knobs.h"
#include <sys/types.h>

/* ---- arguments of a DataLoader that tune changes from outside (the first rows of report/replay/knobs.h) as
 * sets of values: how they are written for --try, for the hooks and to paste ---- */

/* Values by knob, 0 and 1 of a switch; -1: as the job has it. */
struct tune_set {
    int value[PP_KNOBS_TUNED];
};
/* "workers=8,prefetch=4", "in_order=False". PP_E_USAGE: a key or a value that there is not. */
pp_status tune_set_parse(const char *text, struct tune_set *set, struct pp_err *err);

enum { TUNE_TEXT = 192 };
enum tune_set_form {
    TUNE_WORDS,    /* "num_workers=8,in_order=0" */
    TUNE_ARGUMENTS /* "num_workers=8, in_order=False" */
};
char *tune_set_text(const struct tune_set *set, enum tune_set_form form, char text[TUNE_TEXT]);
/* "8", "True" */
char *tune_value(int knob, int value, char *text, size_t size);

/* Loaders made with the same arguments, for they have the same role: a script may make one per epoch. */
struct tune_loader {
    unsigned made, count; /* the first one's place in the order of creation, from 0; how many there are */
    int iterable, sharded, has_in_order;
    int value[PP_KNOBS_TUNED];               /* as the job made it */
    long batch;                              /* 0: none, or not known */
    double samples;                          /* likewise; from the recording */
    double epochs;                           /* begun */
    char dataset[128], order[96], like[224]; /* like: what they have in common, as the hooks say it */
};

enum { TUNE_PIDS_MAX = 64, TUNE_LOADERS_MAX = 32, TUNE_ROWS_MAX = 256 };

/* What the hooks in the job wrote of its DataLoaders (collectors/attach/python/pipeprobe_override.py): with
 * which arguments they were made, when they were iterated, and what was changed. One line per fact, fields
 * apart by tabs. The job can write anything into the file: it is read up to a limit, and a line that does not
 * fit is passed over. */
struct tune_log {
    struct tune_loader loader[TUNE_LOADERS_MAX];
    size_t loaders, made; /* of different arguments; in all, in the process that made most */
    struct {
        long pid, row;
        size_t loader;
    } row[TUNE_ROWS_MAX]; /* loaders of the recording, and which of these each is */
    size_t rows;
    int judged; /* of loader: the one that the recording's report is about; -1: not known */
    pid_t pid[TUNE_PIDS_MAX];
    size_t pids;                  /* processes that made one */
    unsigned set[PP_KNOBS_TUNED]; /* how many loaders were made with the key changed */
    unsigned left[PP_KNOBS_TUNED];
    char why[PP_KNOBS_TUNED][192]; /* of the last one left */
    char trouble[192];             /* an error in the hooks; "": none */
};

/* PP_E_IO, ... when there is no such file; an empty one is fine. */
pp_status tune_log_read(const char *path, struct tune_log *log, struct pp_err *err);
/* Which of the loaders a row of the recording ("4711.0", struct pp_report_loader) is; -1: none. */
int tune_log_loader_of(const struct tune_log *log, const char *row);
/* The one made as the number-th (from 1); 0: the one that the report is about, or where that is not known the
 * one with most epochs. NULL: none was iterated, or there is no such number. */
const struct tune_loader *tune_log_choose(const struct tune_log *log, long number);

/* One bounded run of the user's job under `pipeprobe exec`, in a process group of its own: it is ended when
 * its steady state has lasted long enough, with SIGINT, then SIGTERM, then SIGKILL. */
struct tune_job {
    char *const *program;
    int no_reads;
    uint64_t start_limit_ns;  /* until the trainer has its second batch */
    uint64_t grace_ns;        /* from SIGINT to SIGTERM, and from there to SIGKILL */
    char dir[PATH_MAX - 128]; /* of the recordings; there already */
};

enum tune_end {
    TUNE_END_TIME,   /* after the time asked for */
    TUNE_END_ITSELF, /* the job ended before */
    TUNE_END_LIMIT,  /* no batch within the limit */
    TUNE_END_RANKS,  /* its processes are ranks, each with a recording of its own */
    TUNE_END_STOPPED /* tune was interrupted */
};

struct tune_run {
    char path[PATH_MAX], log[PATH_MAX]; /* the recording; the job's output */
    enum tune_end end;
    int status;   /* of the job, as exec passes it on */
    int signal;   /* the strongest that was sent; 0: none */
    double rate;  /* samples/s of the steady state; NAN: not measured, and why says why */
    double noise; /* relative standard error of it, from the run's own slices; NAN: not known */
    char why[320];
    struct tune_log loaders;
};

#define TUNE_ONE_PROCESS \
    "the job has several ranks, and tune runs a job of one: start it with one process, or record all of them " \
    "with pipeprobe exec and read pipeprobe ranks"

/* An interrupt (interrupt.h) ends the run in hand. Runs the job as DIR/NAME.sqlite and .log; its DataLoaders
 * are told (NULL set: none is changed) what to change in those like `of`. A job that fails or gives no batch
 * is PP_OK with rate NAN. PP_E_SYSTEM, ...: the run could not be made. */
struct tune_ask {
    const char *name;
    uint64_t duration_ns;
    const struct tune_set *set;
    const struct tune_loader *of;
};
pp_status tune_run_make(const struct tune_job *job, const struct tune_ask *ask, struct tune_run *r,
                        struct pp_err *err);

/* What a change gained, from the rates of a few runs each, with an 80 % interval like the predictions have.
 * Pure computation.
 *
 * Rates are compared as logarithms: log gain = mean(log changed) - mean(log base). Its variance is
 * s^2 (1/n + 1/m), s^2 the variance between runs of the same thing, pooled over all of them, with Student's t
 * for its degrees of freedom. Two runs that happen to agree make s small by chance, so the scatter within the
 * runs (their slices) is a floor: half = max(t s, z w). */

enum { TUNE_REPEATS_MAX = 20, TUNE_RUNS_MAX = TUNE_REPEATS_MAX + 1 };

/* Runs of one thing that were measured. */
struct tune_sample {
    double rate[TUNE_RUNS_MAX], noise[TUNE_RUNS_MAX]; /* as in struct tune_run */
    size_t n;
};

struct tune_gain {
    double gain, low, high; /* 0.4 is +40 %; NAN: not known */
};

/* Between runs of the same thing: the pooled standard deviation of log rates, and its degrees of freedom; NAN
 * and 0 when nothing was run twice. */
double tune_spread(const struct tune_sample *samples, size_t n, size_t *freedom);
/* spread and freedom: as tune_spread says of all samples of the session. */
struct tune_gain tune_gain_of(const struct tune_sample *base, const struct tune_sample *changed,
                              double spread, size_t freedom);
double tune_median(const struct tune_sample *s);
void tune_range(const struct tune_sample *s, double *least, double *most);

enum { TUNE_CANDIDATES_MAX = 32, TUNE_FIXES_MAX = 3 };

struct tune_candidate {
    struct tune_set set;
    char words[TUNE_TEXT];      /* "num_workers=8, prefetch_factor=4" */
    struct tune_gain predicted; /* over the first baseline; NAN: no replay knows the change */
    struct tune_sample sample;
    struct tune_gain measured;
    char why[320];            /* not, or not wholly, measured: the reason; else "" */
    char left[320];           /* what was asked for beside set and could not be applied, and why */
    char recording[PATH_MAX]; /* of the last run */
};

struct tune_session {
    struct tune_job job;
    struct tune_run baseline;         /* the first: predictions are made from it */
    const struct tune_loader *loader; /* of baseline.loaders: the one that is changed */
    struct tune_sample base;          /* all baselines */
    struct tune_candidate candidate[TUNE_CANDIDATES_MAX];
    int candidates;
    double spread; /* tune_spread of the whole session */
    size_t freedom;
    int best;          /* of the candidates; -1: none gains for sure */
    char verdict[480]; /* the sentence of the first baseline's report */
    char advice[480];  /* its next step, and what that is predicted to gain; "": none */
    char advice_gain[PP_ANSWER_TEXT];
    int asked;          /* the changes are the user's (--try) */
    int inconclusive;   /* its verdict */
    int is_other;       /* the report, and what it predicts, is about another loader than this one */
    char left_out[480]; /* a fix that is predicted to gain, and why the loader does not take it; "": none */
};

/* ---- tune.c: what `verify` shares ---- */

/* What could not be started, or not be measured, and is known before it is run. */
pp_status tune_check_job(char *const *program, struct pp_err *err);
void tune_add_run(struct tune_sample *sample, const struct tune_run *r);

/* ---- tune_plan.c ---- */

/* The candidates: those of tries, else the best fixes of the baseline's report that are arguments of a
 * DataLoader and gain 3 % or more; with their predictions. What cannot be applied to the loader is left out,
 * and said on notes (NULL: nowhere). Of a loader that the report is not about nothing is predicted. */
pp_status tune_plan(struct tune_session *s, const struct pp_opt_list *tries, FILE *notes, struct pp_err *err);

/* The predictions of n candidates, from the baseline; of a change that no replay knows it stays as it is. */
pp_status tune_predict(const struct tune_session *s, struct tune_candidate *c, int n, struct pp_err *err);

/* ---- tune_result.c ---- */

/* Gains, the best candidate, and the table of proofs of the first baseline's recording; a failure is that of
 * the table alone. */
pp_status tune_sum_up(struct tune_session *s, struct pp_err *err);
/* "+41 % (+36 to +47 %)"; "not known" */
char *tune_percent(const struct tune_gain *g, char *text, size_t size);
struct pp_json;
void tune_put_gain(struct pp_json *j, const char *key, const struct tune_gain *g); /* with its interval */
/* "the DataLoader made first of 2: ImageFolder, 1,281 samples, batch_size=64, num_workers=2" */
char *tune_loader_text(const struct tune_session *s, char *text, size_t size);
void tune_print(const struct tune_session *s, FILE *out);
void tune_print_json(const struct tune_session *s, FILE *out);
void tune_print_md(const struct tune_session *s, FILE *out); /* nothing of a stranger's */

/* Whether two recordings of a job are of the same work. A smaller batch, a shorter data set, a transform or a
 * step that is left out are faster and no gain. */

/* What a report shows of the work; NAN and "": not known. */
struct verify_work {
    char dataset[128];
    double samples, batch_size, drop_last; /* of the loader that is judged */
    int is_cold;                           /* each worker makes few samples before it ends */
    double epochs;                         /* that were begun */
    double epoch_samples;                  /* taken of it in an epoch on average; in the first one so far */
    double repeated;                       /* of what was loaded, that had been in this epoch */
    double batch_bytes;                    /* tensors of a batch, as handed over */
    double sample_ns; /* of a sample: CPU time of reading, all of decoding and transforming but the wait for a
                         CPU */
    double cpu_ns;    /* the CPU time of it, of decoding and transforming; it may wait for the rest */
    double step_ns;   /* the median step, without its wait for a CPU */
};
void verify_work_read(const struct pp_report *r, struct verify_work *w);
/* The DataLoader that the report is about; NULL: none was recorded. */
const struct pp_report_loader *verify_loader_of(const struct pp_report *r);

/* One comparison: of what, before and after as people read them. */
struct verify_check {
    const char *code; /* "batch_size" */
    const char *name; /* "samples of a batch" */
    char before[40], after[40];
    int same;    /* or not known of one of them */
    int is_less; /* it differs because less is done, which a change of code may have meant */
};
enum { VERIFY_CHECKS = 10 };
/* All of them in a fixed order; how many differ. */
int verify_work_compare(const struct verify_work *before, const struct verify_work *after,
                        struct verify_check check[VERIFY_CHECKS]);
