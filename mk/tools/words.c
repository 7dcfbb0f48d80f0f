/* What completion offers that stands in no option table: subcommands, topics of help, codes of verdicts,
 * names of knobs and faults, shipped maps. */
#include "mk/tools/docs.h"

#include "probe/loader/fault.h"
#include "report/replay/knobs.h"
#include "report/verdict/labels.h"
#include "tui/cli/topic.h"

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

static const char *topic_words(int i, const char **name, const char **values)
{
    *values = NULL;
    return *name = pp_topics[i];
}

/* Of the verdict's second level, which alone names one. */
static const char *code_words(int i, const char **name, const char **values)
{
    *values = NULL;
    *name = (size_t)i < pp_labels_n ? pp_labels[i].l2 ? pp_labels[i].l2 : pp_labels[i].l1 : NULL;
    return *name;
}

static const struct {
    const char *command, *option; /* option NULL: the first operand */
    words_fn *table;              /* names of a table, an option's with "=" behind each; or NULL */
    const char *words;            /* and these */
} rows[] = {
    {"run", "inject", pp_faults_help, ""}, {"whatif", "set", knob_words, "list"},
    {"whatif", "sweep", knob_words, ""},   {"exec", "map", NULL, "pytorch dali pipeprobe"},
    {"tune", "try", tuned_words, ""},      {"ci", NULL, NULL, "run baseline"},
    {"history", NULL, NULL, "add show"},   {"help", NULL, topic_words, ""},
    {"explain", NULL, code_words, ""},
};

int docs_words(const char *command, const char *option, FILE *out)
{
    const char *name, *values;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (strcmp(rows[i].command, command) != 0 || !rows[i].option != !option ||
            (option && strcmp(rows[i].option, option) != 0))
            continue;
        for (int k = 0; out && rows[i].table && rows[i].table(k, &name, &values); k++)
            fprintf(out, "%s%s ", name, option ? "=" : "");
        if (out)
            fputs(rows[i].words, out);
        return 1;
    }
    return 0;
}
