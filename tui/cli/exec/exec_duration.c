#include "tui/cli/exec/exec_record.h"
#include "collectors/attach/session_files.h"
#include "collectors/store/reader.h"
#include "probe/base/clock.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#define TICK_NS 200000000L
#define GRACE_NS 20000000000u /* for what a job does when it is interrupted */

struct exec_duration {
    const char *recording, *session;
    pid_t program;
    uint64_t duration_ns;
    pthread_t thread;
    atomic_int over; /* the program has ended */
    int ended;       /* by us; read after the thread has ended */
    struct exec_taken taken;
};

static void count_waits(void *ctx, const struct pp_second_row *row)
{
    struct exec_taken *t = ctx;
    t->batches += row->phase == PP_PHASE_DATA_WAIT ? row->n : 0;
}

/* The report's window begins with the second batch. */
int exec_is_steady(const char *recording, struct exec_taken *t)
{
    struct pp_reader *reader = NULL;
    struct pp_err err;
    if (access(recording, R_OK) == 0 && pp_reader_open(recording, &reader, &err) == PP_OK)
        pp_reader_each_second_after(reader, &t->last_id, count_waits, t, &err);
    pp_reader_close(reader);
    return t->batches >= 2;
}

static void interrupt_loading(void *ctx, const struct pp_loaders_file *f)
{
    const struct exec_duration *d = ctx;
    if (f->pid > 1 && f->pid != d->program)
        kill((pid_t)f->pid, SIGINT);
}

static void *run_duration(void *arg)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    struct exec_duration *d = arg;
    uint64_t until = 0;
    for (size_t sent = 0; !atomic_load_explicit(&d->over, memory_order_relaxed);) {
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
        uint64_t now = pp_now_ns();
        if (!until && exec_is_steady(d->recording, &d->taken))
            until = now + d->duration_ns;
        if (!until || now < until || sent == sizeof(signals) / sizeof(*signals))
            continue;
        d->ended = 1;
        kill(d->program, signals[sent]);
        if (!sent)
            pp_loaders_files_take(d->session, PP_FILES_STAY, interrupt_loading, d);
        sent++;
        until = now + GRACE_NS;
    }
    return NULL;
}

struct exec_duration *exec_duration_start(const char *recording, const char *session, pid_t program,
                                          uint64_t duration_ns)
{
    struct exec_duration *d = duration_ns ? calloc(1, sizeof(*d)) : NULL;
    if (!d)
        return NULL;
    d->recording = recording;
    d->session = session;
    d->program = program;
    d->duration_ns = duration_ns;
    if (pthread_create(&d->thread, NULL, run_duration, d) == 0)
        return d;
    free(d);
    return NULL;
}

int exec_duration_stop(struct exec_duration *d)
{
    if (!d)
        return 0;
    atomic_store_explicit(&d->over, 1, memory_order_relaxed);
    pthread_join(d->thread, NULL);
    int ended = d->ended;
    free(d);
    return ended;
}
