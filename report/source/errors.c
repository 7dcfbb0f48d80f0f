#include "report/source/errors.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1 << 20 }; /* told apart; a recording is a stranger's file */

void pp_errors_free(struct pp_errors *e)
{
    free(e->seen);
    e->seen = NULL;
}

/* FNV-1a; salt tells the sets apart, and 0 marks a free slot. */
static uint64_t hash_of(const char *text, uint64_t salt)
{
    uint64_t h = 14695981039346656037u ^ salt * 0x9e3779b97f4a7c15u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    h ^= h >> 29;
    return h ? h : 1;
}

static int grow(struct pp_errors *e)
{
    size_t cap = e->cap ? e->cap * 2 : 256;
    uint64_t *seen = calloc(cap, sizeof(*seen));
    if (!seen)
        return -1;
    for (size_t i = 0; i < e->cap; i++)
        if (e->seen[i]) {
            size_t at = e->seen[i] & (cap - 1);
            while (seen[at])
                at = (at + 1) & (cap - 1);
            seen[at] = e->seen[i];
        }
    free(e->seen);
    e->seen = seen;
    e->cap = cap;
    return 0;
}

/* 1: path is new in the set of that number; 0: known; -1: the sets are full. */
static int is_new(struct pp_errors *e, const char *path, uint64_t set)
{
    uint64_t h = hash_of(path, set);
    if (e->n * 2 >= e->cap && (e->n >= MOST_FILES || grow(e) != 0))
        return -1;
    size_t at = h & (e->cap - 1);
    for (; e->seen[at]; at = (at + 1) & (e->cap - 1))
        if (e->seen[at] == h)
            return 0;
    e->seen[at] = h;
    e->n++;
    return 1;
}

static struct pp_report_error_kind *kind_of(struct pp_errors *e, const char *kind, const char *action)
{
    struct pp_report *r = e->report;
    for (size_t i = 0; i < r->n_error_kinds; i++)
        if (strcmp(r->error_kinds[i].kind, kind) == 0 && strcmp(r->error_kinds[i].action, action) == 0)
            return &r->error_kinds[i];
    struct pp_report_error_kind *to = pp_arena_push(e->arena, (void **)&r->error_kinds, &r->n_error_kinds,
                                                    sizeof(*to));
    if (to)
        *to = (struct pp_report_error_kind){.kind = pp_arena_copy(e->arena, kind),
                                            .action = pp_arena_copy(e->arena, action)};
    return to;
}

static const char *or_unknown(const char *text)
{
    return text ? text : "unknown";
}

void pp_errors_add(struct pp_errors *e, const struct pp_error_row *row)
{
    const char *action = or_unknown(row->action);
    int counts = strcmp(action, "retried") != 0 && strcmp(action, "noted") != 0;
    struct pp_report_error_kind *k = pp_arena_failed(e->arena) ? NULL
                                                               : kind_of(e, or_unknown(row->kind), action);
    e->visits += counts ? row->count : 0;
    if (!k)
        return;
    k->count += row->count;
    /* A set of its own for each kind, and set 0 for all together. Rows without a path are of no file, but for
     * those that the recorder summed up beyond its limit of rows. */
    int fresh = row->path ? is_new(e, row->path, (uint64_t)(k - e->report->error_kinds) + 1) : 0;
    if (fresh < 0 || (!row->path && row->count > 1))
        k->more_files = 1;
    if (fresh > 0)
        k->files++;
    if (counts && row->path && is_new(e, row->path, 0) > 0)
        e->report->error_files++;
    if (counts && k->more_files)
        e->report->more_error_files = 1;
    if (fresh == 0 && row->path && strcmp(k->kind, "warning") != 0) {
        /* Another visit to a file that is an example already. */
        for (size_t i = 0; i < k->n_examples; i++)
            if (k->examples[i].path && strcmp(k->examples[i].path, row->path) == 0)
                k->examples[i].count += row->count;
    }
    /* a warning has the data set's path, and each is one of its own */
    if (fresh > 0 || !row->path || strcmp(k->kind, "warning") == 0) {
        if (k->n_examples == PP_REPORT_ERROR_EXAMPLES)
            return;
        struct pp_report_error_example *to = pp_arena_push(e->arena, (void **)&k->examples, &k->n_examples,
                                                           sizeof(*to));
        if (to)
            *to = (struct pp_report_error_example){pp_arena_copy(e->arena, row->path),
                                                   pp_arena_copy(e->arena, row->reason), row->count};
        if (k->n_examples == 1) {
            k->example_path = k->examples[0].path;
            k->example_reason = k->examples[0].reason;
        }
    }
}
