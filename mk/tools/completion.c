#include "mk/tools/docs.h"

#include <string.h>

static int is_on(const struct pp_opt *o)
{
    return o->dflt && (strcmp(o->dflt, "1") == 0 || strcmp(o->dflt, "true") == 0);
}

/* ---- bash ---- */

static void put_words(FILE *out, const struct pp_opt *table)
{
    for (const struct pp_opt *o = table; o->name; o++) {
        fprintf(out, "--%s ", o->name);
        if (o->letter)
            fprintf(out, "-%c ", o->letter);
        if (o->type == PP_OPT_FLAG && is_on(o))
            fprintf(out, "--no-%s ", o->name);
    }
    fputs("--help --help-all", out);
}

/* "--format|-F) words" for options whose values are known; the others that take a value complete file names.
 */
static void put_values(FILE *out, const char *command, const struct pp_opt *table)
{
    for (const struct pp_opt *o = table; o->name; o++) {
        if (o->type == PP_OPT_FLAG)
            continue;
        fprintf(out, "        '%s --%s'", command, o->name);
        if (o->letter)
            fprintf(out, "|'%s -%c'", command, o->letter);
        fputs(") ", out);
        if (o->type == PP_OPT_CHOICE) {
            fputs("COMPREPLY=($(compgen -W '", out);
            for (const struct pp_opt_choice *c = o->choices; c->name; c++)
                fprintf(out, "%s%s", c == o->choices ? "" : " ", c->name);
            fputs("' -- \"$cur\"))", out);
        } else if (docs_words(command, o->name, NULL)) {
            fputs("COMPREPLY=($(compgen -W '", out);
            docs_words(command, o->name, out);
            fputs("' -- \"$cur\")); compopt -o nospace 2>/dev/null", out);
        } else if (o->type == PP_OPT_STRING || o->type == PP_OPT_LIST) {
            fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", out);
        } else {
            fputs("COMPREPLY=()", out);
        }
        fputs("; return ;;\n", out);
    }
}

void docs_bash(const struct pp_command *const *commands, FILE *out)
{
    fputs("# bash completion for pipeprobe; made from the option tables\n"
          "_pipeprobe() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]}\n"
          "    COMPREPLY=()\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ] || [ \"$cmd $COMP_CWORD\" = 'help 2' ]; then\n"
          "        local more='help version --help --version'\n"
          "        [ \"$COMP_CWORD\" -eq 1 ] || more='",
          out);
    docs_words("help", NULL, out);
    fputs("'\n        COMPREPLY=($(compgen -W '", out);
    for (const struct pp_command *const *c = commands; *c; c++)
        fprintf(out, "%s ", (*c)->name);
    fputs(
        "'\"$more\" -- \"$cur\"))\n"
        "        return\n"
        "    fi\n"
        "    [ \"$cmd $cur\" != 'help -' ] && [ \"$cmd\" != help ] || { COMPREPLY=($(compgen -W '--all' -- \"$cur\")); return; }\n"
        "    case \"$cmd $prev\" in\n",
        out);
    for (const struct pp_command *const *c = commands; *c; c++)
        put_values(out, (*c)->name, (*c)->opts);
    fputs("    esac\n", out);
    for (const struct pp_command *const *c = commands; *c; c++)
        if (docs_words((*c)->name, NULL, NULL)) {
            fprintf(
                out,
                "    if [ \"$cmd $COMP_CWORD\" = '%s 2' ] && [[ $cur != -* ]]; then COMPREPLY=($(compgen -W '",
                (*c)->name);
            docs_words((*c)->name, NULL, out);
            fputs("' -- \"$cur\")); return; fi\n", out);
        }
    fputs(
        "    [ \"$prev $cmd ${COMP_WORDS[2]}\" != 'baseline ci baseline' ] || { COMPREPLY=($(compgen -W 'save update show' -- "
        "\"$cur\")); return; }\n"
        "    case $cur in\n"
        "        -*) case $cmd in\n",
        out);
    for (const struct pp_command *const *c = commands; *c; c++) {
        fprintf(out, "            %s) COMPREPLY=($(compgen -W '", (*c)->name);
        put_words(out, (*c)->opts);
        fputs("' -- \"$cur\")) ;;\n", out);
    }
    fputs("            esac ;;\n"
          "        *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
          "    esac\n"
          "}\n"
          "complete -F _pipeprobe pipeprobe\n",
          out);
}

/* ---- zsh ---- */

/* Inside '...' of an _arguments specification: quotes leave it, and brackets and colons mean something. */
static void put_spec(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void put_argument(FILE *out, const char *command, const struct pp_opt *o)
{
    if (o->type == PP_OPT_FLAG)
        return;
    fputc(':', out);
    put_spec(out, o->arg ? o->arg : "value");
    fputc(':', out);
    if (o->type == PP_OPT_CHOICE) {
        fputc('(', out);
        for (const struct pp_opt_choice *c = o->choices; c->name; c++)
            fprintf(out, "%s%s", c == o->choices ? "" : " ", c->name);
        fputc(')', out);
    } else if (docs_words(command, o->name, NULL)) {
        fputc('(', out);
        docs_words(command, o->name, out);
        fputc(')', out);
    } else if (o->type == PP_OPT_STRING || o->type == PP_OPT_LIST) {
        fputs("_files", out);
    }
}

static void put_zsh_option(FILE *out, const char *command, const struct pp_opt *o, const char *dashes,
                           const char *name, int takes_argument)
{
    fprintf(out, "            '%s%s%s%s[", o->type == PP_OPT_LIST ? "*" : "", dashes, name,
            takes_argument && dashes[1] ? "="
            : takes_argument            ? "+"
                                        : "");
    put_spec(out, o->help);
    fputc(']', out);
    put_argument(out, command, o);
    fputs("' \\\n", out);
}

static void put_zsh_command(FILE *out, const struct pp_command *c)
{
    char name[80];
    fprintf(out, "        %s) _arguments -s \\\n", c->name);
    for (const struct pp_opt *o = c->opts; o->name; o++) {
        int takes = o->type != PP_OPT_FLAG;
        put_zsh_option(out, c->name, o, "--", o->name, takes);
        if (o->letter) {
            snprintf(name, sizeof(name), "%c", o->letter);
            put_zsh_option(out, c->name, o, "-", name, takes);
        }
        if (o->type == PP_OPT_FLAG && is_on(o)) {
            snprintf(name, sizeof(name), "no-%s", o->name);
            put_zsh_option(out, c->name, o, "--", name, 0);
        }
    }
    fputs("            '--help[the usual options]' '--help-all[all options]'", out);
    if (docs_words(c->name, NULL, NULL)) {
        fputs(" '1:what:(", out);
        docs_words(c->name, NULL, out);
        fputs(")'", out);
    }
    fputs(" '*:file:_files' ;;\n", out);
}

void docs_zsh(const struct pp_command *const *commands, FILE *out)
{
    fputs("#compdef pipeprobe\n# zsh completion for pipeprobe; made from the option tables\n"
          "_pipeprobe() {\n    local -a commands\n    commands=(\n",
          out);
    for (const struct pp_command *const *c = commands; *c; c++) {
        fprintf(out, "        '%s:", (*c)->name);
        put_spec(out, (*c)->summary);
        fputs("'\n", out);
    }
    fputs("        'help:the commands, or the options of one' 'version:the version'\n    )\n"
          "    if (( CURRENT == 2 )) || [[ $words[2] = help ]]; then\n        _describe command commands\n"
          "        [[ $words[2] = help ]] && compadd -- ",
          out);
    docs_words("help", NULL, out);
    fputs("\n        return\n    fi\n"
          "    local cmd=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $cmd in\n",
          out);
    for (const struct pp_command *const *c = commands; *c; c++)
        put_zsh_command(out, *c);
    fputs("    esac\n}\n_pipeprobe \"$@\"\n", out);
}

/* ---- fish ---- */

/* Inside '...' of fish. */
static void put_fish(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_fish_option(FILE *out, const char *command, const struct pp_opt *o)
{
    fprintf(out, "complete -c pipeprobe -n '__fish_seen_subcommand_from %s' -l %s", command, o->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    if (o->type == PP_OPT_CHOICE || docs_words(command, o->name, NULL)) {
        fputs(" -x -a '", out);
        for (const struct pp_opt_choice *c = o->type == PP_OPT_CHOICE ? o->choices : NULL; c && c->name; c++)
            fprintf(out, "%s ", c->name);
        if (o->type != PP_OPT_CHOICE)
            docs_words(command, o->name, out);
        fputs("'", out);
    } else if (o->type == PP_OPT_STRING || o->type == PP_OPT_LIST) {
        fputs(" -r", out);
    } else if (o->type != PP_OPT_FLAG) {
        fputs(" -x", out);
    }
    fputs(" -d '", out);
    put_fish(out, o->help);
    fputs("'\n", out);
}

void docs_fish(const struct pp_command *const *commands, FILE *out)
{
    fputs("# fish completion for pipeprobe; made from the option tables\n"
          "complete -c pipeprobe -f -n '__fish_seen_subcommand_from help' -a '",
          out);
    docs_words("help", NULL, out);
    fputs("'\n", out);
    for (const struct pp_command *const *c = commands; *c; c++) {
        fprintf(out, "complete -c pipeprobe -f -n __fish_use_subcommand -a %s -d '", (*c)->name);
        put_fish(out, (*c)->summary);
        fputs("'\n", out);
        fprintf(out, "complete -c pipeprobe -f -n '__fish_seen_subcommand_from help' -a %s\n", (*c)->name);
        if (docs_words((*c)->name, NULL, NULL)) {
            fprintf(out, "complete -c pipeprobe -n '__fish_seen_subcommand_from %s' -a '", (*c)->name);
            docs_words((*c)->name, NULL, out);
            fputs("'\n", out);
        }
        for (const struct pp_opt *o = (*c)->opts; o->name; o++)
            put_fish_option(out, (*c)->name, o);
    }
    fputs(
        "complete -c pipeprobe -f -n __fish_use_subcommand -a 'help version'\n"
        "complete -c pipeprobe -l help -s h -d 'the usual options'\ncomplete -c pipeprobe -l help-all -d 'all options'\n",
        out);
}
