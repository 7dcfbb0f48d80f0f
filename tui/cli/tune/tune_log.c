#include "tui/cli/tune/tune.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include <fcntl.h>
#include <unistd.h>

enum { BYTES_MAX = 4 << 20, FIELDS_MAX = 17, MADE_MAX = 8192, NUMBER_MAX = 1000000 };

/* Which loader the number-th of a process is. */
struct place {
    long pid, number;
    int loader;
};

struct reading {
    struct tune_log *log;
    struct place *place;
    size_t places;
};

/* ---- a line ---- */

static long number_of(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    return *text && !*end ? n : -1;
}

/* made PID NUMBER iterable sharded has_in_order workers prefetch pin persistent in_order batch dataset order
 * like */
static void add_made(struct reading *r, char **f, size_t n)
{
    struct tune_log *log = r->log;
    long pid = number_of(f[1]), number = number_of(f[2]);
    if (n < 15 || pid < 0 || number < 0 || number > NUMBER_MAX || r->places >= MADE_MAX)
        return;
    size_t p = 0, at = 0;
    while (p < log->pids && log->pid[p] != (pid_t)pid)
        p++;
    if (p == log->pids && pid > 1 && p < TUNE_PIDS_MAX)
        log->pid[log->pids++] = (pid_t)pid;
    while (at < log->loaders && strcmp(log->loader[at].like, f[14]) != 0)
        at++;
    if (at == TUNE_LOADERS_MAX)
        return;
    if (at == log->loaders) {
        struct tune_loader *l = &log->loader[log->loaders++];
        *l = (struct tune_loader){.made = (unsigned)number,
                                  .iterable = number_of(f[3]) == 1,
                                  .sharded = number_of(f[4]) == 1,
                                  .has_in_order = number_of(f[5]) == 1,
                                  .batch = number_of(f[11])};
        for (int k = 0; k < PP_KNOBS_TUNED; k++)
            l->value[k] = (int)number_of(f[6 + k]);
        snprintf(l->dataset, sizeof(l->dataset), "%s", f[12]);
        snprintf(l->order, sizeof(l->order), "%s", f[13]);
        snprintf(l->like, sizeof(l->like), "%s", f[14]);
    }
    log->loader[at].count++;
    log->made = (size_t)number + 1 > log->made ? (size_t)number + 1 : log->made;
    r->place[r->places++] = (struct place){.pid = pid, .number = number, .loader = (int)at};
}

/* epoch PID NUMBER ROW: its row in the recording, -1 where it has none. A forked process may iterate what its
 * parent made. */
static void add_epoch(struct reading *r, char **f, size_t n)
{
    long pid = number_of(f[1]), number = number_of(f[2]);
    const struct place *found = NULL;
    for (size_t i = 0; i < r->places; i++)
        if (r->place[i].number == number && (!found || r->place[i].pid == pid))
            found = &r->place[i];
    if (!found)
        return;
    r->log->loader[found->loader].epochs++;
    struct tune_log *log = r->log;
    long row = n > 3 ? number_of(f[3]) : -1;
    size_t i = 0;
    while (i < log->rows && (log->row[i].pid != pid || log->row[i].row != row))
        i++;
    if (row < 0 || row > NUMBER_MAX || i < log->rows || i == TUNE_ROWS_MAX)
        return;
    log->row[i].pid = pid;
    log->row[i].row = row;
    log->row[i].loader = (size_t)found->loader;
    log->rows++;
}

/* Its place in the set; -1: it is none of them. */
static int key_of(const char *name, size_t length)
{
    const struct pp_knob *knob = pp_knob_find(name, length);
    return knob && knob - pp_knob_rows < PP_KNOBS_TUNED ? (int)(knob - pp_knob_rows) : -1;
}

/* ---- the file ---- */

pp_status tune_log_read(const char *path, struct tune_log *log, struct pp_err *err)
{
    struct reading r = {.log = log};
    char *text = malloc(BYTES_MAX + 1);
    int fd = -1;
    pp_status st = PP_OK;
    ssize_t n = 0;
    memset(log, 0, sizeof(*log));
    log->judged = -1;
    r.place = calloc(MADE_MAX, sizeof(*r.place));
    if (!text || !r.place) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
        goto out;
    }
    fd = pp_io_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    n = fd >= 0 ? pp_io_pread_full(fd, text, BYTES_MAX, 0) : -1;
    if (n < 0) {
        st = pp_fail(err, PP_E_IO, "cannot read %s: %m", path);
        goto out;
    }
    text[n] = '\0';
    for (char *rest = text, *line;
         (line = strsep(&rest, "\n")) && rest;) { /* a last line without end is cut */
        char *field[FIELDS_MAX];
        size_t fields = 0;
        while (line && fields < FIELDS_MAX)
            field[fields++] = strsep(&line, "\t");
        int is_set = fields > 4 && strcmp(field[0], "set") == 0,   /* set PID NUMBER key value */
            is_left = fields > 4 && strcmp(field[0], "left") == 0, /* left PID NUMBER key why */
            key = is_set || is_left ? key_of(field[3], strlen(field[3])) : -1;
        if (fields >= 3 && strcmp(field[0], "made") == 0)
            add_made(&r, field, fields);
        else if (fields >= 3 && strcmp(field[0], "epoch") == 0)
            add_epoch(&r, field, fields);
        else if (fields > 4 && strcmp(field[0], "trouble") == 0)
            snprintf(log->trouble, sizeof(log->trouble), "%s: %s", field[3], field[4]);
        if (key >= 0)
            (is_set ? log->set : log->left)[key]++;
        if (key >= 0 && is_left)
            snprintf(log->why[key], sizeof(log->why[key]), "%s", field[4]);
    }
out:
    if (fd >= 0)
        close(fd);
    free(text);
    free(r.place);
    return st;
}

int tune_log_loader_of(const struct tune_log *log, const char *row)
{
    long pid, number;
    int end = 0;
    if (!row || sscanf(row, "%ld.%ld%n", &pid, &number, &end) != 2 || row[end])
        return -1;
    for (size_t i = 0; i < log->rows; i++)
        if (log->row[i].pid == pid && log->row[i].row == number)
            return (int)log->row[i].loader;
    return -1;
}

const struct tune_loader *tune_log_choose(const struct tune_log *log, long number)
{
    const struct tune_loader *best = NULL;
    if (!number && log->judged >= 0)
        return &log->loader[log->judged];
    for (size_t i = 0; i < log->loaders; i++) {
        const struct tune_loader *l = &log->loader[i];
        if (number ? l->made + 1 == (unsigned long)number : l->epochs > (best ? best->epochs : 0))
            best = l;
    }
    return best;
}

/* ---- arguments of a DataLoader ---- */

pp_status tune_set_parse(const char *text, struct tune_set *set, struct pp_err *err)
{
    for (int k = 0; k < PP_KNOBS_TUNED; k++)
        set->value[k] = -1;
    for (const char *p = text;; p++) {
        char name[40], as_set[24] = "";
        p += strspn(p, " ");
        size_t length = strcspn(p, ",");
        const char *eq = memchr(p, '=', length);
        snprintf(name, sizeof(name), "%.*s", (int)(eq ? (size_t)(eq - p) : length), p);
        int key = key_of(name, strlen(name));
        if (key < 0) {
            char all[TUNE_TEXT] = "";
            const char *near = pp_knob_nearest(name);
            for (int k = 0; k < PP_KNOBS_TUNED; k++)
                snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", k ? ", " : "",
                         pp_knob_rows[k].name);
            if (near && key_of(near, strlen(near)) < 0)
                near = NULL;
            return pp_fail(err, PP_E_USAGE, "--try '%.*s': tune sets %s%s%s%s", (int)length, p, all,
                           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        }
        const struct pp_knob *knob = &pp_knob_rows[key];
        int value = -1; /* the knob does not take it */
        if (eq)
            snprintf(as_set, sizeof(as_set), "%.*s", (int)(length - (size_t)(eq + 1 - p)), eq + 1);
        int n = knob->kind == PP_KNOB_SWITCH ? 0 : pp_knob_count(knob, as_set);
        if (eq && knob->kind == PP_KNOB_SWITCH)
            value = pp_knob_truth(knob, as_set);
        else if (eq && n)
            value = n == knob->zero ? 0 : n;
        if (value < 0 && knob->kind == PP_KNOB_SWITCH)
            return pp_fail(err, PP_E_USAGE, "--try '%.*s': %s is True or False (1 or 0)", (int)length, p,
                           knob->name);
        if (value < 0)
            return pp_fail(err, PP_E_USAGE, "--try '%.*s': %s is a whole number from %d to %.0f", (int)length,
                           p, knob->name, !knob->zero, knob->most);
        set->value[key] = value;
        p += length;
        if (!*p)
            return PP_OK;
    }
}

char *tune_value(int knob, int value, char *text, size_t size)
{
    if (pp_knob_rows[knob].kind == PP_KNOB_SWITCH)
        snprintf(text, size, "%s", value ? "True" : "False");
    else
        snprintf(text, size, "%d", value);
    return text;
}

char *tune_set_text(const struct tune_set *set, enum tune_set_form form, char text[TUNE_TEXT])
{
    char value[16];
    size_t n = 0;
    text[0] = '\0';
    for (int k = 0; k < PP_KNOBS_TUNED && n < TUNE_TEXT; k++) {
        if (set->value[k] < 0)
            continue;
        if (form == TUNE_ARGUMENTS)
            tune_value(k, set->value[k], value, sizeof(value));
        else
            snprintf(value, sizeof(value), "%d", set->value[k]);
        n += (size_t)snprintf(text + n, TUNE_TEXT - n, "%s%s=%s",
                              n ? (form == TUNE_ARGUMENTS ? ", " : ",") : "", pp_knob_rows[k].name, value);
    }
    return text;
}
