#include "probe/base/err.h"
#include "probe/base/opts_value.h"
#include "probe/base/text.h"

#include <sys/stat.h>

/* Kept texts hang on a list, so that they are owned (and leak checkers see them) until the process ends. */
static struct kept {
    struct kept *next;
    char text[];
} * all_kept;

static const char *const *sections; /* that a file may have; NULL: any */

void pp_opts_sections(const char *const *names)
{
    sections = names;
}

struct config {
    struct pp_opt_set *set;
    const char *path;
    int line;
    enum { BEFORE_ANY, OURS, ANOTHER } section;
};

/* A heading, or a setting of the section that it began. */
static pp_status read_line(struct config *c, char *s, struct pp_err *err)
{
    size_t n = strlen(s);
    char *equals = strchr(s, '=');
    if (*s == '[') {
        if (s[n - 1] != ']')
            return pp_fail(err, PP_E_USAGE, "%s:%d: the heading '%s' does not end in ']'", c->path, c->line,
                           s);
        s[n - 1] = '\0';
        const char *command = pp_text_trim(s + 1);
        const char *const *known = sections;
        c->section = strcmp(command, c->set->command) == 0 ? OURS : ANOTHER;
        while (known && *known && strcmp(*known, command) != 0)
            known++;
        if (c->section == OURS || !known || *known)
            return PP_OK;
        const char *near = pp_nearest(command, sections);
        return pp_fail(err, PP_E_USAGE, "%s:%d: [%s]: unknown command, its settings would be ignored%s%s%s",
                       c->path, c->line, command, near ? "; did you mean [" : "", near ? near : "",
                       near ? "]?" : "");
    }
    if (c->section == BEFORE_ANY)
        return pp_fail(err, PP_E_USAGE, "%s:%d: '%s' is before the first [command] heading, such as [run]",
                       c->path, c->line, s);
    if (c->section == ANOTHER)
        return PP_OK; /* only its own command knows what may stand there */
    if (!equals)
        return pp_fail(err, PP_E_USAGE, "%s:%d: '%s' is not of the form name = value", c->path, c->line, s);
    *equals = '\0';
    const char *name = pp_text_trim(s);
    char *value = pp_text_trim(equals + 1);
    n = strlen(value);
    if (n >= 2 && value[0] == '"' && value[n - 1] == '"') { /* quotes keep leading and trailing spaces */
        value[n - 1] = '\0';
        value++;
    }
    const char *given = value;
    int i = pp_opt_find_also(c->set, name, -1, &given);
    if (i < 0) {
        const char *near = pp_opt_nearest(c->set->table, name);
        return pp_fail(err, PP_E_USAGE, "%s:%d: %s: unknown option of %s%s%s%s", c->path, c->line, name,
                       c->set->command, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    struct kept *k = malloc(sizeof(*k) + strlen(given) + 1);
    if (!k)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the value '%.40s'", given);
    k->next = all_kept;
    all_kept = k;
    given = strcpy(k->text, given);
    char where[PATH_MAX + 80];
    snprintf(where, sizeof(where), "%s:%d: %s", c->path, c->line, name);
    return pp_opt_store(c->set, i, PP_OPT_CONFIG, where, given, err);
}

pp_status pp_opts_config(struct pp_opt_set *set, struct pp_err *err)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int from_xdg = xdg && *xdg;
    char path[PATH_MAX];
    struct stat info;
    if (!from_xdg && !(home && *home))
        return PP_OK;
    int n = snprintf(path, sizeof(path), "%s%s/pipeprobe/config", from_xdg ? xdg : home,
                     from_xdg ? "" : "/.config");
    if (n < 0 || n >= (int)sizeof(path))
        return PP_OK;
    if (stat(path, &info) != 0 && errno == EACCES)
        return PP_OK; /* HOME belongs to another user (su, a service's user): it is not read */
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT || errno == ENOTDIR
                   ? PP_OK
                   : pp_fail_errno(err, errno, "cannot read the configuration file %s", path);

    struct config c = {.set = set, .path = path};
    pp_status status = PP_OK;
    char *line = NULL;
    size_t cap = 0;
    while (status == PP_OK && getline(&line, &cap, f) >= 0) {
        c.line++;
        int marked = c.line == 1 && strncmp(line, "\xef\xbb\xbf", 3) ==
                                        0; /* an editor's byte-order mark, which is invisible */
        char *s = pp_text_trim(line + (marked ? 3 : 0));
        if (*s != '\0' && *s != '#' && *s != ';')
            status = read_line(&c, s, err);
    }
    if (status == PP_OK && ferror(f))
        status = pp_fail_errno(err, errno, "cannot read the configuration file %s", path);
    free(line);
    fclose(f);
    return status;
}
