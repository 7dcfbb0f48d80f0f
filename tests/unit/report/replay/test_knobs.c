/* The one table of knobs: names and other names where they are accepted, what is near a wrong one, changes as
 * options and arguments; and a row more, which is all that a new knob takes. */
#define PP_KNOB_OF_A_TEST \
    { \
        .name = "test_depth", .also = "of-a-test", .values = "N", .help = "depth of a test; more of it", \
        .kind = PP_KNOB_COUNT, .field = offsetof(struct pp_knobs, prefetch), .most = 9, \
        .option = "prefetch", .step = PP_STEP_ONE, .recorded = "prefetch" \
    }
#include "tui/cli/cli.h"
#include "tui/cli/tune/tune.h"
#include "tui/dash/rows.h"
#include "tui/dash/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "report/replay/knobs.c" /* in place of the library's */

static struct pp_cost_sample sample = {.bytes = 1000};

static struct pp_op op = {.word = "2", .n = 4, .cpu = 2}; /* the value of other knobs, with a factor */

/* Everything is known of it. */
static struct pp_costs known_costs(void)
{
    return (struct pp_costs){.samples = &sample,
                             .n = 1,
                             .dataset_samples = 100,
                             .unpickle_ns = 1,
                             .batch_tensors = 4,
                             .per_worker = 1,
                             .may_persist = 1,
                             .epoch_workers_ns = 1,
                             .epoch_sampler_ns = 1,
                             .pageable = 1,
                             .locked = 1,
                             .inflight = 1,
                             .cpus = 4,
                             .others = 1,
                             .ops = {.ops = &op,
                                     .n_ops = 1,
                                     .loaders = {{.judged = 1, .n = {8, 0}, .cpu = {4, 0}}},
                                     .n_loaders = 1},
                             .requests = {.answers = 9, .slow_host = 2}};
}

/* A value that the row takes. */
static const char *value_of(const struct pp_knob *knob)
{
    return strcmp(knob->name, "op") == 0 ? "2:0.5"
           : knob->words                 ? knob->words->word
           : knob->kind == PP_KNOB_BYTES ? knob->example
           : knob->kind == PP_KNOB_SHARE ? "0.5"
                                         : "2";
}

typedef void name_fn(const struct pp_knob *knob, const char *name);

static void mixed(name_fn *fn, const struct pp_knob *knob, const char *name)
{
    char other[64];
    snprintf(other, sizeof(other), "%s", name);
    fn(knob, name);
    for (char *p = other; *p; p++)
        *p = *p == '_' ? '-' : *p == '-' ? '_' : *p;
    fn(knob, other);
}

static void for_each_name(name_fn *fn)
{
    for (const struct pp_knob *knob = pp_knob_rows; knob->name; knob++) {
        char also[64], *rest = also, *word;
        snprintf(also, sizeof(also), "%s", knob->also ? knob->also : "");
        mixed(fn, knob, knob->name);
        while ((word = strsep(&rest, " ")))
            if (*word)
                mixed(fn, knob, word);
    }
}

/* `whatif --set` and the what-if view. */
static void is_set(const struct pp_knob *knob, const char *name)
{
    char text[128];
    struct pp_costs costs = known_costs();
    struct pp_knobs k = pp_knobs_none(), before = k;
    struct pp_err err = {0};
    if (knob->kind == PP_KNOB_NEVER) {
        assert_int_equal(pp_knobs_set(&k, &costs, name, &err), PP_E_UNSUPPORTED);
        return;
    }
    snprintf(text, sizeof(text), "%s=%s", name, value_of(knob));
    if (strcmp(knob->name, "shard-size") == 0) /* it needs a stream, which others do not */
        costs.streaming = 1, costs.piece_bytes = 1, costs.requests.shards = 9;
    pp_status st = pp_knobs_set(&k, &costs, text, &err);
    if (st != PP_OK)
        fail_msg("%s: %s", text, err.text);
    if (memcmp(&k, &before, sizeof(k)) == 0)
        fail_msg("%s changes nothing", text);
}

/* `tune --try`. */
static void is_tried(const struct pp_knob *knob, const char *name)
{
    char text[128], arguments[TUNE_TEXT];
    struct tune_set set;
    struct pp_err err = {0};
    if (knob - pp_knob_rows >= PP_KNOBS_TUNED)
        return;
    snprintf(text, sizeof(text), "%s=%s", name, value_of(knob));
    assert_int_equal(tune_set_parse(text, &set, &err), PP_OK);
    snprintf(text, sizeof(text), "%s=%s", knob->name, value_of(knob));
    assert_string_equal(tune_set_text(&set, TUNE_ARGUMENTS, arguments), text);
}

static int has_option(const struct pp_command *cmd, const char *name)
{
    const struct pp_opt *o = cmd->opts;
    while (o->name && strcmp(o->name, name) != 0)
        o++;
    return o->name != NULL;
}

/* The options of a command, with its own table and a place for its fields. */
static void is_given(const struct pp_command *cmd, const struct pp_knob *knob, const char *name)
{
    static double fields[1024]; /* larger than any command's */
    char word[128];
    const char *operands[3];
    struct pp_opt_set set = {.table = cmd->opts, .fields = fields};
    int n;
    if (!knob->option || !has_option(cmd, knob->option))
        return;
    snprintf(word, sizeof(word), "--%s=%s", name, knob->special ? knob->special : value_of(knob));
    char *argv[] = {(char *)cmd->name, word, NULL};
    if (pp_cli_parse(cmd, &set, 2, argv, operands, &n) != -1)
        fail_msg("%s %s", cmd->name, word);
    for (int i = 0; cmd->opts[i].name; i++)
        if (strcmp(cmd->opts[i].name, knob->option) == 0)
            assert_int_equal(set.source[i], PP_OPT_GIVEN);
}

static void is_an_option(const struct pp_knob *knob, const char *name)
{
    is_given(&pp_cmd_run, knob, name);
    is_given(&pp_cmd_exec, knob, name);
    is_given(&pp_cmd_whatif, knob, name);
}

/* The dashboard's search goes to it. */
static void is_found(const struct pp_knob *knob, const char *name)
{
    struct pp_dash_state s = {.view = PP_VIEW_WHATIF};
    struct pp_dash_model model = {0};
    struct pp_rows rows;
    if (knob->step == PP_STEP_NONE)
        return;
    snprintf(s.filter, sizeof(s.filter), "%s", name);
    pp_rows_of(&s, &model, &rows);
    int found = 0;
    for (int i = 0; i < rows.n; i++)
        found |= pp_dash_knob(rows.index[i]) == knob;
    assert_true(found);
}

static void test_every_name_is_accepted(void **state)
{
    (void)state;
    for_each_name(is_set);
    for_each_name(is_tried);
    for_each_name(is_an_option);
    for_each_name(is_found);
}

static void only_one_has(const struct pp_knob *knob, const char *name)
{
    assert_ptr_equal(pp_knob_find(name, strlen(name)), knob);
}

static void test_no_name_is_two_knobs(void **state)
{
    (void)state;
    for_each_name(only_one_has);
}

static void test_a_wrong_name_gets_the_nearest(void **state)
{
    static const struct {
        const char *name, *near;
    } rows[] = {{"wrokers", "num_workers"},
                {"num_worker", "num_workers"},
                {"prefech", "prefetch_factor"},
                {"pin_memery", "pin_memory"},
                {"in-ordr", "in_order"},
                {"batchsize", "batch_size"},
                {"persistent_worker", "persistent_workers"}};
    struct pp_costs costs = known_costs();
    struct pp_knobs k = pp_knobs_none();
    struct tune_set set;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[64], said[64];
        struct pp_err err = {0};
        snprintf(text, sizeof(text), "%s=2", rows[i].name);
        snprintf(said, sizeof(said), "did you mean %s?", rows[i].near);
        assert_int_equal(pp_knobs_set(&k, &costs, text, &err), PP_E_USAGE);
        if (!strstr(err.text, said))
            fail_msg("%s", err.text);
        assert_int_equal(tune_set_parse(text, &set, &err), PP_E_USAGE);
        if (strcmp(rows[i].near, "batch_size") != 0 && !strstr(err.text, said))
            fail_msg("%s", err.text);
    }
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, &costs, "colour=2", &err), PP_E_USAGE);
    assert_null(strstr(err.text, "did you mean"));
}

static void test_a_change_as_an_option(void **state)
{
    static const struct {
        const char *set, *option; /* NULL: none */
        int is_argument;
    } rows[] = {{"num_workers=8", "--workers 8", 1},
                {"prefetch_factor=4", "--prefetch 4", 1},
                {"in_order=False", "--out-of-order", 1},
                {"in_order=True", "--no-out-of-order", 1},
                {"pin_memory=True", "--no-pageable", 1},
                {"persistent_workers=True", NULL, 1},
                {"copy-buffers=2", "--copy-buffers 2", 0},
                {"sync=none", "--no-sync-every-step", 0},
                {"sync=0.5", NULL, 0},
                {"inflight=16", "--inflight 16", 0},
                {"hedge=p95", NULL, 0},
                {"decode=nvjpeg", "--decode nvjpeg", 0},
                {"decode=0.5", NULL, 0},
                {"decode=0.5 transform=0.5", NULL, 0},
                {"storage-latency=cached", NULL, 0},
                {"num_workers", NULL, 0},
                {NULL, NULL, 0}};
    char buf[PP_KNOB_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *option = pp_knob_option(rows[i].set, ' ', buf);
        if (rows[i].option)
            assert_string_equal(option, rows[i].option);
        else
            assert_null(option);
        assert_int_equal(pp_knob_is_argument(rows[i].set), rows[i].is_argument);
    }
    assert_string_equal(pp_knob_option("workers=8", '=', buf), "--workers=8");
}

/* What an option of run does is an option that run has. */
static void test_options_are_of_run(void **state)
{
    (void)state;
    for (const struct pp_knob *knob = pp_knob_rows; knob->name; knob++)
        if (knob->option && !has_option(&pp_cmd_run, knob->option))
            fail_msg("%s: run has no --%s", knob->name, knob->option);
}

/* The row above is in the what-if, in its list, in the dashboard and an option of run, with no line besides.
 */
static void test_a_knob_is_one_row(void **state)
{
    const struct pp_knob *knob = pp_knob_find("of_a_test", strlen("of_a_test"));
    struct pp_costs costs = known_costs();
    struct pp_knobs k = pp_knobs_none();
    struct pp_err err = {0};
    char buf[PP_KNOB_TEXT];
    int in_dash = 0;
    (void)state;
    assert_non_null(knob);
    assert_int_equal(pp_knobs_set(&k, &costs, "test-depth=7", &err), PP_OK);
    assert_int_equal(k.prefetch, 7);
    assert_int_equal(pp_knobs_set(&k, &costs, "test-depth=10", &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "use test-depth=N, a whole number from 1 to 9"));
    assert_int_equal(pp_knobs_set(&k, &costs, "test_dept=7", &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "did you mean test_depth?"));
    assert_string_equal(pp_knob_option("test_depth=7", ' ', buf), "--prefetch 7");
    for (int i = 0; i < PP_DASH_KNOBS; i++)
        in_dash |= pp_dash_knob(i) == knob;
    assert_true(in_dash);
}

/* A count that may be 0 says so; 0 stands for something else in the field. */
static void num_workers_may_be_none(void **state)
{
    (void)state;
    struct pp_costs costs = known_costs();
    struct pp_knobs k = pp_knobs_none();
    struct tune_set set;
    char text[TUNE_TEXT];
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, &costs, "workers=0", &err), PP_OK);
    assert_int_equal(k.workers, PP_NO_WORKERS);
    assert_int_equal(pp_knobs_set(&k, &costs, "workers=-1", &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "a whole number from 0 to 1024"));
    assert_int_equal(pp_knobs_set(&k, &costs, "prefetch=0", &err), PP_E_USAGE);
    assert_int_equal(tune_set_parse("num_workers=0", &set, &err), PP_OK);
    assert_string_equal(tune_set_text(&set, TUNE_ARGUMENTS, text), "num_workers=0");
    assert_int_equal(tune_set_parse("prefetch_factor=0", &set, &err), PP_E_USAGE);
}

/* Half of an op that is half of the CPU time and half of the blocked time; of another loader's, the CPUs. */
static void test_an_op_is_a_part_of_its_loaders_work(void **state)
{
    struct pp_costs costs = known_costs();
    struct pp_knobs k = pp_knobs_none();
    struct pp_err err = {0};
    (void)state;
    assert_int_equal(pp_knobs_set(&k, &costs, "op=2:0.5", &err), PP_OK);
    assert_true(k.op_cpu == 0.75 && k.op_blocked == 0.75 && k.collate == 1 && k.freed_cpus == 0);
    assert_int_equal(pp_knobs_set(&k, &costs, "op=3:0.5", &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "the largest are: 2"));
    assert_int_equal(pp_knobs_set(&k, &costs, "op=2", &err), PP_E_USAGE);
    assert_int_equal(pp_knobs_set(&k, &costs, "op=2:-1", &err), PP_E_USAGE);
    costs.ops.loaders[0] = (struct pp_ops_loader){.n = {8, 0}, .cpu = {4, 0}, .cpus = 0.8};
    k = pp_knobs_none();
    assert_int_equal(pp_knobs_set(&k, &costs, "op=2:0", &err), PP_OK);
    assert_true(k.op_cpu == 1 && k.freed_cpus == 0.4);
    costs.ops = (struct pp_ops){0};
    assert_int_equal(pp_knobs_set(&k, &costs, "op=2:0", &err), PP_E_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(num_workers_may_be_none),
        cmocka_unit_test(test_every_name_is_accepted),
        cmocka_unit_test(test_no_name_is_two_knobs),
        cmocka_unit_test(test_a_wrong_name_gets_the_nearest),
        cmocka_unit_test(test_a_change_as_an_option),
        cmocka_unit_test(test_options_are_of_run),
        cmocka_unit_test(test_a_knob_is_one_row),
        cmocka_unit_test(test_an_op_is_a_part_of_its_loaders_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
