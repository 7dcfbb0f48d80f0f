/* bench_follow [--minutes N] [--samples-per-s N] [--steps-per-s N] [--every S] [--dir DIR]: what the digest
 * that a rank writes every minute costs. Makes the recording of one rank of N minutes (default 60), 500
 * samples a second through 4 workers (read, decode, transform) and 4 steps a second with a collective, and
 * looks at it as `pipeprobe merge --every` does while it grows: up to the end of each minute, and writes the
 * digest each time. CPU time of this thread, looks and writes, as a share of the time between them. Goal:
 * 0.1 % of one CPU. */
#include "collectors/store/writer.h"
#include "probe/base/err.h"
#include "report/ranks/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define T0 (1000 * S)
enum { TRAINER = 1, WORKER, WORKERS = 4 };

struct size {
    int minutes, samples_per_s, steps_per_s, every_s;
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pp_status put(struct pp_store *s, uint32_t thread, pp_phase phase, uint64_t from, uint64_t ns,
                     uint64_t sample, uint32_t batch)
{
    struct pp_span span = {.start_ns = from,
                           .dur_ns = ns,
                           .phase = (uint8_t)phase,
                           .sample = sample,
                           .batch = batch,
                           .cpu_ns = ns / 2,
                           .flags = PP_SPAN_HAS_CPU | (thread == TRAINER ? PP_SPAN_COUNT : 0)};
    return pp_store_append(s, thread, &span, 1);
}

static pp_status put_second(struct pp_store *s, const struct size *z, int second)
{
    static const pp_phase work[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM};
    uint64_t t = T0 + (uint64_t)second * S, each = S / (uint64_t)z->samples_per_s * WORKERS / 4,
             step = S / (uint64_t)z->steps_per_s, per_batch = (uint64_t)(z->samples_per_s / z->steps_per_s);
    pp_status st = PP_OK;
    for (int i = 0; st == PP_OK && i < z->samples_per_s; i++) {
        uint64_t number = (uint64_t)second * (uint64_t)z->samples_per_s + (uint64_t)i;
        for (int k = 0; st == PP_OK && k < 3; k++)
            st = put(s, WORKER + (uint32_t)i % WORKERS, work[k],
                     t + (uint64_t)(i / WORKERS) * S / (uint64_t)z->samples_per_s * WORKERS +
                         (uint64_t)k * each,
                     each - number % 1000, number, (uint32_t)(number / (per_batch ? per_batch : 1)));
    }
    for (int i = 0; st == PP_OK && i < z->steps_per_s; i++) {
        uint32_t batch = (uint32_t)(second * z->steps_per_s + i);
        uint64_t at = t + (uint64_t)i * step, wait = step / 20 + batch % 7 * MS / 10;
        st = put(s, TRAINER, PP_PHASE_DATA_WAIT, at, wait, per_batch, batch);
        if (st == PP_OK)
            st = put(s, TRAINER, PP_PHASE_STEP, at + wait, step * 4 / 5, per_batch, batch);
        if (st == PP_OK)
            st = put(s, TRAINER, PP_PHASE_COLLECTIVE, at + wait + step * 4 / 5, step / 20, per_batch, batch);
    }
    return st == PP_OK ? pp_store_commit(s, NULL) : st;
}

static pp_status make(const char *path, const struct size *z, struct pp_err *err)
{
    struct pp_store *s = NULL;
    pp_status st = pp_store_create(&(struct pp_store_opts){.path = path, .force = 1}, &s, err);
    if (st != PP_OK)
        return st;
    pp_store_meta_num(s, "run", "started_mono_ns", (double)T0, "ns");
    pp_store_meta_num(s, "run", "started_utc_ns", 1790000000e9, "ns");
    pp_store_meta_num(s, "rank", "rank", 0, NULL);
    pp_store_meta_num(s, "rank", "world_size", 8, NULL);
    for (uint32_t id = 0; id < WORKER + WORKERS; id++)
        pp_store_thread(s, &(struct pp_store_thread){.id = id,
                                                     .lane = id >= WORKER    ? PP_LANE_WORKER
                                                             : id == TRAINER ? PP_LANE_TRAINER
                                                                             : PP_LANE_MAIN,
                                                     .name = "t",
                                                     .pid = 1,
                                                     .tid = 1 + id,
                                                     .recorded = 1});
    for (int i = 0; st == PP_OK && i < z->minutes * 60; i++)
        st = put_second(s, z, i);
    pp_store_close(s);
    return st == PP_OK ? PP_OK : pp_fail(err, st, "writing %s failed", path);
}

static pp_status follow(const char *path, const char *digest, const struct size *z, struct pp_err *err)
{
    struct pp_digest_follow *f = pp_digest_follow_new(path);
    double sum = 0, most = 0, writing = 0, bytes = 0;
    int looks = 0;
    size_t steps = 0;
    pp_status st = f ? PP_OK : PP_E_NO_MEMORY;
    for (uint64_t at = (uint64_t)z->every_s; st == PP_OK && at <= (uint64_t)z->minutes * 60;
         at += (uint64_t)z->every_s) {
        struct pp_digest d = {0};
        double from = cpu_s();
        st = pp_digest_follow_look(f, T0 + at * S, 1790000000 * S + at * S, &d, NULL, err);
        double looked = cpu_s();
        if (st == PP_OK)
            st = pp_digest_store(&d, digest, err);
        double took = cpu_s() - from;
        writing += cpu_s() - looked;
        sum += took;
        most = took > most ? took : most;
        steps = d.n_steps;
        looks++;
        pp_digest_free(&d);
    }
    FILE *file = st == PP_OK ? fopen(digest, "rb") : NULL;
    if (file && fseek(file, 0, SEEK_END) == 0)
        bytes = (double)ftell(file);
    if (file)
        fclose(file);
    if (st == PP_OK)
        printf(
            "%d looks, one every %d s: %.1f ms CPU each (%.1f ms of it the writing), %.1f ms at most: %.4f %% of a CPU; "
            "%zu steps, digest of %.0f kB\n",
            looks, z->every_s, sum / looks * 1e3, writing / looks * 1e3, most * 1e3,
            sum / looks / z->every_s * 100, steps, bytes / 1e3);
    pp_digest_follow_free(f);
    return st;
}

static int usage(void)
{
    fputs("usage: bench_follow [--minutes N] [--samples-per-s N] [--steps-per-s N] [--every S] [--dir DIR]\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct size z = {60, 500, 4, 60};
    const char *dir = "/dev/shm";
    char path[4096], digest[4200], name[4200];
    struct pp_err err = {.code = PP_OK};
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc)
            return usage();
        else if (strcmp(argv[i], "--minutes") == 0)
            z.minutes = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--samples-per-s") == 0)
            z.samples_per_s = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--steps-per-s") == 0)
            z.steps_per_s = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--every") == 0)
            z.every_s = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--dir") == 0)
            dir = argv[i + 1];
        else
            return usage();
    if (z.minutes < 1 || z.samples_per_s < 1 || z.steps_per_s < 1 || z.every_s < 1)
        return usage();
    snprintf(path, sizeof(path), "%s/bench_follow.%d.sqlite", dir, (int)getpid());
    snprintf(digest, sizeof(digest), "%s.digest", path);
    pp_status st = make(path, &z, &err);
    if (st == PP_OK)
        st = follow(path, digest, &z, &err);
    if (st != PP_OK)
        fprintf(stderr, "bench_follow: %s\n", err.text);
    static const char *const tails[] = {"", "-wal", "-shm", ".digest"};
    for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
        snprintf(name, sizeof(name), "%s%s", path, tails[i]);
        unlink(name);
    }
    return st == PP_OK ? 0 : 1;
}
