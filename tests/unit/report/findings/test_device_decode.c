/* The findings about JPEGs that the GPU decodes: what has left the CPU, a saturated decoder, steps that take
 * longer beside it, and what is copied; each with the control in which it is not there. */
#include "tests/support/findings.h"
#include "report/rules/remedies.h"
#include "tests/support/golden.h"

enum { BATCHES = 120, WARMUP = 20, SIZE = 8, ROW = 150528 * 4 };

/* Every batch: a wait, a step. The GPU decodes during every second step, or during all or none of them. */
struct made {
    uint64_t wait_ns, step_ns, beside_ns, decode_ns;
    int every;           /* batches from one that is decoded beside its step to the next; 0: none are */
    int in_wait;         /* decoded during the wait */
    int images;          /* of each batch, decoded on the device */
    uint64_t copied;     /* bytes of a copy */
    uint64_t cpu_decode; /* ns of a worker per batch */
    const char *backend;
    uint64_t noise_ns; /* that every third step takes more */
    int no_device;
    const char *work_ns; /* steps are fixed work of that length; NULL: a length of time */
};

static struct fake_run *make(const struct made *m)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "pp-trainer"),
             copy = fake_thread(f, PP_LANE_COPY, "pp-copy"),
             worker = fake_thread(f, PP_LANE_WORKER, "pp-worker-0"),
             device = m->no_device ? 0 : fake_thread(f, PP_LANE_DEVICE, "gpu-decode");
    uint64_t t = FAKE_T0;
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint16_t flags = PP_SPAN_COUNT | (b < WARMUP ? PP_SPAN_WARMUP : 0);
        int beside = m->every && b % (uint32_t)m->every == 0;
        uint64_t step = (beside ? m->beside_ns : m->step_ns) + (b % 3 ? 0 : m->noise_ns);
        const struct {
            pp_phase phase;
            uint64_t ns;
        } part[] = {{PP_PHASE_DATA_WAIT, m->wait_ns}, {PP_PHASE_STEP, step}};
        struct pp_span *h2d = fake_span(f, copy, PP_PHASE_H2D, t, FAKE_MS / 10);
        h2d->batch = b;
        h2d->bytes = m->copied;
        fake_span(f, worker, PP_PHASE_DECODE, t, m->cpu_decode)->batch = b;
        if (!m->no_device) {
            uint64_t at = m->in_wait ? t : beside ? t + m->wait_ns : t;
            struct pp_span *d = fake_span(f, device, PP_PHASE_GPU_DECODE, at,
                                          beside && !m->in_wait ? step : m->decode_ns);
            d->batch = b;
            d->sample = (uint64_t)m->images;
        }
        for (int k = 0; k < 2; k++) {
            struct pp_span *s = fake_span(f, trainer, part[k].phase, t, part[k].ns);
            s->batch = b;
            s->flags = flags;
            s->sample = SIZE;
            t += part[k].ns;
        }
    }
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "device_kind", "cuda");
    fake_text(f, "config", "step", m->work_ns ? "cuda-work" : "cuda");
    if (m->work_ns)
        fake_num(f, "config", "step_ns", m->work_ns, "ns");
    fake_num(f, "config", "row_bytes", "602112", "bytes");
    if (m->backend)
        fake_text(f, "decode", "backend", m->backend);
    return f;
}

static struct pp_report *build(const struct made *m)
{
    struct fake_run *f = make(m);
    struct pp_report *r = report_of(f);
    fake_free(f);
    return r;
}

#define SMALL 200000 /* compressed bytes of a batch; its pixels are 4.6 MiB */

static const struct {
    const char *what;
    struct made made;
    struct {
        const char *kind;
        enum pp_finding_state state;
        const char *words;
        enum pp_remedy_id remedy; /* of a row that was found */
    } want[4];
} rows[] = {
    {"all is well: decoded in the waits, fast, compressed",
     {.wait_ns = FAKE_MS,
      .step_ns = 20 * FAKE_MS,
      .decode_ns = FAKE_MS / 2,
      .in_wait = 1,
      .images = SIZE,
      .copied = SMALL,
      .cpu_decode = FAKE_MS / 5,
      .backend = "HARDWARE"},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU: the GPU decodes 100 %", 0},
      {"decode-engine", PP_FINDING_NOT_FOUND, "the JPEG engines are busy for 2.4 % of the time", 0},
      {"decode-steps", PP_FINDING_NOT_MEASURED, "0 steps ran beside decoding and 100 apart from it", 0},
      {"decode-copies", PP_FINDING_NOT_FOUND, "copies carry compressed bytes instead of pixels: 195 KiB",
       0}}},
    {"most images are none for the device",
     {.wait_ns = FAKE_MS,
      .step_ns = 20 * FAKE_MS,
      .decode_ns = FAKE_MS / 2,
      .in_wait = 1,
      .images = 3,
      .copied = 4000000,
      .cpu_decode = 30 * FAKE_MS},
     {{"decode-offload", PP_FINDING_FOUND, "the workers decode the others, 30.0 ms per batch",
       PP_REMEDY_PLAIN_JPEG},
      {"decode-engine", PP_FINDING_NOT_FOUND, "the GPU's decoder is busy", 0},
      {"decode-steps", PP_FINDING_NOT_MEASURED, "10 of each", 0},
      {"decode-copies", PP_FINDING_FOUND, "copies carry pixels for the most part", PP_REMEDY_PLAIN_JPEG}}},
    {"the trainer waits for a decoder that never rests",
     {.wait_ns = 20 * FAKE_MS,
      .step_ns = FAKE_MS,
      .decode_ns = 21 * FAKE_MS,
      .images = SIZE,
      .copied = SMALL,
      .cpu_decode = FAKE_MS / 5,
      .backend = "HARDWARE"},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU", 0},
      {"decode-engine", PP_FINDING_FOUND, "decode engine saturated: the JPEG engines are busy for 100 %",
       PP_REMEDY_DECODE_ELSEWHERE},
      {"decode-steps", PP_FINDING_NOT_MEASURED, "100 steps ran beside decoding and 0 apart from it", 0},
      {"decode-copies", PP_FINDING_NOT_FOUND, "compressed", 0}}},
    {"it never rests, and the trainer does not wait",
     {.wait_ns = FAKE_MS / 10,
      .step_ns = 20 * FAKE_MS,
      .decode_ns = 20100000,
      .images = SIZE,
      .copied = SMALL,
      .cpu_decode = FAKE_MS / 5},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU", 0},
      {"decode-engine", PP_FINDING_NOT_FOUND, "so it keeps up", 0},
      {"decode-steps", PP_FINDING_NOT_MEASURED, "needed to compare them", 0},
      {"decode-copies", PP_FINDING_NOT_FOUND, "compressed", 0}}},
    {"steps beside decoding are a fifth longer",
     {.wait_ns = FAKE_MS,
      .step_ns = 20 * FAKE_MS,
      .beside_ns = 24 * FAKE_MS,
      .decode_ns = FAKE_MS / 2,
      .every = 2,
      .images = SIZE,
      .copied = SMALL,
      .backend = "GPU_HYBRID",
      .noise_ns = FAKE_MS},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU", 0},
      {"decode-engine", PP_FINDING_NOT_FOUND, "busy for", 0},
      {"decode-steps", PP_FINDING_FOUND,
       "decoding takes time from the step: a step takes 24.3 ms beside decoding", PP_REMEDY_DECODE_STEALS},
      {"decode-copies", PP_FINDING_NOT_FOUND, "compressed", 0}}},
    {"steps beside decoding are as long as the others",
     {.wait_ns = FAKE_MS,
      .step_ns = 20 * FAKE_MS,
      .beside_ns = 20 * FAKE_MS,
      .decode_ns = FAKE_MS / 2,
      .every = 2,
      .images = SIZE,
      .copied = SMALL,
      .noise_ns = FAKE_MS},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU", 0},
      {"decode-engine", PP_FINDING_NOT_FOUND, "busy for", 0},
      {"decode-steps", PP_FINDING_NOT_FOUND, "(50 and 50 steps)", 0},
      {"decode-copies", PP_FINDING_NOT_FOUND, "compressed", 0}}},
    {"a fifth longer, and steps are of all lengths",
     {.wait_ns = FAKE_MS,
      .step_ns = 20 * FAKE_MS,
      .beside_ns = 24 * FAKE_MS,
      .decode_ns = FAKE_MS / 2,
      .every = 2,
      .images = SIZE,
      .copied = SMALL,
      .noise_ns = 60 * FAKE_MS},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU", 0},
      {"decode-engine", PP_FINDING_NOT_FOUND, "busy for", 0},
      {"decode-steps", PP_FINDING_NOT_FOUND, "longer: within the spread of the steps", 0},
      {"decode-copies", PP_FINDING_NOT_FOUND, "compressed", 0}}},
    {"large images, of which little is used",
     {.wait_ns = FAKE_MS,
      .step_ns = 20 * FAKE_MS,
      .decode_ns = FAKE_MS / 2,
      .in_wait = 1,
      .images = SIZE,
      .copied = 4000000},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU", 0},
      {"decode-engine", PP_FINDING_NOT_FOUND, "busy for", 0},
      {"decode-steps", PP_FINDING_NOT_MEASURED, "10 of each", 0},
      {"decode-copies", PP_FINDING_FOUND, "copies carry compressed bytes, nearly as many as pixels: 3.81 MiB",
       PP_REMEDY_DECODE_ELSEWHERE}}},
    {"every step of fixed work runs beside decoding",
     {.wait_ns = FAKE_MS / 10,
      .step_ns = 20 * FAKE_MS,
      .decode_ns = 20100000,
      .images = SIZE,
      .copied = SMALL,
      .work_ns = "16000000"},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU", 0},
      {"decode-engine", PP_FINDING_NOT_FOUND, "so it keeps up", 0},
      {"decode-steps", PP_FINDING_FOUND, "20.0 ms beside decoding and 16.0 ms on an idle GPU, 25 % longer",
       PP_REMEDY_DECODE_STEALS},
      {"decode-copies", PP_FINDING_NOT_FOUND, "compressed", 0}}},
    {"which costs it nothing",
     {.wait_ns = FAKE_MS / 10,
      .step_ns = 20 * FAKE_MS,
      .decode_ns = 20100000,
      .images = SIZE,
      .copied = SMALL,
      .work_ns = "19000000"},
     {{"decode-offload", PP_FINDING_NOT_FOUND, "decode moved off the CPU", 0},
      {"decode-engine", PP_FINDING_NOT_FOUND, "so it keeps up", 0},
      {"decode-steps", PP_FINDING_NOT_FOUND, "on an idle GPU, 5.3 % longer", 0},
      {"decode-copies", PP_FINDING_NOT_FOUND, "compressed", 0}}},
};

static void each_is_found_and_has_its_control(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report *r = build(&rows[i].made);
        for (int k = 0; k < 4; k++) {
            const struct pp_report_finding *f = finding(r, rows[i].want[k].kind);
            if (f->state != rows[i].want[k].state || !strstr(f->sentence, rows[i].want[k].words))
                fail_msg("%s: %s is %s: '%s'", rows[i].what, f->kind, f->state_name, f->sentence);
            if (f->state == PP_FINDING_FOUND)
                assert_string_equal(f->next_step, pp_remedies[rows[i].want[k].remedy].sentence);
            else
                assert_null(f->next_step);
        }
        pp_report_free(r);
    }
}

static void the_numbers_are_those_of_the_spans(void **state)
{
    struct pp_report *r = build(&rows[4].made);
    const struct pp_report_finding *f = finding(r, "decode-steps");
    (void)state;
    assert_int_equal(number(f, "steps_beside"), 50);
    assert_int_equal(number(f, "steps_apart"), 50);
    assert_true(fabs(number(f, "step_beside_s") - 0.02432) < 1e-6); /* 16 of the 50 take 1 ms more */
    assert_true(fabs(number(f, "step_apart_s") - 0.02034) < 1e-6);
    f = finding(r, "decode-offload");
    assert_int_equal(number(f, "images"), (BATCHES - WARMUP) * SIZE);
    f = finding(r, "decode-copies");
    assert_int_equal(number(f, "copied_bytes_per_batch"), SMALL);
    assert_int_equal(number(f, "pixel_bytes_per_batch"), SIZE * ROW);
    pp_report_free(r);
}

/* All of them as people read them, found or not: sentence and next step. */
static void the_sentences_are_kept(void **state)
{
    static char text[16384];
    size_t at = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report *r = build(&rows[i].made);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s\n", rows[i].what);
        for (size_t k = 0; k < r->n_findings && at < sizeof(text); k++) {
            const struct pp_report_finding *f = &r->findings[k];
            if (strncmp(f->kind, "decode-", 7) == 0)
                at += (size_t)snprintf(text + at, sizeof(text) - at, "  %s, %s: %s\n%s%s%s", f->kind,
                                       f->state_name, f->sentence, f->next_step ? "    " : "",
                                       f->next_step ? f->next_step : "", f->next_step ? "\n" : "");
        }
        pp_report_free(r);
        assert_true(at < sizeof(text));
    }
    golden_check("findings-gpu-decode.txt", text);
}

static void other_runs_have_no_such_row(void **state)
{
    static const char *const kinds[] = {"decode-offload", "decode-engine", "decode-steps", "decode-copies"};
    struct made m = rows[0].made;
    (void)state;
    m.no_device = 1;
    struct pp_report *r = build(&m);
    for (int k = 0; k < 4; k++)
        assert_null(finding_or_null(r, kinds[k]));
    pp_report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_and_has_its_control),
        cmocka_unit_test(the_numbers_are_those_of_the_spans),
        cmocka_unit_test(the_sentences_are_kept),
        cmocka_unit_test(other_runs_have_no_such_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
