#include "tui/cli/cli.h"

#include "tui/cli/help.h"

#include "probe/base/text.h"

#include <stdlib.h>
#include <string.h>

int pp_cli_fail(const struct pp_command *cmd, const struct pp_err *err)
{
    const char *text = err->text[0] ? err->text : pp_status_text(err->code);
    char *plain = pp_text_plain(text); /* it names files, which others named */
    fprintf(stderr, "pipeprobe %s: %s\n", cmd->name, plain ? plain : pp_status_text(err->code));
    free(plain);
    return pp_status_exit_code(err->code);
}

enum asked { NO_HELP, SHORT_HELP, FULL_HELP };

static enum asked asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help-all") == 0)
            return FULL_HELP;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return SHORT_HELP;
    }
    return NO_HELP;
}

int pp_cli_parse(const struct pp_command *cmd, struct pp_opt_set *set, int argc, char **argv,
                 const char **operands, int *n_operands)
{
    struct pp_err err = {0};
    enum asked help = asks_for_help(argc, argv);
    if (help != NO_HELP) {
        pp_help_command(cmd, stdout, help == FULL_HELP);
        return 0;
    }
    if (pp_opts_parse(set, cmd->name, argc, argv, operands, n_operands, &err) != PP_OK)
        return pp_cli_fail(cmd, &err);
    return -1;
}
