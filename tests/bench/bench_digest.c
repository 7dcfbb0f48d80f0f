/* bench_digest [--ranks N] [--steps N] [--dir DIR]: what merging the digests of a job costs. N simulated
 * ranks (default 10,000) of one hour, 4 steps a second, 8 ranks a machine, one of them slow: each digest is
 * written to a file, and what counts is reading it again and merging it into those before, as `pipeprobe
 * merge` does; then the answer as text, and as a page. Seconds are CPU time of this one thread; the files are
 * one, written anew each time, in DIR (default /dev/shm). Goals: 10,000 ranks in 20 s and 500 MiB, the answer
 * in 2 s, a page below 2 MB. */
#include "probe/base/rng.h"
#include "report/ranks/digest.h"
#include "report/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
enum { PER_NODE = 8, SLOW = 4321, EPOCHS = 6 };

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double peak_mib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static pp_status make(int rank, int world, uint32_t n, struct pp_rank_own_step *steps, struct pp_digest *out,
                      struct pp_err *err)
{
    struct pp_rng rng = pp_rng_key(1, 0, (uint64_t)rank, 0);
    struct pp_rank_epoch epochs[EPOCHS];
    char host[32], file[64];
    struct pp_rank_end ends[PP_RANK_ENDS];
    struct pp_rank_row row = {.rank = rank,
                              .world_size = world,
                              .local_rank = rank % PER_NODE,
                              .node = rank / PER_NODE,
                              .attempt = 0,
                              .job = "simulated",
                              .launcher = "torchrun",
                              .host = host,
                              .gpu = "3",
                              .file = file,
                              .version = PP_VERSION,
                              .outcome = "finished",
                              .l0 = "not",
                              .sentence = "The trainer is not held up by its input.",
                              .samples_per_s = 256,
                              .data_wait_share = 0.02,
                              .collective_share = 0.1,
                              .met = 1,
                              .steps = n,
                              .samples = (uint64_t)n * 64,
                              .epochs = epochs,
                              .n_epochs = EPOCHS};
    row.ends = ends;
    row.until_utc_ns = UINT64_C(1790000000) * 1000 * MS + n * 250 * MS;
    snprintf(host, sizeof(host), "node%05d", rank / PER_NODE);
    snprintf(file, sizeof(file), "/scratch/job/rank%05d.sqlite", rank);
    for (uint32_t i = 0; i < EPOCHS; i++)
        epochs[i] = (struct pp_rank_epoch){i, pp_rng_below(&rng, 4000 * MS)};
    for (uint32_t i = 0; i < n; i++) {
        uint64_t wait = pp_rng_below(&rng, 10 * MS) + (rank == SLOW ? 60 * MS : 0),
                 own = wait + 180 * MS + pp_rng_below(&rng, 5 * MS);
        steps[i] = (struct pp_rank_own_step){.number = i + 1,
                                             .own_ns = own,
                                             .input_ns = wait,
                                             .all_ns = 250 * MS,
                                             .end_utc_ns = UINT64_C(1790000000) * 1000 * MS + i * 250 * MS +
                                                           pp_rng_below(&rng, MS)};
        if (pp_rank_end_is_kept(i + 1))
            ends[row.n_ends++] = (struct pp_rank_end){i + 1, steps[i].end_utc_ns};
        row.wait_ns += wait;
        row.step_ns += own - wait;
        row.collective_ns += 250 * MS - own;
    }
    return pp_digest_make(&row, steps, n, out, err);
}

static int usage(void)
{
    fputs("usage: bench_digest [--ranks N] [--steps N] [--dir DIR]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int ranks = 10000, code = 1;
    uint32_t n = 14400;
    const char *dir = "/dev/shm";
    char path[4096];
    struct pp_digest_pile pile = {.n = 0};
    struct pp_digest all = {0};
    struct pp_ranks answer = {0};
    struct pp_err err = {.code = PP_OK};
    double merging = 0, bytes = 0;
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc)
            return usage();
        else if (strcmp(argv[i], "--ranks") == 0)
            ranks = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--steps") == 0)
            n = (uint32_t)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--dir") == 0)
            dir = argv[i + 1];
        else
            return usage();
    struct pp_rank_own_step *steps = calloc(n ? n : 1, sizeof(*steps));
    snprintf(path, sizeof(path), "%s/bench_digest.%d", dir, (int)getpid());
    pp_status st = steps && ranks > 1 ? PP_OK : PP_E_NO_MEMORY;
    for (int r = 0; st == PP_OK && r < ranks; r++) {
        struct pp_digest one = {0};
        st = make(r, ranks, n, steps, &one, &err);
        if (st == PP_OK)
            st = pp_digest_store(&one, path, &err);
        pp_digest_free(&one);
        double from = cpu_s();
        if (st == PP_OK)
            st = pp_digest_load(path, &one, &err);
        if (st == PP_OK)
            st = pp_pile_add(&pile, &one, &err);
        merging += cpu_s() - from;
    }
    double from = cpu_s();
    if (st == PP_OK)
        st = pp_pile_end(&pile, &all, &err);
    merging += cpu_s() - from;
    double peak = peak_mib();
    if (st == PP_OK)
        st = pp_digest_store(&all, path, &err);
    FILE *file = st == PP_OK ? fopen(path, "rb") : NULL;
    if (file && fseek(file, 0, SEEK_END) == 0)
        bytes = (double)ftell(file);
    if (file)
        fclose(file);
    pp_digest_free(&all);
    from = cpu_s();
    if (st == PP_OK)
        st = pp_digest_load(path, &all, &err);
    if (st == PP_OK)
        st = pp_ranks_judge(&all, &answer, &err);
    char *text = NULL, *page = NULL;
    size_t text_size = 0, page_size = 0;
    FILE *out = st == PP_OK ? open_memstream(&text, &text_size) : NULL;
    if (out) {
        pp_ranks_text(&answer, 0, out);
        fclose(out);
    }
    double answering = cpu_s() - from;
    out = st == PP_OK ? open_memstream(&page, &page_size) : NULL;
    if (out) {
        pp_ranks_html(&answer, out);
        fclose(out);
    }
    unlink(path);
    if (st == PP_OK) {
        printf(
            "%d ranks of %u steps: merged in %.2f s CPU, peak %.0f MiB; digest of all %.1f MB; answer in %.2f s, page %.0f kB\n",
            ranks, n, merging, peak, bytes / 1e6, answering, (double)page_size / 1e3);
        printf("%s\n", answer.sentence);
        code = 0;
    } else {
        fprintf(stderr, "bench_digest: %s\n", err.text);
    }
    pp_pile_free(&pile);
    pp_ranks_free(&answer);
    pp_digest_free(&all);
    free(steps);
    free(text);
    free(page);
    return code;
}
