#include "collectors/record/drain.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/heap.h"
#include "probe/base/guard.h"

#include <pthread.h>
#include <sys/resource.h>

#define POLL_NS 100000000u
#define COMMIT_NS 1000000000u
#define COUNTERS_NS 1000000000u
#define HALF_FULL 0.5
/* After a commit: sleeping until it is half would leave the producers waiting next time */
#define QUARTER_FULL 0.25
/* What a drain of some thousand spans a second allocates: chunks, zstd's tables, SQLite's cache */
#define WARM_BYTES (8u << 20)
/* Between two levels of detail: what was backed up must have gone through the lower one */
#define LOWER_NS 1000000000u

/* A thread that had retired when its row was written writes no more: once that is committed with its spans,
 * nothing of it is looked at again, unless another thread takes over its place. */
enum stage { RECORDS, ROW_IS_LAST, STORED };

struct pp_drain {
    struct pp_drain_opts opts;
    pthread_t thread;
    int stop; /* set by pp_drain_stop, read by the thread; __atomic */
    struct pp_collectors *collectors;
    uint32_t named;                       /* names 1..named are stored */
    uint64_t dropped, dropped_before;     /* as the last thread rows said; at the last look */
    uint64_t taken_over, taken_over_said; /* threads that went on where another one ended; as the file says */
    uint64_t lowered_ns;                  /* when detail was last turned down */
    uint8_t stage[PP_THREADS_MAX];        /* enum stage */
    struct pp_drain_stats stats;
};

static void note_failure(struct pp_drain *d, pp_status status, const struct pp_err *err)
{
    if (!status || d->stats.first_failure)
        return;
    d->stats.first_failure = status;
    snprintf(d->stats.err_text, sizeof(d->stats.err_text), "%s",
             err->text[0] ? err->text : pp_status_text(status));
}

/* recorded: spans; UINT64_MAX: as its ring says. */
static pp_status put_thread(struct pp_drain *d, uint32_t id, uint64_t recorded)
{
    struct pp_ring_info info;
    pp_session_ring_info(d->opts.session, id, &info);
    d->dropped += info.dropped;
    d->taken_over += info.taken_over;
    if (d->stage[id] == STORED && !pp_ring_is_over(d->opts.session, id))
        d->stage[id] = RECORDS;
    if (info.retired && d->stage[id] == RECORDS)
        d->stage[id] = ROW_IS_LAST;
    if (!info.pid || d->stage[id] == STORED) /* its ring is being made, or could not be */
        return PP_OK;
    return pp_store_thread(d->opts.store, &(struct pp_store_thread){
                                              .id = id,
                                              .lane = info.lane,
                                              .name = info.name,
                                              .pid = info.pid,
                                              .tid = info.tid,
                                              .recorded = recorded < UINT64_MAX ? recorded : info.recorded,
                                              .dropped = info.dropped,
                                          });
}

static size_t read_ring(void *ctx, struct pp_span *out, size_t max)
{
    return pp_ring_read(ctx, out, max);
}

/* Moves everything the rings hold into the store, commits, and only then frees ring space. After a failure
 * nothing moves any more: what the rings hold can still be recovered, what comes beyond is dropped and
 * counted by its producer. */
static void drain_and_commit(struct pp_drain *d)
{
    struct pp_err err = {.code = PP_OK};
    pp_status status = PP_OK;
    uint32_t threads = pp_session_threads(d->opts.session);
    uint64_t moved = 0;
    char name[PP_NAME_BYTES];
    if (d->stats.first_failure)
        return;
    d->dropped = d->taken_over = 0;
    for (uint32_t i = 0; i < threads && !status; i++)
        status = put_thread(d, i, UINT64_MAX); /* each time: a live view wants the counts */
    /* Where threads are very many a row stands for several: how many there were beside those with one. */
    if (!status && d->taken_over != d->taken_over_said)
        status = pp_store_meta_num(d->opts.store, "result", "threads_taken_over", (double)d->taken_over,
                                   "threads");
    d->taken_over_said = d->taken_over;
    while (!status && d->named + 1 < PP_NAMES_MAX &&
           pp_session_name(d->opts.session, (uint16_t)(d->named + 1), name))
        status = pp_store_name(d->opts.store, (uint16_t)++d->named, name);
    /* What a ring holds now. What is recorded meanwhile waits for the next commit: taken along, it would have
     * the producer wait for this one before it can go on, and then the drain for the producer. */
    for (uint32_t i = 0; i < threads && !status; i++) {
        struct pp_ring_reader r = pp_ring_reader(d->opts.session, i);
        if (d->stage[i] != STORED)
            status = pp_store_append_from(d->opts.store, i, read_ring, &r, &moved);
    }
    pp_status committed = pp_store_commit(d->opts.store, &err);
    if (!status)
        status = committed;
    if (!status) {
        for (uint32_t i = 0; i < threads; i++) {
            if (d->stage[i] == STORED)
                continue;
            pp_ring_release(d->opts.session, i);
            if (d->stage[i] != ROW_IS_LAST)
                continue;
            d->stage[i] = pp_ring_is_over(d->opts.session, i) ? STORED : RECORDS;
            if (d->stage[i] == STORED)
                pp_store_thread_ended(d->opts.store, i);
        }
        d->stats.spans += moved;
        d->stats.commits++;
        /* Spans were dropped since the last look: what is stored gets less, one level at a time, and the
         * file says so. */
        uint64_t now = pp_now_ns();
        enum pp_detail detail = pp_store_progress(d->opts.store).detail;
        if (d->dropped > d->dropped_before && detail != PP_DETAIL_ROLLUP && now - d->lowered_ns >= LOWER_NS) {
            d->dropped_before = d->dropped;
            d->lowered_ns = now;
            pp_store_lower_detail(d->opts.store, detail + 1,
                                  "the rings filled faster than they could be stored");
        }
    }
    note_failure(d, status, &err);
}

/* What each thread is in, though it has not ended: a read that hangs is seen while it hangs. */
static void put_open_phases(struct pp_drain *d, uint64_t now)
{
    const struct pp_drain_opts *o = &d->opts;
    uint32_t threads = pp_session_threads(o->session);
    struct pp_span open;
    char path[512];
    for (uint32_t i = 0; i < threads && !d->stats.first_failure; i++)
        if (pp_ring_open_now(o->session, i, now, &open)) {
            int named = o->sample_path && open.sample != PP_NO_SAMPLE && !(open.flags & PP_SPAN_COUNT) &&
                        o->sample_path(o->sample_ctx, open.sample, path, sizeof(path));
            pp_store_open_phase(o->store, &(struct pp_store_open_phase){
                                              .t_ns = now,
                                              .thread = i,
                                              .phase = open.phase,
                                              .batch = open.batch,
                                              .sample = open.sample,
                                              .since_ns = open.start_ns,
                                              .path = named ? path : NULL,
                                          });
        }
}

/* See struct pp_collect_opts. Threads of one process mostly follow each other. */
static size_t list_processes(void *ctx, int64_t *pid, size_t most)
{
    const struct pp_drain *d = ctx;
    uint32_t threads = pp_session_threads(d->opts.session);
    size_t n = 0;
    for (uint32_t i = 0; i < threads && n < most; i++) {
        struct pp_ring_info info;
        if (d->stage[i] == STORED)
            continue;
        pp_session_ring_info(d->opts.session, i, &info);
        size_t k = n;
        while (info.pid && !info.retired && k > 0 && pid[k - 1] != info.pid)
            k--;
        if (info.pid && !info.retired && k == 0)
            pid[n++] = info.pid;
    }
    return n;
}

/* See struct pp_collect_opts. */
static size_t list_takers(void *ctx, int64_t *pid, size_t most)
{
    const struct pp_drain *d = ctx;
    uint32_t threads = pp_session_threads(d->opts.session);
    size_t n = 0;
    for (int workers = 0; workers <= 1; workers++)
        for (uint32_t i = 0; i < threads; i++) {
            struct pp_ring_info info;
            pp_session_ring_info(d->opts.session, i, &info);
            if (d->stage[i] == STORED || !info.pid || info.retired ||
                info.lane != (workers ? PP_LANE_WORKER : PP_LANE_TRAINER))
                continue;
            size_t k = n;
            while (k > 0 && pid[k - 1] != info.pid)
                k--;
            if (workers && k == 0)
                return 0;
            if (!workers && k == 0 && n < most)
                pid[n++] = info.pid;
        }
    return n;
}

static void *drain_main(void *arg)
{
    struct pp_drain *d = arg;
    uint64_t commit_at = pp_now_ns() + d->opts.commit_ns, counters_at = pp_now_ns() + COUNTERS_NS;
    pthread_setname_np(pthread_self(), "pp-drain");
    pp_heap_warm(WARM_BYTES);
    struct rusage began = {.ru_minflt = 0}, ended = began;
    getrusage(RUSAGE_THREAD, &began);
    pp_collectors_poll(d->collectors); /* the shortest run has two readings: a beginning and an end */
    while (!__atomic_load_n(&d->stop, __ATOMIC_ACQUIRE)) { /* pairs with the release in pp_drain_stop */
        int behind = !d->stats.first_failure && pp_session_fill(d->opts.session) >= QUARTER_FULL;
        /* After a failure the wake word is left as the producers set it, so that full rings do not call us,
         * or the system, ever again. */
        if (d->stats.first_failure)
            pp_sleep_until_ns(pp_now_ns() + d->opts.poll_ns);
        else if (!behind)
            pp_session_wait(d->opts.session, d->opts.poll_ns);
        pp_session_anchor(d->opts.session);
        uint64_t now = pp_now_ns();
        if (now >= counters_at) {
            pp_collectors_poll(d->collectors);
            put_open_phases(d, now);
            counters_at = now + COUNTERS_NS;
        }
        if (behind || now >= commit_at || pp_session_fill(d->opts.session) >= HALF_FULL) {
            drain_and_commit(d);
            commit_at = now + d->opts.commit_ns;
        }
    }
    pp_collectors_poll(d->collectors);
    drain_and_commit(d);
    d->stats.cpu_ns = pp_thread_cpu_ns();
    getrusage(RUSAGE_THREAD, &ended);
    d->stats.faults = (uint64_t)(ended.ru_minflt - began.ru_minflt);
    return NULL;
}

pp_status pp_drain_start(const struct pp_drain_opts *opts, struct pp_drain **out, struct pp_err *err)
{
    char id[24];
    *out = NULL;
    struct pp_drain *d = calloc(1, sizeof(*d));
    if (!d)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the drain thread");
    d->opts = *opts;
    d->opts.poll_ns = opts->poll_ns ? opts->poll_ns : POLL_NS;
    d->opts.commit_ns = opts->commit_ns ? opts->commit_ns : COMMIT_NS;
    /* Committed before the first span: recovery must be able to tell whose ring files it found. */
    snprintf(id, sizeof(id), "%016llx", (unsigned long long)pp_session_facts(d->opts.session).id);
    pp_store_meta_text(d->opts.store, "run", "session_id", id);
    pp_status status = pp_store_commit(d->opts.store, err);
    if (!status)
        status = pp_collectors_start(&(struct pp_collect_opts){.store = opts->store,
                                                               .device = opts->device,
                                                               .gpu_activity = opts->gpu_activity,
                                                               .lines_hz = opts->lines_hz,
                                                               .processes = list_processes,
                                                               .processes_ctx = d,
                                                               .takers = list_takers,
                                                               .data_path = opts->data_path,
                                                               .session_dir = pp_session_dir(opts->session)},
                                     &d->collectors, err);
    if (!status) {
        int e = pthread_create(&d->thread, NULL, drain_main, d);
        if (e)
            status = pp_fail_errno(err, e, "cannot start the drain thread");
    }
    if (status) {
        pp_collectors_stop(d->collectors);
        free(d);
        return status;
    }
    *out = d;
    return PP_OK;
}

/* Final thread rows and what was lost. */
static void put_totals(struct pp_drain *d)
{
    struct pp_err err = {.code = PP_OK};
    char why[96];
    uint32_t threads = pp_session_threads(d->opts.session);
    d->taken_over = 0;
    for (uint32_t i = 0; i < threads; i++) {
        struct pp_ring_info info;
        pp_session_ring_info(d->opts.session, i, &info);
        if (info.taken_over) /* one may have come and gone between its row and its spans */
            d->stage[i] = RECORDS;
        /* What was recorded since the last commit. A job that was killed leaves workers which go on for a
         * while: what they record behind this is in no file, and the row of their thread must not count it.
         */
        struct pp_ring_reader r = pp_ring_reader(d->opts.session, i);
        uint64_t moved = 0;
        if (!d->stats.first_failure && d->stage[i] != STORED)
            note_failure(d, pp_store_append_from(d->opts.store, i, read_ring, &r, &moved), &err);
        d->stats.spans += moved;
        pp_session_ring_info(d->opts.session, i, &info);
        put_thread(d, i, d->stats.first_failure ? info.recorded : info.read);
        /* What is still open when recording ends: the process was killed in it, or its thread has not
         * retired. */
        struct pp_span open[PP_OPEN_SPANS_MAX];
        size_t n = pp_ring_unfinished(d->opts.session, i, pp_now_ns(), open, PP_OPEN_SPANS_MAX);
        if (n && !d->stats.first_failure && pp_store_append(d->opts.store, i, open, n) == PP_OK)
            d->stats.spans += n;
        if (!d->stats.first_failure && d->stage[i] != STORED && info.recorded > info.read)
            pp_store_loss(d->opts.store, "spans", info.recorded - info.read,
                          "recorded by processes that outlived the recording");
        d->stats.dropped += info.dropped;
        if (!info.dropped)
            continue;
        snprintf(why, sizeof(why), "the ring of thread %s was full", info.name);
        pp_store_loss(d->opts.store, "spans", info.dropped, why);
    }
    if (d->taken_over != d->taken_over_said)
        pp_store_meta_num(d->opts.store, "result", "threads_taken_over", (double)d->taken_over, "threads");
    d->stats.cpu_ns += pp_store_progress(d->opts.store).checkpoint_cpu_ns;
    uint64_t unregistered = pp_session_unregistered(d->opts.session);
    if (unregistered)
        pp_store_loss(d->opts.store, "threads", unregistered,
                      "no ring could be created for them: their spans are not recorded");
    if (pp_guard_cuts())
        pp_store_loss(d->opts.store, "rings", pp_guard_cuts(),
                      "another program truncated their files: what they held is not recorded");
    pp_store_meta_num(d->opts.store, "result", "recorder_cpu_ns", (double)d->stats.cpu_ns, "ns");
    pp_store_meta_num(d->opts.store, "result", "recorder_page_faults", (double)d->stats.faults, "faults");
    pp_store_meta_num(d->opts.store, "result", "recorded_spans", (double)d->stats.spans, "spans");
    pp_store_meta_num(d->opts.store, "result", "dropped_spans", (double)d->stats.dropped, "spans");
    note_failure(d, pp_store_commit(d->opts.store, &err), &err);
}

const char *pp_drain_describe(const struct pp_drain *d, const struct pp_collector *row)
{
    return d ? pp_collectors_describe(d->collectors, row) : NULL;
}

void pp_drain_stop(struct pp_drain *d, struct pp_drain_stats *stats)
{
    if (!d)
        return;
    __atomic_store_n(&d->stop, 1, __ATOMIC_RELEASE); /* pairs with the acquire in drain_main */
    pp_session_wake(d->opts.session);
    pthread_join(d->thread, NULL);
    pp_collectors_stop(d->collectors); /* before the last commit, which is put_totals' */
    put_totals(d);
    if (stats)
        *stats = d->stats;
    free(d);
}
