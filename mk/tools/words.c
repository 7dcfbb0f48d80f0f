/* What completion offers that stands in no option table: subcommands, names of knobs and faults, shipped
 * maps. */
#include "mk/tools/docs.h"

#include "probe/loader/fault.h"
#include "report/replay/knobs.h"

#include <string.h>

typedef const char *words_fn(int i, const char **name, const char **values);

static const char *knob_words(int i, const char **name, const char **values)
{
    const struct pp_knob *knob = &pp_knob_rows[i]; /* those that never can be predicted are the last */
    if (!knob->name || knob->kind == PP_KNOB_NEVER)
        return NULL;
    *name = knob->name;
    *values = knob->values;
    return knob->help;
}

static const char *tuned_words(int i, const char **name, const char **values)
{
    return i < PP_KNOBS_TUNED ? knob_words(i, name, values) : NULL;
}

static const struct {
    const char *command, *option; /* option NULL: the first operand */
    words_fn *table;              /* names of a table, each with "=" behind it; or NULL */
    const char *words;            /* and these */
} rows[] = {
    {"run", "inject", pp_faults_help, ""}, {"whatif", "set", knob_words, "list"},
    {"whatif", "sweep", knob_words, ""},   {"exec", "map", NULL, "pytorch dali pipeprobe"},
    {"tune", "try", tuned_words, ""},      {"ci", NULL, NULL, "run baseline"},
    {"history", NULL, NULL, "add show"},
};

int docs_words(const char *command, const char *option, FILE *out)
{
    const char *name, *values;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (strcmp(rows[i].command, command) != 0 || !rows[i].option != !option ||
            (option && strcmp(rows[i].option, option) != 0))
            continue;
        for (int k = 0; out && rows[i].table && rows[i].table(k, &name, &values); k++)
            fprintf(out, "%s= ", name);
        if (out)
            fputs(rows[i].words, out);
        return 1;
    }
    return 0;
}
