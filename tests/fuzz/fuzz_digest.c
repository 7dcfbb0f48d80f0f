/* Fuzz target: a digest of `pipeprobe merge` from a stranger, its checksum made right: loaded, merged with
 * one of other ranks, judged, and shown as text, JSON and a page. What is stored again is what was loaded. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "probe/base/rng.h"
#include "report/ranks/digest.h"
#include "report/ranks/ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { STEPS = 40, HEAD = 20 };

static FILE *nowhere;

static void must_say(pp_status status, const struct pp_err *err)
{
    if (status != PP_OK && !err->text[0])
        abort(); /* a refusal is a sentence */
}

static void make(int rank, struct pp_digest *out)
{
    struct pp_rng rng = pp_rng_key(3, 0, (uint64_t)rank, 0);
    struct pp_rank_own_step steps[STEPS];
    struct pp_rank_epoch epochs[] = {{0, 1000000}, {1, 5}};
    struct pp_rank_row row = {.rank = rank,
                              .world_size = 4,
                              .local_rank = -1,
                              .node = rank / 2,
                              .attempt = -1,
                              .job = "job 1",
                              .host = rank / 2 ? "a" : "b",
                              .file = "rank.sqlite",
                              .outcome = "finished",
                              .samples_per_s = 10,
                              .data_wait_share = NAN,
                              .collective_share = 0.25,
                              .met = 1,
                              .steps = STEPS,
                              .wait_ns = STEPS * 1000000,
                              .samples = 8 * STEPS,
                              .epochs = epochs,
                              .n_epochs = 2,
                              .until_utc_ns = UINT64_C(1790000000000000000),
                              .running = rank == 2};
    struct pp_rank_end ends[STEPS + 20];
    row.ends = ends;
    row.work_ns[PP_PHASE_READ] = 1000000;
    for (uint32_t i = 0; i < STEPS; i++)
        steps[i] = (struct pp_rank_own_step){.number = i,
                                             .own_ns = pp_rng_below(&rng, 1u << 24),
                                             .input_ns = pp_rng_below(&rng, 1u << 20),
                                             .all_ns = 1u << 25,
                                             .end_utc_ns = UINT64_C(1790000000000000000) +
                                                           i * UINT64_C(90000000)};
    for (uint32_t i = 0; i < STEPS + 20; i++)
        if (pp_rank_end_is_kept(i))
            ends[row.n_ends++] = (struct pp_rank_end){i, UINT64_C(1790000000000000000) + i * 90000000 +
                                                             pp_rng_below(&rng, 100000)};
    if (pp_digest_make(&row, steps, STEPS, out, NULL) != PP_OK)
        abort();
}

static void judge(const struct pp_digest *d)
{
    struct pp_ranks r;
    struct pp_err err = {.code = PP_OK};
    pp_status status = pp_ranks_judge(d, &r, &err);
    must_say(status, &err);
    if (status == PP_OK) {
        pp_ranks_text(&r, 1, nowhere);
        pp_fields_json(pp_ranks_fields, &r, nowhere);
        pp_ranks_html(&r, nowhere);
    }
    pp_ranks_free(&r);
}

/* Equal digests are equal files. */
static void store_again(const struct pp_digest *d)
{
    struct pp_digest again;
    struct pp_err err = {.code = PP_OK};
    size_t n, m;
    if (pp_digest_store(d, scratch_path("1.digest"), &err) != PP_OK ||
        pp_digest_load(scratch_path("1.digest"), &again, &err) != PP_OK ||
        pp_digest_store(&again, scratch_path("2.digest"), &err) != PP_OK)
        abort();
    uint8_t *a = scratch_read(scratch_path("1.digest"), &n), *b = scratch_read(scratch_path("2.digest"), &m);
    if (n != m || memcmp(a, b, n) != 0)
        abort();
    free(a);
    free(b);
    pp_digest_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pp_digest other;
    struct pp_digest d, both = {0};
    struct pp_err err = {.code = PP_OK};
    if (!nowhere) {
        nowhere = fopen("/dev/null", "w");
        make(3, &other);
    }
    uint8_t *file = malloc(size + 1);
    memcpy(file, data, size);
    if (size >= HEAD) {
        uint64_t sum = XXH3_64bits(file + HEAD, size - HEAD);
        memcpy(file + 12, &sum, sizeof(sum));
    }
    scratch_write(scratch_path("x.digest"), file, size);
    free(file);
    pp_status status = pp_digest_load(scratch_path("x.digest"), &d, &err);
    must_say(status, &err);
    if (status != PP_OK)
        return 0;
    store_again(&d);
    judge(&d);
    status = pp_digest_merge(&both, &d, &err);
    if (status == PP_OK)
        status = pp_digest_merge(&both, &other, &err);
    must_say(status, &err);
    if (status == PP_OK)
        judge(&both);
    pp_digest_free(&both);
    pp_digest_free(&d);
    return 0;
}

/* Of one rank, and of three. */
int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    struct pp_digest d = {0}, one;
    if (i >= 2)
        return 0;
    for (int rank = 0; rank < (i ? 3 : 1); rank++) {
        make(rank, &one);
        if (pp_digest_merge(&d, &one, NULL) != PP_OK)
            abort();
        pp_digest_free(&one);
    }
    if (pp_digest_store(&d, scratch_path("seed.digest"), NULL) != PP_OK)
        abort();
    pp_digest_free(&d);
    *data = scratch_read(scratch_path("seed.digest"), size);
    return 1;
}
