/* Streaming: order, ranks, shuffle, resume by skip and by cursor, defects on the way. */
#include "tests/support/dataset_tree.h"

#include "probe/dataset/options.h"

#include <errno.h>
#include <sys/resource.h>

enum { SHARDS = 5, PER_SHARD = 7, ALL = SHARDS * PER_SHARD, MAX_SEEN = 4 * ALL };

static const struct pp_dataset_options *to_stream(void)
{
    static struct pp_dataset_options o;
    o.shards.stream = 1;
    return &o;
}

/* Sample i holds its number as text, its label is i modulo 10. */
static void make_shard(const char *rel, int first, int n)
{
    char name[64], text[64];
    struct archive *a = tree_tar(rel, archive_write_set_format_pax);
    for (int i = first; i < first + n; i++) {
        snprintf(name, sizeof(name), "%03d.cls", i);
        tree_tar_add(a, name, text, (size_t)snprintf(text, sizeof(text), "%d", i % 10));
        snprintf(name, sizeof(name), "%03d.txt", i);
        tree_tar_add(a, name, "caption", 7);
        snprintf(name, sizeof(name), "%03d.jpg", i);
        tree_tar_add(a, name, text, (size_t)snprintf(text, sizeof(text), "%d", i));
    }
    tree_tar_end(a);
}

static struct pp_dataset *make_set(void)
{
    for (int i = 0; i < SHARDS; i++) {
        char rel[24];
        snprintf(rel, sizeof(rel), "s-%d.tar", i);
        make_shard(rel, i * PER_SHARD, PER_SHARD);
    }
    return tree_open(&(struct pp_dataset_opts){.spec = tree_path("s-{0..4}.tar"), .options = to_stream()});
}

struct seen {
    int number[MAX_SEEN];
    uint64_t index[MAX_SEEN];
    size_t n, failures;
    pp_status last_failure;
};

/* Takes up to limit samples, noting the numbers; returns the status that ended it, PP_OK for the limit. */
static pp_status take(struct pp_stream *st, size_t limit, struct seen *seen)
{
    struct pp_sample s = {0};
    struct pp_err err;
    char path[256] = "", want[32];
    pp_status status = PP_OK;
    size_t taken = 0;
    for (int calls = 0; taken < limit && calls < 1000; calls++) {
        status = pp_stream_next(st, &s, path, sizeof(path), &err);
        if (status == PP_END)
            break;
        if (status != PP_OK) {
            assert_true(err.text[0]);
            assert_non_null(strstr(path, ".tar"));
            assert_null(strstr(path, ".tar:"));
            seen->failures++;
            seen->last_failure = status;
            continue;
        }
        char text[16] = "";
        assert_true(s.size < sizeof(text));
        memcpy(text, s.data, s.size);
        int number = atoi(text);
        assert_int_equal(s.label, number % 10);
        snprintf(want, sizeof(want), ".tar:%03d", number);
        assert_non_null(strstr(path, want));
        seen->index[seen->n] = s.index;
        seen->number[seen->n++] = number;
        taken++;
    }
    pp_sample_free(&s);
    return status;
}

static struct seen stream_all(const struct pp_dataset *d, const struct pp_stream_opts *opts)
{
    struct pp_stream *st;
    struct pp_err err;
    struct seen seen = {0};
    if (pp_stream_open(d, opts, &st, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(take(st, MAX_SEEN, &seen), PP_END);
    assert_int_equal(take(st, 1, &seen), PP_END); /* and stays there */
    pp_stream_close(st);
    return seen;
}

static void order_is_that_of_the_shards(void **state)
{
    struct pp_dataset *d = make_set();
    assert_int_equal(pp_dataset_len(d), 0);
    struct seen seen = stream_all(d, &(struct pp_stream_opts){0});
    assert_int_equal(seen.n, ALL);
    for (int i = 0; i < ALL; i++) {
        assert_int_equal(seen.number[i], i);
        assert_int_equal(seen.index[i], i);
    }
    pp_dataset_close(d);
}

static void shuffles_are_functions_of_seed_and_epoch(void **state)
{
    struct pp_dataset *d = make_set();
    struct pp_stream_opts opts = {.seed = 3, .shuffle_shards = 1, .shuffle_buffer = 10};
    struct seen first = stream_all(d, &opts), again = stream_all(d, &opts);
    opts.epoch = 1;
    struct seen other = stream_all(d, &opts);
    int present[ALL] = {0}, sorted = 1;
    for (int i = 0; i < ALL; i++) {
        present[first.number[i]]++;
        sorted &= first.number[i] == i;
    }
    for (int i = 0; i < ALL; i++)
        assert_int_equal(present[i], 1);
    assert_false(sorted);
    assert_memory_equal(first.number, again.number, sizeof(first.number));
    assert_memory_not_equal(first.number, other.number, ALL * sizeof(int));
    pp_dataset_close(d);
}

static void ranks_are_disjoint_and_cover_the_epoch(void **state)
{
    struct pp_dataset *d = make_set();
    for (uint64_t world = 1; world <= SHARDS; world++) {
        int present[ALL] = {0};
        for (uint64_t rank = 0; rank < world; rank++) {
            struct seen seen = stream_all(d, &(struct pp_stream_opts){.seed = 9,
                                                                      .epoch = 2,
                                                                      .shuffle_shards = 1,
                                                                      .shuffle_buffer = 4,
                                                                      .rank = rank,
                                                                      .world_size = world});
            for (size_t i = 0; i < seen.n; i++)
                present[seen.number[i]]++;
        }
        for (int i = 0; i < ALL; i++)
            assert_int_equal(present[i], 1);
    }
    struct pp_stream *st;
    struct pp_err err;
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){.rank = 6, .world_size = 8}, &st, &err),
                     PP_E_USAGE);
    assert_non_null(strstr(err.text, "5 shards are too few for 8 ranks"));
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){.rank = 2, .world_size = 2}, &st, &err),
                     PP_E_USAGE);
    pp_dataset_close(d);
}

static void skip_continues_the_exact_order_at_every_offset(void **state)
{
    struct pp_dataset *d = make_set();
    struct pp_stream_opts opts = {
        .seed = 5, .epoch = 4, .shuffle_shards = 1, .shuffle_buffer = 6, .rank = 1, .world_size = 2};
    struct seen whole = stream_all(d, &opts);
    assert_int_equal(whole.n, 2 * PER_SHARD);
    for (size_t k = 0; k <= whole.n; k++) {
        opts.skip = k;
        struct seen rest = stream_all(d, &opts);
        assert_int_equal(rest.n, whole.n - k);
        assert_memory_equal(rest.number, whole.number + k, rest.n * sizeof(int));
        assert_memory_equal(rest.index, whole.index + k, rest.n * sizeof(uint64_t));
    }
    opts.skip = whole.n + 5;
    assert_int_equal(stream_all(d, &opts).n, 0);
    pp_dataset_close(d);
}

/* From the cursor after k samples: together all samples of the rank, at most shuffle_buffer of them twice,
 * and never none. */
static void cursor_loses_nothing_and_repeats_within_its_bound(void **state)
{
    static const uint64_t buffers[] = {0, 1, 2, 3, 8, 100};
    struct pp_dataset *d = make_set();
    struct pp_err err;
    int repeated = 0;
    for (size_t b = 0; b < sizeof(buffers) / sizeof(*buffers); b++)
        for (uint64_t seed = 0; seed < 12; seed++)
            for (uint64_t k = 0; k <= 3 * PER_SHARD; k++) {
                struct pp_stream_opts opts = {.seed = seed,
                                              .shuffle_shards = 1,
                                              .shuffle_buffer = buffers[b],
                                              .rank = 0,
                                              .world_size = 2};
                struct pp_stream *st;
                struct pp_stream_cursor cursor;
                struct seen seen = {0};
                int count[ALL] = {0};
                uint64_t index_of[ALL], twice = 0, distinct = 0;
                assert_int_equal(pp_stream_open(d, &opts, &st, &err), PP_OK);
                take(st, k, &seen);
                pp_stream_cursor(st, &cursor);
                assert_int_equal(cursor.delivered, k);
                pp_stream_close(st);
                for (size_t i = 0; i < seen.n; i++)
                    index_of[seen.number[i]] = seen.index[i];
                opts.from = cursor;
                size_t before = seen.n;
                assert_int_equal(pp_stream_open(d, &opts, &st, &err), PP_OK);
                assert_int_equal(take(st, MAX_SEEN - before, &seen), PP_END);
                pp_stream_cursor(st, &cursor);
                assert_int_equal(cursor.delivered, seen.n);
                pp_stream_close(st);
                for (size_t i = 0; i < seen.n; i++) {
                    int n = seen.number[i];
                    if (count[n]++ > 0)
                        assert_int_equal(seen.index[i], index_of[n]); /* a repeated sample keeps its number */
                }
                for (int i = 0; i < ALL; i++) {
                    assert_true(count[i] <= 2);
                    distinct += count[i] > 0;
                    twice += count[i] == 2;
                }
                assert_int_equal(distinct, 3 * PER_SHARD);
                assert_true(twice <= buffers[b]);
                if (buffers[b] == 0)
                    assert_int_equal(twice, 0);
                repeated += twice > 0;
            }
    assert_true(repeated > 100); /* the bound was put to the test */
    /* A cursor of another rank is refused. */
    struct pp_stream *st;
    assert_int_equal(pp_stream_open(d,
                                    &(struct pp_stream_opts){.rank = 0,
                                                             .world_size = 2,
                                                             .from = {.shard = 1, .offset = 512}},
                                    &st, &err),
                     PP_E_USAGE);
    pp_dataset_close(d);
}

static void a_damaged_shard_costs_its_rest_alone(void **state)
{
    size_t size;
    struct pp_dataset *d = make_set();
    uint8_t *bytes = tree_get("s-1.tar", &size);
    tree_put("s-1.tar", bytes, size / 2);
    struct seen seen = stream_all(d, &(struct pp_stream_opts){0});
    assert_int_equal(seen.failures, 1);
    assert_int_equal(seen.last_failure, PP_E_CORRUPT);
    assert_true(seen.n > (SHARDS - 1) * PER_SHARD && seen.n < ALL);
    assert_int_equal(seen.number[PER_SHARD], PER_SHARD); /* its first sample came */
    assert_int_equal(seen.number[seen.n - 1], ALL - 1);
    assert_int_equal(unlink(tree_path("s-1.tar")), 0);
    seen = stream_all(d, &(struct pp_stream_opts){.shuffle_buffer = 3});
    assert_int_equal(seen.failures, 1);
    assert_int_equal(seen.last_failure, PP_E_NOT_FOUND);
    assert_int_equal(seen.n, (SHARDS - 1) * PER_SHARD);
    free(bytes);
    pp_dataset_close(d);
}

static void failures_that_pass_lose_nothing(void **state)
{
    struct pp_dataset *d = make_set();
    for (uint64_t n = 1;; n++) {
        pp_io_fault(PP_IO_FAULT_OPEN | PP_IO_FAULT_READ, n, ESTALE, 0);
        struct seen seen = stream_all(d, &(struct pp_stream_opts){.shuffle_buffer = n % 4});
        assert_int_equal(seen.n, ALL);
        assert_int_equal(seen.failures, pp_io_fault_calls() >= n);
        if (pp_io_fault_calls() < n)
            break;
    }
    /* One that does not pass ends all the same. */
    pp_io_fault(PP_IO_FAULT_READ, 1, EIO, 1);
    struct seen seen = stream_all(d, &(struct pp_stream_opts){0});
    assert_int_equal(seen.n, 0);
    assert_int_equal(seen.failures, SHARDS * 8);
    assert_int_equal(seen.last_failure, PP_E_IO);
    pp_dataset_close(d);
}

static void buffers_are_reused(void **state)
{
    struct pp_dataset *d = make_set();
    struct pp_stream *st;
    struct pp_sample s = {0};
    struct pp_err err;
    uint64_t warm = 0;
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){.shuffle_buffer = 5}, &st, &err), PP_OK);
    for (int i = 0; i < ALL; i++) {
        assert_int_equal(pp_stream_next(st, &s, NULL, 0, &err), PP_OK);
        if (i < 10)
            warm = s.grown;
    }
    assert_true(warm <= 6 * 2);       /* five in the buffer and one in hand, each grown once or twice */
    assert_true(s.grown - warm <= 6); /* larger numbers are a byte longer */
    pp_sample_free(&s);
    pp_stream_close(st);
    pp_dataset_close(d);
}

enum { MOST_SHUFFLED = 1 << 20 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* The sanitizer has the limit itself, and sees a sentence that is made of freed memory. */
#ifdef __SANITIZE_ADDRESS__
#define DEFAULT_OPTIONS __asan_default_options
#else
#define DEFAULT_OPTIONS __tsan_default_options
#endif
const char *DEFAULT_OPTIONS(void);
const char *DEFAULT_OPTIONS(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=64";
}

static void limit_memory(const struct rlimit *before)
{
    (void)before;
}
#else
static void limit_memory(const struct rlimit *before)
{
    unsigned long pages = 0;
    struct rlimit low = *before;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    low.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (32u << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
}
#endif

static void a_buffer_beyond_memory_is_a_sentence(void **state)
{
    struct pp_dataset *d = make_set();
    struct pp_stream *st;
    struct pp_err err;
    struct rlimit before;
    getrlimit(RLIMIT_AS, &before);
    limit_memory(&before);
    pp_status status = pp_stream_open(d, &(struct pp_stream_opts){.shuffle_buffer = MOST_SHUFFLED}, &st,
                                      &err);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(status, PP_E_NO_MEMORY);
    assert_string_equal(err.text, "no memory for a shuffle buffer of 1048576 samples");
    pp_dataset_close(d);
}

static void a_stream_without_images_says_so_once(void **state)
{
    struct pp_stream *st;
    struct pp_sample s = {0};
    struct pp_err err;
    struct archive *a = tree_tar("t.tar", archive_write_set_format_ustar);
    tree_tar_add(a, "a.wav", "sound", 5);
    tree_tar_end(a);
    struct pp_dataset *d = tree_open(
        &(struct pp_dataset_opts){.spec = tree_path("t.tar"), .options = to_stream()});
    assert_int_equal(pp_dataset_read(d, 0, &s, &err), PP_E_UNSUPPORTED);
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){0}, &st, &err), PP_OK);
    assert_int_equal(pp_stream_next(st, &s, NULL, 0, &err), PP_E_EMPTY);
    assert_int_equal(pp_stream_next(st, &s, NULL, 0, &err), PP_END);
    pp_stream_close(st);
    pp_dataset_close(d);
    d = tree_open(&(struct pp_dataset_opts){.spec = "n=2,unique=1,size=8x8", .format = "synthetic"});
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){0}, &st, &err), PP_E_UNSUPPORTED);
    pp_dataset_close(d);
}

/* Adds shards as they are wanted until there are none left, and takes every sample. */
static void take_leased(struct pp_stream *st, const int *shards, size_t n, struct seen *seen)
{
    struct pp_sample s = {0};
    struct pp_err err;
    size_t next = 0;
    for (;;) {
        if (pp_stream_wants(st) && next < n)
            assert_int_equal(pp_stream_add(st, (uint64_t)shards[next++], &err), PP_OK);
        else if (pp_stream_wants(st))
            pp_stream_drain(st, 1);
        pp_status status = pp_stream_next(st, &s, NULL, 0, &err);
        if (status == PP_END)
            break;
        if (status == PP_E_INTERRUPTED) { /* the buffer is larger than a shard */
            assert_true(pp_stream_wants(st));
            continue;
        }
        assert_int_equal(status, PP_OK);
        char text[16] = "";
        memcpy(text, s.data, s.size);
        seen->index[seen->n] = s.index;
        seen->number[seen->n++] = atoi(text);
    }
    assert_int_equal(next, n);
    pp_sample_free(&s);
}

static void leased_shards_are_read_as_they_are_added(void **state)
{
    static const int some[] = {3, 0, 4}, more[] = {1};
    struct pp_dataset *d = make_set();
    for (uint64_t buffer = 0; buffer <= 20; buffer += 10) {
        struct pp_stream *st;
        struct pp_stream_cursor at;
        struct pp_err err;
        struct seen seen = {0};
        int times[ALL] = {0};
        const struct pp_stream_opts o = {.leased = 1,
                                         .shuffle_shards = 1,
                                         .seed = 3,
                                         .epoch = 1,
                                         .shuffle_buffer = buffer,
                                         .rank = 9,
                                         .world_size = 10};
        assert_int_equal(pp_stream_open(d, &o, &st, &err), PP_OK); /* more ranks than shards */
        assert_int_equal(pp_stream_at(st), UINT64_MAX);
        take_leased(st, some, 3, &seen);
        assert_int_equal(seen.n, 3 * PER_SHARD);
        pp_stream_cursor(st, &at);
        assert_int_equal(at.shard, 3);   /* all three are behind it */
        take_leased(st, more, 1, &seen); /* one came free */
        assert_int_equal(seen.n, 4 * PER_SHARD);
        for (size_t i = 0; i < seen.n; i++) {
            times[seen.number[i]]++;
            assert_int_equal(seen.index[i], PP_LEASED_SAMPLE((uint64_t)(seen.number[i] / PER_SHARD),
                                                             (uint64_t)(seen.number[i] % PER_SHARD)));
            if (!buffer)
                assert_int_equal(seen.number[i],
                                 (i < 21 ? some[i / PER_SHARD] : 1) * PER_SHARD + (int)i % PER_SHARD);
        }
        for (int i = 0; i < ALL; i++)
            assert_int_equal(times[i], i / PER_SHARD != 2);
        pp_stream_close(st);
    }
    pp_dataset_close(d);
}

static void the_order_of_shards_to_lease_is_the_same_on_all_ranks(void **state)
{
    struct pp_dataset *d = make_set();
    uint64_t first[SHARDS];
    for (uint64_t rank = 0; rank < 3; rank++) {
        struct pp_stream *st;
        struct pp_err err;
        int times[SHARDS] = {0};
        assert_int_equal(pp_stream_open(d,
                                        &(struct pp_stream_opts){.leased = 1,
                                                                 .shuffle_shards = 1,
                                                                 .epoch = 2,
                                                                 .rank = rank,
                                                                 .world_size = 3},
                                        &st, &err),
                         PP_OK);
        if (rank == 0)
            memcpy(first, pp_stream_order(st), sizeof(first));
        assert_memory_equal(first, pp_stream_order(st), sizeof(first));
        for (int i = 0; i < SHARDS; i++)
            times[first[i]]++;
        for (int i = 0; i < SHARDS; i++)
            assert_int_equal(times[i], 1);
        pp_stream_close(st);
    }
    pp_dataset_close(d);
}

static void a_shard_that_was_lost_is_left(void **state)
{
    struct pp_dataset *d = make_set();
    struct pp_stream *st;
    struct pp_err err;
    struct pp_sample s = {0};
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){.leased = 1}, &st, &err), PP_OK);
    assert_int_equal(pp_stream_add(st, 2, &err), PP_OK);
    assert_int_equal(pp_stream_add(st, 4, &err), PP_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pp_stream_next(st, &s, NULL, 0, &err), PP_OK);
    assert_int_equal(pp_stream_at(st), 0);
    pp_stream_leave(st);
    assert_int_equal(pp_stream_at(st), 1);
    for (int i = 0; i < PER_SHARD; i++) {
        assert_int_equal(pp_stream_next(st, &s, NULL, 0, &err), PP_OK);
        assert_int_equal(s.index, PP_LEASED_SAMPLE(4, (uint64_t)i));
    }
    assert_true(pp_stream_wants(st));
    pp_sample_free(&s);
    pp_stream_close(st);
    pp_dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(order_is_that_of_the_shards),
        TREE_TEST(a_buffer_beyond_memory_is_a_sentence),
        TREE_TEST(shuffles_are_functions_of_seed_and_epoch),
        TREE_TEST(ranks_are_disjoint_and_cover_the_epoch),
        TREE_TEST(skip_continues_the_exact_order_at_every_offset),
        TREE_TEST(cursor_loses_nothing_and_repeats_within_its_bound),
        TREE_TEST(a_damaged_shard_costs_its_rest_alone),
        TREE_TEST(failures_that_pass_lose_nothing),
        TREE_TEST(buffers_are_reused),
        TREE_TEST(a_stream_without_images_says_so_once),
        TREE_TEST(leased_shards_are_read_as_they_are_added),
        TREE_TEST(the_order_of_shards_to_lease_is_the_same_on_all_ranks),
        TREE_TEST(a_shard_that_was_lost_is_left),
    };
    return cmocka_run_group_tests_name("dataset_stream", tests, NULL, NULL);
}
