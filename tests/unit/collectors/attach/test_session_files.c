/* What recorded processes left in the session directory, which any process of the program can write to. */
#include "collectors/attach/session_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <pipeprobe/ring.h>

static char dir[64];

static int setup(void **state)
{
    strcpy(dir, "/tmp/pp-session-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    return rmdir(dir); /* fails where something was left */
}

static const char *name(const char *rest)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, rest);
    return path;
}

static void put(const char *rest, const void *data, size_t size)
{
    FILE *f = fopen(name(rest), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static struct pp_process_file process(int64_t pid)
{
    struct pp_process_file f = {.pid = pid, .parent_pid = 1};
    memcpy(f.magic, PP_PROCESS_MAGIC, sizeof(f.magic));
    memset(f.command, 'c', sizeof(f.command)); /* without ends */
    memset(f.note, 'n', sizeof(f.note));
    memset(f.mixed, 'm', sizeof(f.mixed));
    return f;
}

struct got {
    int64_t sum;
    unsigned n, loaders;
};

static void get_process(void *ctx, const struct pp_process_file *f)
{
    struct got *g = ctx;
    g->n++;
    g->sum += f->pid;
    assert_int_equal(strlen(f->command), sizeof(f->command) - 1);
    assert_int_equal(strlen(f->note), sizeof(f->note) - 1);
    assert_int_equal(strlen(f->mixed), sizeof(f->mixed) - 1);
}

static void get_loaders(void *ctx, const struct pp_loaders_file *f)
{
    struct got *g = ctx;
    g->n++;
    g->loaders += f->n_loaders;
    assert_in_range(strlen(f->loader[PP_LOADERS_MAX - 1].dataset), 0, 63);
}

/* Sound ones are given; a link, a pipe, a short file, another's name, another magic are not; all are gone. */
static void test_only_sound_files_are_given(void **state)
{
    struct got got = {0};
    struct pp_process_file f = process(7);
    put("process-7", &f, sizeof(f));
    put("process-9", &f, sizeof(f));
    put("process-7x", &f, sizeof(f));
    put("process-", &f, sizeof(f));
    put("process-99999999999999999999", &f, sizeof(f));
    f = process(8);
    put("process-8", &f, sizeof(f) - 1);
    f = process(10);
    f.magic[0] = 'x';
    put("process-10", &f, sizeof(f));
    assert_int_equal(mkfifo(name("process-11"), 0600), 0);
    assert_int_equal(symlink("/dev/zero", name("process-12")), 0);
    f = process(13);
    put("process-13", &f, sizeof(f));
    put("other", "x", 1);
    struct pp_session_taken taken = pp_process_files_take(dir, get_process, &got);
    assert_int_equal(got.n, 2);
    assert_int_equal(got.sum, 7 + 13);
    assert_int_equal(taken.taken, 2);
    assert_int_equal(taken.unsound, 8);
    assert_int_equal(taken.too_many, 0);
    assert_int_equal(unlink(name("other")), 0); /* is none of its business */
}

static void test_loaders_are_bounded(void **state)
{
    struct got got = {0};
    struct pp_loaders_file *f = malloc(sizeof(*f));
    assert_non_null(f);
    memset(f, 'x', sizeof(*f));
    memcpy(f->magic, PP_LOADERS_MAGIC, sizeof(f->magic));
    f->pid = 7;
    f->n_loaders = UINT32_MAX;
    put("loaders-7", f, sizeof(*f));
    put("loaders-8", f, sizeof(*f));
    struct pp_session_taken taken = pp_loaders_files_take(dir, PP_FILES_GO, get_loaders, &got);
    assert_int_equal(taken.taken, 1);
    assert_int_equal(taken.unsound, 1);
    assert_int_equal(got.loaders, PP_LOADERS_MAX);
    put("loaders-7", f, sizeof(*f));
    taken = pp_loaders_files_take(dir, PP_FILES_GO, NULL, NULL); /* removes, and does not look */
    assert_int_equal(taken.taken + taken.unsound + taken.too_many, 0);
    free(f);
}

static void get_rank(void *ctx, const struct pp_rank_file *f)
{
    struct got *g = ctx;
    struct pp_identity id;
    g->n++;
    g->sum += f->rank;
    g->loaders += (unsigned)pp_rank_file_identity(f, &id);
}

/* A rank that no launcher makes is given, and said to be none. */
static void test_ranks_are_of_a_launcher(void **state)
{
    static const struct {
        const char *launcher;
        int64_t rank, world_size, attempt;
        unsigned sound;
    } rows[] = {
        {"torchrun", 3, 4, -1, 1},        {"torchrun", 4, 4, -1, 0},        {"torchrun", -1, 4, -1, 0},
        {"no launcher", 0, 4, -1, 0},     {"torchrun", 0, 1, -1, 0},        {"Open MPI", 0, 2, -1, 1},
        {"torchrun", 0, 4, INT64_MAX, 0}, {"torchrun", 0, INT64_MAX, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct got got = {0};
        struct pp_rank_file f = {.pid = 7,
                                 .rank = rows[i].rank,
                                 .world_size = rows[i].world_size,
                                 .local_rank = -1,
                                 .local_size = -1,
                                 .node = -1,
                                 .attempt = rows[i].attempt};
        memcpy(f.magic, PP_RANK_MAGIC, sizeof(f.magic));
        memset(f.job, 'j', sizeof(f.job)); /* without an end */
        snprintf(f.launcher, sizeof(f.launcher), "%s", rows[i].launcher);
        put("rank-7", &f, sizeof(f));
        put("rank-7.part", &f, sizeof(f));
        put("asking-7", &f, 1);
        assert_int_equal(pp_rank_files_take(dir, get_rank, &got).taken, 1);
        assert_int_equal(got.n, 1);
        assert_int_equal(got.loaders, rows[i].sound);
        assert_int_equal(unlink(name("asking-7")), 0); /* a file that is being written is not removed */
    }
}

static void test_their_number_is_limited(void **state)
{
    enum { BEYOND = 10 };
    struct got got = {0};
    char rest[32];
    for (int i = 1; i <= PP_SESSION_FILES_MAX + BEYOND; i++) {
        snprintf(rest, sizeof(rest), "process-%d", i);
        put(rest, "x", 1);
    }
    struct pp_session_taken taken = pp_process_files_take(dir, get_process, &got);
    assert_int_equal(taken.unsound, PP_SESSION_FILES_MAX);
    assert_int_equal(taken.too_many, BEYOND);
    assert_int_equal(got.n, 0);
}

/* What a killed collector left is removed later: a file that is not known would keep the directory there. */
static void test_every_file_of_a_session_is_known(void **state)
{
    static const char *const ours[] = {"ring-3",    "process-7",    "loaders-7",    "order-7",
                                       "rank-7",    "asking-7",     "session-of-7", "alive",
                                       "names.map", "gpu-activity", "unhooked",     "ops-7"};
    static const char *const foreign[] = {"orders", "train.py", "session", "", ".."};
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        assert_true(pp_session_has_file(ours[i]));
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
        assert_false(pp_session_has_file(foreign[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_sound_files_are_given, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loaders_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranks_are_of_a_launcher, setup, teardown),
        cmocka_unit_test_setup_teardown(test_their_number_is_limited, setup, teardown),
        cmocka_unit_test(test_every_file_of_a_session_is_known),
    };
    return cmocka_run_group_tests_name("session_files", tests, NULL, NULL);
}
