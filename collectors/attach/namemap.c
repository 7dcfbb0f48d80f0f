#include "collectors/attach/namemap.h"

#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "probe/base/text.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERN_BYTES 256
#define FILE_BYTES_MAX (1 << 20)
#define IGNORE "ignore"
#define OF_PROCESS "of process"

struct row {
    char domain[PATTERN_BYTES], name[PATTERN_BYTES]; /* domain "" with any_domain: every domain */
    pp_phase phase;
    int any_domain, of_process;
};

struct pp_namemap {
    struct row *rows;
    size_t n, cap;
};

/* Where an error is. */
struct place {
    const char *file;
    int line;
};

struct pp_namemap *pp_namemap_new(void)
{
    return calloc(1, sizeof(struct pp_namemap));
}

void pp_namemap_free(struct pp_namemap *m)
{
    if (m)
        free(m->rows);
    free(m);
}

size_t pp_namemap_rows(const struct pp_namemap *m)
{
    return m ? m->n : 0;
}

/* The colon between domain and name: the first that is neither escaped nor inside [...] nor doubled as in C++
 * names (std::sort). */
static char *find_colon(char *s)
{
    int bracket = 0;
    for (; *s; s++) {
        if (*s == '\\' && s[1])
            s++;
        else if (*s == ':' && s[1] == ':')
            s++;
        else if (*s == '[' && strchr(s, ']'))
            bracket = 1;
        else if (*s == ']')
            bracket = 0;
        else if (*s == ':' && !bracket)
            return s;
    }
    return NULL;
}

static pp_status parse_phase(const char *word, pp_phase *out, const struct place *at, struct pp_err *err)
{
    const char *names[PP_PHASE_COUNT + 2] = {IGNORE};
    size_t n = 1;
    for (unsigned id = 1; id < PP_PHASE_COUNT; id++) {
        const struct pp_phase_info *info = pp_phase_info(id);
        if (!info || id == PP_PHASE_COUNTER || id == PP_PHASE_USER)
            continue;
        names[n++] = info->name;
        if (strcmp(info->name, word) == 0) {
            *out = (pp_phase)id;
            return PP_OK;
        }
    }
    if (strcmp(word, IGNORE) == 0) {
        *out = PP_PHASE_USER;
        return PP_OK;
    }
    const char *nearest = pp_nearest(word, names);
    if (nearest)
        return pp_fail(err, PP_E_USAGE, "%s:%d: \"%s\" is not a phase; did you mean %s?", at->file, at->line,
                       word, nearest);
    return pp_fail(
        err, PP_E_USAGE,
        "%s:%d: \"%s\" is not a phase; the phases are read, decode, transform, collate, h2d, data_wait, step, ... and ignore",
        at->file, at->line, word);
}

/* A row of a line; *has_row is 0 for an empty one or a comment. */
static pp_status parse_line(char *line, struct row *out, int *has_row, const struct place *at,
                            struct pp_err *err)
{
    /* A '#' that begins a word outside quotes begins a comment; `Optimizer.step#*` needs no quotes. */
    int quoted = 0;
    for (char *c = line; *c; c++) {
        quoted ^= *c == '"';
        if (*c == '#' && !quoted && (c == line || isspace((unsigned char)c[-1])))
            *c = '\0';
        if (!*c)
            break;
    }
    char *phase = strrchr(line, '='); /* the last one, for no phase holds one */
    if (phase)
        *phase++ = '\0';
    char *pattern = pp_text_trim(line);
    *has_row = 0;
    if (!phase && !*pattern)
        return PP_OK;
    if (!phase)
        return pp_fail(err, PP_E_USAGE, "%s:%d: a row is `pattern = phase`, and there is no '=' in \"%s\"",
                       at->file, at->line, pattern);
    if (!*pattern)
        return pp_fail(err, PP_E_USAGE, "%s:%d: the pattern before '=' is missing", at->file, at->line);
    phase = pp_text_trim(phase);
    if (!*phase)
        return pp_fail(err, PP_E_USAGE, "%s:%d: the phase after '=' is missing", at->file, at->line);
    size_t n = strlen(pattern), of_process = strlen(OF_PROCESS);
    if (n >= 2 && pattern[0] == '"' && pattern[n - 1] == '"') {
        pattern[n - 1] = '\0';
        pattern++;
    }
    if (strchr(pattern, '"'))
        return pp_fail(err, PP_E_USAGE, "%s:%d: a quote is not closed", at->file, at->line);
    if (strlen(pattern) >= PATTERN_BYTES)
        return pp_fail(err, PP_E_USAGE, "%s:%d: the pattern is longer than %d bytes", at->file, at->line,
                       PATTERN_BYTES - 1);
    *out = (struct row){.any_domain = 1};
    char *colon = find_colon(pattern);
    if (colon) {
        *colon = '\0';
        snprintf(out->domain, sizeof(out->domain), "%s", pattern);
        out->any_domain = 0;
        pattern = colon + 1;
    }
    snprintf(out->name, sizeof(out->name), "%s", pattern);
    *has_row = 1;
    n = strlen(phase);
    if (n > of_process && strcmp(phase + n - of_process, OF_PROCESS) == 0 &&
        isspace((unsigned char)phase[n - of_process - 1])) {
        phase[n - of_process] = '\0';
        pp_text_trim(phase);
        out->of_process = 1;
    }
    pp_status status = parse_phase(phase, &out->phase, at, err);
    if (status == PP_OK && out->of_process && out->phase == PP_PHASE_USER)
        status = pp_fail(err, PP_E_USAGE,
                         "%s:%d: \"" OF_PROCESS "\" stands behind a phase, and " IGNORE " is none", at->file,
                         at->line);
    return status;
}

pp_status pp_namemap_add_text(struct pp_namemap *m, const char *text, const char *name, struct pp_err *err)
{
    size_t before = m->n;
    struct place at = {.file = name};
    pp_status status = PP_OK;
    char *copy = strdup(text), *rest = copy, *line;
    if (!copy)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the map %s", name);
    while (status == PP_OK && (line = strsep(&rest, "\n"))) {
        struct row row;
        int has_row;
        at.line++;
        status = parse_line(line, &row, &has_row, &at, err);
        if (status != PP_OK || !has_row)
            continue;
        if (m->n == m->cap) {
            size_t cap = m->cap ? m->cap * 2 : 32;
            struct row *rows = realloc(m->rows, cap * sizeof(*rows));
            if (!rows) {
                status = pp_fail(err, PP_E_NO_MEMORY, "no memory for a map of %zu rows", cap);
                break;
            }
            m->rows = rows;
            m->cap = cap;
        }
        m->rows[m->n++] = row;
    }
    if (status != PP_OK)
        m->n = before;
    free(copy);
    return status;
}

/* Own reading, not base/io: this file is part of the injection library, which takes as little as it can into
 * a foreign process. */
pp_status pp_namemap_add_file(struct pp_namemap *m, const char *path, struct pp_err *err)
{
    struct stat st;
    char *text = NULL;
    size_t n = 0;
    ssize_t got = 1;
    pp_status status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return pp_fail_errno(err, errno, "cannot open the map %s", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX) {
        status = pp_fail(err, PP_E_UNSUPPORTED, "the map %s is not an ordinary file of at most 1 MiB", path);
        goto out;
    }
    text = malloc((size_t)st.st_size + 1);
    if (!text) {
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the map %s", path);
        goto out;
    }
    while (n < (size_t)st.st_size && (got = read(fd, text + n, (size_t)st.st_size - n)) > 0)
        n += (size_t)got;
    if (got < 0) {
        status = pp_fail_errno(err, errno, "cannot read the map %s", path);
        goto out;
    }
    text[n] = '\0';
    status = strlen(text) == n ? pp_namemap_add_text(m, text, path, err)
                               : pp_fail(err, PP_E_CORRUPT, "the map %s is not text", path);
out:
    free(text);
    close(fd);
    return status;
}

pp_phase pp_namemap_find(const struct pp_namemap *m, const char *domain, const char *name, int *of_process)
{
    const char *looked_at = NULL; /* a domain's rows follow each other */
    int is_domain = 0;
    if (of_process)
        *of_process = 0;
    for (size_t i = 0; m && i < m->n; i++) {
        const struct row *r = &m->rows[i];
        if (!r->any_domain && (!looked_at || strcmp(r->domain, looked_at) != 0)) {
            looked_at = r->domain;
            is_domain = fnmatch(r->domain, domain, 0) == 0;
        }
        if ((r->any_domain || is_domain) && fnmatch(r->name, name, 0) == 0) {
            if (of_process)
                *of_process = r->of_process;
            return r->phase;
        }
    }
    return PP_PHASE_USER;
}
