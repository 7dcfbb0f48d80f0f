/* The hint of attach follows from what was seen, and the command lines it and exec print can be pasted. */
#include "tui/cli/attach/attach_words.h"
#include "tui/cli/exec/exec_words.h"
#include "tui/cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

static void hints_follow_from_what_was_seen(void **state)
{
    static const struct {
        struct attach_workers w;
        double busy_cpus;
        const char *begins;
    } cases[] = {
        {{.n = 0}, 1, "No DataLoader worker was seen"},
        {{.n = 2, .looks = 0, .cpu = NAN, .delay = NAN}, 1, "The workers were not seen for long enough"},
        {{.n = 2, .looks = 10, .cpu = 0.97, .delay = 0.01},
         2,
         "Workers are busy: 97 % of a CPU each; of 4.0"},
        {{.n = 4, .looks = 10, .cpu = 0.97, .delay = 0.01},
         3.9,
         "Workers are busy: 97 % of a CPU each; the 4.0"},
        {{.n = 8, .looks = 10, .cpu = 0.5, .delay = 0.45}, 4, "Workers are ready but without a CPU 45 %"},
        {{.n = 2, .looks = 10, .blocked = 6, .cpu = 0.1, .delay = 0},
         1,
         "Workers are in waits that only I/O ends at 60 %"},
        {{.n = 2, .looks = 10, .cpu = 0.1, .delay = 0}, 1, "Workers run only 10 %"},
        {{.n = 2, .looks = 10, .cpu = 0.5, .delay = 0.05}, 1, "Workers run 50 %"},
    };
    char text[400];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct attach_machine m = {.usable_cpus = 4, .busy_cpus = cases[i].busy_cpus};
        attach_hint(&cases[i].w, &m, text, sizeof(text));
        assert_memory_equal(text, cases[i].begins, strlen(cases[i].begins));
        assert_null(strstr(text, "bound")); /* never a verdict */
    }
}

#define ARGV(...) ((char *const[]){__VA_ARGS__, NULL})
static void command_lines_can_be_pasted(void **state)
{
    char text[64];
    (void)state;
    assert_string_equal(pp_shell_words(ARGV("a", "b c", "", "it's", "$HOME"), text, sizeof(text)),
                        "a 'b c' '' 'it'\\''s' '$HOME'");
    assert_string_equal(pp_shell_words(ARGV("a", "\033[31m"), text, sizeof(text)), "a '\\x1b[31m'");
    assert_string_equal(pp_shell_words(ARGV("abcdef", "0123456789"), text, 16), "abcdef ...");
    assert_string_equal(pp_shell_words(ARGV("0123456789abcdef"), text, 16), "...");
    assert_string_equal(pp_shell_words((char *const[]){NULL}, text, sizeof(text)), "");
}

static void advice_makes_python_listen(void **state)
{
    const struct {
        char *const *argv;
        int applies;
        const char *line;
    } cases[] = {
        {ARGV("python3", "-I", "t.py"), EXEC_ISOLATED, "pipeprobe exec -- python3 t.py"},
        {ARGV("python3", "-sEu", "t.py", "-I"), EXEC_ISOLATED, "pipeprobe exec -- python3 -su t.py -I"},
        {ARGV("python3", "-W", "IES", "-S", "-m", "I"), EXEC_ISOLATED,
         "pipeprobe exec -- python3 -W IES -m I"},
        {ARGV("python3", "-Imtorch.x"), EXEC_ISOLATED, "pipeprobe exec -- python3 -mtorch.x"},
        {ARGV("sudo", "-E", "python3", "t.py"), EXEC_BEHIND, "sudo -E pipeprobe exec -- python3 t.py"},
        {ARGV("python3", "t.py"), 0, "pipeprobe exec -- python3 t.py"},
        {ARGV("./run.sh"), 0, ""},
        {ARGV("./run.sh", "python_cfg.yaml"), 0, ""},
        {ARGV("nice", "python3.12", "t.py"), EXEC_BEHIND, "nice pipeprobe exec -- python3.12 t.py"},
        {ARGV("nice", "python3.13t", "t.py"), EXEC_BEHIND, "nice pipeprobe exec -- python3.13t t.py"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200] = "";
        const char *why;
        assert_int_equal(exec_words_advice(cases[i].argv, text, sizeof(text), &why), cases[i].applies);
        assert_string_equal(text, cases[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_follow_from_what_was_seen),
        cmocka_unit_test(command_lines_can_be_pasted),
        cmocka_unit_test(advice_makes_python_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
