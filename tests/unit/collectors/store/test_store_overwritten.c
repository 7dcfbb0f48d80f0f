/* Another program writes into the file of a recording, in place: the same inode, so that the name says
 * nothing. Whatever the recorder then says of what is left is so. */
#include "tests/support/store_spans.h"

#include "probe/base/err.h"
#include "probe/base/rng.h"

#include <fcntl.h>

enum { COMMITTED = 20000, LATER = 5000 };

static void put_at(off_t offset, const void *data, size_t size)
{
    int fd = open(store_path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, size, offset), size);
    close(fd);
}

static void cut(off_t size)
{
    assert_int_equal(truncate(store_path, size), 0);
}

static void cut_to_nothing(void)
{
    cut(0);
}

static void cut_to_a_page(void)
{
    cut(8192);
}

static void cut_to_part_of_a_page(void)
{
    cut(5000);
}

/* As cp does. */
static void put_another_database(void)
{
    char other[sizeof(store_path) + 8];
    static uint8_t data[1 << 16];
    sqlite3 *db;
    snprintf(other, sizeof(other), "%s.other", store_path);
    assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES(7)", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    int fd = open(other, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, data, sizeof(data));
    close(fd);
    unlink(other);
    assert_true(n > 0);
    cut(0);
    put_at(0, data, (size_t)n);
}

static void put_text(void)
{
    static const char text[] = "this is no database\n";
    cut(0);
    put_at(0, text, sizeof(text) - 1);
}

static void put_noise(void)
{
    static uint64_t noise[8192];
    struct pp_rng r = pp_rng_key(7, 0, 0, 0);
    for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
        noise[i] = pp_rng_next(&r);
    put_at(0, noise, sizeof(noise));
}

/* Spans of the file as it is, 0 where it cannot be read. */
static uint64_t readable(void)
{
    struct pp_reader *r = NULL;
    struct pp_err err;
    struct spans_seen seen = {0};
    uint64_t bad = 0;
    if (pp_reader_open(store_path, &r, &err) != PP_OK)
        return 0;
    pp_status st = pp_reader_each_chunk(r, spans_see, &seen, &bad, &err);
    pp_reader_close(r);
    return st == PP_OK && !bad && !seen.wrong ? seen.n : 0;
}

/* Before the next commit, and after it: the end of the recording. */
static void check_way(const char *name, void (*overwrite)(void), int more)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){.force = 1});
    struct pp_err err;
    pp_err_clear(&err);
    spans_append(s, 0, COMMITTED);
    assert_int_equal(pp_store_commit(s, &err), PP_OK);
    overwrite();
    if (more) {
        spans_append(s, COMMITTED, LATER);
        pp_store_commit(s, &err);
    }
    pp_err_clear(&err);
    pp_status status = pp_store_finish(s, &err);
    pp_store_close(s);
    uint64_t left = readable(), all = COMMITTED + (more ? LATER : 0);
    const char *promise = strstr(err.text, "committed spans stay readable"),
               *warning = strstr(err.text, "another program has written into the file");
    if (status == PP_OK && left != all)
        fail_msg("%s: finished without a word, and %llu of %llu spans can be read", name,
                 (unsigned long long)left, (unsigned long long)all);
    if (status != PP_OK && promise && left < COMMITTED)
        fail_msg("%s: \"%s\", and %llu can be read", name, err.text, (unsigned long long)left);
    if (status != PP_OK && !promise && !warning && !strstr(err.text, "deleted, moved or replaced"))
        fail_msg("%s: \"%s\" does not say what is left", name, err.text);
}

static void test_what_is_said_to_be_left_is_left(void **state)
{
    static const struct {
        const char *name;
        void (*overwrite)(void);
    } ways[] = {{"cut to nothing", cut_to_nothing},
                {"cut to a page", cut_to_a_page},
                {"cut to part of a page", cut_to_part_of_a_page},
                {"another database", put_another_database},
                {"a text", put_text},
                {"noise", put_noise}};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        for (int more = 0; more < 2; more++)
            check_way(ways[i].name, ways[i].overwrite, more);
}

/* The index of the log, which SQLite maps, is cut: no signal ends the recorder, it ends with a sentence, and
 * what was committed until then can be read. */
static void test_an_index_that_is_cut_ends_with_a_sentence(void **state)
{
    static const off_t sizes[] = {0, 100, 4096, 16384, 20000};
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pp_store *s = store_create_with((struct pp_store_opts){.force = 1});
        char index[sizeof(store_path) + 8];
        struct pp_err err;
        uint64_t committed = COMMITTED;
        int commits = i & 1 ? 3 : 1;
        pp_err_clear(&err);
        spans_append(s, 0, COMMITTED);
        assert_int_equal(pp_store_commit(s, &err), PP_OK);
        struct pp_reader *r = store_open_reader(); /* maps the index too */
        assert_int_equal(spans_count(r, NULL), COMMITTED);
        snprintf(index, sizeof(index), "%s-shm", store_path);
        assert_int_equal(truncate(index, sizes[i / 2]), 0);
        pp_reader_meta(r, "run", "outcome");
        pp_reader_close(r);
        for (int k = 0; k < commits; k++) {
            spans_append(s, COMMITTED + (uint64_t)k * LATER, LATER);
            if (pp_store_commit(s, &err) != PP_OK)
                break;
            committed += LATER;
        }
        pp_err_clear(&err);
        pp_status status = pp_store_finish(s, &err);
        pp_store_close(s);
        uint64_t left = readable();
        if (status == PP_OK ? left != committed : !strstr(err.text, "-shm") || left < committed)
            fail_msg("cut to %lld, %d commits: \"%s\", and %llu of %llu spans can be read",
                     (long long)sizes[i / 2], commits, err.text, (unsigned long long)left,
                     (unsigned long long)committed);
        store_assert_integrity();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {STORE_TEST(test_what_is_said_to_be_left_is_left),
                                       STORE_TEST(test_an_index_that_is_cut_ends_with_a_sentence)};
    return cmocka_run_group_tests_name("store_overwritten", tests, NULL, NULL);
}
