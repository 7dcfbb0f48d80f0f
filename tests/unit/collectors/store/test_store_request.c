/* Requests as rows: what is stored comes back, the newest stay, and rows that cannot be are left out. */
#include "tests/support/store_dir.h"

#include "collectors/store/reader.h"
#include "collectors/store/store.h"

struct got {
    struct pp_request_row row[8];
    size_t n;
    char address[8][64], prefix[8][64];
};

static void on_request(void *ctx, const struct pp_request_row *row)
{
    struct got *g = ctx;
    size_t at = g->n++ % 8;
    g->row[at] = *row;
    snprintf(g->address[at], sizeof(g->address[at]), "%s", row->address ? row->address : "-");
    snprintf(g->prefix[at], sizeof(g->prefix[at]), "%s", row->prefix ? row->prefix : "-");
}

static struct got read_wanted(const struct pp_request_wanted *wanted)
{
    struct got g = {.n = 0};
    struct pp_reader *r = NULL;
    struct pp_err err = {0};
    if (pp_reader_open(store_path, &r, &err) != PP_OK ||
        pp_reader_each_request(r, wanted, on_request, &g, &err) != PP_OK)
        fail_msg("%s", err.text);
    pp_reader_close(r);
    return g;
}

static struct got read_back(void)
{
    return read_wanted(NULL);
}

static uint64_t first_row(void)
{
    uint64_t id = 7;
    struct pp_reader *r = NULL;
    struct pp_err err = {0};
    if (pp_reader_open(store_path, &r, &err) != PP_OK || pp_reader_first_request(r, &id, &err) != PP_OK)
        fail_msg("%s", err.text);
    pp_reader_close(r);
    return id;
}

static void finish(struct pp_store *s)
{
    struct pp_err err = {0};
    if (pp_store_finish(s, &err) != PP_OK)
        fail_msg("%s", err.text);
    pp_store_close(s);
}

static const struct pp_request_row example = {.start_ns = 5000,
                                              .queue_ns = 1,
                                              .resolve_ns = 2,
                                              .connect_ns = 4,
                                              .tls_ns = 8,
                                              .first_byte_ns = 16,
                                              .transfer_ns = 32,
                                              .cpu_ns = 7,
                                              .bytes = 110000,
                                              .sample = 12,
                                              .epoch = 3,
                                              .status = 206,
                                              .attempt = 1,
                                              .flags = PP_REQUEST_ROW_CONNECTED,
                                              .place = 2};

static void what_is_stored_comes_back(void **state)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){.path = store_path});
    struct pp_request_row none = example;
    none.sample = PP_NO_SAMPLE, none.epoch = UINT32_MAX, none.place = 0, none.status = 0;
    pp_store_request_place(s, 2, "10.0.0.7:443", "s3://bucket/train");
    assert_int_equal(pp_store_request(s, &example), PP_OK);
    assert_int_equal(pp_store_request(s, &none), PP_OK);
    finish(s);
    struct got g = read_back();
    assert_int_equal(g.n, 2);
    struct pp_request_row r = g.row[0];
    assert_string_equal(g.address[0], "10.0.0.7:443");
    assert_string_equal(g.prefix[0], "s3://bucket/train");
    assert_int_equal(r.id, 1);
    r.address = r.prefix = NULL, r.id = 0;
    assert_memory_equal(&r, &example, sizeof(r));
    assert_int_equal(pp_request_row_ns(&r), 63);
    assert_true(g.row[1].sample == PP_NO_SAMPLE && g.row[1].epoch == UINT32_MAX);
    assert_string_equal(g.address[1], "-");
    assert_int_equal(g.row[1].status, 0);
    assert_int_equal(store_query("SELECT count(*) FROM v_request WHERE prefix = 's3://bucket/train'"), 1);
    assert_int_equal(store_query("SELECT sum(connections) FROM v_request_summary"), 2);
}

static void times_and_orders_can_be_asked_for(void **state)
{
    static const uint64_t starts[] = {300, 100, 400, 200};
    struct pp_store *s = store_create_with((struct pp_store_opts){.path = store_path});
    struct pp_request_row r = example;
    pp_store_request_place(s, 2, "10.0.0.7:443", "s3://bucket/train");
    for (size_t i = 0; i < 4; i++) {
        r.start_ns = starts[i];
        assert_int_equal(pp_store_request(s, &r), PP_OK);
    }
    finish(s);
    struct got g = read_wanted(&(struct pp_request_wanted){.by_start = 1});
    assert_int_equal(g.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(g.row[i].start_ns, 100 * (i + 1));
    assert_string_equal(g.prefix[3], "s3://bucket/train");
    g = read_wanted(&(struct pp_request_wanted){.from_ns = 200, .to_ns = 400});
    assert_int_equal(g.n, 2);
    assert_true(g.row[0].start_ns == 300 && g.row[1].start_ns == 200); /* as they ended */
    g = read_wanted(&(struct pp_request_wanted){.from_ns = 250, .by_start = 1});
    assert_true(g.n == 2 && g.row[0].start_ns == 300 && g.row[1].start_ns == 400);
    g = read_wanted(&(struct pp_request_wanted){.from_id = 3});
    assert_true(g.n == 2 && g.row[0].id == 3 && g.row[1].id == 4);
    assert_int_equal(first_row(), 1);
}

static void the_newest_stay(void **state)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){.path = store_path});
    struct pp_request_row r = example;
    for (uint64_t i = 0; i < PP_STORE_REQUESTS + 10; i++) {
        r.start_ns = i;
        assert_int_equal(pp_store_request(s, &r), PP_OK);
    }
    finish(s);
    assert_true(store_query("SELECT count(*) FROM request") <= PP_STORE_REQUESTS);
    assert_true(store_query("SELECT count(*) FROM request") > PP_STORE_REQUESTS - 5000);
    assert_int_equal(store_query("SELECT max(start_ns) FROM request"), PP_STORE_REQUESTS + 9);
    assert_int_equal(first_row(), store_query("SELECT min(id) FROM request"));
}

static void rollups_alone_have_none(void **state)
{
    struct pp_store *s = store_create_with(
        (struct pp_store_opts){.path = store_path, .detail = PP_DETAIL_ROLLUP});
    assert_int_equal(pp_store_request(s, &example), PP_OK);
    finish(s);
    assert_int_equal(read_back().n, 0);
    assert_int_equal(first_row(), 0);
}

static void rows_that_cannot_be_are_left_out(void **state)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){.path = store_path});
    struct pp_request_row r = example;
    assert_int_equal(pp_store_request(s, &r), PP_OK);
    r.first_byte_ns = UINT64_MAX / 4;
    assert_int_equal(pp_store_request(s, &r), PP_OK);
    r = example, r.start_ns = UINT64_MAX - 1;
    assert_int_equal(pp_store_request(s, &r), PP_OK);
    finish(s);
    assert_int_equal(read_back().n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_is_stored_comes_back),
        STORE_TEST(times_and_orders_can_be_asked_for),
        STORE_TEST(the_newest_stay),
        STORE_TEST(rollups_alone_have_none),
        STORE_TEST(rows_that_cannot_be_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
