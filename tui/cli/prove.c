#include "tui/cli/prove.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/model.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Knobs of the replay that an option of `run` turns; with_value: the fix's value follows. */
static const struct {
    const char *knob, *option;
    int with_value;
} turns[] = {
    {"workers", "--workers", 1},  {"fewer-workers", "--workers", 1}, {"prefetch", "--prefetch", 1}, {"buffers", "--copy-buffers", 1},
    {"order", "--out-of-order", 0}, {"pinned", "--no-pageable", 0},   {"sync", "--no-sync-every-step", 0},
};
enum { TURNS = sizeof(turns) / sizeof(*turns), WORTH_A_RUN = 3 };

static const struct pp_report_fix *best_option(const struct pp_report *r, int *turn)
{
    for (size_t i = 0; i < r->verdict.n_fixes; i++)
        for (int t = 0; t < TURNS; t++)
            if (strcmp(r->verdict.fixes[i].knob, turns[t].knob) == 0 && 100 * r->verdict.fixes[i].gain >= WORTH_A_RUN) {
                *turn = t;
                return &r->verdict.fixes[i];
            }
    return NULL;
}

static pp_status run_again(char **argv, struct pp_err *err)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0); /* its report is not asked for */
    int rc = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        return pp_fail_errno(err, rc, "--prove: starting the second run failed");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return code == 0 || code == 3 ? PP_OK : pp_fail(err, PP_E_SYSTEM, "--prove: the second run ended with %d", code);
}

static void say(FILE *out, const struct pp_report_fix *fix, const struct pp_report *before, const struct pp_report *after, const char *file)
{
    char was[32], said[32], low[32], high[32], is[32];
    fprintf(out, "\nProved by running it (%s):\n  %s -> %s: %s samples/s before, predicted %s (%s to %s), measured %s: the prediction is off by %+.1f %%\n", file, fix->knob, fix->to,
            pp_text_rate(was, sizeof(was), before->samples_per_s), pp_text_rate(said, sizeof(said), fix->samples_per_s),
            pp_text_rate(low, sizeof(low), before->samples_per_s * (1 + fix->low)), pp_text_rate(high, sizeof(high), before->samples_per_s * (1 + fix->high)),
            pp_text_rate(is, sizeof(is), after->samples_per_s), 100 * (fix->samples_per_s / after->samples_per_s - 1));
}

pp_status pp_prove(int argc, char **argv, const char *recording, FILE *out, struct pp_err *err)
{
    struct pp_report *before = NULL, *after = NULL;
    char file[4200];
    int turn = 0, n = 0;
    char **again = calloc((size_t)argc + 12, sizeof(*again));
    size_t stem = strlen(recording);
    pp_status st = again ? pp_report_build(recording, &before, err) : pp_fail(err, PP_E_NO_MEMORY, "--prove: no memory");
    const struct pp_report_fix *fix = st == PP_OK ? best_option(before, &turn) : NULL;
    if (st == PP_OK && !fix)
        fputs("\nNothing to prove: no option of run is predicted to gain 3 %.\n", out);
    if (!fix)
        goto out;
    if (stem > 7 && strcmp(recording + stem - 7, ".sqlite") == 0)
        stem -= 7;
    snprintf(file, sizeof(file), "%.*s-proved.sqlite", (int)stem, recording);
    again[n++] = (char *)"pipeprobe";
    for (int i = 0; i < argc; i++)
        again[n++] = argv[i];
    /* of an option given twice, the last one counts */
    again[n++] = (char *)turns[turn].option;
    if (turns[turn].with_value)
        again[n++] = (char *)fix->to;
    again[n++] = (char *)"--no-prove";
    again[n++] = (char *)"--quiet";
    again[n++] = (char *)"--force";
    again[n++] = (char *)"--output";
    again[n++] = file;
    st = run_again(again, err);
    if (st == PP_OK)
        st = pp_report_build(file, &after, err);
    if (st == PP_OK)
        say(out, fix, before, after, file);
out:
    pp_report_free(after);
    pp_report_free(before);
    free(again);
    return st;
}
