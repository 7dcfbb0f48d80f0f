#include "tui/cli/mistyped.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "PIPEPROBE_"
enum { PREFIX_BYTES = sizeof(PREFIX) - 1, NAME_BYTES = 96 };

/* What is read, or set for programs that are started, beside the options. */
static const struct {
    const char *name, *only; /* only: the one value that it is read for, NULL: any */
} others[] = {{"CLOCK", "monotonic"},   {"COLLECTOR", NULL}, {"INJECT_LIB", NULL}, {"MAPS", NULL},
              {"NEXT_INJECTION", NULL}, {"SESSION", NULL},   {"SIMD", "portable"}};
enum { N_OTHERS = sizeof(others) / sizeof(*others) };

/* Every name that is read, without the prefix; ends with NULL. */
struct known {
    const char **name;
    char (*text)[NAME_BYTES]; /* of those that are options */
    size_t n;
};

static size_t count_options(const struct pp_command *const *commands)
{
    size_t n = 0;
    for (; *commands; commands++)
        for (const struct pp_opt *o = (*commands)->opts; o->name; o++)
            n++;
    return n;
}

static int known_make(struct known *k, const struct pp_command *const *commands)
{
    size_t options = count_options(commands);
    *k = (struct known){.name = calloc(options + N_OTHERS + 1, sizeof(*k->name)),
                        .text = calloc(options + 1, sizeof(*k->text))};
    if (!k->name || !k->text)
        return 0;
    for (; *commands; commands++)
        for (const struct pp_opt *o = (*commands)->opts; o->name; o++, k->n++) {
            pp_opt_variable(k->text[k->n], NAME_BYTES, o->name);
            k->name[k->n] = k->text[k->n] + PREFIX_BYTES;
        }
    for (size_t i = 0; i < N_OTHERS; i++)
        k->name[k->n++] = others[i].name;
    return 1;
}

static void known_free(struct known *k)
{
    free(k->name);
    free(k->text);
}

static int is_known(const struct known *k, const char *name)
{
    size_t i = 0;
    while (i < k->n && strcmp(k->name[i], name) != 0)
        i++;
    return i < k->n;
}

static void say(const struct known *k, const char *name, FILE *out)
{
    char upper[NAME_BYTES];
    snprintf(upper, sizeof(upper), "%s", name);
    for (char *p = upper; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    const char *near = pp_nearest(upper, k->name);
    fprintf(out, "pipeprobe: " PREFIX "%s is set, and nothing reads it%s%s%s\n", name,
            near ? "; did you mean " PREFIX : "", near ? near : "", near ? "?" : "");
}

/* A value that a variable is not read for; an empty one is as none. */
static int in_vain(const char *name, const char *value, FILE *out)
{
    for (size_t i = 0; i < N_OTHERS; i++)
        if (others[i].only && strcmp(name, others[i].name) == 0 && *value &&
            strcmp(value, others[i].only) != 0)
            return fprintf(out,
                           "pipeprobe: " PREFIX "%s=%s changes nothing; the one value it is read for is %s\n",
                           name, value, others[i].only) > 0;
    return 0;
}

int pp_mistyped_variables(const struct pp_command *const *commands, char *const *environment, FILE *out)
{
    struct known known;
    int found = 0;
    for (int made = known_make(&known, commands); made && *environment; environment++) {
        char name[NAME_BYTES];
        if (strncmp(*environment, PREFIX, PREFIX_BYTES) != 0)
            continue;
        size_t length = strcspn(*environment, "=");
        snprintf(name, sizeof(name), "%.*s", (int)(length - PREFIX_BYTES), *environment + PREFIX_BYTES);
        if (is_known(&known, name)) {
            found += in_vain(name, *environment + length + ((*environment)[length] == '='), out);
            continue;
        }
        say(&known, name, out);
        found++;
    }
    known_free(&known);
    return found;
}
