#include "report/build/parts.h"

#include "probe/base/text.h"

#include <signal.h>

enum { TEXT = 512, STUCK_NAMED = 3 };
#define LEAST_HANG_S 5.0  /* shorter waits at the end are no hang */
#define HANG_BATCHES 20.0 /* nor those of fewer batches' time */
#define TIMED_OUT 124     /* of timeout(1) */
#define NONE UINT64_MAX

/* What is known of the end. */
struct end {
    double status, oom_kills, interrupted_by; /* NAN: not recorded */
    char first[TEXT], last[TEXT];             /* lines of the exception; "" */
    char worker[TEXT];                        /* "worker 0 ended by signal 7"; "" */
    int limited;                              /* timeout(1) stands before the job */
    double waits_s;                           /* for a batch when it ended; NAN: it did not wait */
    double since_s;                           /* of the run */
    char stuck[TEXT];                         /* "worker 0 in its first sample for 9.4 s" */
    int first_sample;                         /* all that are stuck are in their first one */
};

/* ---- why ---- */

enum known_by {
    BY_OOM,
    BY_TEXT,
    BY_WORKER,
    BY_SIGBUS,
    BY_HANG,
    BY_FIRST_HANG,
    BY_INTERRUPT,
    BY_LIMIT,
    BY_EXCEPTION,
    BY_SIGNAL,
    BY_STATUS
};

#define SAME_SHAPES \
    "Samples of one batch differ in shape, which the default collate_fn cannot stack: pad them in a collate_fn (torch.nn.utils.rnn.pad_sequence), or crop or resize them in the data set."

/* The first row that fits: how it is known, and one of the texts where it has any. Texts are those of torch
 * and of Python (what a version words otherwise is BY_EXCEPTION). */
static const struct cause {
    enum known_by by;
    const char *text[5];
    const char *because; /* NULL: what raised, and what */
    const char *remedy;  /* NULL: none but the message */
} causes[] = {
    {BY_OOM,
     {0},
     "the kernel killed a process because the control group's memory was full",
     "Use less memory (fewer workers, a smaller prefetch_factor, arrays or Arrow instead of lists of Python objects), or raise the memory limit."},
    {BY_TEXT,
     {"Bus error", "by signal 7", "shared memory", "/torch_", "/dev/shm"},
     "no room in shared memory (/dev/shm is full)",
     "Give /dev/shm more room (docker run --shm-size=8g or --ipc=host; Kubernetes: an emptyDir with medium Memory), or keep less in it: fewer workers, a smaller prefetch_factor, smaller batches."},
    {BY_SIGBUS,
     {0},
     "a bus error ended it, which is what a full /dev/shm or a file that was cut while mapped gives",
     "Look at df /dev/shm while it runs, and give it more room (docker run --shm-size=8g or --ipc=host)."},
    {BY_TEXT,
     {"Too many open files", "ancdata"},
     "it ran out of file descriptors",
     "Raise the limit (ulimit -n), or torch.multiprocessing.set_sharing_strategy('file_system'); a batch of many tensors needs a descriptor for each."},
    {BY_TEXT,
     {"CUDA out of memory", "OutOfMemoryError"},
     "the GPU's memory was full",
     "Use a smaller batch_size, or a smaller model or precision."},
    {BY_TEXT,
     {"killed by signal: Killed", "ended by signal 9"},
     "SIGKILL ended a worker, which is what the kernel does when memory runs out",
     "See dmesg for 'Out of memory'; then use less memory (fewer workers, a smaller prefetch_factor, no cache that grows with each sample, arrays or Arrow instead of lists of Python objects), or give the job more."},
    {BY_TEXT,
     {"killed by signal", "ended by signal"},
     "a signal killed a worker",
     "Run it with python3 -X faulthandler, and with num_workers=0: a crash in C code then names its place."},
    {BY_TEXT,
     {"exited unexpectedly", "ended with exit status"},
     "a worker ended by itself or was killed",
     "Run it with num_workers=0, which shows an exit or a crash in the trainer. The kernel kills a worker when memory runs out: see dmesg."},
    {BY_WORKER, {"stack expects each tensor to be equal size", "should be of equal size"}, NULL, SAME_SHAPES},
    {BY_EXCEPTION,
     {"stack expects each tensor to be equal size", "should be of equal size"},
     NULL,
     SAME_SHAPES},
    {BY_WORKER,
     {0},
     NULL,
     "Fix the sample, or skip it in the data set; num_workers=0 raises it in the trainer, under a debugger."},
    {BY_EXCEPTION,
     {"annot pickle", "an't pickle", "an't get local object", "annot be pickled"},
     NULL,
     "If this is the start of the workers: a spawned worker gets the data set, its transforms and the collate_fn pickled. Create file handles, clients and locks in the worker, at its first sample, and leave them out in __getstate__; define lambdas and inner functions at module level."},
    {BY_FIRST_HANG,
     {0},
     NULL,
     "A lock that another thread held when the workers were forked does this: make locks, loggers, clients and thread pools in the worker (worker_init_fn), or use multiprocessing_context='spawn'; py-spy dump -p PID of the worker names the line, timeout=60 of the DataLoader ends such a job."},
    {BY_HANG,
     {0},
     NULL,
     "Find the line: py-spy dump -p PID of that worker while it hangs, or faulthandler in worker_init_fn; timeout=60 of the DataLoader ends such a job."},
    {BY_TEXT,
     {"DataLoader timed out"},
     "the DataLoader's timeout came before a batch did",
     "Find what the workers wait for: py-spy dump -p PID of one of them."},
    {BY_INTERRUPT,
     {0},
     NULL,
     "Let it end by itself: exec --duration 30s ends a job after so much steady state."},
    {BY_LIMIT,
     {0},
     "its time limit (timeout) came",
     "Give it more time, or exec --duration 30s, which ends a job after so much steady state."},
    {BY_EXCEPTION, {0}, NULL, NULL},
    {BY_SIGNAL, {0}, NULL, "Run it with python3 -X faulthandler: a crash in C code then names its place."},
    {BY_STATUS, {0}, "its own messages say why", NULL},
};

static int fits(const struct cause *c, const struct end *e)
{
    int waits = e->waits_s >= LEAST_HANG_S && e->stuck[0], says = !c->text[0];
    for (size_t i = 0; i < 5 && c->text[i]; i++)
        says |= strstr(e->first, c->text[i]) || strstr(e->last, c->text[i]) || strstr(e->worker, c->text[i]);
    if (!says)
        return 0;
    switch (c->by) {
    case BY_OOM: return e->oom_kills > 0;
    case BY_TEXT: return 1;
    case BY_WORKER: return strstr(e->first, "in DataLoader worker process") != NULL;
    case BY_SIGBUS: return e->status == 128 + SIGBUS;
    case BY_HANG: return waits;
    case BY_FIRST_HANG: return waits && e->first_sample;
    case BY_INTERRUPT: return e->interrupted_by > 0 || strncmp(e->first, "KeyboardInterrupt", 17) == 0;
    case BY_LIMIT: return e->limited && e->status == TIMED_OUT;
    case BY_EXCEPTION: return e->first[0] != '\0';
    case BY_SIGNAL: return e->status > 128;
    case BY_STATUS: return 1;
    }
    return 0;
}

/* The signals that end jobs. glibc has their short names from 2.32 on only, and the portable program runs
 * with 2.28. */
static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } of[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
              {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
              {SIGSEGV, "SIGSEGV"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
              {SIGXCPU, "SIGXCPU"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGSYS, "SIGSYS"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].number == number)
            return of[i].name;
    return "a signal";
}

static const char *because(const struct cause *c, const struct end *e, struct pp_arena *arena)
{
    char time[40];
    const char *of = strstr(e->first, "worker process ");
    size_t n = strlen(e->first);
    switch (c->by) {
    case BY_WORKER:
        return pp_arena_printf(arena, "worker %d raised %s", of ? atoi(of + strlen("worker process ")) : 0,
                               e->last[0] ? e->last : e->first);
    case BY_HANG:
    case BY_FIRST_HANG:
        return pp_arena_printf(arena, "no batch came for the last %s: %s",
                               pp_text_duration(time, sizeof(time), e->waits_s * 1e9), e->stuck);
    case BY_INTERRUPT:
        return e->interrupted_by > 0 && e->interrupted_by != SIGINT
                   ? pp_arena_printf(arena, "%s asked it to end", signal_name((int)e->interrupted_by))
                   : "it was interrupted (Ctrl-C)";
    case BY_EXCEPTION: /* without the colon of an empty text */
        return pp_arena_printf(arena, "it raised %.*s", (int)(n > 2 && e->first[n - 1] == ' ' ? n - 2 : n),
                               e->first);
    case BY_SIGNAL: return pp_arena_printf(arena, "%s ended it", signal_name((int)e->status - 128));
    default: return e->worker[0] ? pp_arena_printf(arena, "%s: %s", c->because, e->worker) : c->because;
    }
}

/* ---- the exception ---- */

struct exceptions {
    struct end *e;
    long long trainer; /* its process; 0: not known */
    int is_trainers;
};

/* The trainer's; without it the last one: a launcher only says that its child failed. */
static void take_exception(void *ctx, const char *pid, const char *value, const char *unit, int numeric)
{
    struct exceptions *x = ctx;
    int own = x->trainer && atoll(pid) == x->trainer;
    if (!value || (x->is_trainers && !own))
        return;
    char *to[] = {x->e->first, x->e->last, x->e->worker};
    for (size_t i = 0; i < 3; i++) {
        const char *next = i < 2 ? strstr(value, " || ") : NULL;
        snprintf(to[i], TEXT, "%.*s", next ? (int)(next - value) : TEXT - 1, value);
        value = next ? next + 4 : "";
    }
    x->is_trainers = own;
}

/* ---- who waited for whom ---- */

struct last_span {
    uint32_t thread;
    pp_lane lane;
    const char *name;
    struct pp_span span;
    uint64_t samples;
};

struct last_spans {
    struct last_span *row;
    size_t n;
};

static int keep_last(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct last_spans *l = ctx;
    for (size_t i = 0; i < l->n; i++) {
        struct last_span *row = &l->row[i];
        if (row->thread != thread)
            continue;
        for (size_t k = 0; k < n; k++) {
            if (spans[k].dur_ns && /* else it is a counter's */
                spans[k].start_ns + spans[k].dur_ns >= row->span.start_ns + row->span.dur_ns)
                row->span = spans[k];
            row->samples += spans[k].phase == PP_PHASE_COLLATE;
        }
        return 0;
    }
    return 0;
}

static void look_at_threads(const struct last_spans *l, const struct pp_report *r, uint64_t ended_ns,
                            struct end *e)
{
    char time[40], more[40];
    double least_s = fmax(LEAST_HANG_S, r->batches_per_s > 0 ? HANG_BATCHES / r->batches_per_s : 0);
    uint64_t waits = NONE, first = NONE, stuck = 0, named = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct last_span *row = &l->row[i];
        const struct pp_span *s = &row->span;
        int waited = s->batch == PP_NO_BATCH &&
                     (s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_EPOCH_BOUNDARY);
        if (row->lane == PP_LANE_TRAINER && s->dur_ns)
            waits = waited ? s->start_ns : s->phase == PP_PHASE_STEP ? s->start_ns + s->dur_ns : NONE;
        else if (row->lane == PP_LANE_WORKER && s->dur_ns && !row->samples && s->start_ns < first)
            first = s->start_ns;
    }
    if (!r->batches && waits == NONE) /* its wait for the first one is not over */
        waits = first;
    if (waits == NONE || waits >= ended_ns || (double)(ended_ns - waits) / 1e9 < least_s)
        return;
    e->waits_s = (double)(ended_ns - waits) / 1e9;
    e->first_sample = 1;
    for (size_t i = 0; i < l->n; i++) {
        const struct last_span *row = &l->row[i];
        const struct pp_span *s = &row->span;
        /* Since when it does what it did at the end: its last span is recorded when it is over, or at the end
         * of the process. */
        uint64_t end = s->start_ns + s->dur_ns;
        int covers = s->dur_ns > (ended_ns > end ? ended_ns - end : 0) * 4,
            waited = s->phase == PP_PHASE_PUT_WAIT || (s->phase == PP_PHASE_DISPATCH_WAIT && covers);
        uint64_t since = covers ? s->start_ns : end;
        if (row->lane != PP_LANE_WORKER || !s->dur_ns || waited || since >= ended_ns ||
            (ended_ns - since) / 2 < (ended_ns - waits) / 4)
            continue;
        e->first_sample &= row->samples == 0;
        stuck++;
        if (named++ < STUCK_NAMED)
            pp_text_add(e->stuck, TEXT, "%s%s in %s sample for %s", e->stuck[0] ? ", " : "", row->name,
                        row->samples ? "a" : "its first",
                        pp_text_duration(time, sizeof(time), (double)(ended_ns - since)));
    }
    if (stuck > STUCK_NAMED)
        pp_text_add(e->stuck, TEXT, " and %s more",
                    pp_text_count(more, sizeof(more), (double)(stuck - STUCK_NAMED)));
}

/* ---- the end ---- */

void pp_ending_read(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r)
{
    const struct pp_thread_row *rows;
    size_t n = source->threads(source->ctx, &rows);
    const char *command = source->meta(source->ctx, "run", "command_line");
    struct end e = {.status = pp_source_number(source, "result", "exit_status", NAN),
                    .oom_kills = pp_source_number(source, "result", "oom_kills", NAN),
                    .interrupted_by = pp_source_number(source, "result", "interrupted_by", NAN),
                    .limited = command && strstr(command, "timeout ") != NULL,
                    .waits_s = NAN};
    struct exceptions x = {.e = &e};
    r->exit_status = e.status;
    int interrupted = strcmp(r->outcome, "interrupted") == 0;
    if (r->subject_kind != PP_SUBJECT_JOB ||
        !(interrupted || (strcmp(r->outcome, "failed") == 0 && e.status > 0)))
        return;
    if (interrupted && !(e.interrupted_by > 0))
        e.interrupted_by = SIGINT;
    for (size_t i = 0; i < n; i++)
        if (rows[i].lane == PP_LANE_TRAINER && rows[i].recorded)
            x.trainer = rows[i].pid;
    source->each_meta(source->ctx, "process_end", take_exception, &x, NULL);
    char *const said[] = {e.first, e.last, e.worker}; /* by a stranger */
    for (size_t i = 0; i < 3; i++) {
        char *shown = pp_text_plain(said[i]);
        snprintf(said[i], TEXT, "%s", shown ? shown : "");
        free(shown);
    }
    struct last_spans l = {.row = n ? calloc(n, sizeof(*l.row)) : NULL, .n = n};
    double ended = pp_source_number(source, "run", "ended_mono_ns", NAN);
    for (size_t i = 0; l.row && i < n; i++)
        l.row[i] = (struct last_span){.thread = rows[i].id,
                                      .lane = rows[i].lane,
                                      .name = rows[i].name ? rows[i].name : "a worker"};
    if (l.row && ended > 0 && ended < 0x1p63 &&
        source->each_chunk(source->ctx, NULL, keep_last, &l, NULL, NULL) == PP_OK)
        look_at_threads(&l, r, (uint64_t)ended, &e);
    free(l.row);
    for (size_t i = 0; i < sizeof(causes) / sizeof(*causes) && !r->ended; i++)
        if (fits(&causes[i], &e)) {
            r->ended = because(&causes[i], &e, arena);
            r->ended_remedy = causes[i].remedy;
        }
}
