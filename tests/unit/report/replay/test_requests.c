/* Requests behind the reads of a recording: joined with their samples, compared by host and prefix, and what
 * the knobs of requests make of them. */
#include "tests/support/made_costs.h"

#include "probe/base/array.h"
#include "probe/base/rng.h"
#include "report/replay/requests.h"
#include "report/replay/costs_impl.h"
#include "report/verdict/verdict.h"

enum { MOST = 2 * MADE_SAMPLES };

static struct {
    struct pp_request_row row[MOST];
    size_t n;
} made;

static pp_status each_request(void *ctx, pp_request_fn *fn, void *fn_ctx, struct pp_err *err)
{
    for (size_t i = 0; i < made.n; i++)
        fn(fn_ctx, &made.row[i]);
    return PP_OK;
}

/* One request per sample, of 10 ms like its read: 8 ms to the first byte, 2 ms of bytes. */
static void make_requests(const struct pp_costs *c)
{
    made.n = c->n;
    for (size_t i = 0; i < c->n; i++)
        made.row[i] = (struct pp_request_row){.start_ns = c->samples[i].read_start_ns,
                                              .first_byte_ns = 8 * FAKE_MS,
                                              .transfer_ns = 2 * FAKE_MS,
                                              .bytes = c->samples[i].bytes,
                                              .sample = c->samples[i].sample,
                                              .status = 206,
                                              .place = 1,
                                              .address = "10.0.0.1:80",
                                              .prefix = "s3://b/a"};
}

static void read_requests(struct pp_costs *c)
{
    struct pp_source source = {.path = "x", .each_request = each_request};
    struct pp_timeline tl = {.start_ns = 0, .end_ns = UINT64_MAX};
    struct pp_err err = {0};
    if (pp_requests_read(&source, &tl, c, &err) != PP_OK)
        fail_msg("%s", err.text);
}

static void without_requests_nothing_changes(void **state)
{
    struct pp_costs c = made_costs_new(), before = c;
    made.n = 0;
    read_requests(&c);
    assert_true(c.requests.n == 0);
    assert_true(c.samples[5].read_blocked == before.samples[5].read_blocked);
    struct pp_signals s = made_costs_signals(&c);
    assert_true(isnan(s.metric[PP_METRIC_REMOTE_FLIGHT]));
    assert_null(pp_signals_fix(&s, "inflight"));
    pp_costs_free(&c);
}

static void samples_have_the_parts_of_their_requests(void **state)
{
    struct pp_costs c = made_costs_new();
    make_requests(&c);
    made.row[3].connect_ns = 4 * FAKE_MS, made.row[3].tls_ns = 1 * FAKE_MS;
    made.row[made.n] = made.row[3]; /* a second try */
    made.row[made.n++].attempt = 1;
    made.row[7].sample = PP_NO_SAMPLE;
    made.row[8].flags = PP_REQUEST_ROW_DROPPED;
    made.row[9].epoch = 1; /* of another epoch */
    read_requests(&c);
    assert_int_equal(c.samples[3].requests, 2);
    assert_true(c.samples[3].setup == 10e6f && c.samples[3].first_byte == 16e6f);
    assert_true(c.samples[4].requests == 1 && c.samples[4].transfer == 2e6f && c.samples[4].setup == 0);
    assert_true(c.samples[7].requests == 0 && c.samples[9].requests == 0 && c.samples[8].first_byte == 0);
    assert_true(c.samples[4].read_blocked == 10e6f); /* as its span says */
    assert_near(c.requests.n, MADE_SAMPLES - 1, 0);
    assert_near(c.requests.joined, 1 - 2.0 / MADE_SAMPLES, 1e-9);
    assert_near(pp_requests_first_byte(&c.requests, 0.5), 8e6, 1);
    assert_true(isnan(c.requests.slow_host) && isnan(c.requests.hot_prefix));
    pp_costs_free(&c);
}

/* A recording whose sample numbers were made to stand in one place of any table takes no longer for it. */
static void samples_that_crowd_are_found(void **state)
{
    struct pp_costs c = made_costs_new();
    uint64_t number = 0;
    for (size_t i = 0; i < c.n; i++, number++) {
        while ((pp_mix64(number + pp_mix64(0)) & 8191) != 77)
            number++;
        c.samples[i].sample = number;
    }
    make_requests(&c);
    read_requests(&c);
    assert_near(c.requests.joined, 1, 0);
    for (size_t i = 0; i < c.n; i++)
        assert_int_equal(c.samples[i].requests, 1);
    pp_costs_free(&c);
}

/* The worker's span has what was left to wait for; the request has all of it. */
static void reads_ahead_cost_what_their_requests_took(void **state)
{
    struct pp_costs c = made_costs_new();
    make_requests(&c);
    c.inflight = 4;
    for (size_t i = 0; i < c.n; i++) {
        c.samples[i].read_blocked = 1e5f;
        made.row[i].cpu_ns = FAKE_MS / 2;
    }
    made.row[made.n] = made.row[20]; /* made again after 7 ms, and that one was quicker */
    made.row[made.n].start_ns += 7 * FAKE_MS;
    made.row[made.n++].flags = PP_REQUEST_ROW_HEDGE;
    made.row[20].flags = PP_REQUEST_ROW_DROPPED;
    read_requests(&c);
    assert_true(c.samples[20].read_blocked == 16.5e6f && c.samples[20].first_byte == 15e6f);
    assert_int_equal(c.inflight, 4);
    assert_true(c.samples[9].read_blocked == 9.5e6f && c.samples[9].read_cpu == 0.5e6f);
    assert_true(c.samples[0].read_start_ns == c.samples[1].read_start_ns - 3 * FAKE_MS);
    pp_costs_free(&c);
    c = made_costs_new();
    c.inflight = 4;
    made.n = MADE_SAMPLES / 2;
    read_requests(&c);
    assert_int_equal(c.inflight, 0); /* of half of them it is not known */
    pp_costs_free(&c);
}

static void a_slow_host_is_compared_with_the_others(void **state)
{
    struct pp_costs c = made_costs_new();
    make_requests(&c);
    for (size_t i = 0; i < made.n; i++)
        if (i % 4 == 0) {
            made.row[i].first_byte_ns = 58 * FAKE_MS;
            made.row[i].address = "10.0.0.2:80";
            made.row[i].place = 2;
            c.samples[i].read_blocked = 60e6f;
        }
    read_requests(&c);
    assert_near(c.requests.slow_host, 6, 0.01);
    assert_near(c.requests.slow_host_part, 0.25, 0.01);
    assert_string_equal(c.requests.host, "10.0.0.2:80");
    assert_true(c.samples[4].slow_host && !c.samples[5].slow_host);
    c.samples_per_s = 2 / 0.0235;
    double even = made_costs_predicted(&c, "hosts=even");
    assert_near(even / (2 / 0.011), 1, 0.05);
    pp_costs_free(&c);
}

static void refusals_of_one_prefix_are_told_from_those_of_all(void **state)
{
    static const struct {
        int one;
        double share, answers;
    } rows[] = {{1, 1, 3.0 / 7}, {0, 0.5, 0.5}};
    for (size_t k = 0; k < 2; k++) {
        struct pp_costs c = made_costs_new();
        make_requests(&c);
        for (size_t i = 0; i < made.n; i++) {
            int b = i % 2 == 1;
            made.row[i].prefix = b ? "s3://b/b" : "s3://b/a";
            made.row[i].place = b ? 2 : 1;
            if (i % 8 == 1 || (!rows[k].one && i % 8 == 2))
                made.row[i].status = 503;
        }
        read_requests(&c);
        assert_near(c.requests.hot_prefix, rows[k].share, 0.01);
        assert_near(c.requests.hot_prefix_part, rows[k].answers, 0.01);
        if (rows[k].one)
            assert_string_equal(c.requests.prefix, "s3://b/b");
        pp_costs_free(&c);
    }
}

/* Two workers of one read each: what a knob takes from a read shows in the rate, 11 ms a sample before. */
static void knobs_change_their_part_of_a_read(void **state)
{
    static const struct {
        const char *set;
        double ms;
    } rows[] = {
        {"object-latency=0.5", 7}, {"object-latency=2", 19}, {"connections=kept", 11},
        {"inflight=1", 11},        {"hedge=p95", 11},
    };
    struct pp_costs c = made_costs_new();
    make_requests(&c);
    c.inflight = 1;
    c.step_blocked_ns = 1e5;
    read_requests(&c);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_near(made_costs_predicted(&c, rows[i].set) * rows[i].ms / 2000, 1, 0.03);
    assert_near(made_costs_predicted(&c, "inflight=4") / (2 * 4 / 0.011), 1, 0.15);
    assert_true(made_costs_predicted(&c, "stream-bandwidth=1M") < c.samples_per_s * 0.7);
    pp_costs_free(&c);
}

/* Every second request opens a connection: 6 ms, of which 2 ms are CPU time. */
static void kept_connections_take_no_cpu(void **state)
{
    struct pp_costs c = made_costs_new();
    make_requests(&c);
    c.step_blocked_ns = 1e5;
    for (size_t i = 0; i < made.n; i++) {
        int opens = i % 4 < 2; /* both workers do */
        made.row[i].cpu_ns = opens ? 25 * FAKE_MS / 10 : FAKE_MS / 2;
        made.row[i].tls_ns = opens ? 6 * FAKE_MS : 0;
        made.row[i].flags = opens ? PP_REQUEST_ROW_CONNECTED : 0;
        c.samples[i].read_cpu = (float)made.row[i].cpu_ns;
        c.samples[i].read_blocked = opens ? 14e6f : 10e6f;
    }
    c.samples_per_s = 2 / 0.0145;
    read_requests(&c);
    assert_near(c.requests.connect_cpu_ns, 2e6, 1e3);
    assert_near(made_costs_predicted(&c, "connections=kept") * 11.5 / 2000, 1, 0.04);
    pp_costs_free(&c);
}

/* An answer on a new connection comes 3 ms later: that is gone with it, too. */
static void answers_on_new_connections_are_slower(void **state)
{
    struct pp_costs c = made_costs_new();
    make_requests(&c);
    c.step_blocked_ns = 1e5;
    for (size_t i = 0; i < made.n; i++)
        if (i % 4 < 2) {
            made.row[i].first_byte_ns = 11 * FAKE_MS;
            made.row[i].tls_ns = 4 * FAKE_MS;
            made.row[i].flags = PP_REQUEST_ROW_CONNECTED;
            c.samples[i].read_blocked = 17e6f;
        }
    c.samples_per_s = 2 / 0.0145;
    read_requests(&c);
    assert_near(c.requests.connect_more_ns, 3e6, 1);
    assert_near(made_costs_predicted(&c, "connections=kept") * 11 / 2000, 1, 0.03);
    pp_costs_free(&c);
}

enum { PIECE = 20 };

static void add_read(struct pp_stream_reads *to, const struct pp_stream_read *read)
{
    if (!pp_grow(&to->at, &to->room, to->n + 1, sizeof(*to->at)))
        fail_msg("no memory");
    else
        to->at[to->n++] = *read;
}

/* 10 ms for a piece of 20 samples, which are then at hand. */
static struct pp_costs streamed_costs(void)
{
    struct pp_costs c = made_costs_new();
    struct pp_stream_reads reads = {0};
    c.streaming = 1, c.step_blocked_ns = 1e5, c.samples_per_s = PIECE / 0.010;
    c.batch_size = 2 * PIECE; /* the reader may be a piece ahead */
    made.n = 0;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        uint64_t at = i / PIECE * 20 * FAKE_MS + (i % PIECE ? 10 * FAKE_MS + i % PIECE * 1000 : 0);
        x->read_start_ns = x->read_end_ns = 0;
        x->read_blocked = 0;
        x->decode_cpu = 0.2e6f, x->transform_cpu = 0.05e6f;
        struct pp_stream_read read = {.sample = x->sample,
                                      .start_ns = at,
                                      .end_ns = at + (i % PIECE ? 100 : 10 * FAKE_MS),
                                      .blocked = i % PIECE ? 0 : 10e6f,
                                      .thread = 9,
                                      .bytes = x->bytes};
        if (i < c.n - PIECE)
            add_read(&reads, &read);
        if (i % PIECE == 0)
            made.row[made.n++] = (struct pp_request_row){.start_ns = at + 100,
                                                         .first_byte_ns = 8 * FAKE_MS,
                                                         .transfer_ns = 2 * FAKE_MS - 100,
                                                         .bytes = 1000000,
                                                         .sample = PP_NO_SAMPLE,
                                                         .epoch = UINT32_MAX,
                                                         .status = 206,
                                                         .place = 1,
                                                         .address = "10.0.0.1:80",
                                                         .prefix = "s3://b/a"};
    }
    pp_stream_reads_join(&reads, &c);
    free(reads.at);
    read_requests(&c);
    return c;
}

/* The requests of a stream are for no sample: each is the cost of the sample that had to wait for its piece.
 */
static void a_stream_is_asked_for_in_pieces(void **state)
{
    static const struct {
        const char *set;
        double ms; /* a piece */
    } rows[] = {{"workers=2", 10},
                {"workers=8", 10},
                {"object-latency=0.5", 6},
                {"stream-bandwidth=100MB", 18},
                {"storage-latency=0.5", 5}};
    struct pp_costs c = streamed_costs();
    struct pp_knobs k = pp_knobs_none();
    struct pp_err err = {0};
    assert_int_equal(c.n, MADE_SAMPLES - PIECE); /* what was read before the window is not known */
    assert_near(c.requests.n, (double)(MADE_SAMPLES / PIECE - 1), 0);
    assert_int_equal(c.samples[PIECE].requests, 1);
    assert_int_equal(c.samples[PIECE].bytes, 1000000);
    assert_true(c.samples[PIECE].first_byte == 8e6f && c.samples[PIECE + 1].requests == 0);
    assert_true(c.samples[PIECE + 1].bytes == 0 && c.samples[PIECE + 1].worker == 9);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_near(made_costs_predicted(&c, rows[i].set) * rows[i].ms / 1000 / PIECE, 1, 0.04);
    for (const char **set = (const char *[]){"inflight=4", "hedge=p95", NULL}; *set; set++) {
        assert_int_equal(pp_knobs_set(&k, &c, *set, &err), PP_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, "--stream"));
    }
    pp_costs_free(&c);
}

/* More workers gain nothing, and are not advised; nor is hedging, which no request of a stream does. */
static void the_reader_of_a_stream_is_the_cause(void **state)
{
    struct pp_costs c = streamed_costs();
    struct pp_signals s = made_costs_signals(&c);
    assert_near(s.metric[PP_METRIC_STREAMED], 1, 0);
    assert_true(s.metric[PP_METRIC_W_STORAGE] > 0.9);
    assert_true(isnan(s.metric[PP_METRIC_READ_TAIL]));
    assert_true(pp_signals_fix(&s, "workers") == NULL || pp_signals_fix(&s, "workers")->p.gain < 0.02);
    assert_null(pp_signals_fix(&s, "inflight"));
    assert_null(pp_signals_fix(&s, "hedge"));
    pp_costs_free(&c);
}

static void ask(uint64_t start_ns, uint64_t first_byte_ns, uint64_t transfer_ns, uint64_t bytes)
{
    made.row[made.n++] = (struct pp_request_row){.start_ns = start_ns,
                                                 .first_byte_ns = first_byte_ns,
                                                 .transfer_ns = transfer_ns,
                                                 .bytes = bytes,
                                                 .sample = PP_NO_SAMPLE,
                                                 .epoch = UINT32_MAX,
                                                 .status = 206,
                                                 .place = 1,
                                                 .address = "10.0.0.1:80",
                                                 .prefix = "s3://b/a"};
}

/* A shard of 1 MB for every 20 samples, 8 ms to the first byte and 2 ms for all. Before that, in older
 * recordings, what it is and how it begins are asked for by themselves, 10 ms each. 80 MB in all. */
static struct pp_costs small_shards_costs(int older)
{
    const uint64_t before = older ? 20 * FAKE_MS : 0, all = before + 10 * FAKE_MS;
    struct pp_costs c = made_costs_new();
    struct pp_stream_reads reads = {0};
    c.streaming = 1, c.step_blocked_ns = 1e5, c.samples_per_s = PIECE * 1e9 / (double)all;
    c.batch_size = 2 * PIECE, c.piece_bytes = 4194304, c.stream_shards = 80;
    made.n = 0;
    for (size_t i = 0; i < c.n; i++) {
        struct pp_cost_sample *x = &c.samples[i];
        int first = i % PIECE == 0;
        uint64_t at = i / PIECE * 40 * FAKE_MS + (first ? 0 : all + i % PIECE * 1000);
        x->read_start_ns = x->read_end_ns = 0;
        x->read_blocked = 0;
        x->decode_cpu = 0.1e6f, x->transform_cpu = 0.02e6f;
        struct pp_stream_read read = {.sample = x->sample,
                                      .start_ns = at,
                                      .end_ns = at + (first ? all : 100),
                                      .blocked = first ? (float)all : 0,
                                      .thread = 9,
                                      .bytes = 50000};
        add_read(&reads, &read);
        if (!first)
            continue;
        if (older) {
            ask(at + 100, 10 * FAKE_MS - 100, 0, 1);
            ask(at + 10 * FAKE_MS, 10 * FAKE_MS, 0, 8);
        }
        ask(at + before + 200, 8 * FAKE_MS - 200, 2 * FAKE_MS, 1000000);
        made.row[made.n - 1].flags = older ? 0 : PP_REQUEST_ROW_BEGINS;
    }
    pp_stream_reads_join(&reads, &c);
    free(reads.at);
    read_requests(&c);
    return c;
}

/* ms for 20 samples: what is left of the time to first bytes, and the 2 ms of the bytes. */
static void shards_of_another_size_take_other_requests(void **state)
{
    static const struct {
        const char *set;
        double factor[2], tolerance; /* on the requests per byte, new and older */
    } rows[] = {{"shard-size=1000000", {1, 1}, 0.02},
                {"shard-size=2000000", {0.5, 0.5}, 0.04},
                {"shard-size=500000", {2, 2}, 0.04},
                {"shard-size=8000000", {2 / 8.0, (2 + 2) / 8.0 / 3}, 0.06},
                {"shard-size=4GiB", {20 / 80.0, (2 + 20) / 80.0 / 3}, 0.1}}; /* no more than there is */
    for (int older = 0; older < 2; older++) {
        struct pp_costs c = small_shards_costs(older);
        struct pp_knobs k = pp_knobs_none();
        struct pp_err err = {0};
        assert_near(c.requests.shards, MADE_SAMPLES / PIECE, 0);
        assert_near(c.requests.openings, older ? 2 * MADE_SAMPLES / PIECE : 0, 0);
        assert_near(pp_shards_bytes(&c), older ? 1000009 : 1000000, 1);
        assert_near(pp_shards_requests(&c), older ? 3 : 1, 0);
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            double factor = rows[i].factor[older], first_ms = older ? 28 : 8;
            assert_int_equal(pp_knobs_set(&k, &c, rows[i].set, &err), PP_OK);
            assert_near(pp_shards_factor(&c, k.shard_bytes), factor, 1e-3);
            assert_near(made_costs_predicted(&c, rows[i].set) * (first_ms * factor + 2) / 1000 / PIECE, 1,
                        rows[i].tolerance);
        }
        assert_int_equal(pp_knobs_set(&k, &c, "shard-size=0", &err), PP_E_USAGE);
        c.piece_bytes = 0;
        assert_int_equal(pp_knobs_set(&k, &c, "shard-size=1GiB", &err), PP_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, "record it again"));
        c.piece_bytes = 4194304, c.requests.shards = 2;
        assert_int_equal(pp_knobs_set(&k, &c, "shard-size=1GiB", &err), PP_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, "fewer than 4 shards"));
        pp_costs_free(&c);
    }
}

/* Where opening shards is most of the requests' time, larger ones are what gains most; pieces of large shards
 * are as large as they get. */
static void small_shards_are_named(void **state)
{
    for (int older = 0; older < 2; older++) {
        struct pp_costs c = small_shards_costs(older);
        struct pp_signals s = made_costs_signals(&c);
        const struct pp_fix *f = pp_signals_fix(&s, "shard-size");
        assert_near(s.metric[PP_METRIC_SMALL_SHARDS],
                    older ? 28.0 / 30 * (1 - 22 / 240.0) : 8.0 / 10 * (1 - 20 / 80.0), 0.01);
        assert_non_null(f);
        assert_string_equal(f->to, "256MiB");
        assert_true(f->p.gain > (older ? 3 : 1));
        pp_costs_free(&c);
    }
    struct pp_costs c = streamed_costs();
    c.piece_bytes = 4194304;
    struct pp_signals s = made_costs_signals(&c);
    assert_true(isnan(s.metric[PP_METRIC_SMALL_SHARDS])); /* no shard was opened */
    assert_null(pp_signals_fix(&s, "shard-size"));
    pp_costs_free(&c);
}

static void what_was_not_recorded_is_refused(void **state)
{
    static const char *const sets[] = {"inflight=4",      "object-latency=0.5", "stream-bandwidth=1M",
                                       "hedge=p95",       "connections=kept",   "hosts=even",
                                       "shard-size=100MB"};
    struct pp_costs c = made_costs_new();
    struct pp_knobs k = pp_knobs_none();
    struct pp_err err = {0};
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        assert_int_equal(pp_knobs_set(&k, &c, sets[i], &err), PP_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, "cannot be predicted"));
    }
    assert_int_equal(pp_knobs_set(&k, &c, "hedge=p50", &err), PP_E_USAGE);
    assert_int_equal(pp_knobs_set(&k, &c, "inflight=0", &err), PP_E_USAGE);
    pp_costs_free(&c);
}

/* One request of twenty takes 200 ms: a second one is nearly always quick. */
static void a_hedge_cuts_the_tail(void **state)
{
    struct pp_costs c = made_costs_new();
    make_requests(&c);
    for (size_t i = 0; i < made.n; i += 25) {
        made.row[i].first_byte_ns = 198 * FAKE_MS;
        c.samples[i].read_blocked = 200e6f;
    }
    c.samples_per_s = 2 / 0.0186;
    c.step_blocked_ns = 1e5;
    read_requests(&c);
    struct pp_signals s = made_costs_signals(&c);
    const struct pp_fix *f = pp_signals_fix(&s, "hedge");
    assert_non_null(f);
    assert_true(f->p.gain > 0.5);
    pp_costs_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_requests_nothing_changes),
        cmocka_unit_test(samples_have_the_parts_of_their_requests),
        cmocka_unit_test(samples_that_crowd_are_found),
        cmocka_unit_test(reads_ahead_cost_what_their_requests_took),
        cmocka_unit_test(a_slow_host_is_compared_with_the_others),
        cmocka_unit_test(refusals_of_one_prefix_are_told_from_those_of_all),
        cmocka_unit_test(knobs_change_their_part_of_a_read),
        cmocka_unit_test(kept_connections_take_no_cpu),
        cmocka_unit_test(answers_on_new_connections_are_slower),
        cmocka_unit_test(a_stream_is_asked_for_in_pieces),
        cmocka_unit_test(the_reader_of_a_stream_is_the_cause),
        cmocka_unit_test(shards_of_another_size_take_other_requests),
        cmocka_unit_test(small_shards_are_named),
        cmocka_unit_test(what_was_not_recorded_is_refused),
        cmocka_unit_test(a_hedge_cuts_the_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
