#include "tui/cli/exec/exec_origin.h"

#include "tui/cli/jobs/again.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "": there is no git, no repository or no commit. */
static void read_commit(char *commit, size_t size)
{
    int ends[2];
    pid_t pid;
    size_t n = 0;
    ssize_t got = 0;
    commit[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    struct again git = {.program = "git", .in = AGAIN_NULL, .out = ends[1], .errors = AGAIN_NULL};
    again_add(&git, "git", "rev-parse", "--verify", "--quiet", "HEAD", NULL);
    int failed = again_start(&git, &pid) != 0;
    close(ends[1]);
    while (!failed && n < size - 1 && (got = read(ends[0], commit + n, size - 1 - n)) > 0)
        n += (size_t)got;
    close(ends[0]);
    if (failed || again_code(again_wait(pid)) != 0)
        n = 0;
    commit[strspn(commit, "0123456789abcdef") < n ? strspn(commit, "0123456789abcdef") : n] = '\0';
}

/* "NVIDIA H100 80GB HBM3", with how many; the driver says so in /proc, and is not woken. */
static void store_gpus(struct pp_store *store)
{
    glob_t found = {0};
    char line[256], model[128] = "", text[160];
    size_t n = glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    FILE *in = n ? fopen(found.gl_pathv[0], "re") : NULL;
    while (in && fgets(line, sizeof(line), in))
        if (strncmp(line, "Model:", 6) == 0)
            snprintf(model, sizeof(model), "%.*s", (int)strcspn(line + 6 + strspn(line + 6, " \t"), "\n"),
                     line + 6 + strspn(line + 6, " \t"));
    if (in)
        fclose(in);
    globfree(&found);
    if (n > 1)
        snprintf(text, sizeof(text), "%zu x %s", n, model);
    else
        snprintf(text, sizeof(text), "%s", model);
    if (model[0])
        pp_store_meta_text(store, "environment", "gpu", text);
}

void exec_origin_store(struct pp_store *store)
{
    char directory[PATH_MAX], commit[80];
    if (getcwd(directory, sizeof(directory)))
        pp_store_meta_text(store, "run", "directory", directory);
    store_gpus(store);
    read_commit(commit, sizeof(commit));
    if (commit[0])
        pp_store_meta_text(store, "run", "git_commit", commit);
}
