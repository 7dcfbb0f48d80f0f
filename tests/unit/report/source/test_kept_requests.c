/* Requests of a growing recording, kept from one look to the next: what is handed out is what the file holds,
 * however often it was looked at, and each row is read once. */
#include "tests/support/store_dir.h"

#include "collectors/store/store.h"
#include "report/build/build.h"
#include "report/render/render.h"
#include "report/source/source.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define T0 (1000 * S)
enum { TRAINER = 1, WORKER = 2, BATCH = 4, BATCHES_PER_S = 10, READ_MS = 20 };

/* ---- rows, added up so that order and every field count ---- */

struct sum {
    uint64_t n, hash;
};

static void mix(struct sum *s, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        s->hash = (s->hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void on_row(void *ctx, const struct pp_request_row *r)
{
    struct sum *s = ctx;
    const uint64_t all[] = {r->id,         r->start_ns, r->queue_ns,      r->resolve_ns,
                            r->connect_ns, r->tls_ns,   r->first_byte_ns, r->transfer_ns,
                            r->cpu_ns,     r->bytes,    r->sample,        r->epoch,
                            r->status,     r->attempt,  r->flags,         r->place};
    s->n++;
    mix(s, all, sizeof(all));
    mix(s, r->address ? r->address : "-", r->address ? strlen(r->address) : 1);
    mix(s, r->prefix ? r->prefix : "-", r->prefix ? strlen(r->prefix) : 1);
}

static struct sum rows_of(struct pp_kept_requests *k)
{
    struct sum s = {0};
    struct pp_reader *r = NULL;
    struct pp_err err = {0};
    if (pp_reader_open(store_path, &r, &err) != PP_OK ||
        pp_kept_requests_each(k, r, on_row, &s, &err) != PP_OK)
        fail_msg("%s", err.text);
    pp_reader_close(r);
    return s;
}

static uint64_t assert_as_the_file(struct pp_kept_requests *k)
{
    struct sum kept = rows_of(k), all = rows_of(NULL);
    assert_int_equal(kept.n, all.n);
    assert_int_equal(kept.hash, all.hash);
    return all.n;
}

/* ---- a run that grows ---- */

static void put_requests(struct pp_store *s, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        struct pp_request_row r = {.start_ns = T0 + i * READ_MS * MS,
                                   .first_byte_ns = 15 * MS + i % 7 * MS / 10,
                                   .transfer_ns = 4 * MS,
                                   .connect_ns = i % 50 == 0 ? MS : 0,
                                   .cpu_ns = 40000 + i % 11,
                                   .bytes = 110000 + i % 5,
                                   .sample = i,
                                   .status = i % 31 == 30 ? 503 : 206,
                                   .attempt = i % 31 == 30,
                                   .flags = i % 50 == 0 ? PP_REQUEST_ROW_CONNECTED : 0,
                                   .place = 1 + (uint32_t)(i / 40) % 3};
        char address[32];
        snprintf(address, sizeof(address), "10.0.0.%u:443", r.place);
        if (i % 40 == 0 && i < 120)
            assert_int_equal(pp_store_request_place(s, r.place, address, "s3://bucket/train"), PP_OK);
        assert_int_equal(pp_store_request(s, &r), PP_OK);
    }
}

static void put(struct pp_store *s, uint32_t thread, pp_phase phase, uint64_t start_ns, uint64_t dur_ns,
                uint64_t sample)
{
    int waits = phase == PP_PHASE_DATA_WAIT || phase == PP_PHASE_STEP;
    struct pp_span span = {.start_ns = start_ns,
                           .dur_ns = dur_ns,
                           .phase = (uint8_t)phase,
                           .sample = waits ? BATCH : sample,
                           .batch = (uint32_t)(sample / BATCH),
                           .bytes = phase == PP_PHASE_READ ? 110000 : 0,
                           .cpu_ns = phase == PP_PHASE_DECODE ? dur_ns : dur_ns / 50,
                           .flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY | (waits ? PP_SPAN_COUNT : 0)};
    assert_int_equal(pp_store_append(s, thread, &span, 1), PP_OK);
}

/* One worker whose reads are most of its time, and a trainer that waits for it. */
static void put_spans(struct pp_store *s, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        uint64_t t = T0 + i * (READ_MS + 5) * MS;
        put(s, WORKER, PP_PHASE_READ, t, READ_MS * MS + i % 9 * MS / 5, i);
        put(s, WORKER, PP_PHASE_DECODE, t + (READ_MS + 2) * MS, 2 * MS, i);
        if (i % BATCH == BATCH - 1) {
            put(s, TRAINER, PP_PHASE_DATA_WAIT, t + 5 * MS - BATCH * (READ_MS + 5) * MS, 90 * MS, i);
            put(s, TRAINER, PP_PHASE_STEP, t + 95 * MS - BATCH * (READ_MS + 5) * MS, 10 * MS, i);
        }
    }
}

static struct pp_store *begin_run(void)
{
    static const pp_lane lanes[] = {PP_LANE_MAIN, PP_LANE_TRAINER, PP_LANE_WORKER};
    struct pp_store *s = store_create_with((struct pp_store_opts){.path = store_path, .force = 1});
    pp_store_meta_num(s, "run", "started_mono_ns", (double)T0, "ns");
    pp_store_meta_num(s, "config", "workers", 1, NULL);
    pp_store_meta_num(s, "config", "batch_size", BATCH, NULL);
    pp_store_meta_num(s, "config", "prefetch", 2, NULL);
    for (uint32_t id = 0; id < 3; id++)
        pp_store_thread(s, &(struct pp_store_thread){.id = id,
                                                     .lane = lanes[id],
                                                     .name = "t",
                                                     .pid = 1,
                                                     .tid = 1 + id,
                                                     .recorded = 1});
    return s;
}

static void commit(struct pp_store *s)
{
    struct pp_err err = {0};
    if (pp_store_commit(s, &err) != PP_OK)
        fail_msg("%s", err.text);
}

/* ---- tests ---- */

static void each_row_is_read_once(void **state)
{
    struct pp_kept_requests *k = pp_kept_requests_new();
    struct pp_store *s = begin_run();
    uint64_t n = 0;
    commit(s);
    assert_int_equal(assert_as_the_file(k), 0);
    for (uint64_t more = 1; n < 3000; n += more, more = more * 3 % 800 + 1) {
        put_requests(s, n, n + more);
        commit(s);
        assert_int_equal(assert_as_the_file(k), n + more);
        assert_int_equal(assert_as_the_file(k), n + more); /* nothing came */
    }
    assert_true(pp_kept_requests_read(k) <
                n + 100); /* at each look one again: the one that it goes on from */
    pp_store_close(s);
    assert_int_equal(assert_as_the_file(k), n);
    pp_kept_requests_free(k);
}

static void what_the_recorder_removed_is_gone(void **state)
{
    struct pp_kept_requests *k = pp_kept_requests_new();
    struct pp_store *s = begin_run();
    for (uint64_t n = 0; n < PP_STORE_REQUESTS + 9000; n += 45000) {
        put_requests(s, n, n + 45000);
        commit(s);
        assert_as_the_file(k);
    }
    assert_true(rows_of(k).n <= PP_STORE_REQUESTS);
    assert_true(pp_kept_requests_read(k) < 2 * PP_STORE_REQUESTS);
    pp_store_close(s);
    pp_kept_requests_free(k);
}

static void another_file_is_read_from_its_beginning(void **state)
{
    struct pp_kept_requests *k = pp_kept_requests_new();
    for (uint64_t run = 0; run < 4; run++) { /* as many rows, more, fewer, none */
        static const uint64_t rows[] = {500, 500, 200, 0};
        struct pp_store *s = begin_run();
        put_requests(s, run * 1000, run * 1000 + rows[run]);
        commit(s);
        assert_int_equal(assert_as_the_file(k), rows[run]);
        pp_store_close(s);
    }
    pp_kept_requests_free(k);
}

static char *verdict_of(struct pp_kept_requests *k)
{
    struct pp_source source;
    struct pp_report *r = NULL;
    struct pp_err err = {0};
    char *text = NULL;
    size_t size;
    pp_status st = pp_source_open(store_path, &source, &err);
    source.glance = 1;
    pp_source_keep_requests(&source, k);
    if (st != PP_OK || pp_report_from(&source, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    pp_source_close(&source);
    FILE *f = open_memstream(&text, &size);
    pp_render_json(r, f);
    fclose(f);
    pp_report_free(r);
    return text;
}

static void the_verdict_is_that_of_all_rows(void **state)
{
    struct pp_kept_requests *k = pp_kept_requests_new();
    struct pp_store *s = begin_run();
    const uint64_t n = 2400;
    for (uint64_t i = 0; i < n; i += n / 6) {
        put_spans(s, i, i + n / 6);
        put_requests(s, i, i + n / 6);
        commit(s);
        char *kept = verdict_of(k), *all = verdict_of(NULL);
        assert_string_equal(kept, all);
        if (i)
            assert_non_null(strstr(all, "\"storage\""));
        free(kept);
        free(all);
    }
    assert_true(pp_kept_requests_read(k) < n + 10);
    pp_store_close(s);
    pp_kept_requests_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(each_row_is_read_once),
        STORE_TEST(what_the_recorder_removed_is_gone),
        STORE_TEST(another_file_is_read_from_its_beginning),
        STORE_TEST(the_verdict_is_that_of_all_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
