/* The recorder of PyTorch jobs without Python: a process joins sessions one after the other and leaves them,
 * as a notebook's cells do, whatever its threads are in the middle of. A mutex stands for the interpreter's
 * lock. */
#include "collectors/attach/python/record/record.h"
#include "collectors/attach/loaders_file.h"
#include "collectors/attach/order_files.h"
#include "collectors/attach/process_file.h"
#include "probe/base/clock.h"
#include "probe/base/sample_list.h"
#include "probe/trace/run_delay.h"
#include "tests/tools/ring_peek.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;

struct seen {
    char dir[64];
    struct pp_session *session;
    size_t n, of_phase[PP_PHASE_COUNT], taken;
    uint32_t first_batch;
    uint32_t task[4];     /* batches of the first tasks that workers got */
    uint64_t counted;     /* values of all counters */
    uint64_t most_cpu_ns; /* of a transform span */
};

static void open_session(struct seen *s)
{
    struct pp_err err = {0};
    memset(s, 0, sizeof(*s));
    s->first_batch = PP_NO_BATCH;
    strcpy(s->dir, "/tmp/pp-record-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    if (pp_session_open(&(struct pp_session_opts){.dir = s->dir, .ring_spans = 4096}, &s->session, &err) !=
        PP_OK)
        fail_msg("%s", err.text);
}

static void read_session(struct seen *s)
{
    static struct pp_span piece[4096];
    size_t n;
    for (uint32_t t = 0; t < pp_session_threads(s->session); t++)
        while ((n = ring_peek(s->session, t, piece, 4096))) {
            for (size_t i = 0; i < n; i++) {
                if (piece[i].phase == PP_PHASE_DISPATCH_WAIT && s->of_phase[PP_PHASE_DISPATCH_WAIT] < 4)
                    s->task[s->of_phase[PP_PHASE_DISPATCH_WAIT]] = piece[i].batch;
                s->counted += piece[i].phase == PP_PHASE_COUNTER ? piece[i].bytes : 0;
                if (piece[i].phase == PP_PHASE_TRANSFORM && piece[i].cpu_ns > s->most_cpu_ns)
                    s->most_cpu_ns = piece[i].cpu_ns;
                s->n++;
                s->of_phase[piece[i].phase]++;
                if (piece[i].phase == PP_PHASE_DATA_WAIT && piece[i].batch < s->first_batch)
                    s->first_batch = piece[i].batch;
            }
            pp_ring_release(s->session, t);
        }
}

static void close_session(struct seen *s)
{
    char line[128];
    pp_session_close(s->session, 0);
    snprintf(line, sizeof(line), "rm -rf '%s'", s->dir);
    assert_int_equal(system(line), 0);
}

/* An epoch of so many batches, as iterator.c has them taken. */
static void epoch(struct record_iteration *it, int batches)
{
    struct record_local *l = record_local();
    record_iteration_begin(it);
    for (int b = 0; b <= batches; b++) {
        struct record_mark from;
        assert_true(record_consumer_open(l));
        record_take_begin(l, it, &from);
        it->given = it->taken;
        record_take_end(l, it, &from, b < batches);
        l->worker.making = NULL;
    }
}

static struct record_iteration five_batches(void)
{
    return (struct record_iteration){.batch_size = 4, .batches = 5, .samples = 20, .in_order = 1};
}

/* Each session has what was recorded while it was joined, with numbers of its own. */
static void nothing_of_one_session_reaches_the_next(void **state)
{
    struct seen s[3];
    uint32_t before = 0;
    for (int k = 0; k < 3; k++)
        open_session(&s[k]);
    for (int k = 0; k < 3; k++) {
        struct record_iteration it = five_batches(), again = five_batches();
        assert_int_equal(record_session(), 0);
        assert_true(record_join(s[k].dir));
        assert_true(record_join(s[k].dir)); /* once more is no more */
        assert_true(record_session() > before);
        before = record_session();
        epoch(&it, 5);
        epoch(&again, 3);
        record_leave();
        record_leave();
        assert_false(record_is_on());
        assert_false(record_consumer_open(record_local()));
        record_note("said of no session");
        record_iteration_forget(&again);
        record_iteration_forget(&it);
    }
    for (int k = 0; k < 3; k++) {
        read_session(&s[k]);
        assert_int_equal(s[k].of_phase[PP_PHASE_DATA_WAIT], 8);
        assert_int_equal(s[k].of_phase[PP_PHASE_EPOCH_BOUNDARY], 2);
        assert_int_equal(s[k].of_phase[PP_PHASE_STEP], 8);
        assert_int_equal(s[k].n, 18);
        assert_int_equal(s[k].first_batch, 0);
        close_session(&s[k]);
    }
}

static void takes(struct record_iteration *it)
{
    struct record_local *l = record_local();
    struct record_mark from;
    assert_true(record_consumer_open(l));
    record_take_begin(l, it, &from);
    it->given = it->taken;
    record_take_end(l, it, &from, 1);
    l->worker.making = NULL;
}

static struct record_iteration epoch_of(uint32_t loader, uint32_t epoch)
{
    struct record_iteration it = five_batches();
    it.loader = loader;
    it.epoch = epoch;
    return it;
}

/* iter(loader), in which the sampler draws for that long. */
static void begins(struct record_iteration *it, useconds_t draw_us)
{
    struct record_local *l = record_local();
    struct record_mark from;
    int begun = record_iter_begin(l);
    record_iteration_begin(it);
    record_iteration_reseed(it, it->base_seed);
    if (record_draw_begin(l, &from)) {
        if (draw_us)
            usleep(draw_us);
        record_draw_end(l, &from);
    }
    if (begun)
        record_iter_end(l, it);
}

/* The thread that makes an iterator starts its workers, and tells those that stay to begin anew. That is no
 * step, even where the epoch before was left early. Without workers there is no such start, and a draw that
 * takes no time is no span. */
static void workers_are_started(void **state)
{
    struct seen s;
    (void)state;
    open_session(&s);
    assert_true(record_join(s.dir));
    uint32_t loader = record_loader_new(&(struct pp_loader_row){.workers = 2}),
             without = record_loader_new(&(struct pp_loader_row){.workers = 0});
    struct record_iteration left = epoch_of(loader, 0), next = epoch_of(loader, 1),
                            nested = epoch_of(loader, 2), stays = epoch_of(loader, 3),
                            own = epoch_of(without, 1);
    stays.round = 1;
    begins(&left, 0);
    takes(&left);
    begins(&next, 2000);
    takes(&next);
    record_local()->consumer.taking++; /* a data set that has a loader of its own */
    begins(&nested, 0);
    record_local()->consumer.taking--;
    begins(&stays, 2000);
    takes(&stays);
    begins(&own, 2000);
    takes(&own);
    struct record_local *l = record_local();
    assert_true(record_iter_begin(l)); /* and the session ends meanwhile */
    record_leave();
    record_iter_end(l, &next);
    assert_int_equal(l->consumer.beginning, 0);
    record_iteration_forget(&own);
    read_session(&s);
    assert_int_equal(s.of_phase[PP_PHASE_DATA_WAIT], 4);
    assert_int_equal(s.of_phase[PP_PHASE_STEP], 3); /* the last one had not ended */
    assert_int_equal(s.of_phase[PP_PHASE_STARTUP], 2);
    assert_int_equal(s.of_phase[PP_PHASE_EPOCH_BOUNDARY], 2);
    assert_int_equal(s.of_phase[PP_PHASE_SAMPLER], 3);
    close_session(&s);
}

/* ---- threads ---- */

struct busy {
    struct record_iteration it;
    int stop, passes, worker;
};

static void nap(void)
{
    pthread_mutex_unlock(&interpreter); /* what a call into torch does */
    usleep(100);
    pthread_mutex_lock(&interpreter);
}

/* A thread that takes batches, or makes them, and knows nothing of who leaves: each call asks whether it is
 * recorded, as those from Python do. */
static void *busy_thread(void *arg)
{
    struct busy *b = arg;
    pthread_mutex_lock(&interpreter);
    while (!b->stop) {
        struct record_local *l = record_is_on() ? record_local() : NULL;
        struct record_mark from;
        if (l && b->worker && record_lane_open(&l->worker.lane, PP_LANE_WORKER, "worker 0")) {
            l->sample.depth++;
            record_sample_begin(l);
            nap();
            if (--l->sample.depth == 0 && l->worker.lane.trace)
                record_sample_end(l, 1, 0, 0);
        } else if (l && !b->worker) {
            if (b->it.session != record_session())
                record_iteration_begin(&b->it);
            if (record_consumer_open(l)) {
                l->consumer.taking++;
                record_take_begin(l, &b->it, &from);
                nap();
                l->consumer.taking--;
                l->worker.making = NULL;
                if (l->consumer.lane.trace)
                    record_take_end(l, &b->it, &from, 1);
            }
        }
        b->passes++;
        nap();
    }
    record_iteration_forget(&b->it);
    pthread_mutex_unlock(&interpreter);
    return NULL;
}

static void threads_may_be_in_the_middle_of_anything(void **state)
{
    enum { THREADS = 4, SESSIONS = 40 };
    static struct busy busy[THREADS];
    pthread_t thread[THREADS];
    size_t spans = 0;
    for (int t = 0; t < THREADS; t++) {
        busy[t] = (struct busy){.it = five_batches(), .worker = t % 2};
        assert_int_equal(pthread_create(&thread[t], NULL, busy_thread, &busy[t]), 0);
    }
    for (int k = 0; k < SESSIONS; k++) {
        struct seen s;
        open_session(&s);
        pthread_mutex_lock(&interpreter);
        assert_true(record_join(s.dir));
        int from = busy[0].passes + busy[1].passes;
        for (int i = 0; i < 2000 && busy[0].passes + busy[1].passes < from + 8; i++)
            nap();
        record_leave();
        pthread_mutex_unlock(&interpreter);
        read_session(&s);
        spans += s.n;
        close_session(&s);
    }
    pthread_mutex_lock(&interpreter);
    for (int t = 0; t < THREADS; t++)
        busy[t].stop = 1;
    pthread_mutex_unlock(&interpreter);
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    assert_true(spans > SESSIONS);
}

/* ---- what carries the collectives ---- */

static void *spin(void *arg)
{
    while (!__atomic_load_n((int *)arg, __ATOMIC_RELAXED))
        continue;
    return NULL;
}

/* Two threads want one CPU during a wait for the other ranks: what they lack is counted, not in every wait.
 */
static void what_other_threads_lack_a_cpu_for_is_sampled(void **state)
{
    struct seen s;
    struct record_local *l = record_local();
    cpu_set_t allowed, one;
    pthread_t thread[2];
    uint64_t delay, from = pp_now_ns();
    int stop = 0, fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    size_t cpu = 0;
    if (!pp_run_delay_read(fd, &delay)) {
        close(fd);
        skip();
    }
    close(fd);
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    open_session(&s);
    assert_true(record_join(s.dir));
    assert_true(record_consumer_open(l));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, spin, &stop), 0);
        assert_int_equal(pthread_setaffinity_np(thread[i], sizeof(one), &one), 0);
    }
    record_exchange_begin();
    usleep(300000);
    record_exchange_end(l);
    for (int i = 0; i < 1000; i++) {
        record_exchange_begin();
        record_exchange_end(l);
    }
    uint64_t most = 2 + (pp_now_ns() - from) / 500000000;
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    record_leave();
    read_session(&s);
    assert_true(s.of_phase[PP_PHASE_COUNTER] >= 1 && s.of_phase[PP_PHASE_COUNTER] <= most);
    assert_true(s.counted > 1000000);
    close_session(&s);
}

/* A worker that was forked before the session was left, or after: it records into it, or into none. */
static void children_have_the_session_that_they_were_forked_in(void **state)
{
    struct seen s;
    int status;
    open_session(&s);
    assert_true(record_join(s.dir));
    for (int left = 0; left < 2; left++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct record_local *l = record_local();
            int opened = record_lane_open(&l->worker.lane, PP_LANE_WORKER, "worker 0");
            if (opened) {
                record_sample_begin(l);
                record_sample_end(l, 7, 0, 0);
                record_leave();
                opened += record_lane_open(&l->worker.lane, PP_LANE_WORKER, "worker 0");
            }
            _exit(opened);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WEXITSTATUS(status), !left);
        record_leave();
    }
    read_session(&s);
    assert_int_equal(s.of_phase[PP_PHASE_TRANSFORM], 1);
    close_session(&s);
}

/* The recording may begin in the middle of an epoch: its batches have the numbers that they have in it, and a
 * worker that is recorded before its loader gets them as soon as the loader is. */
static void an_epoch_may_be_entered_in_the_middle(void **state)
{
    struct seen s;
    int go[2], come[2];
    char byte = 0;
    (void)state;
    open_session(&s);
    assert_int_equal(pipe(go) | pipe(come), 0);
    assert_true(record_join(s.dir));
    pid_t worker = fork();
    if (worker == 0) {
        struct record_local *l = record_local();
        record_worker_begin(l, 0, getppid(), 77);
        l->worker.joined_late = 1;
        record_batch_begin(l, 3, 4);
        (void)!write(come[1], &byte, 1);
        (void)!read(go[0], &byte, 1);
        record_batch_begin(l, 4, 4);
        record_lane_close(&l->worker.lane);
        _exit(0);
    }
    assert_int_equal(read(come[0], &byte, 1), 1);
    struct record_iteration it = five_batches(), next = five_batches();
    struct record_mark from;
    it.base_seed = 77;
    record_iteration_begin(&it);
    record_iteration_resume(&it, 3, 5);
    struct record_local *l = record_local();
    assert_true(record_consumer_open(l));
    record_take_begin(l, &it, &from);
    it.given = it.taken;
    record_take_end(l, &it, &from, 1);
    l->worker.making = NULL;
    record_iteration_begin(&next);
    assert_int_equal(next.first_batch, it.first_batch + 5);
    assert_int_equal(write(go[1], &byte, 1), 1);
    assert_int_equal(waitpid(worker, NULL, 0), worker);
    record_leave();
    read_session(&s);
    assert_int_equal(s.first_batch, it.first_batch + 3);
    assert_int_equal(s.of_phase[PP_PHASE_DISPATCH_WAIT], 2);
    assert_int_equal(s.task[0], PP_NO_BATCH);
    assert_int_equal(s.task[1], it.first_batch + 4);
    record_iteration_forget(&next);
    record_iteration_forget(&it);
    close_session(&s);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(come[i]);
    }
}

static void *computes(void *arg)
{
    const uint64_t *ns = arg;
    while (pp_thread_cpu_ns() < *ns) {
    }
    return NULL;
}

/* What another thread of the worker computes while a sample waits for it is counted, and how many there are.
 */
static void threads_of_a_worker_work_for_its_sample(void **state)
{
    const uint64_t long_ns = 20000000;
    struct seen s;
    pthread_t helper;
    open_session(&s);
    assert_true(record_join(s.dir));
    struct record_local *l = record_local();
    record_worker_begin(l, 0, getppid(), 77);
    l->worker.in_batch = 1;
    for (int k = 0; k < 2; k++) { /* the first says that samples are long */
        record_sample_begin(l);
        assert_int_equal(pthread_create(&helper, NULL, computes, (void *)&long_ns), 0);
        pthread_join(helper, NULL);
        record_sample_end(l, (uint64_t)k, 0, 0);
    }
    struct record_mark now = record_now(&l->worker.lane, 1);
    record_batch_put(l, &now, &(struct record_handed){0});
    record_leave();
    read_session(&s);
    assert_int_equal(s.of_phase[PP_PHASE_COUNTER], 2);
    assert_in_range(s.counted, long_ns, 2 * long_ns);
    close_session(&s);
}

/* Without workers, in a session that was left and joined again: what the thread does between them is of no
 * sample, though the batch before it had some. */
static void a_sample_of_a_second_session_begins_in_it(void **state)
{
    const uint64_t gap_ns = 200000000;
    struct seen s;
    open_session(&s);
    struct record_iteration it = five_batches();
    for (int k = 0; k < 2; k++) {
        struct record_mark from;
        uint64_t until = pp_thread_cpu_ns() + (k ? gap_ns : 0);
        computes(&until);
        assert_true(record_join(s.dir));
        if (!k)
            record_iteration_begin(&it);
        assert_true(record_consumer_open(record_local()));
        record_take_begin(record_local(), &it, &from);
        record_local()->consumer.taking = 1;
        record_local()->slot = -1; /* no worker's, which it was made in another test */
        struct record_local *l = record_worker_here();
        for (int i = 0; i < 3; i++) {
            record_sample_begin(l);
            until = pp_thread_cpu_ns() + 1000000;
            computes(&until);
            record_sample_end(l, (uint64_t)i, 0, 0);
        }
        it.given = it.taken;
        record_take_end(l, &it, &from, 1);
        l->consumer.taking = 0;
        l->worker.making = NULL;
        record_leave();
    }
    read_session(&s);
    assert_int_equal(s.of_phase[PP_PHASE_TRANSFORM], 6);
    assert_in_range(s.most_cpu_ns, 1000000, gap_ns / 2);
    record_iteration_forget(&it);
    close_session(&s);
}

/* What is in the order files, of one epoch after the other: batches, samples, and which of them ended. */
struct lists {
    uint32_t batches[4], ended;
    uint64_t samples[4], next;
    int in_order;
};

static void count_lists(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *list)
{
    struct lists *g = ctx;
    if (b->magic != PP_ORDER_MAGIC)
        return;
    struct pp_sample_list l = {.at = list, .end = list + b->bytes};
    uint64_t n, sample;
    while (pp_sample_list_batch(&l, &n))
        while (pp_sample_list_next(&l, &sample))
            g->in_order += sample == g->next++;
    g->batches[b->epoch % 4] += b->batches;
    g->samples[b->epoch % 4] += b->samples;
    g->ended |= (b->flags & PP_ORDER_ENDED) ? 1u << b->epoch % 4 : 0;
}

/* The sampler gives batches of four, in order. */
static void draw(struct record_iteration *it, int batches, uint64_t *sample)
{
    for (int b = 0; b < batches; b++) {
        assert_true(record_order_batch(it, 4));
        for (int i = 0; i < 4; i++)
            record_order_sample((*sample)++);
        it->sent++;
    }
}

/* However the process ends, its lists are in the file up to the last batch that was asked for. */
static void a_kill_loses_nothing_of_the_order(void **state)
{
    enum { MANY = 30000 }; /* batches: several windows */
    for (int how = 0; how < 3; how++) {
        struct seen s;
        struct lists got = {0};
        int status, many = how == 1 ? MANY : 3;
        open_session(&s);
        pid_t pid = fork();
        if (pid == 0) {
            struct record_iteration it = five_batches(), next = five_batches(), beside = five_batches();
            uint64_t sample = 0;
            assert_true(record_join(s.dir));
            record_iteration_begin(&it);
            draw(&it, 5, &sample);
            beside.loader = 1;
            record_iteration_begin(&beside);
            draw(&beside, 1, &sample);
            record_order_end(&it);
            record_iteration_begin(&next);
            draw(&next, many, &sample);
            if (how == 2) { /* left, and joined again: behind what is there */
                record_leave();
                assert_true(record_join(s.dir));
                record_iteration_begin(&it);
                draw(&it, 2, &sample);
            }
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        struct pp_session_taken t = pp_order_files_take(s.dir, PP_FILES_GO, count_lists, &got);
        assert_true(t.taken == 1 && t.unsound == 0);
        uint32_t batches = 6 + (uint32_t)many + (how == 2 ? 2 : 0);
        assert_int_equal(got.batches[0] + got.batches[1], batches);
        assert_int_equal(got.in_order, 4 * batches);
        assert_int_equal(got.samples[0] + got.samples[1], 4 * batches);
        assert_int_equal(got.ended, 1); /* the second epoch is incomplete, and says so */
        close_session(&s);
    }
}

/* Batches by what became of them: '.' was taken, '+' was trained on; and how often each is in the file. */
struct marks {
    char is[64];
    int times[64];
    uint32_t step[64];
};

static void mark_uses(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *behind)
{
    struct marks *m = ctx;
    for (uint32_t i = 0; b->magic == PP_USE_MAGIC && i < b->batches; i++) {
        uint32_t batch = (b->first_batch + i) % 64;
        m->is[batch] = i < b->samples ? '+' : '.';
        m->times[batch]++;
        m->step[batch] = b->flags + (i < b->samples ? i : b->samples);
    }
}

/* t: a batch of the first loader is taken, v: of the second, g and l: of them without gradients; b: a
 * backward; e: the second has no more, E: the first; w: so many lists that the window is left. */
static void act(const char *what, struct record_iteration *it, struct record_iteration *val)
{
    uint64_t sample = 0;
    for (; *what; what++) {
        if (*what == 'b') {
            record_trains(record_local());
        } else if (*what == 'w') {
            draw(it, 20000, &sample);
        } else {
            struct record_iteration *of = strchr("tgE", *what) ? it : val;
            struct record_mark from;
            assert_true(record_consumer_open(record_local()));
            record_take_begin(record_local(), of, &from);
            of->given = of->taken;
            of->looked_at = *what == 'l' || *what == 'g';
            record_take_end(record_local(), of, &from, !strchr("eE", *what));
            record_local()->worker.making = NULL;
        }
    }
}

static void batches_that_were_trained_on_are_told_up_to_a_kill(void **state)
{
    static const struct {
        const char *what, *first, *second; /* loader's batches, the second's from 32 on */
    } cases[] = {
        {"tbtbtb", "+++", ""},
        {"tbtbt", "++.", ""},
        {"ttbtbtb", ".+++", ""},     /* looks one ahead */
        {"ttttbtb", "...++", ""},    /* skips three */
        {"tbttbtb", "+.++", ""},     /* one without */
        {"tvbtvbtvb", "+++", "+++"}, /* by turns */
        {"tbvvetbtb", "+++", ".."},  /* validation */
        {"tbvvvtbtb", "+++", "..."}, /* that is left */
        {"tbwtbtwbt", "+++.", ""},   /* beyond the window */
        {"twvwbtb", "++", "+"},
        {"tvtvtvb", "..+", "..+"},   /* by turns, the first ones dropped */
        {"tttvb", "..+", "+"},       /* only the one's are */
        {"tbltblltb", "+++", "..."}, /* looked at */
        {"tbtEb", "++", ""},         /* trained on when there is no more */
        {"ggbgbgb", ".+++", ""},
        {"ltbgb", "+.", "."},                 /* looks ahead, without gradients */
        {"llegbgblgbllegb", "++++", "....."}, /* validation beside that */
        {"tblbtbllbtb", "+++", "..."},        /* several backwards for one */
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        struct seen s;
        struct marks m = {{0}, {0}, {0}};
        int status;
        open_session(&s);
        pid_t pid = fork();
        if (pid == 0) {
            struct record_iteration it = {.batch_size = 4, .batches = 32, .in_order = 1},
                                    val = {.batch_size = 4, .batches = 32, .loader = 1, .in_order = 1};
            assert_true(record_join(s.dir));
            record_iteration_begin(&it);
            record_iteration_begin(&val);
            act(cases[k].what, &it, &val);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        struct pp_session_taken t = pp_order_files_take(s.dir, PP_FILES_GO, mark_uses, &m);
        assert_true(t.taken == 1 && t.unsound == 0);
        m.is[63] = '\0';
        for (int i = 0; i < 63; i++)
            if (m.is[i])
                assert_int_equal(m.times[i], 1);
        m.is[31] = '\0';
        if (strcmp(m.is, cases[k].first) != 0 || strcmp(m.is + 32, cases[k].second) != 0)
            fail_msg("%s: %s %s", cases[k].what, m.is, m.is + 32);
        for (size_t i = 1; i < strlen(cases[k].first); i++)
            assert_true(m.step[i] >= m.step[i - 1]);
        close_session(&s);
    }
}

/* State that begins is in the file before it has ended, and then once more. */
struct told {
    int n, ended;
    char texts[128];
};

static void note_state(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *behind)
{
    struct told *told = ctx;
    struct pp_state_times times;
    if (b->magic != PP_STATE_MAGIC)
        return;
    memcpy(&times, behind, sizeof(times));
    told->n++;
    told->ended += times.dur_ns != UINT64_MAX;
    char *to = told->texts;
    for (const char *at = (const char *)behind + sizeof(times); at < (const char *)behind + b->bytes;
         at += strlen(at) + 1)
        to += snprintf(to, (size_t)(told->texts + sizeof(told->texts) - to), "%s|", at);
}

static void state_is_told_before_it_has_ended(void **state)
{
    for (int ends = 0; ends < 2; ends++) {
        const char *action = ends ? "save" : "restore"; /* of a save: whether its loader goes on */
        struct seen s;
        struct told told = {0};
        open_session(&s);
        assert_true(record_join(s.dir));
        uint64_t number = record_state_begin((const char *const[]){action, "torch.save", "/a/b.pt", "", "v"},
                                             1);
        assert_true(number > 0);
        for (int i = 0; i < 2 && ends; i++) /* not twice */
            record_state_end(number);
        record_leave();
        struct pp_session_taken t = pp_order_files_take(s.dir, PP_FILES_GO, note_state, &told);
        assert_true(t.taken == 1 && t.unsound == 0);
        assert_true(told.n == 1 + ends && told.ended == ends);
        assert_string_equal(told.texts,
                            ends ? "save|torch.save|/a/b.pt||going on|" : "restore|torch.save|/a/b.pt||v|");
        close_session(&s);
    }
}

/* The longest samples of a loader, each once, whichever order they come in. */
static void the_slowest_samples_are_kept(void **state)
{
    struct seen s;
    struct record_slow slow;
    struct record_iteration it = five_batches();
    struct record_local *l = record_local();
    (void)state;
    open_session(&s);
    assert_true(record_join(s.dir));
    it.loader = record_loader_new(&(struct pp_loader_row){.batch_size = 4});
    record_iteration_begin(&it);
    l->slot = -1; /* a loader without workers */
    l->worker.making = &it;
    for (uint64_t i = 0; i < 100; i++) {
        char name[32];
        l->worker.sample_took_ns = (1 + i * 37 % 100) * 1000000; /* 1 to 100 ms */
        l->worker.place = 1;
        snprintf(name, sizeof(name), "%d.jpg", (int)i);
        if (record_slow_is(l, i, &slow))
            record_slow_name(&slow, name);
    }
    const struct pp_slow_table *t = record_slow_table(it.loader);
    for (unsigned i = 0; i < PP_SLOW_MAX; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d.jpg", (int)t->row[i].sample);
        assert_true(t->row[i].ns > (100 - PP_SLOW_MAX) * 1000000);
        assert_string_equal(t->row[i].name, name);
        /* once more, and slower: the same row */
        l->worker.sample_took_ns = 200000000;
        assert_false(record_slow_is(l, t->row[i].sample, &slow));
        assert_int_equal(t->row[i].ns, 200000000);
    }
    l->worker.sample_took_ns = 999999; /* none that anybody waits for */
    assert_false(record_slow_is(l, 1000, &slow));
    assert_null(record_slow_table(PP_LOADERS_MAX));
    l->worker.making = NULL;
    record_iteration_forget(&it);
    record_leave();
    close_session(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_of_one_session_reaches_the_next),
        cmocka_unit_test(workers_are_started),
        cmocka_unit_test(threads_may_be_in_the_middle_of_anything),
        cmocka_unit_test(what_other_threads_lack_a_cpu_for_is_sampled),
        cmocka_unit_test(children_have_the_session_that_they_were_forked_in),
        cmocka_unit_test(an_epoch_may_be_entered_in_the_middle),
        cmocka_unit_test(threads_of_a_worker_work_for_its_sample),
        cmocka_unit_test(a_kill_loses_nothing_of_the_order),
        cmocka_unit_test(a_sample_of_a_second_session_begins_in_it),
        cmocka_unit_test(batches_that_were_trained_on_are_told_up_to_a_kill),
        cmocka_unit_test(state_is_told_before_it_has_ended),
        cmocka_unit_test(the_slowest_samples_are_kept),
    };
    return cmocka_run_group_tests_name("python recorder", tests, NULL, NULL);
}
