/* Saved states: what is written is read back, what is not a state is refused in a sentence, and a run that
 * would draw another order is told. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/sampler/sampler.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], path[96];

static int set_up(void **state)
{
    strcpy(dir, "/tmp/pp-test-state-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/run.state", dir);
    return 0;
}

static int tear_down(void **state)
{
    pp_io_fault(0, 0, 0, 0);
    unlink(path);
    return rmdir(dir); /* fails when a temporary file was left behind */
}

static const struct pp_loader_state full = {
    .epoch = 3,
    .consumed = 1280,
    .kind = PP_SAMPLER_TORCH,
    .n = 50000,
    .seed = UINT64_MAX - 3,
    .rank = 2,
    .world_size = 8,
    .drop_last = 1,
    .streaming = 1,
    .shard = 4,
    .offset = UINT64_C(1) << 41,
    .number = 77,
    .shuffle_buffer = 1000,
    .shards = 12,
    .shuffle_shards = 1,
    .weights_digest = UINT64_MAX,
};

static void assert_same(const struct pp_loader_state *a, const struct pp_loader_state *b)
{
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->consumed, b->consumed);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->seed, b->seed);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->world_size, b->world_size);
    assert_int_equal(a->drop_last, b->drop_last);
    assert_int_equal(a->streaming, b->streaming);
    assert_int_equal(a->shard, b->shard);
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->shuffle_buffer, b->shuffle_buffer);
    assert_int_equal(a->shards, b->shards);
    assert_int_equal(a->shuffle_shards, b->shuffle_shards);
    assert_int_equal(a->weights_digest, b->weights_digest);
}

static void save(const struct pp_loader_state *st)
{
    struct pp_err err = {0};
    if (pp_state_save(path, st, &err) != PP_OK)
        fail_msg("save: %s", err.text);
}

static void reads_back_what_was_saved(void **state)
{
    struct pp_loader_state plain = {.kind = PP_SAMPLER_RANDOM, .n = 1, .world_size = 1}, got;
    save(&full);
    assert_int_equal(pp_state_load(path, &got, NULL), PP_OK);
    assert_same(&got, &full);
    save(&plain); /* over the old one */
    assert_int_equal(pp_state_load(path, &got, NULL), PP_OK);
    assert_same(&got, &plain);
}

static size_t text_of(char *text, size_t size)
{
    FILE *f = fopen(path, "r");
    size_t n = fread(text, 1, size - 1, f);
    fclose(f);
    text[n] = '\0';
    return n;
}

static pp_status load_text(const char *text, size_t size, struct pp_err *err)
{
    struct pp_loader_state got = {.epoch = 77};
    FILE *f = fopen(path, "w");
    fwrite(text, 1, size, f);
    fclose(f);
    pp_status status = pp_state_load(path, &got, err);
    if (status != PP_OK)
        assert_int_equal(got.epoch, 77); /* untouched */
    return status;
}

static void every_truncation_is_refused(void **state)
{
    char text[2048];
    save(&full);
    size_t size = text_of(text, sizeof(text));
    assert_int_equal(text[size - 1], '\n');
    for (size_t cut = 0; cut < size - 1; cut++) {
        struct pp_err err = {0};
        assert_int_equal(load_text(text, cut, &err), PP_E_CORRUPT);
        assert_non_null(strstr(err.text, cut ? "truncated" : "is empty"));
    }
}

static void every_flipped_byte_is_refused_or_harmless(void **state)
{
    char text[2048];
    save(&full);
    size_t size = text_of(text, sizeof(text));
    for (size_t i = 0; i < size; i++) {
        struct pp_err err = {0};
        char kept = text[i];
        text[i] ^= 0x15;
        pp_status status = load_text(text, size, &err);
        assert_true(status == PP_OK || status == PP_E_CORRUPT || status == PP_E_VERSION);
        assert_true((status == PP_OK) == (err.text[0] == '\0'));
        text[i] = kept;
    }
}

static void foreign_files_get_one_sentence(void **state)
{
#define HEAD "{\"schema\":\"pipeprobe.state/1\","
#define REST \
    "\"drop_last\":false,\"seed\":\"1\",\"epoch\":0,\"consumed\":0,\"n\":5,\"rank\":0,\"world_size\":1,\"weights_digest\":\"0\""
    static const struct {
        const char *text;
        pp_status code;
        const char *says;
    } rows[] = {
        {HEAD "\"sampler\":\"random\"," REST "}", PP_OK, ""},
        {"[1,2]", PP_E_CORRUPT, "not a state saved by pipeprobe"},
        {"{\"a\":1}", PP_E_CORRUPT, "not a state saved by pipeprobe"},
        {"{\"schema\":\"pipeprobe.report/1\"}", PP_E_CORRUPT, "not a state saved by pipeprobe"},
        {"{\"schema\":\"pipeprobe.state/2\"}", PP_E_VERSION, "\"pipeprobe.state/2\""},
        {"{\"schema\":\"pipeprobe.state/10\"}", PP_E_VERSION, "resume with the version that wrote it"},
        {HEAD "\"sampler\":\"shuffled\"," REST "}", PP_E_CORRUPT, "\"shuffled\", which is unknown"},
        {HEAD "\"sampler\":3," REST "}", PP_E_CORRUPT, "which is unknown"},
        {HEAD "\"sampler\":\"random\",\"drop_last\":0}", PP_E_CORRUPT, "\"drop_last\""},
        {HEAD "\"sampler\":\"random\",\"drop_last\":true}", PP_E_CORRUPT, "no \"seed\""},
        {HEAD "\"sampler\":\"random\",\"drop_last\":true,\"seed\":5}", PP_E_CORRUPT,
         "\"seed\" that is not a count"},
        {HEAD "\"sampler\":\"random\",\"drop_last\":true,\"seed\":\"-5\"}", PP_E_CORRUPT,
         "\"seed\" that is not a count"},
        {HEAD "\"sampler\":\"random\",\"drop_last\":true,\"seed\":\"18446744073709551616\"}", PP_E_CORRUPT,
         "\"seed\" that is not a count"},
        {HEAD "\"sampler\":\"random\",\"drop_last\":true,\"seed\":\"5\",\"epoch\":-1}", PP_E_CORRUPT,
         "\"epoch\" that is not a count"},
        {HEAD "\"sampler\":\"random\",\"drop_last\":true,\"seed\":\"5\",\"epoch\":1.5}", PP_E_CORRUPT,
         "\"epoch\" that is not a count"},
        {HEAD "\"sampler\":\"random\",\"stream\":{}," REST "}", PP_E_CORRUPT, "no \"shard\""},
        {HEAD "\"sampler\":\"random\",\"stream\":7," REST "}", PP_E_CORRUPT, "no \"shard\""},
        {HEAD "\"sampler\":\"random\",\"n\":6," REST "}", PP_E_CORRUPT, "not JSON"}, /* n twice */
        {"plain text\n", PP_E_CORRUPT, "not JSON"},
        {"SQLite format 3", PP_E_CORRUPT, "not JSON"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_err err = {0};
        assert_int_equal(load_text(rows[i].text, strlen(rows[i].text), &err), rows[i].code);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu says: %s", i, err.text);
    }
}

static void failing_disks_are_said_and_keep_the_old_state(void **state)
{
    struct pp_loader_state next = full, got;
    struct pp_err err = {0};
    save(&full);
    next.consumed++;
    pp_io_fault(PP_IO_FAULT_WRITE, 1, ENOSPC, 1);
    assert_int_equal(pp_state_save(path, &next, &err), PP_E_NO_SPACE);
    pp_io_fault(PP_IO_FAULT_FSYNC, 1, EIO, 1);
    assert_int_not_equal(pp_state_save(path, &next, &err), PP_OK);
    pp_io_fault(PP_IO_FAULT_READ, 1, EIO, 1);
    assert_int_equal(pp_state_load(path, &got, &err), PP_E_TRANSIENT);
    pp_io_fault(0, 0, 0, 0);
    assert_int_equal(pp_state_load(path, &got, &err), PP_OK);
    assert_same(&got, &full);
    assert_int_equal(pp_state_load("/nonexistent/run.state", &got, &err), PP_E_NOT_FOUND);
}

/* ---- does the state fit the run? ---- */

static void the_same_run_matches(void **state)
{
    static const double w[] = {1, 2, 3};
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_WEIGHTED, .n = 3, .seed = 4, .weights = w};
    struct pp_loader_state st;
    pp_state_init(&st, &opts);
    assert_int_equal(st.world_size, 1);
    assert_int_equal(pp_state_matches(&st, &opts, NULL), PP_OK);
    opts.world_size = 1; /* 0 and 1 are the same world, 0 draws are n */
    opts.draws = 3;
    opts.drop_last = 0;
    assert_int_equal(pp_state_matches(&st, &opts, NULL), PP_OK);
    save(&st);
    assert_int_equal(pp_state_load(path, &st, NULL), PP_OK);
    assert_int_equal(pp_state_matches(&st, &opts, NULL), PP_OK);
    st.weights_digest = 0; /* not recorded */
    assert_int_equal(pp_state_matches(&st, &opts, NULL), PP_OK);
}

static void each_difference_is_named_with_both_values(void **state)
{
    static const double w[] = {1, 2, 3}, other_w[] = {1, 2, 4};
    const struct pp_sampler_opts base = {
        .kind = PP_SAMPLER_WEIGHTED, .n = 3, .seed = 4, .rank = 1, .world_size = 3, .weights = w};
    struct pp_sampler_opts kind = base, n = base, seed = base, rank = base, world = base, drop = base,
                           weights = base, draws = base;
    kind.kind = PP_SAMPLER_SEQUENTIAL;
    n.n = 2;
    seed.seed = 5;
    rank.rank = 2;
    world.world_size = 2;
    drop.drop_last = 1;
    weights.weights = other_w;
    draws.draws = 9;
    const struct {
        const struct pp_sampler_opts *opts;
        const char *says;
    } rows[] = {
        {&kind, "sampler weighted and this one has sequential"},
        {&n, "other weights"}, /* two weights are not the three */
        {&seed, "seed 4 and this one has 5"},
        {&rank, "rank 1 and this one has 2"},
        {&world, "world size 3 and this one has 2"},
        {&drop, "drop-last off and this one has on"},
        {&weights, "other weights"},
        {&draws, "other weights"},
    };
    struct pp_loader_state st;
    pp_state_init(&st, &base);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_err err = {0};
        assert_int_equal(pp_state_matches(&st, rows[i].opts, &err), PP_E_USAGE);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu says: %s", i, err.text);
    }
    struct pp_sampler_opts random = {.kind = PP_SAMPLER_RANDOM, .n = 100};
    struct pp_err err = {0};
    pp_state_init(&st, &random);
    random.n = 101;
    assert_int_equal(pp_state_matches(&st, &random, &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "a dataset length of 100 and this one has 101"));

    random.n = 100;
    st.consumed = 100; /* the end of the epoch is a place to resume from */
    assert_int_equal(pp_state_matches(&st, &random, &err), PP_OK);
    st.consumed = 101;
    assert_int_equal(pp_state_matches(&st, &random, &err), PP_E_CORRUPT);
    st.streaming = 1; /* the length of a stream's epoch is not known beforehand */
    assert_int_equal(pp_state_matches(&st, &random, &err), PP_OK);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(reads_back_what_was_saved),
        TEST(every_truncation_is_refused),
        TEST(every_flipped_byte_is_refused_or_harmless),
        TEST(foreign_files_get_one_sentence),
        TEST(failing_disks_are_said_and_keep_the_old_state),
        TEST(the_same_run_matches),
        TEST(each_difference_is_named_with_both_values),
    };
    return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
