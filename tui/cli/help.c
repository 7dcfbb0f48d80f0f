#include "tui/cli/help.h"

#include <ctype.h>
#include <sqlite3.h>
#include <string.h>

void pp_help_version(FILE *out)
{
    fprintf(out, "pipeprobe %s (SQLite %s)\n", PP_VERSION, sqlite3_libversion());
}

void pp_help_all(const struct pp_command *const *commands, FILE *out)
{
    fputs("pipeprobe finds out why a training job waits for its data, and what to change.\n\n"
          "Usage: pipeprobe COMMAND [options]\n\nCommands:\n",
          out);
    for (; *commands; commands++)
        fprintf(out, "  %-9s %s\n", (*commands)->name, (*commands)->summary);
    fputs("  help      this list, or 'pipeprobe help COMMAND [--all]'\n\n"
          "Options:\n  --help     this list; after a command, its options\n  --version  the version\n\n"
          "Exit codes:\n"
          "  0    success\n"
          "  1    a regression, or a finding above the given threshold\n"
          "  2    wrong command line: an option, a value, a path that does not exist\n"
          "       or is of the wrong kind\n"
          "  3    inconclusive, or not comparable\n"
          "  4    not measured for another reason: contents, access, device, I/O\n"
          "  130  interrupted\n\n"
          "Options also come from PIPEPROBE_NAME variables and from [command] sections of\n"
          "~/.config/pipeprobe/config; the command line wins.\n",
          out);
}

/* "A   or   B" on two lines where one is too narrow. */
static void put_usage(const char *usage, FILE *out)
{
    static const char either[] = "   or   ";
    const char *second = strlen(usage) + sizeof("Usage: pipeprobe ") - 1 > 80 ? strstr(usage, either) : NULL;
    fprintf(out, "Usage: pipeprobe %.*s\n", second ? (int)(second - usage) : (int)strlen(usage), usage);
    if (second)
        fprintf(out, "   or: pipeprobe %s\n", second + sizeof(either) - 1);
}

void pp_help_command(const struct pp_command *cmd, FILE *out, int all)
{
    put_usage(cmd->usage, out);
    fprintf(out, "%c%s.\n\n", toupper((unsigned char)cmd->summary[0]), cmd->summary + 1);
    int left_out = all ? 0 : pp_opts_advanced(cmd->opts);
    (left_out ? pp_opts_help_short : pp_opts_help)(cmd->opts, out, pp_cli_help_columns(out));
    if (left_out)
        fprintf(out, "%d more options: pipeprobe %s --help-all\n", left_out, cmd->name);
    if (cmd->notes)
        fprintf(out, "\n%s\n", cmd->notes);
    fputs("\nExamples:\n", out);
    for (int i = 0; i < 2; i++)
        if (cmd->examples[i])
            fprintf(out, "  %s\n", cmd->examples[i]);
}
