/* gen_docs DIR: writes DIR/man1/pipeprobe.1 and a page per command, DIR/pipeprobe.bash, DIR/_pipeprobe
 * (zsh) and DIR/pipeprobe.fish. The directories are made. Exit code 1 with a sentence when a file cannot be
 * written, 2 without DIR.
 */
#include "mk/tools/docs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COMMAND_ROW(name, heading) &pp_cmd_##name,
static const struct pp_command *const commands[] = {PP_COMMANDS(COMMAND_ROW) NULL};

static _Noreturn void give_up(const char *path)
{
    fprintf(stderr, "gen_docs: %s: %s\n", path, strerror(errno));
    exit(1);
}

static void make_dir(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        give_up(path);
}

/* dir/name, opened; its path stays in path for close_file. */
static FILE *open_file(char *path, size_t size, const char *dir, const char *name)
{
    snprintf(path, size, "%s/%s", dir, name);
    FILE *out = fopen(path, "w");
    if (!out)
        give_up(path);
    return out;
}

static void close_file(FILE *out, const char *path)
{
    if (fclose(out) != 0)
        give_up(path);
}

int main(int argc, char **argv)
{
    char path[PATH_MAX], page[80];
    if (argc != 2) {
        fputs("usage: gen_docs DIR\n", stderr);
        return 2;
    }
    make_dir(argv[1]);
    snprintf(path, sizeof(path), "%s/man1", argv[1]);
    make_dir(path);
    FILE *out = open_file(path, sizeof(path), argv[1], "man1/pipeprobe.1");
    docs_man(commands, NULL, out);
    close_file(out, path);
    for (const struct pp_command *const *c = commands; *c; c++) {
        snprintf(page, sizeof(page), "man1/pipeprobe-%s.1", (*c)->name);
        out = open_file(path, sizeof(path), argv[1], page);
        docs_man(commands, *c, out);
        close_file(out, path);
    }
    out = open_file(path, sizeof(path), argv[1], "pipeprobe.bash");
    docs_bash(commands, out);
    close_file(out, path);
    out = open_file(path, sizeof(path), argv[1], "_pipeprobe");
    docs_zsh(commands, out);
    close_file(out, path);
    out = open_file(path, sizeof(path), argv[1], "pipeprobe.fish");
    docs_fish(commands, out);
    close_file(out, path);
    return 0;
}
