/* Option tables: every type, every source and its precedence, every sentence of a failure, and --help within
 * 80 columns. */
#include "probe/base/err.h"
#include "probe/base/opts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fields {
    int force, progress, step, tune;
    int64_t workers, seed;
    uint64_t max_bytes, duration, step_ns;
    double scale;
    const char *output;
    struct pp_opt_list inject;
};

static const struct pp_opt_choice steps[] = {
    {"none", "no step: how fast the data could go"},
    {"sleep", "a stand-in that leaves the CPU alone"},
    {"spin", NULL},
    {NULL, NULL},
};
static const struct pp_opt_choice modes[] = {{"keep", NULL}, {"advise", NULL}, {NULL, NULL}};
#define AT(f) offsetof(struct fields, f)
/* clang-format off */
static const struct pp_opt table[] = {
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .group = "Output", .help = "where the recording goes"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force),
     .help = "replace an existing file"},
    {.name = "progress", .type = PP_OPT_FLAG, .offset = AT(progress), .dflt = "1",
     .help = "show a progress line"},
    {.name = "max-bytes", .type = PP_OPT_SIZE, .offset = AT(max_bytes), .arg = "SIZE", .dflt = "1GiB",
     .min = 4096, .max = INFINITY, .help = "turn detail down beyond this size"},
    {.name = "workers", .letter = 'w', .type = PP_OPT_INT, .offset = AT(workers), .min = 1, .max = 1024,
     .arg = "N", .dflt = "auto", .has_auto = 1, .group = "Loader",
     .help = "loader threads; auto picks one per usable CPU and says so, which is a long story that has to be wrapped"},
    {.name = "seed", .type = PP_OPT_INT, .offset = AT(seed), .arg = "N", .dflt = "0",
     .help = "of the sample order"},
    {.name = "duration", .letter = 'd', .type = PP_OPT_DURATION, .offset = AT(duration), .arg = "TIME",
     .dflt = "30s", .min = 1e9, .max = 3600e9, .help = "stop after this long"},
    {.name = "scale", .type = PP_OPT_DOUBLE, .offset = AT(scale), .arg = "X", .dflt = "1", .min = 0,
     .max = 2.5, .help = "a factor"},
    {.name = "step", .type = PP_OPT_CHOICE, .offset = AT(step), .length_offset = AT(step_ns),
     .choices = steps, .dflt = "none", .help = "what the trainer does per batch"},
    {.name = "inject", .type = PP_OPT_LIST, .offset = AT(inject), .arg = "FAULT",
     .help = "slow something down on purpose"},
    {.name = "tune", .type = PP_OPT_FLAG, .offset = AT(tune), .choices = modes, .help = "with a mode"},
    {.name = NULL},
};
/* clang-format on */

static struct fields f;
static struct pp_opt_set set;
static struct pp_err err;
static const char *operands[32];
static int n_operands;

/* Parses the words of line, split at spaces. */
static pp_status parse(const char *line)
{
    static char copy[512];
    char *argv[32] = {"run"};
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    f = (struct fields){0};
    set = (struct pp_opt_set){.table = table, .fields = &f, .command = "run"};
    pp_err_clear(&err);
    return pp_opts_parse(&set, argc, argv, operands, &n_operands, &err);
}

static void test_defaults(void **state)
{
    assert_int_equal(parse(""), PP_OK);
    assert_int_equal(f.workers, -1);
    assert_int_equal(f.progress, 1);
    assert_int_equal(f.max_bytes, 1 << 30);
    assert_true(f.duration == 30000000000u);
    assert_true(f.scale == 1);
    assert_null(f.output);
    assert_int_equal(n_operands, 0);
    assert_null(operands[0]);
    assert_int_equal(set.source[4], PP_OPT_DEFAULT);
}

/* A length belongs to the choice it was given with. */
static void test_choice_with_length(void **state)
{
    assert_int_equal(parse("--step spin:1.5ms"), PP_OK);
    assert_int_equal(f.step, 2);
    assert_true(f.step_ns == 1500000);
    assert_int_equal(parse("--step spin:20ms --step sleep"), PP_OK);
    assert_int_equal(f.step, 1);
    assert_true(f.step_ns == 0);
    static const char *const wrong[] = {"--step spin:", "--step spin:0", "--step spin:fast", "--step :2ms",
                                        "--step spinn:2ms"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(parse(wrong[i]), PP_E_USAGE);
}

/* A flag with modes: alone it is the first of them. */
static void test_flag_with_modes(void **state)
{
    static const char *const lines[] = {"--no-tune", "--tune", "--tune=advise", "--tune=keep"};
    static const int values[] = {0, 1, 2, 1};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        assert_int_equal(parse(lines[i]), PP_OK);
        assert_int_equal(f.tune, values[i]);
    }
    assert_int_equal(parse("--tune=fast"), PP_E_USAGE);
    assert_non_null(strstr(err.text, "'fast' is not one of keep, advise"));
}

static void test_forms(void **state)
{
    assert_int_equal(
        parse(
            "data --workers=4 --seed -1 -ofile -fd 2m --no-progress --step spin --inject a --inject=b=c -- --force -x"),
        PP_OK);
    assert_int_equal(f.workers, 4);
    assert_int_equal(f.seed, -1);
    assert_string_equal(f.output, "file");
    assert_int_equal(f.force, 1);
    assert_true(f.duration == 120000000000u);
    assert_int_equal(f.progress, 0);
    assert_int_equal(f.step, 2);
    assert_int_equal(f.inject.n, 2);
    assert_string_equal(f.inject.item[1], "b=c");
    assert_int_equal(n_operands, 3);
    assert_string_equal(operands[0], "data");
    assert_string_equal(operands[1], "--force");
    assert_string_equal(operands[2], "-x");
    assert_null(operands[3]);
    assert_int_equal(set.source[4], PP_OPT_GIVEN);
    assert_int_equal(parse("--workers 2 --workers auto - --output=-"), PP_OK);
    assert_int_equal(f.workers, -1);
    assert_string_equal(operands[0], "-");
    assert_string_equal(f.output, "-");
}

static void test_sentences(void **state)
{
    static const struct {
        const char *line, *wanted;
    } rows[] = {
        {"--workers abc", "--workers: 'abc' is not a whole number or auto"},
        {"--seed 1.5", "--seed: '1.5' is not a whole number"},
        {"--seed=", "--seed: '' is not a whole number"},
        {"--seed 99999999999999999999", "--seed: 99999999999999999999 is too large"},
        {"--workers 0", "--workers: 0 is out of range; allowed are 1 to 1024, or auto"},
        {"--workers -1", "--workers: -1 is out of range; allowed are 1 to 1024, or auto"},
        {"--workers 100000", "--workers: 100000 is out of range; allowed are 1 to 1024, or auto"},
        {"--workers 99999999999999999999",
         "--workers: 99999999999999999999 is out of range; allowed are 1 to 1024, or auto"},
        {"--worker 3", "unknown option --worker; did you mean --workers?"},
        {"--wrokers=3", "unknown option --wrokers; did you mean --workers?"},
        {"--max 3", "unknown option --max; did you mean --max-bytes?"},
        {"--xylophone", "unknown option --xylophone; 'pipeprobe run --help' lists them"},
        {"-z", "unknown option -z; 'pipeprobe run --help' lists them"},
        {"-workers 3", "unknown option -workers; did you mean --workers?"},
        {"-no-force", "unknown option -no-force; did you mean --force?"},
        {"-seed 3", "unknown option -seed; did you mean --seed?"},
        {"--output", "--output: a value is missing: --output FILE"},
        {"--output --force",
         "--output: a value is missing before --force (if it is the value, write --output=--force)"},
        {"--duration 5x", "--duration: '5x' is not a duration such as 30, 250ms, 1.5s or 2m"},
        {"--duration 10ms", "--duration: 10ms is out of range; allowed are 1.00 s to 1h00m"},
        {"--max-bytes lots", "--max-bytes: 'lots' is not a size such as 512, 64KiB or 2GB"},
        {"--max-bytes 1k", "--max-bytes: 1k is out of range; at least 4.00 KiB is needed"},
        {"--scale nan", "--scale: 'nan' is not a number"},
        {"--scale 2.6", "--scale: 2.6 is out of range; allowed are 0 to 2.5"},
        {"--step slep", "--step: 'slep' is not one of none, sleep, spin; did you mean sleep?"},
        {"--step cuda", "--step: 'cuda' is not one of none, sleep, spin"},
        {"--force=maybe", "--force: 'maybe' is not true or false"},
        {"--no-output", "unknown option --no-output; did you mean --output?"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(parse(rows[i].line), PP_E_USAGE);
        assert_int_equal(err.code, PP_E_USAGE);
        assert_string_equal(err.text, rows[i].wanted);
    }
}

/* ---- configuration file and environment ---- */

static char dir[] = "/tmp/pp-test-opts-XXXXXX", config[64];

static int make_home(void **state)
{
    char sub[48];
    if (!mkdtemp(dir))
        return -1;
    snprintf(sub, sizeof(sub), "%s/pipeprobe", dir);
    snprintf(config, sizeof(config), "%s/pipeprobe/config", dir);
    setenv("XDG_CONFIG_HOME", dir, 1);
    return mkdir(sub, 0700);
}

static int remove_home(void **state)
{
    char sub[48];
    snprintf(sub, sizeof(sub), "%s/pipeprobe", dir);
    unlink(config);
    rmdir(sub);
    return rmdir(dir);
}

static void write_config(const char *text)
{
    FILE *out = fopen(config, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void test_precedence(void **state)
{
    write_config(
        "# mine\n[report]\nworkers = no matter\n\n[run]\nworkers = 3\nseed=7\noutput = \" a b \"\ninject = x\ninject = y\nforce = yes\n");
    setenv("PIPEPROBE_WORKERS", "5", 1);
    setenv("PIPEPROBE_INJECT", "z", 1);
    setenv("PIPEPROBE_MAX_BYTES", "2MB", 1);
    assert_int_equal(parse("--seed 9"), PP_OK);
    assert_int_equal(f.workers, 5);
    assert_int_equal(set.source[4], PP_OPT_ENV);
    assert_int_equal(f.seed, 9);
    assert_int_equal(f.force, 1);
    assert_int_equal(f.max_bytes, 2000000);
    assert_string_equal(f.output, " a b ");
    assert_int_equal(set.source[0], PP_OPT_CONFIG);
    assert_int_equal(f.inject.n, 1);
    assert_string_equal(f.inject.item[0], "z");
    setenv("PIPEPROBE_WORKERS", "many", 1);
    assert_int_equal(parse(""), PP_E_USAGE);
    assert_string_equal(err.text, "PIPEPROBE_WORKERS: 'many' is not a whole number or auto");
    unsetenv("PIPEPROBE_WORKERS");
    unsetenv("PIPEPROBE_INJECT");
    unsetenv("PIPEPROBE_MAX_BYTES");
    assert_int_equal(parse(""), PP_OK);
    assert_int_equal(f.workers, 3);
    assert_int_equal(f.inject.n, 2);
    unlink(config);
}

static void test_config_sentences(void **state)
{
    static const struct {
        const char *text, *wanted; /* wanted: after the path */
    } rows[] = {
        {"[run]\n\nworkers = abc\n", ":3: workers: 'abc' is not a whole number or auto"},
        {"[run]\nworker = 3\n", ":2: worker: unknown option of run; did you mean workers?"},
        {"[run]\nxylophone = 3\n", ":2: xylophone: unknown option of run"},
        {"workers = 3\n", ":1: 'workers = 3' is before the first [command] heading, such as [run]"},
        {"[run\n", ":1: the heading '[run' does not end in ']'"},
        {"[run]\nworkers\n", ":2: 'workers' is not of the form name = value"},
        {"[run]\nworkers = 0", ":2: workers: 0 is out of range; allowed are 1 to 1024, or auto"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char wanted[256];
        write_config(rows[i].text);
        assert_int_equal(parse(""), PP_E_USAGE);
        snprintf(wanted, sizeof(wanted), "%s%s", config, rows[i].wanted);
        assert_string_equal(err.text, wanted);
    }
    unlink(config);
}

static void test_config_headings(void **state)
{
    static const char *const known[] = {"run", "report", NULL};
    char wanted[256];
    write_config("[reprot]\nformat = md\n[run]\nworkers = 3\n");
    assert_int_equal(parse(""), PP_OK); /* no list of the keys was given */
    pp_opts_sections(known);
    assert_int_equal(parse(""), PP_E_USAGE);
    snprintf(wanted, sizeof(wanted),
             "%s:1: [reprot]: unknown command, its settings would be ignored; did you mean [report]?",
             config);
    assert_string_equal(err.text, wanted);
    write_config("[run]\nworkers = 3\n[ report ]\nformat = md\n");
    assert_int_equal(parse(""), PP_OK);
    assert_int_equal(f.workers, 3);
    pp_opts_sections(NULL);
    unlink(config);
}

static void test_unreadable_config(void **state)
{
    assert_int_equal(mkdir(config, 0700), 0);
    assert_int_not_equal(parse(""), PP_OK);
    assert_non_null(strstr(err.text, "cannot read the configuration file"));
    assert_non_null(strstr(err.text, config));
    rmdir(config);
}

/* ---- values and parsers ---- */

/* What pp_opts_value writes reads back as the same value. */
static void test_values_read_back(void **state)
{
    static const char *const wanted[] = {"out.sqlite", "true", "false", "64KiB", "auto",  "-5",
                                         "1500ms",     "0.1",  "sleep", "a b",   "advise"};
    assert_int_equal(
        parse(
            "-o out.sqlite -f --no-progress --max-bytes 65536 --seed -5 -d1.5s --scale 0.1 --step sleep --inject a --inject b --tune=advise"),
        PP_OK);
    for (int i = 0; table[i].name; i++) {
        char buf[64], line[128];
        assert_string_equal(pp_opts_value(&set, i, buf, sizeof(buf)), wanted[i]);
        if (table[i].type == PP_OPT_LIST)
            continue;
        char again[64];
        snprintf(line, sizeof(line), "--%s=%s", table[i].name, buf);
        assert_int_equal(parse(line), PP_OK);
        assert_string_equal(pp_opts_value(&set, i, again, sizeof(again)), wanted[i]);
        assert_int_equal(
            parse(
                "-o out.sqlite -f --no-progress --max-bytes 65536 --seed -5 -d1.5s --scale 0.1 --step sleep --inject a --inject b --tune=advise"),
            PP_OK);
    }
}

static void test_parsers(void **state)
{
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    static const struct {
        const char *text;
        pp_status status;
        int64_t wanted;
    } ints[] = {
        {"10k", PP_OK, 10000},
        {"1.5M", PP_OK, 1500000},
        {"2Ki", PP_OK, 2048},
        {"1T", PP_OK, 1000000000000},
        {"-9223372036854775808", PP_OK, INT64_MIN},
        {"9223372036854775807", PP_OK, INT64_MAX},
        {"9223372036854775808", PP_E_UNSUPPORTED, 0},
        {"+3", PP_OK, 3},
        {"", PP_E_USAGE, 0},
        {"-", PP_E_USAGE, 0},
        {" 3", PP_E_USAGE, 0},
        {"3 ", PP_E_USAGE, 0},
        {"0x10", PP_E_USAGE, 0},
        {"1.0001k", PP_E_USAGE, 0},
        {"--3", PP_E_USAGE, 0},
        {"3kB", PP_E_USAGE, 0},
    };
    for (size_t k = 0; k < sizeof(ints) / sizeof(*ints); k++) {
        assert_int_equal(pp_parse_int(ints[k].text, &i), ints[k].status);
        if (ints[k].status == PP_OK)
            assert_true(i == ints[k].wanted);
    }
    static const struct {
        const char *text;
        pp_status status;
        uint64_t wanted;
    } durations[] = {
        {"30", PP_OK, 30000000000},
        {"250ms", PP_OK, 250000000},
        {"1.5s", PP_OK, 1500000000},
        {"2m05s", PP_OK, 125000000000},
        {"1h", PP_OK, 3600000000000},
        {"10us", PP_OK, 10000},
        {"7ns", PP_OK, 7},
        {"2m30", PP_E_USAGE, 0},
        {"", PP_E_USAGE, 0},
        {"s", PP_E_USAGE, 0},
        {"-1s", PP_E_USAGE, 0},
        {"99999999h", PP_E_UNSUPPORTED, 0},
        {"1 s", PP_E_USAGE, 0},
    };
    for (size_t k = 0; k < sizeof(durations) / sizeof(*durations); k++) {
        assert_int_equal(pp_parse_duration(durations[k].text, &u), durations[k].status);
        if (durations[k].status == PP_OK)
            assert_true(u == durations[k].wanted);
    }
    assert_int_equal(pp_parse_size("1.5GiB", &u), PP_OK);
    assert_true(u == 3u << 29);
    assert_int_equal(pp_parse_size("2KB", &u), PP_OK);
    assert_true(u == 2000);
    assert_int_equal(pp_parse_size("17Bi", &u), PP_E_USAGE);
    assert_int_equal(pp_parse_double("1e3", &d), PP_OK);
    assert_true(d == 1000);
    assert_int_equal(pp_parse_double("inf", &d), PP_E_USAGE);
    assert_int_equal(pp_parse_double("-inf", &d), PP_E_USAGE);
    assert_int_equal(pp_parse_double("1e999", &d), PP_E_UNSUPPORTED);
    assert_int_equal(pp_parse_double("", &d), PP_E_USAGE);
    assert_int_equal(pp_parse_double("0x1p3", &d), PP_E_USAGE);
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"run", "report", "plan", "doctor", NULL};
    assert_string_equal(pp_nearest("rnu", names), "run");
    assert_string_equal(pp_nearest("reprot", names), "report");
    assert_string_equal(pp_nearest("doc", names), "doctor");
    assert_string_equal(pp_nearest("plna", names), "plan");
    assert_null(pp_nearest("compare", names));
    static const char *const run[] = {"workers", "prefetch", "batch-size", "seed", "output", NULL};
    assert_string_equal(pp_nearest("prefetch-factor", run), "prefetch");
    assert_string_equal(pp_nearest("num_workers", run), "workers");
    assert_string_equal(pp_nearest("train-batch-size", run), "batch-size");
    assert_null(pp_nearest("pin-memory", run));
    assert_null(pp_nearest("reseeding-rate", run)); /* "seed" is no word of it */
    assert_null(pp_nearest("", names));
}

static void test_help(void **state)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    pp_opts_help(table, out, 80, 1);
    fclose(out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_in_range(strlen(line), 1, 80);
        if (strstr(line, "--workers"))
            assert_int_equal(strncmp(line, "  -w, --workers N ", 18), 0);
        if (strstr(line, "progress"))
            assert_non_null(strstr(line, "--[no-]progress"));
    }
    free(text);
    out = open_memstream(&text, &size);
    pp_opts_help(table, out, 80, 1);
    fclose(out);
    for (int i = 0; table[i].name; i++)
        assert_non_null(strstr(text, table[i].name));
    assert_non_null(strstr(text, "Output:\n"));
    assert_non_null(strstr(text, "Loader:\n"));
    assert_non_null(strstr(text, "[30s]"));
    assert_non_null(strstr(text, "--step none|sleep|spin"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_flag_with_modes),
        cmocka_unit_test(test_choice_with_length),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_config_sentences),
        cmocka_unit_test(test_config_headings),
        cmocka_unit_test(test_unreadable_config),
        cmocka_unit_test(test_values_read_back),
        cmocka_unit_test(test_parsers),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
