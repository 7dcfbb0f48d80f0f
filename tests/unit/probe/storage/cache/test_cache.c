/* A cache over a storage whose every byte is known: what is stored is had again, by later runs too; objects
 * that change are not; the policies; limits; what is no cache is refused; what breaks later is a sentence. */
#include "tests/support/dataset_tree.h"
#include "tests/support/far_storage.h"

#include "probe/storage/cache/cache.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>

#define MIB ((uint64_t)1 << 20)

static struct far far;

static int set_up(void **state)
{
    far_begin(&far, 256 * 1024);
    return tree_set_up(state);
}

static struct pp_storage *attach(uint64_t bytes, enum pp_cache_policy_id policy)
{
    struct pp_storage *s;
    struct pp_err err = {0};
    char dir[128];
    snprintf(dir, sizeof(dir), "%s", tree_path("cache"));
    const struct pp_cache_opts o = {.dir = dir, .bytes = bytes, .policy = policy};
    if (pp_storage_wrap_cache(&far.base, "far://bucket/obj-{0..63}", &o, &s, &err) != PP_OK)
        fail_msg("%s", err.text);
    return s;
}

static uint64_t counted(enum pp_cache_count which)
{
    return pp_counted(&pp_cache_counters, which);
}

/* Reads and checks; the bytes must be right whatever the cache does. epoch < 0: for no sample. */
static void read_range(struct pp_storage *s, unsigned object, uint64_t offset, size_t size, int epoch)
{
    static _Thread_local uint8_t buf[512 * 1024];
    char name[16];
    struct pp_object o;
    struct pp_err err = {0};
    struct pp_read_context c = {.epoch = (uint64_t)epoch};
    snprintf(name, sizeof(name), "obj-%u", object);
    if (pp_storage_open(s, &(struct pp_open){.name = name, .attempt = "open"}, &o, &err) != PP_OK)
        fail_msg("%s", err.text);
    struct pp_read r = {.name = name,
                        .context = epoch < 0 ? NULL : &c,
                        .offset = offset,
                        .size = size,
                        .buf = buf,
                        .cap = sizeof(buf)};
    memset(buf, 0xee, size);
    if (pp_object_read_at(&o, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    uint64_t left = offset < far.size[object] ? far.size[object] - offset : 0;
    assert_int_equal(r.got, left < size ? left : size);
    assert_true(far_is(object, far.version[object], offset, r.data, r.got));
    pp_object_close(&o);
}

static pp_status read_whole(struct pp_storage *s, unsigned object, size_t limit)
{
    char name[16];
    struct pp_err err;
    struct pp_read_context c = {.epoch = 0};
    snprintf(name, sizeof(name), "obj-%u", object);
    struct pp_read r = {.name = name, .context = &c, .limit = limit};
    pp_status st = pp_storage_read_whole(s, NULL, &r, &err);
    if (st == PP_OK) {
        assert_int_equal(r.got, far.size[object]);
        assert_true(far_is(object, far.version[object], 0, r.data, r.got));
    }
    free(r.buf);
    return st;
}

static uint64_t on_disk(void)
{
    uint64_t sum = 0;
    struct dirent *e;
    struct stat st;
    DIR *d = opendir(tree_path("cache"));
    while (d && (e = readdir(d)))
        if (strncmp(e->d_name, "segment-", 8) == 0 && fstatat(dirfd(d), e->d_name, &st, 0) == 0)
            sum += (uint64_t)st.st_size;
    if (d)
        closedir(d);
    return sum;
}

/* ---- what it is for ---- */

static void what_was_read_is_had_again(void **state)
{
    for (int run = 0; run < 3; run++) {
        struct pp_storage *s = attach(16 * MIB, PP_CACHE_KEEP);
        for (int round = 0; round < 2; round++)
            for (unsigned i = 0; i < 20; i++)
                read_range(s, i, i * 1000, 5000 + i, round);
        assert_int_equal(far.reads, 20); /* of the first round of the first run */
        assert_int_equal(counted(PP_CACHE_COUNT_REQUESTS), 40);
        assert_int_equal(counted(PP_CACHE_COUNT_HITS), run ? 40 : 20);
        assert_int_equal(counted(PP_CACHE_COUNT_COLD), run ? 0 : 20);
        assert_int_equal(counted(PP_CACHE_COUNT_DATA_BYTES), 20 * 5000 + 190);
        assert_int_equal(counted(PP_CACHE_COUNT_FETCHED_BYTES), run ? 0 : 20 * 5000 + 190);
        pp_storage_detach(s);
    }
    struct pp_storage *s = attach(16 * MIB, PP_CACHE_KEEP);
    read_range(s, 0, 0, 4000, 0); /* other bytes of the same object */
    read_range(s, 19, 19000, 5000 + 18, 0);
    assert_int_equal(far.reads, 22);
    read_range(s, 3, far.size[3] - 10, 100, 0); /* beyond the end: by what there is */
    read_range(s, 3, far.size[3] - 10, 10, 0);
    assert_int_equal(far.reads, 23);
    read_range(s, 3, far.size[3], 10, 0);
    pp_storage_detach(s);
}

static void reads_for_no_sample_pass_through(void **state)
{
    struct pp_storage *s = attach(16 * MIB, PP_CACHE_KEEP);
    for (int i = 0; i < 3; i++)
        read_range(s, 1, 0, 1000, -1);
    assert_int_equal(far.reads, 3);
    assert_int_equal(counted(PP_CACHE_COUNT_REQUESTS), 0);
    far.version[2] = 0; /* which one it is cannot be said */
    for (int i = 0; i < 3; i++) {
        read_range(s, 2, 0, 1000, 0);
        assert_int_equal(read_whole(s, 2, 0), PP_OK);
    }
    assert_int_equal(far.reads, 9);
    pp_storage_detach(s);
}

static void whole_objects_are_asked_for_once_per_run(void **state)
{
    for (int run = 0; run < 2; run++) {
        struct pp_storage *s = attach(16 * MIB, PP_CACHE_KEEP);
        for (int round = 0; round < 3; round++)
            for (unsigned i = 0; i < 10; i++)
                assert_int_equal(read_whole(s, i, 0), PP_OK);
        assert_int_equal(far.reads, 10);
        assert_int_equal(far.stats, run ? 10 : 0); /* is it still the same? */
        assert_int_equal(read_whole(s, 0, 1000), PP_E_UNSUPPORTED);
        pp_storage_detach(s);
    }
    far.base.request_bytes = 0; /* a storage that is asked at each read */
    struct pp_storage *s = attach(16 * MIB, PP_CACHE_KEEP);
    int stats = far.stats;
    assert_int_equal(read_whole(s, 0, 0), PP_OK);
    far.version[0] = 7;
    assert_int_equal(read_whole(s, 0, 0), PP_OK);
    assert_int_equal(read_whole(s, 0, 0), PP_OK);
    assert_int_equal(far.reads, 11);
    assert_true(far.stats > stats + 2);
    pp_storage_detach(s);
}

static void an_object_that_changed_is_read_anew(void **state)
{
    struct pp_storage *s = attach(16 * MIB, PP_CACHE_KEEP);
    read_range(s, 4, 10, 1000, 0);
    read_whole(s, 5, 0);
    pp_storage_detach(s);
    far.version[4] = far.version[5] = 2;
    s = attach(16 * MIB, PP_CACHE_KEEP);
    for (int i = 0; i < 2; i++) {
        read_range(s, 4, 10, 1000, 0); /* checks the bytes of version 2 */
        assert_int_equal(read_whole(s, 5, 0), PP_OK);
    }
    assert_int_equal(far.reads, 4);
    assert_int_equal(counted(PP_CACHE_COUNT_CHANGED), 2);
    far.version[4] = 3; /* in mid-run */
    read_range(s, 4, 10, 1000, 1);
    far.size[4] -= 100;
    read_range(s, 4, 10, 1000, 1); /* another size is another version */
    assert_int_equal(far.reads, 6);
    pp_storage_detach(s);
}

/* The same names and versions, in a store at another endpoint. */
static void another_store_is_another(void **state)
{
    struct pp_storage *s = attach(16 * MIB, PP_CACHE_KEEP);
    read_range(s, 4, 0, 1000, 0);
    pp_storage_detach(s);
    far.base.scope = "http://other:9000";
    s = attach(16 * MIB, PP_CACHE_KEEP);
    read_range(s, 4, 0, 1000, 0);
    assert_int_equal(far.reads, 2);
    pp_storage_detach(s);
}

/* ---- policies ---- */

/* Epochs over 64 objects of 32 KiB, 2 MiB in all, in the order of their numbers, through a cache of 1 MiB:
 * hits of the last epoch. */
static uint64_t hits_of_last_epoch(enum pp_cache_policy_id policy)
{
    uint64_t before = 0;
    struct pp_storage *s = attach(MIB, policy);
    for (int epoch = 0; epoch < 4; epoch++) {
        before = counted(PP_CACHE_COUNT_HITS);
        for (unsigned i = 0; i < 64; i++)
            read_range(s, i, 0, 32 * 1024, epoch);
        assert_true(on_disk() <= MIB);
    }
    pp_storage_detach(s);
    return counted(PP_CACHE_COUNT_HITS) - before;
}

static void a_cyclic_epoch_reaches_the_attainable_rate(void **state)
{
    uint64_t hits = hits_of_last_epoch(PP_CACHE_KEEP);
    if (hits < 30 || hits > 32) /* a head and a name beside each 32 KiB, and a table per segment */
        fail_msg("%llu of 64 reads were hits; attainable are 32", (unsigned long long)hits);
    assert_int_equal(counted(PP_CACHE_COUNT_AGAIN), 0);
}

static void fifo_and_clock_hit_nothing_of_a_cyclic_epoch(void **state)
{
    assert_int_equal(hits_of_last_epoch(PP_CACHE_FIFO), 0);
    assert_true(counted(PP_CACHE_COUNT_AGAIN) > 64);
    tree_tear_down(state);
    tree_set_up(state);
    assert_int_equal(hits_of_last_epoch(PP_CACHE_CLOCK), 0);
    assert_true(counted(PP_CACHE_COUNT_AGAIN) > 64);
}

/* CLOCK keeps what is read again and again, FIFO does not. */
static void clock_keeps_what_is_read_often(void **state)
{
    static const enum pp_cache_policy_id policies[] = {PP_CACHE_FIFO, PP_CACHE_CLOCK};
    int reads[2];
    for (int p = 0; p < 2; p++) {
        struct pp_storage *s = attach(MIB, policies[p]);
        far.reads = 0;
        for (unsigned i = 0; i < 600; i++) {
            read_range(s, 0, 0, 32 * 1024, 0);
            read_range(s, 1 + i % 60, 32 * 1024 * (i / 60 % 7), 32 * 1024, 0);
        }
        reads[p] = far.reads;
        pp_storage_detach(s);
        tree_tear_down(state);
        tree_set_up(state);
    }
    assert_true(reads[1] < reads[0]);
    assert_true(reads[0] - reads[1] > 10);
}

/* What is there of another data set goes, and what was not read for an epoch. */
static void keep_gives_way_to_the_data_set_at_hand(void **state)
{
    struct pp_storage *s;
    struct pp_err err;
    char dir[128];
    snprintf(dir, sizeof(dir), "%s", tree_path("cache"));
    const struct pp_cache_opts o = {.dir = dir, .bytes = MIB, .policy = PP_CACHE_KEEP};
    assert_int_equal(pp_storage_wrap_cache(&far.base, "far://other/", &o, &s, &err), PP_OK);
    for (unsigned i = 0; i < 64; i++)
        read_range(s, i, 100000, 32 * 1024, 0);
    pp_storage_detach(s);
    s = attach(MIB, PP_CACHE_KEEP);
    for (int epoch = 0; epoch < 2; epoch++)
        for (unsigned i = 0; i < 24; i++)
            read_range(s, i, 0, 32 * 1024, epoch);
    assert_int_equal(counted(PP_CACHE_COUNT_HITS), 24);
    for (int epoch = 2; epoch < 5; epoch++) /* others are read from now on */
        for (unsigned i = 24; i < 48; i++)
            read_range(s, i, 0, 32 * 1024, epoch);
    uint64_t before = counted(PP_CACHE_COUNT_HITS);
    for (unsigned i = 24; i < 48; i++)
        read_range(s, i, 0, 32 * 1024, 5);
    assert_true(counted(PP_CACHE_COUNT_HITS) - before >= 22);
    pp_storage_detach(s);
}

static void the_limit_holds(void **state)
{
    uint64_t x = 1;
    for (int p = 0; p < PP_CACHE_POLICIES; p++)
        for (int run = 0; run < 3; run++) {
            struct pp_storage *s = attach(MIB, (enum pp_cache_policy_id)p);
            for (int i = 0; i < 300; i++) {
                x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
                read_range(s, (unsigned)(x >> 33) % 64, (x >> 40) % 1000, (size_t)(x >> 45) % 200000 + 1,
                           i / 100);
                assert_true(on_disk() <= MIB);
            }
            pp_storage_detach(s);
            assert_true(on_disk() <= MIB);
        }
    struct pp_storage *s = attach(4 * MIB, PP_CACHE_FIFO);
    for (unsigned i = 0; i < 64; i++)
        read_range(s, i, 0, 100000, 0);
    pp_storage_detach(s);
    assert_true(on_disk() > 2 * MIB);
    pp_storage_detach(attach(MIB, PP_CACHE_KEEP)); /* a lower limit holds at once */
    assert_true(on_disk() <= MIB);
}

/* ---- several at once ---- */

static void two_runs_share_one_cache(void **state)
{
    struct pp_storage *a = attach(8 * MIB, PP_CACHE_KEEP), *b = attach(8 * MIB, PP_CACHE_KEEP);
    for (unsigned i = 0; i < 30; i++)
        read_range(i % 2 ? a : b, i, 0, 20000, 0);
    assert_int_equal(far.reads, 30);
    usleep(250000); /* what another process stored is seen 100 ms after the last look */
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < 30; i++)
            read_range(i % 2 ? b : a, i, 0, 20000, 0);
    assert_int_equal(far.reads, 30);
    pp_storage_detach(a);
    for (unsigned i = 0; i < 30; i++)
        read_range(b, i, 0, 20000, 0);
    assert_int_equal(far.reads, 30);
    pp_storage_detach(b);
}

/* A segment that was closed is written on by one run, and read by another that knew it before. */
static void what_is_written_on_is_seen(void **state)
{
    struct pp_storage *a = attach(8 * MIB, PP_CACHE_KEEP);
    read_range(a, 0, 0, 20000, 0);
    pp_storage_detach(a);
    a = attach(8 * MIB, PP_CACHE_KEEP);
    struct pp_storage *b = attach(8 * MIB, PP_CACHE_KEEP);
    for (int part = 0; part < 2; part++) {
        for (unsigned i = 1; i < 10; i++)
            read_range(a, i + 10 * (unsigned)part, 0, 20000, 0);
        assert_int_equal(access(tree_path("cache/segment-0000000000000002"), F_OK), -1);
        usleep(250000);
        for (unsigned i = 1; i < 10; i++)
            read_range(b, i + 10 * (unsigned)part, 0, 20000, 0);
        assert_int_equal(far.reads, 1 + 9 * (part + 1));
    }
    pp_storage_detach(a);
    pp_storage_detach(b);
}

static void *read_one(void *arg)
{
    read_range(arg, 7, 0, 50000, 0);
    return NULL;
}

static void misses_of_the_same_bytes_are_one(void **state)
{
    struct pp_storage *s = attach(8 * MIB, PP_CACHE_KEEP);
    pthread_t t[8];
    far.delay_us = 200000;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&t[i], NULL, read_one, s), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(far.reads, 1);
    assert_int_equal(counted(PP_CACHE_COUNT_HITS), 7);
    pp_storage_detach(s);
}

static void *read_many(void *arg)
{
    static int turns;
    uint64_t x = 77 + (uint64_t)__atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 200; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        if (x >> 62)
            read_range(arg, (unsigned)(x >> 33) % 64, 0, 30000, i / 50);
        else
            read_whole(arg, (unsigned)(x >> 33) % 8, 0);
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    for (int p = 0; p < PP_CACHE_POLICIES; p++) {
        struct pp_storage *s = attach(4 * MIB, (enum pp_cache_policy_id)p);
        pthread_t t[4];
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&t[i], NULL, read_many, s), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
        assert_true(on_disk() <= 4 * MIB);
        pp_storage_detach(s);
    }
}

/* ---- what is no cache ---- */

static void refused(const char *dir, pp_status want, const char *word)
{
    struct pp_storage *s;
    struct pp_err err = {0};
    const struct pp_cache_opts o = {.dir = dir, .bytes = MIB};
    assert_int_equal(pp_storage_wrap_cache(&far.base, "far://", &o, &s, &err), want);
    if (!strstr(err.text, word))
        fail_msg("'%s' does not say '%s'", err.text, word);
    assert_ptr_equal(s, &far.base);
}

static void what_is_no_cache_is_refused_and_left_alone(void **state)
{
    char dir[128];
    tree_put_text("home/thesis.txt", "years of work");
    refused(tree_path("home"), PP_E_EXISTS, "not empty (thesis.txt)");
    refused(tree_path("home/thesis.txt"), PP_E_NOT_FOUND, "Not a directory");
    refused(tree_path("none/cache"), PP_E_NOT_FOUND, "cannot make the cache");
    tree_put_text("new/pipeprobe-cache", "pipeprobe cache 2 0123456789abcdef\n");
    refused(tree_path("new"), PP_E_VERSION, "another version of pipeprobe made it (2)");
    tree_put_text("odd/pipeprobe-cache", "pipeprobe cache 1 0123456789abcdef\nmore");
    refused(tree_path("odd"), PP_E_CORRUPT, "is damaged");
    tree_put_text("linked/x", "");
    snprintf(dir, sizeof(dir), "%s", tree_path("linked"));
    assert_int_equal(symlink("/etc/passwd", tree_path("linked/pipeprobe-cache")), 0);
    unlink(tree_path("linked/x"));
    refused(dir, PP_E_SYSTEM, "cannot use the cache");
    assert_int_equal(mkdir(tree_path("open"), 0700), 0);
    assert_int_equal(chmod(tree_path("open"), 0777), 0);
    refused(tree_path("open"), PP_E_ACCESS, "other users can write to it");
    assert_int_equal(access(tree_path("home/thesis.txt"), F_OK), 0);
    if (geteuid() == 0) {
        assert_int_equal(mkdir(tree_path("theirs"), 0700), 0);
        assert_int_equal(chown(tree_path("theirs"), 12345, 12345), 0);
        refused(tree_path("theirs"), PP_E_ACCESS, "another user (uid 12345)");
    }
}

/* Files with a segment's name that are none: not followed, not read, not harmful. */
static void odd_files_in_a_cache_harm_nothing(void **state)
{
    char said[480];
    struct pp_storage *s = attach(4 * MIB, PP_CACHE_FIFO);
    read_range(s, 1, 0, 30000, 0);
    pp_storage_detach(s);
    tree_put_text("elsewhere", "PPCACHE1 but not here");
    assert_int_equal(symlink("../elsewhere", tree_path("cache/segment-0000000000000005")), 0);
    assert_int_equal(mkfifo(tree_path("cache/segment-0000000000000006"), 0600), 0);
    assert_int_equal(mkdir(tree_path("cache/segment-0000000000000007"), 0700), 0);
    tree_put_text("cache/segment-0000000000000008", "");
    tree_put_text("cache/notes.txt", "mine");
    s = attach(4 * MIB, PP_CACHE_FIFO);
    for (unsigned i = 0; i < 40; i++)
        read_range(s, i, 0, 200000, 0);
    assert_int_equal(pp_cache_trouble(said, sizeof(said)), 0);
    pp_storage_detach(s);
    assert_int_equal(access(tree_path("elsewhere"), F_OK), 0);
    assert_int_equal(access(tree_path("cache/notes.txt"), F_OK), 0);
}

/* ---- what breaks later ---- */

static void a_full_disk_is_said_and_costs_no_read(void **state)
{
    char said[480];
    for (uint64_t nth = 1; nth < 40; nth++) {
        struct pp_storage *s = attach(8 * MIB, PP_CACHE_FIFO);
        pp_io_fault(PP_IO_FAULT_WRITE, nth, ENOSPC, 1);
        for (int round = 0; round < 2; round++)
            for (unsigned i = 0; i < 12; i++)
                read_range(s, i, nth, 150000, 0);
        int struck = pp_io_fault_calls() >= nth;
        pp_io_fault(0, 0, 0, 0);
        int has = pp_cache_trouble(said, sizeof(said));
        assert_int_equal(has, struck);
        if (has && !strstr(said, "the disk is full"))
            fail_msg("%s", said);
        pp_storage_detach(s);
        s = attach(8 * MIB, PP_CACHE_FIFO); /* and what is left of it is sound */
        for (unsigned i = 0; i < 12; i++)
            read_range(s, i, nth, 150000, 0);
        assert_int_equal(counted(PP_CACHE_COUNT_DAMAGED), 0);
        pp_storage_detach(s);
    }
}

static void a_disk_that_fails_reads_costs_no_read(void **state)
{
    struct pp_storage *s = attach(8 * MIB, PP_CACHE_FIFO);
    for (unsigned i = 0; i < 12; i++)
        read_range(s, i, 0, 50000, 0);
    pp_io_fault(PP_IO_FAULT_READ, 1, EIO, 1);
    for (unsigned i = 0; i < 12; i++)
        read_range(s, i, 0, 50000, 0);
    pp_io_fault(0, 0, 0, 0);
    assert_int_equal(far.reads, 24);
    assert_int_equal(counted(PP_CACHE_COUNT_DAMAGED), 12);
    pp_storage_detach(s);
}

static void a_cache_that_is_removed_is_said(void **state)
{
    char said[480], command[200];
    struct pp_storage *s = attach(MIB, PP_CACHE_FIFO);
    for (unsigned i = 0; i < 12; i++)
        read_range(s, i, 0, 50000, 0);
    snprintf(command, sizeof(command), "rm -r '%s'", tree_path("cache"));
    assert_int_equal(system(command), 0);
    for (int round = 0; round < 2; round++) {
        usleep(150000);
        for (unsigned i = 0; i < 40; i++)
            read_range(s, i, 0, 50000, 0);
    }
    assert_int_equal(pp_cache_trouble(said, sizeof(said)), 1);
    if (!strstr(said, "it was removed"))
        fail_msg("%s", said);
    pp_storage_detach(s);
    assert_int_not_equal(access(tree_path("cache"), F_OK), 0);
}

int main(void)
{
#define CACHE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tree_tear_down)
    const struct CMUnitTest tests[] = {
        CACHE_TEST(what_was_read_is_had_again),
        CACHE_TEST(reads_for_no_sample_pass_through),
        CACHE_TEST(whole_objects_are_asked_for_once_per_run),
        CACHE_TEST(an_object_that_changed_is_read_anew),
        CACHE_TEST(another_store_is_another),
        CACHE_TEST(a_cyclic_epoch_reaches_the_attainable_rate),
        CACHE_TEST(fifo_and_clock_hit_nothing_of_a_cyclic_epoch),
        CACHE_TEST(clock_keeps_what_is_read_often),
        CACHE_TEST(keep_gives_way_to_the_data_set_at_hand),
        CACHE_TEST(the_limit_holds),
        CACHE_TEST(two_runs_share_one_cache),
        CACHE_TEST(what_is_written_on_is_seen),
        CACHE_TEST(misses_of_the_same_bytes_are_one),
        CACHE_TEST(threads_do_not_disturb_each_other),
        CACHE_TEST(what_is_no_cache_is_refused_and_left_alone),
        CACHE_TEST(odd_files_in_a_cache_harm_nothing),
        CACHE_TEST(a_full_disk_is_said_and_costs_no_read),
        CACHE_TEST(a_disk_that_fails_reads_costs_no_read),
        CACHE_TEST(a_cache_that_is_removed_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
