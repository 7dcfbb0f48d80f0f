/* The front hall's common parts: --help, usage errors, colour, progress. The child's stderr and stdout are
 * read back through files. */
#include "tui/cli/cli.h"
#include "probe/dataset/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fields {
    int64_t workers;
};
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "workers", .letter = 'w', .type = PP_OPT_INT, .arg = "N", .min = 1, .max = 8, .dflt = "1",
     .group = "Options", .help = "how many"},
    {.name = NULL},
};
/* clang-format on */
static const struct pp_command cmd = {
    .name = "try",
    .summary = "tries",
    .usage = "try FILE",
    .opts = opts,
    .notes = "A note.",
    .examples = {"pipeprobe try a", "pipeprobe try b -w 2"},
};

/* Runs pp_cli_parse with stdout and stderr going to text. */
static int parse(int argc, char **argv, struct fields *f, const char **operands, char *text, size_t size)
{
    struct pp_opt_set set = {.table = opts, .fields = f};
    int n, out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    int rc = pp_cli_parse(&cmd, &set, argc, argv, operands, &n);
    fflush(stdout);
    fflush(stderr);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return rc;
}

static void test_parse(void **state)
{
    struct fields f = {0};
    const char *operands[8];
    char text[4096];
    char *good[] = {"try", "data", "-w", "3", NULL}, *wrong[] = {"try", "-w", "9", NULL},
         *help[] = {"try", "--bad", "--help", NULL}, *after[] = {"try", "--", "--help", NULL};
    assert_int_equal(parse(4, good, &f, operands, text, sizeof(text)), -1);
    assert_string_equal(text, "");
    assert_int_equal(f.workers, 3);
    assert_string_equal(operands[0], "data");
    assert_int_equal(parse(3, wrong, &f, operands, text, sizeof(text)), 2);
    assert_string_equal(text, "pipeprobe try: --workers: 9 is out of range; allowed are 1 to 8\n");
    assert_int_equal(parse(3, help, &f, operands, text, sizeof(text)),
                     0); /* --help prints help, also beside other mistakes */
    assert_string_equal(
        text,
        "Usage: pipeprobe try FILE\nTries.\n\nOptions:\n  -w, --workers N  how many [1]\n\nA note.\n\nExamples:\n  pipeprobe try a\n  pipeprobe try b -w 2\n");
    assert_int_equal(parse(3, after, &f, operands, text, sizeof(text)), -1);
    assert_string_equal(operands[0], "--help");
}

/* A command with advanced options shows the others on one screen and says how many there are; --help-all
 * shows all, grouped. */
static void test_short_help(void **state)
{
    static const struct pp_opt many[] = {
        {.name = "workers", .type = PP_OPT_INT, .arg = "N", .group = "Basics", .help = "how many"},
        {.name = "window",
         .type = PP_OPT_INT,
         .arg = "N",
         .group = "Rare",
         .help = "how wide",
         .advanced = 1},
        {.name = NULL},
    };
    static const struct pp_command c = {.name = "try",
                                        .summary = "tries",
                                        .usage = "try FILE",
                                        .opts = many,
                                        .examples = {"pipeprobe try a"}};
    static const char *const want[] = {
        "Usage: pipeprobe try FILE\nTries.\n\n      --workers N  how many\n1 more options: pipeprobe try --help-all\n\nExamples:\n  pipeprobe try a\n",
        "Usage: pipeprobe try FILE\nTries.\n\nBasics:\n      --workers N  how many\nRare:\n      --window N   how wide\n\nExamples:\n  pipeprobe try a\n",
    };
    for (int all = 0; all < 2; all++) {
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        pp_help_command(&c, out, all);
        fclose(out);
        assert_string_equal(text, want[all]);
        free(text);
    }
}

/* A variable that no option reads is said, with the nearest one that is read. */
static void test_mistyped_variables(void **state)
{
    static const struct pp_opt more[] = {{.name = "batch-size", .type = PP_OPT_INT, .help = "how large"},
                                         {.name = NULL}};
    static const struct pp_command other = {.name = "more", .opts = more};
    const struct pp_command *const commands[] = {&cmd, &other, NULL};
    char *environment[] = {"HOME=/root",
                           "PIPEPROBE_WROKERS=8",
                           "PIPEPROBE_WORKERS=8",
                           "PIPEPROBE_BATCH_SIZE=1",
                           "PIPEPROBE_batch_size=1",
                           "PIPEPROBE_BATCHSIZE=",
                           "PIPEPROBE_SESSION=/x",
                           "PIPEPROBE_=",
                           "PIPEPROBE_HOME=/opt",
                           "PIPEPROBE_SIMD=avx512",
                           "PIPEPROBE_CLOCK=monotonic",
                           "PIPEPROBE_SIMD=",
                           "PIPEPROBE_CLOCK",
                           NULL};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(pp_cli_mistyped(commands, environment, out), 6);
    fclose(out);
    assert_string_equal(
        text,
        "pipeprobe: PIPEPROBE_WROKERS is set, but no option has this name; did you mean PIPEPROBE_WORKERS?\n"
        "pipeprobe: PIPEPROBE_batch_size is set, but no option has this name; did you mean PIPEPROBE_BATCH_SIZE?\n"
        "pipeprobe: PIPEPROBE_BATCHSIZE is set, but no option has this name; did you mean PIPEPROBE_BATCH_SIZE?\n"
        "pipeprobe: PIPEPROBE_ is set, but no option has this name\n"
        "pipeprobe: PIPEPROBE_HOME is set, but no option has this name\n"
        "pipeprobe: PIPEPROBE_SIMD=avx512 has no effect; the only valid value is portable\n");
    free(text);
}

static void test_help_all(void **state)
{
    const struct pp_command *const commands[] = {&cmd, NULL};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    pp_help_all(commands, out);
    fclose(out);
    assert_non_null(strstr(text, "  try       tries\n"));
    int lines = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, lines++)
        assert_in_range(end - line, 0, 80);
    assert_in_range(lines, 10, 24);
    static const char *const codes[] = {"  0 ", "  1 ", "  2 ", "  3 ", "  4 ", "  130 "};
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        assert_non_null(strstr(text, codes[i]));
    free(text);
}

static void test_color(void **state)
{
    FILE *file = tmpfile();
    setenv("TERM", "xterm", 1);
    assert_int_equal(pp_cli_use_color(PP_COLOR_AUTO, file), 0); /* no terminal */
    assert_int_equal(pp_cli_use_color(PP_COLOR_ALWAYS, file), 1);
    setenv("NO_COLOR", "1", 1);
    assert_int_equal(pp_cli_use_color(PP_COLOR_ALWAYS, file), 1); /* asked for on the command line wins */
    assert_int_equal(pp_cli_use_color(PP_COLOR_NEVER, file), 0);
    assert_int_equal(pp_cli_columns(file), 80);
    unsetenv("NO_COLOR");
    fclose(file);
}

/* The time left is in every line of 30 columns and more, whatever else is. */
static void parts_that_do_not_fit_are_left_out(void **state)
{
    static const char *const part[] = {
        "1,310 samples/s", "25.0 s left", "data wait 12 %", "9 errors", "moderately input-bound so far", "",
        "epoch 5",         "batch 86123"};
    static const struct {
        int width;
        const char *want;
    } rows[] = {
        {7, "\r\033[K"},
        {17, "\r1,310 samples/s\033[K"},
        {30, "\r1,310 samples/s  25.0 s left\033[K"},
        {40, "\r1,310 samples/s  25.0 s left  9 errors\033[K"},
        {60, "\r1,310 samples/s  25.0 s left  data wait 12 %  9 errors\033[K"},
        {80, "\r1,310 samples/s  25.0 s left  data wait 12 %  9 errors  epoch 5  batch 86123\033[K"},
        {200,
         "\r1,310 samples/s  25.0 s left  data wait 12 %  9 errors  moderately input-bound so far  epoch 5  "
         "batch 86123\033[K"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_progress p = {.on = 1, .width = rows[i].width};
        char text[256] = "";
        int err = dup(STDERR_FILENO);
        FILE *file = tmpfile();
        fflush(stderr);
        dup2(fileno(file), STDERR_FILENO);
        pp_progress_parts(&p, part, sizeof(part) / sizeof(*part));
        fflush(stderr);
        dup2(err, STDERR_FILENO);
        close(err);
        assert_true(pread(fileno(file), text, sizeof(text) - 1, 0) > 0);
        fclose(file);
        assert_string_equal(text, rows[i].want);
    }
}

/* Without a terminal not a byte is written; with one, the line is cut to its width. */
static void test_progress(void **state)
{
    struct pp_progress p;
    char text[256];
    int err = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    pp_progress_begin(&p, 0);
    pp_progress_line(&p, "%d %%", 10);
    pp_progress_clear(&p);
    assert_int_equal(ftell(file), 0);
    assert_int_equal(lseek(fileno(file), 0, SEEK_END), 0);
    p = (struct pp_progress){.on = 1, .width = 11};
    pp_progress_line(&p, "%s", "0123456789abc");
    pp_progress_clear(&p);
    pp_progress_clear(&p);
    dup2(err, STDERR_FILENO);
    close(err);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_string_equal(text, "\r0123456789\033[K\r\033[K");
    fclose(file);
}

/* Whoever asks run --help whether their data are read finds their format: by its name, or by a word of what
 * its places are. */
static void run_help_names_every_format(void **state)
{
    static const char *const common[] = {"directory", "files", "file", "made"};
    const struct pp_dataset_format *f;
    for (size_t i = 0; (f = pp_dataset_format_at(i)); i++) {
        char words[128];
        int named = strcasestr(pp_cmd_run.notes, f->name) != NULL;
        snprintf(words, sizeof(words), "%s", f->help);
        for (char *w = strtok(words, " -"); w && !named; w = strtok(NULL, " -")) {
            int says_nothing = strlen(w) < 3;
            for (size_t k = 0; k < sizeof(common) / sizeof(*common); k++)
                says_nothing |= strcmp(w, common[k]) == 0;
            named = !says_nothing && strcasestr(pp_cmd_run.notes, w) != NULL;
        }
        if (!named)
            fail_msg("run --help does not name %s (%s)", f->name, f->help);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_short_help),
        cmocka_unit_test(run_help_names_every_format),
        cmocka_unit_test(test_mistyped_variables),
        cmocka_unit_test(test_help_all),
        cmocka_unit_test(test_color),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(parts_that_do_not_fit_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
