/* A cache is killed at random moments, and its files are damaged in every way: a byte that is read is never
 * wrong. PP_CACHE_KILLS=200 makes the long run. */
#include "tests/support/dataset_tree.h"
#include "tests/support/far_storage.h"

#include "probe/base/clock.h"
#include "probe/base/rng.h"
#include "probe/storage/cache/cache.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#define MIB ((uint64_t)1 << 20)

enum { KEYS = 160, WRONG = 3 };

static struct far far;

static int set_up(void **state)
{
    far_begin(&far, 256 * 1024);
    return tree_set_up(state);
}

static struct pp_storage *attach(enum pp_cache_policy_id policy)
{
    struct pp_storage *s = NULL;
    char dir[128];
    snprintf(dir, sizeof(dir), "%s", tree_path("cache"));
    const struct pp_cache_opts o = {.dir = dir, .bytes = 2 * MIB, .policy = policy};
    return pp_storage_wrap_cache(&far.base, "far://bucket/", &o, &s, NULL) == PP_OK ? s : NULL;
}

/* 0: the bytes of this key were wrong, or there were none. */
static int read_key(struct pp_storage *s, unsigned key)
{
    static uint8_t buf[64 * 1024];
    char name[16];
    struct pp_object o;
    struct pp_read_context c = {.epoch = 0};
    unsigned object = key % FAR_OBJECTS;
    snprintf(name, sizeof(name), "obj-%u", object);
    if (pp_storage_open(s, &(struct pp_open){.name = name, .attempt = "open"}, &o, NULL) != PP_OK)
        return 0;
    struct pp_read r = {.name = name,
                        .context = &c,
                        .offset = key * 97,
                        .size = 4000 + key * 131,
                        .buf = buf,
                        .cap = sizeof(buf)};
    pp_status st = pp_object_read_at(&o, &r, NULL);
    int right = st == PP_OK && r.got == r.size &&
                far_is(object, far.version[object], r.offset, r.data, r.got);
    pp_object_close(&o);
    return right;
}

static uint64_t hits(void)
{
    return pp_counted(&pp_cache_counters, PP_CACHE_COUNT_HITS);
}

/* ---- kills ---- */

static void read_for_ever(uint64_t seed)
{
    struct pp_rng rng = {seed};
    for (;;) {
        struct pp_storage *s = attach((enum pp_cache_policy_id)(pp_rng_below(&rng, 2) + 1));
        if (!s)
            _exit(WRONG + 1);
        for (uint64_t n = pp_rng_below(&rng, 300); n > 0; n--)
            if (!read_key(s, (unsigned)pp_rng_below(&rng, KEYS)))
                _exit(WRONG);
        pp_storage_detach(s);
    }
}

static uint64_t on_disk(size_t *files)
{
    uint64_t sum = 0;
    struct dirent *e;
    struct stat st;
    DIR *d = opendir(tree_path("cache"));
    for (*files = 0; d && (e = readdir(d));)
        if (strncmp(e->d_name, "segment-", 8) == 0 && fstatat(dirfd(d), e->d_name, &st, 0) == 0) {
            sum += (uint64_t)st.st_size;
            ++*files;
        }
    if (d)
        closedir(d);
    return sum;
}

static void no_kill_makes_a_wrong_byte(void **state)
{
    const char *asked = getenv("PP_CACHE_KILLS");
    int kills = asked ? atoi(asked) : 20;
    uint64_t found = 0;
    size_t files = 0;
    struct pp_rng rng = {12345};
    for (int k = 0; k < kills; k++) {
        int status, n = k % 4 == 3 ? 2 : 1; /* two at once, now and then */
        pid_t pid[2];
        for (int i = 0; i < n; i++) {
            pid[i] = fork();
            assert_true(pid[i] >= 0);
            if (pid[i] == 0)
                read_for_ever((uint64_t)k * 2 + (uint64_t)i + 1);
        }
        usleep((useconds_t)pp_rng_below(&rng, 40000));
        for (int i = 0; i < n; i++)
            kill(pid[i], SIGKILL);
        for (int i = 0; i < n; i++) {
            assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
            if (WIFEXITED(status))
                fail_msg("kill %d: the reader ended with %d (%d: wrong bytes)", k, WEXITSTATUS(status),
                         WRONG);
        }
        struct pp_storage *s = attach(PP_CACHE_FIFO);
        assert_non_null(s);
        uint64_t before = hits();
        for (unsigned key = 0; key < KEYS; key += 7)
            assert_true(read_key(s, key));
        found += hits() - before;
        pp_storage_detach(s);
        assert_true(on_disk(&files) <= 2 * MIB);
        assert_true(files < 64); /* what a kill leaves is written on, or makes room */
    }
    assert_true(found > 0); /* and the cache was of use after them */
}

/* ---- damage ---- */

/* The file of the cache with the k-th name. */
static int some_segment(unsigned k, char *path, size_t size)
{
    char root[128];
    snprintf(root, sizeof(root), "%s", tree_path("cache"));
    struct dirent **list;
    int n = scandir(root, &list, NULL, alphasort), found = 0;
    for (int i = 0, seen = 0; i < n; i++) {
        if (strncmp(list[i]->d_name, "segment-", 8) == 0 && (unsigned)seen++ == k) {
            snprintf(path, size, "%s/%s", root, list[i]->d_name);
            found = 1;
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return found;
}

static void flip(int fd, uint64_t size, struct pp_rng *rng)
{
    for (uint64_t n = 1 + pp_rng_below(rng, 3); n > 0; n--) {
        uint64_t at = pp_rng_below(rng, 2) ? pp_rng_below(rng, size) : size - 1 - pp_rng_below(rng, 200);
        uint8_t byte;
        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        byte ^= (uint8_t)(1u << pp_rng_below(rng, 8));
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    }
}

static void cut(int fd, uint64_t size, struct pp_rng *rng)
{
    assert_int_equal(ftruncate(fd, (off_t)pp_rng_below(rng, size)), 0);
}

/* As a file system that kept the length and lost blocks. */
static void zero(int fd, uint64_t size, struct pp_rng *rng)
{
    static const uint8_t zeros[4096];
    assert_int_equal(pwrite(fd, zeros, sizeof(zeros), (off_t)(pp_rng_below(rng, size) & ~UINT64_C(4095))),
                     (ssize_t)sizeof(zeros));
}

/* One entry over another. */
static void shuffle(int fd, uint64_t size, struct pp_rng *rng)
{
    static uint8_t piece[32768];
    ssize_t n = pread(fd, piece, sizeof(piece), (off_t)(pp_rng_below(rng, size) & ~UINT64_C(7)));
    assert_true(n >= 0);
    assert_int_equal(pwrite(fd, piece, (size_t)n, (off_t)(pp_rng_below(rng, size) & ~UINT64_C(7))), n);
}

static void damaged_segments_give_no_wrong_byte(void **state)
{
    static void (*const ways[])(int, uint64_t, struct pp_rng *) = {flip, cut, zero, shuffle};
    struct pp_rng rng = {99};
    char path[512];
    uint64_t found = 0;
    for (int round = 0; round < 60; round++) {
        struct stat st;
        struct pp_storage *s = attach((enum pp_cache_policy_id)(round % PP_CACHE_POLICIES));
        for (unsigned key = 0; key < KEYS; key++)
            assert_true(read_key(s, key));
        if (round % 3)
            pp_storage_detach(s); /* else it is damaged in use */
        for (unsigned k = 0; some_segment(k, path, sizeof(path)); k += 1 + (unsigned)pp_rng_below(&rng, 3)) {
            int fd = open(path, O_RDWR);
            assert_true(fd >= 0);
            if (fstat(fd, &st) == 0 && st.st_size > 256)
                ways[round % 4](fd, (uint64_t)st.st_size, &rng);
            close(fd);
        }
        if (round % 3)
            s = attach((enum pp_cache_policy_id)(round % PP_CACHE_POLICIES));
        uint64_t before = hits();
        for (unsigned key = 0; key < KEYS; key++)
            assert_true(read_key(s, key));
        found += hits() - before;
        pp_storage_detach(s);
    }
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_kill_makes_a_wrong_byte, set_up, tree_tear_down),
        cmocka_unit_test_setup_teardown(damaged_segments_give_no_wrong_byte, set_up, tree_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
