/* The front hall: finds the command by its name and lets it run. */
#include "tui/cli/cli.h"
#include "tui/cli/exec_files.h"
#include "tui/cli/topic.h"
#include "tui/cli/trace_report.h"
#include "collectors/store/recover.h"
#include "probe/base/heap.h"
#include "probe/base/io.h"
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

static const char commit[] = PP_COMMIT; /* here, so that a new commit compiles nothing else */

#define PP_COMMAND_ROW(name, heading) &pp_cmd_##name,
static const struct pp_command *const commands[] = {PP_COMMANDS(PP_COMMAND_ROW) NULL};

/* "version" and "help" have no options, so a configuration file has no section of their names: sections begin
 * behind them. */
static const char *names[2 + sizeof(commands) / sizeof(*commands)] = {"version", "help"};
static const char *const *const config_sections = names + 2;

static const struct pp_command *find_command(const char *name)
{
    for (const struct pp_command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return strcmp(name, pp_cmd_drain.name) == 0 ? &pp_cmd_drain : NULL;
}

static int unknown(const char *name)
{
    const char *word = name + strspn(name, "-"), *near = pp_nearest(word, names);
    pp_cli_say(stderr, "pipeprobe: %s: unknown %s; %s%s%s", name, name[0] == '-' ? "option" : "command",
               near ? "did you mean " : "'pipeprobe --help' lists them", near ? near : "", near ? "?" : "");
    return pp_status_exit_code(PP_E_USAGE);
}

static int help(const char *name, int all)
{
    const struct pp_command *c = name ? find_command(name) : NULL;
    if (name && strcmp(name, "help") == 0)
        name = NULL;
    if (name && !c) {
        /* A page of the guides; what is neither that nor a command has the nearest of both. */
        struct pp_err err = {0};
        const char *near = pp_nearest(name, pp_topics);
        pp_status st = pp_topic_print(name, stdout, &err);
        if (st == PP_E_USAGE && (name[0] == '-' || !near || pp_nearest(name, names)))
            return unknown(name);
        if (st != PP_OK)
            pp_cli_say(stderr, "pipeprobe help: %s%s%s%s", err.text,
                       st == PP_E_USAGE ? "; did you mean " : "", st == PP_E_USAGE ? near : "",
                       st == PP_E_USAGE ? "?" : "");
        return pp_status_exit_code(st);
    }
    if (c)
        pp_help_command(c, stdout, all);
    else
        pp_help_all(commands, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    /* A closed standard stream would give its number to the next file that is opened, and a report would be
     * written into a recording's ring. What stands in for it fails at the first use, as the closed one would.
     */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(pp_status_exit_code(PP_E_IO));
    for (size_t i = 0; commands[i]; i++)
        names[2 + i] = commands[i]->name;
    pp_io_ignore_file_size_signal(); /* a limit is an error to report, not an end */
    pp_heap_keep();
    pp_reader_set_before(pp_trace_before_reading); /* whatever command opens it first */
    pp_recover_set_files(exec_files_recover);
    pp_opts_sections(config_sections);
    const char *name = argc > 1 ? argv[1] : "help";
    const struct pp_command *c = find_command(name);
    int code = 0;
    if (c && c != &pp_cmd_drain) /* which programs start, not people */
        pp_cli_mistyped(commands, environ, stderr);
    if (c == &pp_cmd_whatif || c == &pp_cmd_explain) {
        code = pp_cli_run_lines(c, argc - 1, argv + 1);
    } else if (c) {
        code = pp_cli_run(c, argc - 1, argv + 1);
    } else if (strcmp(name, "help") == 0) { /* help COMMAND, help TOPIC, help COMMAND --all, in any order */
        const char *of = NULL;
        int all = 0;
        for (int i = 2; i < argc; i++) {
            if (strcmp(argv[i], "--all") == 0 || strcmp(argv[i], "--help-all") == 0)
                all = 1;
            else if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0 && !of)
                of = argv[i];
        }
        code = help(of, all);
    } else if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        code = help(NULL, 0);
    } else if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("pipeprobe %s (%s%s%sSQLite %s)\n", PP_VERSION, *commit ? "commit " : "", commit,
               *commit ? ", " : "", sqlite3_libversion());
    } else {
        code = unknown(name);
    }
    if (code == 0 && fflush(stdout) != 0 && errno != EPIPE) { /* a reader that leaves has what it wanted */
        fputs("pipeprobe: writing to standard output failed\n", stderr);
        code = pp_status_exit_code(PP_E_IO);
    }
    return code;
}
