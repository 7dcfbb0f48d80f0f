/* The protobuf writer and the Perfetto trace, read back with a decoder of the wire format written for this
 * test. That the reference decoder agrees: tests/e2e/perfetto_reads_our_export.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/export_source.h"
#include "probe/base/proto.h"

/* ---- the wire format ---- */

struct field {
    unsigned number, wire;
    uint64_t value;       /* varint or fixed64 */
    const uint8_t *bytes; /* length-delimited */
    size_t n;
};

static uint64_t take_varint(const uint8_t **at, const uint8_t *end)
{
    uint64_t v = 0;
    for (int shift = 0; *at < end && shift < 70; shift += 7) {
        uint8_t byte = *(*at)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    fail_msg("a varint runs over the end");
    return 0;
}

/* The next field of a message; 0 at its end. */
static int next_field(const uint8_t **at, const uint8_t *end, struct field *f)
{
    if (*at == end)
        return 0;
    uint64_t tag = take_varint(at, end);
    *f = (struct field){.number = (unsigned)(tag >> 3), .wire = tag & 7};
    if (f->wire == 0) {
        f->value = take_varint(at, end);
    } else if (f->wire == 1) {
        assert_true(end - *at >= 8);
        memcpy(&f->value, *at, 8);
        *at += 8;
    } else {
        assert_int_equal(f->wire, 2);
        f->n = take_varint(at, end);
        assert_true((size_t)(end - *at) >= f->n);
        f->bytes = *at;
        *at += f->n;
    }
    return 1;
}

/* The nth field of that number in a message. */
static int find(const uint8_t *bytes, size_t n, unsigned number, int nth, struct field *f)
{
    const uint8_t *at = bytes;
    while (next_field(&at, bytes + n, f))
        if (f->number == number && nth-- == 0)
            return 1;
    return 0;
}

static uint64_t number_of(const struct field *m, unsigned field, uint64_t otherwise)
{
    struct field f;
    return find(m->bytes, m->n, field, 0, &f) ? f.value : otherwise;
}

static int text_is(const struct field *m, unsigned field, const char *text)
{
    struct field f;
    return find(m->bytes, m->n, field, 0, &f) && f.n == strlen(text) && memcmp(f.bytes, text, f.n) == 0;
}

static void numbers_are_encoded_as_the_format_says(void **state)
{
    static const uint8_t want[] = {0x08, 0x96, 0x01, 0xda, 0x01, 0x02, 'h',  'i',  0x10, 0xff,
                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0xf9,
                                   0x02, 1,    2,    3,    4,    5,    6,    7,    8,    0x19,
                                   0,    0,    0,    0,    0,    0,    0xf8, 0x3f};
    struct pp_proto p = {0};
    pp_proto_uint(&p, 1, 150);
    pp_proto_str(&p, 27, "hi");
    pp_proto_int(&p, 2, -1);
    pp_proto_fixed64(&p, 47, 0x0807060504030201);
    pp_proto_double(&p, 3, 1.5);
    assert_false(p.failed);
    assert_int_equal(p.n, sizeof(want));
    assert_memory_equal(p.buf, want, sizeof(want));
    pp_proto_free(&p);
}

static void nested_messages_of_any_length_read_back(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 124, 125, 126, 127, 128, 129, 16380, 16381, 16384, 100000};
    char *text = malloc(100001);
    memset(text, 'x', 100000);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct pp_proto p = {0};
        struct field outer, inner, f;
        text[sizes[i]] = '\0';
        size_t a = pp_proto_begin(&p, 1), b = pp_proto_begin(&p, 2);
        pp_proto_str(&p, 3, text);
        pp_proto_end(&p, b);
        pp_proto_uint(&p, 4, 9);
        pp_proto_end(&p, a);
        assert_true(find(p.buf, p.n, 1, 0, &outer));
        assert_true(find(outer.bytes, outer.n, 2, 0, &inner));
        assert_true(find(inner.bytes, inner.n, 3, 0, &f));
        assert_int_equal(f.n, sizes[i]);
        assert_int_equal(number_of(&outer, 4, 0), 9);
        assert_ptr_equal(outer.bytes + outer.n, p.buf + p.n);
        text[sizes[i]] = 'x';
        pp_proto_free(&p);
    }
    free(text);
}

/* ---- the trace ---- */

static uint8_t *trace;
static size_t trace_size;

static void load(struct fake_export *f)
{
    struct pp_err err;
    const char *out = fx_path("out.pftrace");
    assert_int_equal(fx_export(f, &pp_export_perfetto, out, 0, NULL, &err), PP_OK);
    trace = (uint8_t *)fx_slurp(out, &trace_size);
    unlink(out);
}

static void unload(struct fake_export *f)
{
    free(trace);
    fx_end(f);
}

/* Calls see for each packet's track event. */
struct event {
    struct field packet, event;
    uint64_t t_ns, type, track, name_iid;
};

static int nth_event(uint64_t type, int nth, struct event *e)
{
    const uint8_t *at = trace;
    struct field packet;
    while (next_field(&at, trace + trace_size, &packet)) {
        struct field event;
        assert_int_equal(packet.number, 1);
        assert_int_equal(number_of(&packet, 10, 0), 1); /* one sequence */
        if (!find(packet.bytes, packet.n, 11, 0, &event) || number_of(&event, 9, 0) != type || nth-- > 0)
            continue;
        *e = (struct event){.packet = packet,
                            .event = event,
                            .t_ns = number_of(&packet, 8, 0),
                            .type = type,
                            .track = number_of(&event, 11, 0),
                            .name_iid = number_of(&event, 10, 0)};
        return 1;
    }
    return 0;
}

/* The name that an interned number stands for, if it was declared in this packet or one before. */
static void expect_interned(uint64_t iid, const uint8_t *until, const char *name)
{
    const uint8_t *at = trace;
    struct field packet, data, entry;
    while (at < until && next_field(&at, trace + trace_size, &packet)) {
        if (!find(packet.bytes, packet.n, 12, 0, &data))
            continue;
        for (int i = 0; find(data.bytes, data.n, 2, i, &entry); i++)
            if (number_of(&entry, 1, 0) == iid) {
                assert_true(text_is(&entry, 2, name));
                return;
            }
    }
    fail_msg("%s is used before it is interned", name);
}

static int find_track(unsigned kind, const char *name, unsigned name_field, struct field *track)
{
    const uint8_t *at = trace;
    struct field packet, part;
    while (next_field(&at, trace + trace_size, &packet))
        if (find(packet.bytes, packet.n, 60, 0, track)) {
            if (!kind && text_is(track, name_field, name))
                return 1;
            if (kind && find(track->bytes, track->n, kind, 0, &part) && text_is(&part, name_field, name))
                return 1;
        }
    return 0;
}

static void a_trace_opens_with_its_clock_and_state(void **state)
{
    struct fake_export f;
    struct field packet, part, clock;
    const uint8_t *at;
    fx_begin(&f);
    fx_batch(&f, 0);
    load(&f);
    at = trace;
    assert_true(next_field(&at, trace + trace_size, &packet) && find(packet.bytes, packet.n, 6, 0, &part));
    assert_int_equal(number_of(&part, 2, 0), 3); /* the trace's clock is MONOTONIC */
    assert_true(find(part.bytes, part.n, 1, 0, &clock));
    assert_true(number_of(&clock, 1, 0) == 3 && number_of(&clock, 2, 0) == FX_T0);
    assert_true(find(part.bytes, part.n, 1, 1, &clock));
    assert_true(number_of(&clock, 1, 0) == 1 && number_of(&clock, 2, 0) == 1700000000000000000);
    assert_true(next_field(&at, trace + trace_size, &packet) && find(packet.bytes, packet.n, 59, 0, &part));
    assert_int_equal(number_of(&packet, 13, 0), 1); /* SEQ_INCREMENTAL_STATE_CLEARED */
    assert_int_equal(number_of(&part, 58, 0), 3);
    unload(&f);
}

static void spans_begin_and_end_on_their_threads_track(void **state)
{
    struct fake_export f;
    struct event b, e;
    struct field track, process, thread;
    int n = 0;
    fx_begin(&f);
    for (uint32_t i = 0; i < 3; i++)
        fx_batch(&f, i);
    load(&f);
    assert_true(find_track(3, "pipeprobe", 6, &process));
    assert_true(find_track(4, "pp-worker-0", 5, &track));
    assert_int_equal(number_of(&track, 5, 0), number_of(&process, 1, 1));
    assert_true(find(track.bytes, track.n, 4, 0, &thread));
    assert_true(number_of(&thread, 1, 0) == 4242 && number_of(&thread, 2, 0) == 4300);
    assert_true(nth_event(1, 0, &b) && nth_event(2, 0, &e));
    assert_true(b.t_ns == FX_T0 && e.t_ns == FX_T0 + 200 * FX_US);
    assert_int_equal(b.track, number_of(&track, 1, 0));
    for (; nth_event(1, n, &b) && nth_event(2, n, &e); n++) {
        assert_int_equal(b.track, e.track);
        assert_true(b.t_ns <= e.t_ns);
        assert_int_equal(number_of(&b.packet, 13, 0), 2); /* SEQ_NEEDS_INCREMENTAL_STATE */
        expect_interned(b.name_iid, b.packet.bytes + b.packet.n,
                        pp_phase_info((unsigned)b.name_iid - 1)->name);
    }
    assert_int_equal(n, 15);
    assert_false(nth_event(2, n, &e));
    unload(&f);
}

static void notes_and_flows_go_with_the_begin(void **state)
{
    struct fake_export f;
    struct event b;
    struct field note, flow;
    int seen[3] = {0};
    fx_begin(&f);
    fx_batch(&f, 4);
    load(&f);
    for (int n = 0; nth_event(1, n, &b); n++) {
        unsigned phase = (unsigned)b.name_iid - 1;
        int has_flow = find(b.event.bytes, b.event.n, phase == PP_PHASE_STEP ? 48 : 47, 0, &flow);
        assert_int_equal(has_flow,
                         phase == PP_PHASE_COLLATE || phase == PP_PHASE_H2D || phase == PP_PHASE_STEP);
        assert_int_equal(number_of(&b.event, 3, 0),
                         phase == PP_PHASE_DATA_WAIT ? 2 : 1); /* category: wait, work */
        if (has_flow) {
            assert_true(flow.wire == 1 && flow.value == 5);
            seen[phase == PP_PHASE_COLLATE ? 0 : phase == PP_PHASE_H2D ? 1 : 2]++;
        }
        assert_true(find(b.event.bytes, b.event.n, 4, 0, &note));
        assert_true(number_of(&note, 1, 0) == 1 && number_of(&note, 3, 99) == 4); /* batch */
        if (phase == PP_PHASE_READ) {
            assert_true(find(b.event.bytes, b.event.n, 4, 3, &note));
            assert_true(number_of(&note, 1, 0) == 5 &&
                        number_of(&note, 3, 99) == 0); /* cpu_ns, measured as 0 */
            assert_false(find(b.event.bytes, b.event.n, 4, 4, &note));
        }
    }
    assert_true(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
    unload(&f);
}

static void counters_overlaps_errors_and_losses_have_their_place(void **state)
{
    struct fake_export f;
    struct event e;
    struct field track, value;
    double v;
    fx_begin(&f);
    fx_span(&f, FX_COPY, PP_PHASE_H2D, 0, 20, 0);
    fx_span(&f, FX_COPY, PP_PHASE_H2D, 10, 30, 1);
    f.counter[f.n_counters++] = (typeof(f.counter[0])){FX_T0, "rss_bytes", 7};
    f.counter[f.n_counters++] = (typeof(f.counter[0])){FX_T0 + 1, "queue_ready_batches", 2};
    f.counter[f.n_counters++] = (typeof(f.counter[0])){FX_T0 + 1, "cpu_ns_total", 2};
    f.counter[f.n_counters++] = (typeof(f.counter[0])){FX_T0 + 2, "rss_bytes", 9.5};
    f.run->error[f.run->n_errors++] = (struct pp_error_row){.t_ns = FX_T0 + 20,
                                                            .thread = FX_WORKER,
                                                            .path = "a.jpg",
                                                            .kind = "corrupt",
                                                            .reason = NULL,
                                                            .count = 1};
    f.run->loss[f.run->n_losses++] = (typeof(f.run->loss[0])){"spans", "the ring was full", 12};
    load(&f);
    assert_true(find_track(0, "cpu_ns_total", 2, &track) && find(track.bytes, track.n, 8, 0, &value));
    assert_int_equal(number_of(&value, 3, 0), 1); /* nanoseconds */
    assert_true(find_track(0, "queue_ready_batches", 2, &track) && find(track.bytes, track.n, 8, 0, &value));
    assert_int_equal(number_of(&value, 3, 0), 2); /* a count */
    assert_true(find_track(0, "rss_bytes", 2, &track) && find(track.bytes, track.n, 8, 0, &value));
    assert_int_equal(number_of(&value, 3, 0), 3); /* bytes */
    assert_true(nth_event(4, 3, &e));
    assert_int_equal(e.track, number_of(&track, 1, 0));
    assert_true(find(e.event.bytes, e.event.n, 44, 0, &value));
    memcpy(&v, &value.value, sizeof(v));
    assert_true(v == 9.5 && e.t_ns == FX_T0 + 2);
    assert_false(nth_event(4, 4, &e));
    assert_true(find_track(0, "pp-copy (overlapping 1)", 2, &track) && nth_event(1, 1, &e));
    assert_int_equal(e.track, number_of(&track, 1, 0));
    assert_true(nth_event(3, 0, &e) && text_is(&e.event, 23, "lost"));
    assert_true(nth_event(3, 1, &e) && text_is(&e.event, 23, "corrupt"));
    unload(&f);
}

/* The track of that number. */
static void track_of(uint64_t uuid, struct field *track)
{
    const uint8_t *at = trace;
    struct field packet;
    while (next_field(&at, trace + trace_size, &packet))
        if (find(packet.bytes, packet.n, 60, 0, track) && number_of(track, 1, 0) == uuid)
            return;
    fail_msg("track %llu is not described", (unsigned long long)uuid);
}

/* The value of a note by its name; otherwise when there is none. */
static uint64_t note_named(const struct field *event, const char *name, uint64_t otherwise)
{
    struct field note;
    for (int i = 0; find(event->bytes, event->n, 4, i, &note); i++)
        if (text_is(&note, 10, name))
            return number_of(&note, 3, otherwise);
    return otherwise;
}

static int belongs_to(const struct field *track, const char *group)
{
    struct field parent, part;
    track_of(number_of(track, 5, 0), &parent);
    if (!group)
        return find(parent.bytes, parent.n, 3, 0, &part);
    return find(parent.bytes, parent.n, 4, 0, &part) ? text_is(&part, 5, group) : text_is(&parent, 2, group);
}

static void what_the_gpu_did_has_tracks_of_its_own(void **state)
{
    struct fake_export f;
    struct event b, e;
    struct field track, flow;
    fx_begin(&f);
    fx_batch(&f, 0);
    fx_gpu(&f);
    load(&f);
    for (int i = 0; i < FX_DRAWN; i++) {
        const struct fx_drawn *d = &fx_drawn[i];
        assert_true(nth_event(1, i, &b) && nth_event(2, i, &e));
        assert_true(text_is(&b.event, 23, d->name) && text_is(&b.event, 22, d->category));
        assert_int_equal(b.t_ns, FX_T0 + d->start_us * FX_US);
        assert_int_equal(e.t_ns, b.t_ns + d->length_ns);
        assert_int_equal(e.track, b.track);
        assert_int_equal(note_named(&b.event, "bytes", 0), d->bytes);
        assert_int_equal(find(b.event.bytes, b.event.n, 47, 0, &flow), d->flow != 0);
        assert_true(!d->flow || flow.value == (UINT64_C(1) << 40 | d->flow));
        track_of(b.track, &track);
        assert_true(text_is(&track, 2, d->track) && belongs_to(&track, d->group));
    }
    assert_true(nth_event(1, 4, &b));
    assert_int_equal(note_named(&b.event, "result", 0), 719);
    assert_true(nth_event(1, FX_DRAWN + 4, &b)); /* and the five spans of the batch */
    assert_false(nth_event(1, FX_DRAWN + 5, &b));
    unload(&f);
}

/* Copies in flight together, the same stream in two contexts, calls of no known thread: no slice lies across
 * another of its track. */
static void gpu_rows_that_overlap_lie_side_by_side(void **state)
{
    static const char *const tracks[] = {"stream 7", "stream 7 (overlapping 1)", "stream 7 of context 2",
                                         "thread 99 (CUDA calls)", "no thread (CUDA calls)"};
    static const struct pp_gpu_row rows[] = {
        {"memcpy", NULL, NULL, NULL, FX_T0, 100, 1, FX_NO, FX_NO, 0, 1, 7, FX_NO, -1, -1},
        {"memcpy", NULL, NULL, NULL, FX_T0 + 50, 100, 1, FX_NO, FX_NO, 0, 1, 7, FX_NO, -1, -1},
        {"kernel", NULL, NULL, NULL, FX_T0 + 60, 100, 0, FX_NO, FX_NO, 0, 2, 7, FX_NO, -1, -1},
        {"api", NULL, NULL, NULL, FX_T0 + 70, UINT64_MAX, 0, FX_NO, FX_NO, FX_NO, FX_NO, FX_NO, 99, -1, -1},
        {"api", NULL, NULL, NULL, FX_T0 + 80, 5, 0, FX_NO, FX_NO, FX_NO, FX_NO, FX_NO, FX_NO, -1, -1},
        {"a kind of a later version", NULL, NULL, NULL, FX_T0 + 90, 5, 0, FX_NO, FX_NO, FX_NO, FX_NO, FX_NO,
         FX_NO, -1, -1},
    };
    struct fake_export f;
    struct event b;
    struct field track, flow;
    int n = 0;
    fx_begin(&f);
    f.gpu = rows;
    f.n_gpu = sizeof(rows) / sizeof(*rows);
    load(&f);
    for (; nth_event(1, n, &b); n++) {
        track_of(b.track, &track);
        assert_true(text_is(&track, 2, tracks[n]));
        assert_false(find(b.event.bytes, b.event.n, 47, 0, &flow)); /* joined to nothing */
    }
    assert_int_equal(n, 5);
    unload(&f);
}

/* Each request and, after it, the parts of its time; a request ends behind its parts. */
static void requests_have_tracks_of_their_own(void **state)
{
    struct fake_export f;
    struct event b, e;
    struct field track, parent;
    int ends = 0, parts = 0;
    fx_begin(&f);
    fx_batch(&f, 0);
    fx_requests(&f);
    load(&f);
    for (int i = 0; i < FX_ASKED; i++) {
        const struct fx_asked *a = &fx_asked[i];
        int last = i + 1 == FX_ASKED || !fx_asked[i + 1].part, whole = i;
        assert_true(nth_event(1, i, &b));
        assert_true(text_is(&b.event, 23, a->name) && text_is(&b.event, 22, "request"));
        assert_int_equal(b.t_ns, FX_T0 + a->start_us * FX_US);
        assert_int_equal(note_named(&b.event, "bytes", 0), a->bytes);
        assert_int_equal(number_of(&b.event, 3, 0), a->failed ? 3 : 0); /* the category of errors */
        track_of(b.track, &track);
        track_of(number_of(&track, 5, 0), &parent);
        assert_true(text_is(&track, 2, a->track) && text_is(&parent, 2, "requests to storage"));
        if (a->part) {
            parts++;
            assert_true(nth_event(2, ends++, &e));
            assert_int_equal(e.t_ns, FX_T0 + (a->start_us + a->length_us) * FX_US);
            assert_int_equal(e.track, b.track);
        }
        while (fx_asked[whole].part)
            whole--;
        if (last) {
            assert_true(nth_event(2, ends++, &e));
            assert_int_equal(e.t_ns, FX_T0 + (fx_asked[whole].start_us + fx_asked[whole].length_us) * FX_US);
        }
    }
    assert_int_equal(parts, FX_ASKED - 5);
    assert_true(nth_event(1, 8, &b));
    assert_int_equal(note_named(&b.event, "sample", 99), 99); /* for none */
    assert_int_equal(note_named(&b.event, "try", 0), 2);
    assert_int_equal(note_named(&b.event, "hedge", 0), 1);
    assert_true(nth_event(1, 11, &b));
    assert_int_equal(note_named(&b.event, "dropped", 0), 1);
    assert_true(nth_event(1, FX_ASKED + 4, &b)); /* and the five spans of the batch */
    assert_false(nth_event(1, FX_ASKED + 5, &b));
    unload(&f);
}

static int tear_down(void **state)
{
    return rmdir(fx_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_encoded_as_the_format_says),
        cmocka_unit_test(nested_messages_of_any_length_read_back),
        cmocka_unit_test(a_trace_opens_with_its_clock_and_state),
        cmocka_unit_test(spans_begin_and_end_on_their_threads_track),
        cmocka_unit_test(notes_and_flows_go_with_the_begin),
        cmocka_unit_test(counters_overlaps_errors_and_losses_have_their_place),
        cmocka_unit_test(what_the_gpu_did_has_tracks_of_its_own),
        cmocka_unit_test(gpu_rows_that_overlap_lie_side_by_side),
        cmocka_unit_test(requests_have_tracks_of_their_own),
    };
    return cmocka_run_group_tests_name("export_perfetto", tests, fx_set_up, tear_down);
}
