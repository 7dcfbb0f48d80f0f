/* What a GPU decoded, as every report shows it: from a recording's section "decode". */
#include "report/render/answer.h"
#include "tests/support/report_fixture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct fake_run *run_that_decoded(void)
{
    static const struct {
        const char *key, *value;
    } numbers[] = {{"engines", "7"},
                   {"cores", "1"},
                   {"images", "4950"},
                   {"refused", "3"},
                   {"compared", "17"},
                   {"difference_mean", "0.61"},
                   {"difference_max", "40"},
                   {"difference_420_images", "16"},
                   {"difference_420_mean", "0.83"},
                   {"difference_420_max", "40"},
                   {"difference_gray_images", "1"},
                   {"difference_gray_mean", "0"},
                   {"difference_gray_max", "0"},
                   {"difference_411_images", "1"}};
    struct fake_run *f = report_of_class(0);
    fake_text(f, "decode", "library", "libnvjpeg.so.12");
    fake_text(f, "decode", "backend", "HARDWARE");
    fake_text(f, "decode", "gave_up", "nvJPEG failed");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        fake_num(f, "decode", numbers[i].key, numbers[i].value, NULL);
    return f;
}

static void differences_are_read_by_sampling(void **state)
{
    struct fake_run *f = run_that_decoded();
    struct pp_report *r = report_of(f);
    (void)state;
    assert_non_null(r->decode);
    assert_true(r->decode->images == 4950 && r->decode->engines == 7);
    assert_null(r->decode->lost);
    assert_int_equal(r->decode->n_differences, 2); /* a kind that is not known is left out */
    assert_string_equal(r->decode->differences[0].sampling, "4:2:0");
    assert_int_equal(r->decode->differences[0].images, 16);
    assert_true(r->decode->differences[0].mean == 0.83 && r->decode->differences[0].largest == 40);
    assert_string_equal(r->decode->differences[1].sampling, "gray");
    report_done(r, f);
}

static int in_short(const struct pp_report *r, FILE *out)
{
    return pp_render_short(r, out, 0, 200);
}

static int in_text(const struct pp_report *r, FILE *out)
{
    return pp_render_text(r, out, 0, 120);
}

/* Each renderer has the back end, why it was given up, and the row of a kind. */
static void every_renderer_shows_them(void **state)
{
    static const struct {
        int (*render)(const struct pp_report *r, FILE *out);
        const char *says[3];
    } rows[] = {
        {in_short, {"GPU:     gave up decoding during the run", "nvJPEG failed", "Do:"}},
        {in_text, {"back end HARDWARE of libnvjpeg.so.12", "nvJPEG failed", "4:2:0 "}},
        {pp_render_md, {"back end HARDWARE of libnvjpeg.so.12", "nvJPEG failed", "4:2:0"}},
        {pp_render_html, {"back end HARDWARE of libnvjpeg.so.12", "nvJPEG failed", "4:2:0"}},
        {pp_render_json,
         {"\"backend\": \"HARDWARE\"", "\"gave_up\": \"nvJPEG failed\"", "\"sampling\": \"4:2:0\""}},
        {pp_render_csv, {"decode,\"\",backend,\"HARDWARE\"", "nvJPEG failed", "4:2:0"}},
    };
    struct fake_run *f = run_that_decoded();
    struct pp_report *r = report_of(f);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        FILE *out = open_memstream(&report_text, &report_text_size);
        assert_int_equal(rows[i].render(r, out), 0);
        fclose(out);
        for (int k = 0; k < 3; k++)
            if (!strstr(report_text, rows[i].says[k]))
                fail_msg("renderer %zu lacks '%s':\n%s", i, rows[i].says[k], report_text);
        free(report_text);
    }
    report_done(r, f);
}

/* A run that decoded nothing there says nothing of it. */
static void without_a_gpu_there_is_no_section(void **state)
{
    struct fake_run *f = report_of_class(0);
    struct pp_report *r = report_of(f);
    (void)state;
    assert_null(r->decode);
    FILE *out = open_memstream(&report_text, &report_text_size);
    assert_int_equal(pp_render_text(r, out, 0, 80), 0);
    assert_int_equal(pp_render_csv(r, out), 0);
    fclose(out);
    assert_null(strstr(report_text, "Decoded on the GPU"));
    free(report_text);
    report_done(r, f);
}

enum { STEP_MS = 10, WAIT_BEFORE_MS = 30, WAIT_AFTER_MS = 2 };

/* Batches of 8: before the change the trainer waits for most of its time, after it for a sixth. */
static struct pp_report *of_two_pipelines(const char *key, unsigned before, unsigned after, int is_over)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_report *r;
    char changed[32], start[32], end[32];
    uint64_t t = FAKE_T0;
    assert_non_null(f);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "pp-trainer");
    for (uint32_t b = 0; b < before + after; b++) {
        const uint64_t ns[] = {(b < before ? WAIT_BEFORE_MS : WAIT_AFTER_MS) * FAKE_MS, STEP_MS * FAKE_MS};
        for (int k = 0; k < 2; k++) {
            struct pp_span *s = fake_span(f, trainer, k ? PP_PHASE_STEP : PP_PHASE_DATA_WAIT, t, ns[k]);
            s->batch = b;
            s->sample = 8;
            s->flags = PP_SPAN_COUNT;
            t += ns[k];
        }
        if (b + 1 == before)
            snprintf(changed, sizeof(changed), "%" PRIu64, t + FAKE_MS / 2);
    }
    snprintf(end, sizeof(end), "%" PRIu64, t + FAKE_MS);
    fake_text(f, "decode", "backend", "HYBRID");
    fake_text(f, "decode", strcmp(key, "lost_mono_ns") ? "gave_up" : "lost", "the reason");
    fake_num(f, "decode", key, changed, "ns");
    fake_num(f, "config", "warmup", "5", "batches");
    if (is_over) {
        snprintf(start, sizeof(start), "%" PRIu64, (uint64_t)FAKE_T0);
        fake_num(f, "result", "trainer_start_mono_ns", start, "ns");
        fake_num(f, "result", "trainer_end_mono_ns", end, "ns");
    }
    r = report_of(f);
    fake_free(f);
    return r;
}

/* The longer part, by time; of a run that goes on, the newer one. The batch in which it changed is of
 * neither, and those that fill the pipeline again are none of the steady state. */
static void of_two_pipelines_the_longer_one_is_judged(void **state)
{
    static const struct {
        const char *key;
        unsigned before, after, batches;
        int is_over;
        const char *judged;
    } rows[] = {{"lost_mono_ns", 60, 20, 59, 1, "before"},
                {"lost_mono_ns", 20, 200, 194, 1, "after"},
                {"gave_up_mono_ns", 60, 20, 59, 1, "before"},
                {"gave_up_mono_ns", 60, 40, 34, 0, "after"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_report *r = of_two_pipelines(rows[i].key, rows[i].before, rows[i].after, rows[i].is_over);
        double wait = strcmp(rows[i].judged, "before") ? WAIT_AFTER_MS : WAIT_BEFORE_MS;
        char text[PP_ANSWER_TEXT], says[40];
        assert_string_equal(r->decode->judged_part, rows[i].judged);
        assert_int_equal(r->window_batches, rows[i].batches);
        assert_true(fabs(r->data_wait_share - wait / (wait + STEP_MS)) < 1e-9);
        snprintf(says, sizeof(says), "s %s that): the reason", rows[i].judged);
        assert_non_null(strstr(pp_answer(r, PP_ANSWER_GPU_GONE, text), says));
        pp_report_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(differences_are_read_by_sampling),
                                       cmocka_unit_test(every_renderer_shows_them),
                                       cmocka_unit_test(of_two_pipelines_the_longer_one_is_judged),
                                       cmocka_unit_test(without_a_gpu_there_is_no_section)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
