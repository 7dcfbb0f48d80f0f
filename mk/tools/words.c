/* What completion offers that stands in no option table: subcommands, names of knobs and faults, shipped
 * maps. */
#include "mk/tools/docs.h"

#include "probe/loader/fault.h"
#include "report/replay/whatif.h"

#include <string.h>

typedef const char *words_fn(int i, const char **name, const char **values);

static const struct {
    const char *command, *option; /* option NULL: the first operand */
    words_fn *table;              /* names of a table, each with "=" behind it; or NULL */
    const char *words;            /* and these */
} rows[] = {
    {"run", "inject", pp_faults_help, ""},
    {"whatif", "set", pp_knobs_help, "list"},
    {"whatif", "sweep", pp_knobs_help, ""},
    {"exec", "map", NULL, "pytorch dali pipeprobe"},
    {"tune", "try", NULL, "workers= prefetch= pin= persistent= in_order="},
    {"ci", NULL, NULL, "run baseline"},
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
