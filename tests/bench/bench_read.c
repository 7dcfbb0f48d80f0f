/* What reading costs: a file of N spans (default 10 million) of two workers and a trainer is written through
 * the store, then asked: phase statistics with p99 from its chunks and from its roll-ups, and the whole
 * report. Time, and the peak of this process's memory. */
#include "collectors/store/reader.h"
#include "collectors/store/writer.h"
#include "report/build/build.h"
#include "tests/support/second_hist.h"

#include "probe/base/clock.h"
#include "probe/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 4096u
#define RUNS 3

static void die(const char *what, const struct pp_err *err)
{
    fprintf(stderr, "bench_read: %s: %s\n", what, err->text);
    exit(4);
}

struct maker {
    struct pp_rng rng;
    uint64_t now_ns[3], written[3], sample;
};

/* What a thread recorded until then: two workers that read, decode and transform 64 samples a batch each in
 * turn, and a trainer that waits and steps. */
static size_t make_piece(struct maker *m, uint32_t thread, uint64_t until_ns, struct pp_span *out)
{
    static const uint8_t worker[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM},
                         trainer[] = {PP_PHASE_DATA_WAIT, PP_PHASE_STEP};
    static const uint32_t typical_ns[PP_PHASE_COUNT] = {
        [PP_PHASE_READ] = 20000,      [PP_PHASE_DECODE] = 200000, [PP_PHASE_TRANSFORM] = 60000,
        [PP_PHASE_DATA_WAIT] = 40000, [PP_PHASE_STEP] = 8000000,
    };
    size_t n = 0;
    for (; n < PIECE && m->now_ns[thread] < until_ns; n++) {
        uint64_t at = m->written[thread]++;
        int trains = thread == 2;
        uint8_t phase = trains ? trainer[at % 2] : worker[at % 3];
        uint64_t dur = typical_ns[phase] / 2 + pp_rng_below(&m->rng, typical_ns[phase]);
        uint32_t batch = (uint32_t)(trains ? at / 2 : at / 3 / 64 * 2 + thread);
        out[n] = (struct pp_span){
            .start_ns = m->now_ns[thread],
            .dur_ns = dur,
            .batch = batch,
            .phase = phase,
            .epoch = 0,
            .cpu_ns = trains ? 0 : dur - dur / 20,
            .sample = trains ? 64 : m->sample + at / 3,
            .bytes = phase == PP_PHASE_READ ? 100000 + dur : 0,
            .flags = trains ? PP_SPAN_COUNT : PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY,
        };
        m->now_ns[thread] += dur;
    }
    return n;
}

/* As the drain does it: once a second, not on the second, all that each thread recorded since. */
static void make_file(const char *path, uint64_t spans)
{
    static struct pp_span piece[PIECE];
    struct maker m = {.rng = pp_rng_key(3, 1, 4, 1), .now_ns = {1000000000, 1000000000, 1000000000}};
    static const char *const names[] = {"worker-0", "worker-1", "trainer"};
    struct pp_store *s;
    struct pp_err err;
    uint64_t total = 0;
    if (pp_store_create(&(struct pp_store_opts){.path = path, .force = 1}, &s, &err))
        die("create", &err);
    for (uint32_t t = 0; t < 3; t++)
        pp_store_thread(s, &(struct pp_store_thread){.id = t,
                                                     .lane = t == 2 ? PP_LANE_TRAINER : PP_LANE_WORKER,
                                                     .name = names[t],
                                                     .pid = 1,
                                                     .tid = t + 1});
    for (uint64_t until_ns = 1400000000; total < spans; until_ns += 1000000000) {
        for (uint32_t t = 0; t < 3; t++)
            for (size_t n; (n = make_piece(&m, t, until_ns, piece)); total += n)
                pp_store_append(s, t, piece, n);
        if (pp_store_commit(s, &err))
            die("commit", &err);
    }
    pp_store_close(s); /* without the plain rows: they are not what is read here */
}

/* ---- the questions ---- */

struct stats {
    uint64_t n;
    struct pp_hist *hist[PP_PHASE_COUNT];
};

static struct pp_hist *hist_of(struct stats *s, unsigned phase)
{
    if (phase >= PP_PHASE_COUNT)
        return NULL;
    if (!s->hist[phase] && (s->hist[phase] = calloc(1, sizeof(*s->hist[phase]))))
        pp_hist_clear(s->hist[phase]);
    return s->hist[phase];
}

static int add_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct stats *s = ctx;
    for (size_t i = 0; i < n; i++)
        pp_hist_add(hist_of(s, spans[i].phase), spans[i].dur_ns);
    s->n += n;
    return 0;
}

static void add_second(void *ctx, const struct pp_second_row *row)
{
    struct stats *s = ctx;
    second_hist(row, hist_of(s, row->phase));
    s->n += row->n;
}

static void ask(const char *path, int rollups, struct stats *s)
{
    struct pp_reader *r;
    struct pp_err err;
    int64_t last_id = 0;
    memset(s, 0, sizeof(*s));
    const struct pp_wanted durations = {.columns = PP_COLUMN_PHASE | PP_COLUMN_DUR};
    if (pp_reader_open(path, &r, &err) ||
        (rollups ? pp_reader_each_second_after(r, &last_id, add_second, s, &err)
                 : pp_reader_each_chunk_of(r, &durations, add_chunk, s, NULL, &err)))
        die("read", &err);
    pp_reader_close(r);
}

static double best_question_s(const char *path, int rollups, struct stats *s)
{
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        uint64_t start = pp_now_ns();
        ask(path, rollups, s);
        double took = (double)(pp_now_ns() - start) / 1e9;
        best = took < best ? took : best;
    }
    return best;
}

/* In a process of its own, for its peak of memory. */
static void report(const char *path)
{
    struct rusage used;
    double best = 1e9;
    long peak_kib = 0;
    for (int run = 0; run < RUNS; run++) {
        uint64_t start = pp_now_ns();
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            struct pp_report *r;
            struct pp_err err;
            _exit(pp_report_build(path, &r, &err) == PP_OK ? 0 : 1);
        }
        int status;
        if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0) {
            printf("report failed\n");
            return;
        }
        double took = (double)(pp_now_ns() - start) / 1e9;
        best = took < best ? took : best;
        peak_kib = used.ru_maxrss > peak_kib ? used.ru_maxrss : peak_kib;
    }
    printf("%-52s %8.3f s   <= 2     peak %.1f MiB (<= 200)\n", "the whole report", best,
           (double)peak_kib / 1024);
}

int main(int argc, char **argv)
{
    uint64_t spans = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    char path[] = "/tmp/pp-bench-XXXXXX.sqlite";
    struct stats exact, rolled;
    int fd = mkstemps(path, 7);
    if (fd < 0 || !spans)
        return 4;
    close(fd);
    make_file(path, spans);
    report(path);
    double chunks_s = best_question_s(path, 0, &exact), rollups_s = best_question_s(path, 1, &rolled);
    printf("%-52s %8.3f s   <= 0.2   (%llu spans)\n", "phase statistics with p99, from chunks", chunks_s,
           (unsigned long long)exact.n);
    printf("%-52s %8.4f s   <= 0.01  (%llu spans)\n", "the same from roll-ups", rollups_s,
           (unsigned long long)rolled.n);
    for (unsigned phase = 0; phase < PP_PHASE_COUNT; phase++)
        if (exact.hist[phase] && rolled.hist[phase])
            printf("  p99 of %-16s %12.0f ns from chunks, %12.0f ns from roll-ups\n",
                   pp_phase_info(phase)->name, (double)pp_hist_quantile(exact.hist[phase], 0.99),
                   (double)pp_hist_quantile(rolled.hist[phase], 0.99));
    unlink(path);
    return 0;
}
