/* The parts of `pipeprobe tune` that start nothing: changes as text, the hooks' log, what a gain is and how
 * sure. */
#include "tui/cli/tune/tune.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_changes(void **state)
{
    static const struct {
        const char *text, *arguments; /* NULL: refused */
    } rows[] = {
        {"workers=8", "num_workers=8"},
        {"prefetch=4,workers=8", "num_workers=8, prefetch_factor=4"},
        {"pin=1,persistent=0,in_order=0", "pin_memory=True, persistent_workers=False, in_order=False"},
        {"num_workers=8, prefetch_factor=4", "num_workers=8, prefetch_factor=4"}, /* as it is pasted */
        {"pin_memory=True,persistent_workers=True,in_order=False",
         "pin_memory=True, persistent_workers=True, in_order=False"},
        {"num-workers=8,persistent=yes,order=out-of-order",
         "num_workers=8, persistent_workers=True, in_order=False"},
        {"in_order=False,in_order=perhaps", NULL},
        {"in_order=", NULL},
        {"batch_size=8", NULL},
        {"storage-latency=0", NULL},
        {"workers=True", NULL},
        {"workers=0", "num_workers=0"},
        {"prefetch=0", NULL},
        {"workers=1025", NULL},
        {"workers=two", NULL},
        {"workers", NULL},
        {"=3", NULL},
        {"", NULL},
        {"workers=2,", NULL},
        {"worker=2", NULL},
        {"pin=2", NULL},
        {"workers=99999999999999999999999999", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct tune_set set, again;
        struct pp_err err = {0};
        char text[TUNE_TEXT];
        pp_status st = tune_set_parse(rows[i].text, &set, &err);
        if (!rows[i].arguments) {
            assert_int_equal(st, PP_E_USAGE);
            assert_true(err.text[0]);
            continue;
        }
        assert_int_equal(st, PP_OK);
        assert_string_equal(tune_set_text(&set, TUNE_ARGUMENTS, text), rows[i].arguments);
        assert_int_equal(tune_set_parse(tune_set_text(&set, TUNE_WORDS, text), &again, &err), PP_OK);
        assert_memory_equal(&set, &again, sizeof(set));
    }
}

static void test_fixes(void **state)
{
    static const struct {
        const char *change, *arguments; /* NULL: no argument of a DataLoader */
    } rows[] = {
        {"num_workers=4", "num_workers=4"},
        {"prefetch_factor=8", "prefetch_factor=8"},
        {"in_order=False", "in_order=False"},
        {"pin_memory=True", "pin_memory=True"},
        {"storage-latency=cached", NULL},
        {"decode=0.5 transform=0.5", NULL},
        {"num_workers=many", NULL},
        {"num_workers=0", "num_workers=0"},
        {NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct tune_set set;
        char text[TUNE_TEXT];
        int is_set = rows[i].change && tune_set_parse(rows[i].change, &set, NULL) == PP_OK;
        assert_int_equal(is_set, rows[i].arguments != NULL);
        if (rows[i].arguments)
            assert_string_equal(tune_set_text(&set, TUNE_ARGUMENTS, text), rows[i].arguments);
    }
}

/* ---- the hooks' log ---- */

static pp_status read_text(const char *text, struct tune_log *log)
{
    char path[] = "/tmp/pp-tune-XXXXXX";
    struct pp_err err;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    pp_status st = tune_log_read(path, log, &err);
    unlink(path);
    return st;
}

#define TRAIN "0\t0\t1\t2\t2\t0\t0\t1\t64\tmod.Images\tshuffled\tmod.Images|64|shuffled|2|1000|a.py:7\n"
#define CHECK "0\t0\t1\t1\t2\t0\t0\t1\t64\tmod.Images\tin sequence\tmod.Images|64|in sequence|1|100|a.py:9\n"

static void test_log(void **state)
{
    struct tune_log log;
    (void)state;
    assert_int_equal(
        read_text("made\t7\t0\t" CHECK "made\t7\t1\t" TRAIN "epoch\t7\t1\t1\nepoch\t7\t0\t0\n"
                  "made\t7\t2\t" TRAIN "epoch\t7\t2\t2\nepoch\t9\t2\t0\nepoch\t7\t99\t5\n"
                  "set\t7\t1\tnum_workers\t8\nset\t7\t2\tnum_workers\t8\nleft\t7\t1\tpin_memory\tno device\n",
                  &log),
        PP_OK);
    assert_int_equal(log.loaders, 2);
    assert_int_equal(log.made, 3);
    assert_int_equal(log.pids, 1);
    const struct tune_loader *l = tune_log_choose(&log, 0);
    assert_int_equal(l->made, 1);
    assert_int_equal(l->count, 2);
    assert_true(l->epochs == 3);
    assert_int_equal(l->value[PP_KNOB_NUM_WORKERS], 2);
    assert_int_equal(l->value[PP_KNOB_IN_ORDER], 1);
    assert_int_equal(l->batch, 64);
    assert_string_equal(l->order, "shuffled");
    assert_ptr_equal(tune_log_choose(&log, 1), &log.loader[0]);
    assert_null(tune_log_choose(&log, 5));
    static const struct {
        const char *row;
        int loader;
    } rows[] = {{"7.0", 0},  {"7.1", 1}, {"7.2", 1},   {"9.0", 1}, {"8.1", -1},
                {"7.3", -1}, {"7", -1},  {"7.0x", -1}, {NULL, -1}, {"", -1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(tune_log_loader_of(&log, rows[i].row), rows[i].loader);
    log.judged = 0; /* what the report is about comes before the number of epochs */
    assert_ptr_equal(tune_log_choose(&log, 0), &log.loader[0]);
    assert_int_equal(log.set[PP_KNOB_NUM_WORKERS], 2);
    assert_int_equal(log.left[PP_KNOB_PIN_MEMORY], 1);
    assert_string_equal(log.why[PP_KNOB_PIN_MEMORY], "no device");
}

/* The job can write into it whatever it likes. */
static void test_strange_log(void **state)
{
    static const char *const texts[] = {"",
                                        "\n\n\t\t\t\n",
                                        "made\n",
                                        "made\t1\n",
                                        "made\t-5\t3\t" TRAIN,
                                        "made\tx\ty\t" TRAIN,
                                        "made\t99999999999999999999\t0\n",
                                        "epoch\t1\t2\n",
                                        "set\t1\t2\tthreads\t3\n",
                                        "set\t1\t2\n",
                                        "made\t7\t0\t" TRAIN "made\t7\t0"};
    struct tune_log log;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        assert_int_equal(read_text(texts[i], &log), PP_OK);
        assert_null(tune_log_choose(&log, 0));
    }
    char many[64 * 200], *at = many; /* more kinds of loaders than are kept */
    for (int i = 0; i < 64; i++)
        at += sprintf(at, "made\t7\t%d\t0\t0\t1\t2\t2\t0\t0\t1\t64\tD\tin sequence\tlike %d\n", i, i);
    assert_int_equal(read_text(many, &log), PP_OK);
    assert_int_equal(log.loaders, TUNE_LOADERS_MAX);
    struct pp_err err;
    assert_int_not_equal(tune_log_read("/nonexistent/log", &log, &err), PP_OK);
}

/* ---- gains ---- */

static void test_gains(void **state)
{
    struct tune_sample base = {.rate = {100, 104}, .noise = {NAN, NAN}, .n = 2},
                       more = {.rate = {150}, .noise = {NAN}, .n = 1}, all[2] = {base, more};
    size_t freedom;
    (void)state;
    double spread = tune_spread(all, 2, &freedom);
    assert_int_equal(freedom, 1);
    assert_true(fabs(spread - log(1.04) / sqrt(2)) < 1e-9); /* of two values |a - b| / sqrt(2) */
    struct tune_gain g = tune_gain_of(&base, &more, spread, freedom);
    double expected = 150 / sqrt(100.0 * 104), half = 3.078 * spread * sqrt(1.5);
    assert_true(fabs(g.gain - (expected - 1)) < 1e-9);
    assert_true(fabs(g.low - (expected * exp(-half) - 1)) < 1e-9);
    assert_true(fabs(g.high - (expected * exp(half) - 1)) < 1e-9);

    /* Two equal runs do not make it certain: the scatter within them is left. */
    base = (struct tune_sample){.rate = {100, 100}, .noise = {0.02, 0.02}, .n = 2};
    more = (struct tune_sample){.rate = {150}, .noise = {0.01}, .n = 1};
    all[0] = base, all[1] = more;
    spread = tune_spread(all, 2, &freedom);
    assert_true(spread == 0);
    g = tune_gain_of(&base, &more, spread, freedom);
    half = 1.2816 * sqrt(0.02 * 0.02 / 2 + 0.01 * 0.01);
    assert_true(fabs(g.low - (1.5 * exp(-half) - 1)) < 1e-9);

    /* One run each, and no scatter known: no interval, and no gain where nothing was measured. */
    base = (struct tune_sample){.rate = {100}, .noise = {NAN}, .n = 1};
    more = (struct tune_sample){.rate = {150}, .noise = {NAN}, .n = 1};
    all[0] = base, all[1] = more;
    spread = tune_spread(all, 2, &freedom);
    assert_int_equal(freedom, 0);
    assert_true(isnan(spread));
    g = tune_gain_of(&base, &more, spread, freedom);
    assert_true(fabs(g.gain - 0.5) < 1e-9 && isnan(g.low) && isnan(g.high));
    more.n = 0;
    assert_true(isnan(tune_gain_of(&base, &more, spread, freedom).gain));
}

/* The interval holds the true gain as often as it says, of runs with noise that is known. */
static void test_gains_cover(void **state)
{
    enum { TRIALS = 4000 };
    int held = 0;
    (void)state;
    srand48(7);
    for (int t = 0; t < TRIALS; t++) {
        struct tune_sample s[2] = {{.n = 3}, {.n = 2}};
        size_t freedom;
        for (int i = 0; i < 2; i++)
            for (size_t k = 0; k < s[i].n; k++) {
                double z = sqrt(-2 * log(1 - drand48())) * cos(2 * M_PI * drand48());
                s[i].rate[k] = (i ? 140 : 100) * exp(0.05 * z);
                s[i].noise[k] = NAN;
            }
        double spread = tune_spread(s, 2, &freedom);
        struct tune_gain g = tune_gain_of(&s[0], &s[1], spread, freedom);
        held += g.low <= 0.4 && 0.4 <= g.high;
    }
    /* 80 %, give or take four standard errors of 0.63 % each */
    assert_in_range(held, 0.775 * TRIALS, 0.825 * TRIALS);
}

/* Where no argument gains, the report's advice is what is left to say. */
static void test_without_an_argument_the_advice_is_said(void **state)
{
    static const struct tune_loader loader = {.dataset = "D", .order = "shuffled", .batch = 4};
    struct tune_session *s = calloc(1, sizeof(*s));
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    assert_non_null(s);
    s->loader = &loader;
    s->base = (struct tune_sample){.rate = {100}, .noise = {NAN}, .n = 1};
    snprintf(s->verdict, sizeof(s->verdict), "It waits.");
    snprintf(s->advice, sizeof(s->advice), "Send fewer tensors.");
    snprintf(s->advice_gain, sizeof(s->advice_gain), "one tensor: 250 samples/s, +150 %%");
    tune_print(s, out);
    fclose(out);
    assert_non_null(strstr(text,
                           "Nothing to prove: no argument of this DataLoader is predicted to gain 3 %.\n"
                           "Verdict:   It waits.\nDo:        Send fewer tensors.\n"
                           "Gain:      one tensor: 250 samples/s, +150 %\nFiles:"));
    free(text);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_fixes),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_strange_log),
        cmocka_unit_test(test_gains),
        cmocka_unit_test(test_gains_cover),
        cmocka_unit_test(test_without_an_argument_the_advice_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
