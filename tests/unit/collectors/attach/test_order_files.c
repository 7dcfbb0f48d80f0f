/* Order files of a session: sound blocks are taken, whatever else lies there is removed and counted; and they
 * come out of the store as they went in. */
#include "collectors/attach/order_files.h"
#include "collectors/store/reader.h"
#include "collectors/store/writer.h"
#include "probe/base/sample_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int setup(void **state)
{
    strcpy(dir, "/tmp/pp-order-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    return rmdir(dir); /* fails where something was left */
}

static const char *name(const char *rest)
{
    static char path[2][128];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, rest);
    return path[turn];
}

static void put(const char *rest, const void *data, size_t size)
{
    FILE *f = fopen(name(rest), "ab");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* A block of one batch of three samples. */
struct made {
    struct pp_order_block b;
    uint8_t list[8];
};

static struct made block(uint32_t epoch)
{
    struct made m = {.b = {.magic = PP_ORDER_MAGIC,
                           .loader = 1,
                           .epoch = epoch,
                           .first_batch = 9 + epoch,
                           .batches = 1,
                           .samples = 3,
                           .flags = PP_ORDER_ENDED}};
    uint64_t last = 0;
    uint8_t *end = pp_sample_list_put_batch(m.list, 3);
    for (uint64_t i = 5; i < 8; i++)
        end = pp_sample_list_put(end, i, &last);
    m.b.bytes = (uint32_t)(end - m.list);
    return m;
}

struct seen {
    int n;
    int64_t pid;
    uint32_t epochs;
};

static void take(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *list)
{
    struct seen *s = ctx;
    struct made want = block(b->epoch);
    assert_memory_equal(list, want.list, want.b.bytes);
    s->n++;
    s->pid = pid;
    s->epochs |= 1u << b->epoch;
}

static void count_block(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *behind)
{
    ++*(int *)ctx;
}

static void sound_blocks_are_taken(void **state)
{
    struct seen s = {0};
    for (uint32_t e = 0; e < 3; e++) {
        struct made m = block(e);
        put("order-77", &m, sizeof(m.b) + m.b.bytes);
    }
    struct pp_session_taken t = pp_order_files_take(dir, PP_FILES_GO, take, &s);
    assert_true(t.taken == 1 && t.unsound == 0 && s.n == 3 && s.pid == 77 && s.epochs == 7);
}

/* A window that was not filled, as a killed process leaves it, and the next one. */
static void zeros_end_a_window(void **state)
{
    static const uint8_t zeros[PP_ORDER_BYTES];
    struct seen s = {0};
    struct made m = block(0);
    size_t size = sizeof(m.b) + m.b.bytes;
    put("order-77", &m, size);
    put("order-77", zeros, PP_ORDER_BYTES - size);
    m = block(1);
    put("order-77", &m, size);
    put("order-77", zeros, PP_ORDER_BYTES - size);
    put("order-78", &m, size);
    put("order-78", zeros, PP_ORDER_BYTES - size - 8); /* cut, but of nothing */
    m.b.bytes = PP_ORDER_BYTES;                        /* beyond its window */
    put("order-79", &m, sizeof(m.b));
    put("order-79", zeros, sizeof(zeros));
    put("order-79", zeros, sizeof(zeros));
    struct pp_session_taken t = pp_order_files_take(dir, PP_FILES_GO, take, &s);
    assert_true(t.taken == 2 && t.unsound == 1 && s.n == 3 && s.epochs == 3);
}

/* Blocks of other kinds, each by its own rules. */
static void kinds_are_told_by_their_magic(void **state)
{
    static const struct {
        uint32_t magic, bytes, batches, samples;
        int sound;
        const char *behind;
    } cases[] = {
        {PP_USE_MAGIC, 0, 5, 5, 1, ""},
        {PP_USE_MAGIC, 0, 5, 6, 0, ""}, /* more trained on than taken */
        {PP_USE_MAGIC, 4, 5, 5, 0, "abcd"},
        {PP_FACT_MAGIC, 4, 0, 0, 1, "a\0b"},
        {PP_FACT_MAGIC, 2, 0, 0, 1, "\0"},
        {PP_FACT_MAGIC, 3, 0, 0, 0, "a\0b"},    /* the value does not end */
        {PP_FACT_MAGIC, 6, 0, 0, 0, "a\0b\0c"}, /* a third text */
        {PP_STATE_MAGIC, 21, 0, 0, 1, "0123456789abcdef\0\0\0\0"},
        {PP_STATE_MAGIC, 20, 0, 0, 0, "0123456789abcdef\0\0\0"},
        {PP_STATE_MAGIC, 16, 0, 0, 0, "0123456789abcde"},
        {PP_CONTENT_MAGIC, 16, 1, 1, 1, "0123456789abcde"},
        {PP_CONTENT_MAGIC, 16, 1, 2, 0, "0123456789abcde"},
        {PP_CONTENT_MAGIC, 0, 1, 0, 0, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pp_order_block b = {.magic = cases[i].magic,
                                   .bytes = cases[i].bytes,
                                   .batches = cases[i].batches,
                                   .samples = cases[i].samples};
        int n = 0;
        put("order-77", &b, sizeof(b));
        put("order-77", cases[i].behind, b.bytes);
        struct pp_session_taken t = pp_order_files_take(dir, PP_FILES_GO, count_block, &n);
        if (t.taken != (unsigned)cases[i].sound || n != cases[i].sound)
            fail_msg("case %zu: %u sound, %d given", i, t.taken, n);
    }
}

static void what_is_damaged_is_counted_and_goes(void **state)
{
    struct seen s = {0};
    struct made m = block(0);
    put("order-1", &m, sizeof(m.b) + m.b.bytes);
    put("order-1", &m, sizeof(m.b) - 3); /* a sound one, then half a head */
    put("order-2", &m, sizeof(m.b) + 1); /* its list is cut */
    m.b.magic = 7;
    put("order-3", &m, sizeof(m.b) + m.b.bytes);
    m = block(0);
    m.b.bytes = UINT32_MAX;
    put("order-4", &m, sizeof(m.b));
    m = block(0);
    m.b.batches = 1000; /* more than its list can have */
    put("order-5", &m, sizeof(m.b) + m.b.bytes);
    put("order-x", &m, 3);
    assert_int_equal(symlink("/etc/passwd", name("order-6")), 0);
    assert_int_equal(mkfifo(name("order-7"), 0600), 0);
    struct pp_session_taken t = pp_order_files_take(dir, PP_FILES_GO, take, &s);
    assert_true(t.taken == 0 && t.unsound == 8 && s.n == 1);
}

static void check_row(void *ctx, const struct pp_order_row *o)
{
    struct seen *s = ctx;
    struct made want = block(o->epoch);
    assert_true(o->pid == 42 && o->loader == 1 && o->first_batch == 9 + o->epoch && o->batches == 1 &&
                o->samples == 3 && o->ended);
    if (o->list) {
        assert_int_equal(o->list_bytes, want.b.bytes);
        assert_memory_equal(o->list, want.list, want.b.bytes);
    }
    s->n += o->list != NULL;
    s->epochs |= 1u << o->epoch;
}

static void note_epoch(void *ctx, const struct pp_order_row *o)
{
    struct seen *s = ctx;
    s->epochs |= 1u << o->epoch;
}

static void the_store_gives_back_what_it_got(void **state)
{
    struct pp_store *store;
    struct pp_reader *reader;
    struct pp_err err;
    struct seen s = {0};
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = name("run.sqlite")}, &store, &err),
                     PP_OK);
    for (uint32_t e = 0; e < 3; e++) {
        struct made m = block(e);
        assert_int_equal(pp_store_order(store, &(struct pp_order_row){.pid = 42,
                                                                      .loader = 1,
                                                                      .epoch = e,
                                                                      .first_batch = 9 + e,
                                                                      .batches = 1,
                                                                      .samples = 3,
                                                                      .ended = 1,
                                                                      .list = m.list,
                                                                      .list_bytes = m.b.bytes}),
                         PP_OK);
    }
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    assert_int_equal(pp_reader_open(name("run.sqlite"), &reader, &err), PP_OK);
    assert_int_equal(pp_reader_each_order(reader, NULL, check_row, &s, &err), PP_OK);
    assert_true(s.n == 0 && s.epochs == 7);
    s.epochs = 0;
    struct pp_order_row only = {.pid = 42, .loader = 1, .epoch = 2};
    assert_int_equal(pp_reader_each_order(reader, &only, check_row, &s, &err), PP_OK);
    assert_true(s.n == 1 && s.epochs == 4);
    pp_reader_close(reader);
    unlink(name("run.sqlite"));
}

static void count_losses(void *ctx, const char *what, uint64_t count, const char *why)
{
    *(int *)ctx += strcmp(what, "sample lists") == 0;
}

/* Of --max-bytes lists take a quarter; what is left out is one loss. */
static void lists_keep_to_the_limit(void **state)
{
    static uint8_t list[100 << 10];
    struct pp_store *store;
    struct pp_reader *reader;
    struct pp_err err;
    struct seen s = {0};
    int losses = 0;
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = name("run.sqlite"),
                                                             .max_bytes = 1 << 20},
                                     &store, &err),
                     PP_OK);
    for (uint32_t e = 0; e < 10; e++)
        assert_int_equal(pp_store_order(store, &(struct pp_order_row){.batches = 1,
                                                                      .epoch = e,
                                                                      .list = list,
                                                                      .list_bytes = sizeof(list)}),
                         PP_OK);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    assert_int_equal(pp_reader_open(name("run.sqlite"), &reader, &err), PP_OK);
    assert_int_equal(pp_reader_each_order(reader, NULL, note_epoch, &s, &err), PP_OK);
    assert_int_equal(s.epochs, 3);
    assert_int_equal(pp_reader_each_loss(reader, count_losses, &losses, &err), PP_OK);
    assert_int_equal(losses, 1);
    pp_reader_close(reader);
    unlink(name("run.sqlite"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sound_blocks_are_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(kinds_are_told_by_their_magic, setup, teardown),
        cmocka_unit_test_setup_teardown(zeros_end_a_window, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_damaged_is_counted_and_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(the_store_gives_back_what_it_got, setup, teardown),
        cmocka_unit_test_setup_teardown(lists_keep_to_the_limit, setup, teardown),
    };
    return cmocka_run_group_tests_name("order files", tests, NULL, NULL);
}
