#include "report/source/one_loader.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/source/rows.h"

struct reading {
    struct pp_other_batches *out;
    size_t room;
    long long pid;
    unsigned loader;
    int has_own, has_other, no_memory;
};

static void on_order(void *ctx, const struct pp_order_row *row)
{
    struct reading *r = ctx;
    struct pp_other_batches *o = r->out;
    int own = row->pid == r->pid && row->loader == r->loader;
    r->has_own |= own;
    r->has_other |= !own;
    if (!pp_grow(&o->range, &r->room, o->n + 1, sizeof(*o->range))) {
        r->no_memory = 1;
        return;
    }
    o->range[o->n++] = (struct pp_batch_range){
        .from = row->first_batch,
        .to = row->batches < UINT32_MAX - row->first_batch ? row->first_batch + row->batches : UINT32_MAX,
        .loader = row->loader,
        .other = !own,
        .pid = row->pid,
    };
}

static void count_loader(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    ++*(size_t *)ctx;
}

PP_BY(by_from, struct pp_batch_range, from)

pp_status pp_other_batches_read(const struct pp_source *source, struct pp_other_batches *out,
                                struct pp_err *err)
{
    struct reading r = {.out = out};
    size_t loaders = 0;
    const char *own = source->meta(source->ctx, "config", "dataloader");
    *out = (struct pp_other_batches){0};
    if (!own || sscanf(own, "%lld.%u", &r.pid, &r.loader) != 2 || !source->each_order || !source->each_meta)
        return PP_OK;
    pp_status st = source->each_meta(source->ctx, "loader", count_loader, &loaders, err);
    if (st == PP_OK && loaders > 1)
        st = source->each_order(source->ctx, NULL, on_order, &r, err);
    if (st == PP_OK && r.no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the DataLoaders of %s", source->path);
    if (st != PP_OK || !r.has_own || !r.has_other)
        out->n = 0;
    if (out->n)
        qsort(out->range, out->n, sizeof(*out->range), by_from);
    return st;
}

struct pp_batch_range *pp_other_batches_find(const struct pp_other_batches *o, uint32_t batch)
{
    size_t begun = PP_BEFORE(o->n, i, o->range[i].from <= batch);
    return begun && batch < o->range[begun - 1].to ? &o->range[begun - 1] : NULL;
}

int pp_other_batches_has(const struct pp_other_batches *o, uint32_t batch)
{
    const struct pp_batch_range *range = pp_other_batches_find(o, batch);
    return range && range->other;
}

/* ---- another loader is judged ---- */

enum { TEXT = 640, VALUE = 160 };

/* What config says of a loader (collectors/attach/loaders.c), and what its row calls it; NULL: a section of
 * its own has it, or nothing. */
static const struct {
    const char *key, *in_row, *section;
    int zero_is_unknown;
} said[] = {
    {"num_workers", "num_workers", NULL, 0},
    {"workers", "num_workers", NULL, 0}, /* 0: the training thread is the one lane */
    {"batch_size", "batch_size", NULL, 1},
    {"prefetch", "prefetch_factor", NULL, 1},
    {"dataset", "dataset", NULL, 0},
    {"dataset_samples", "samples", NULL, 1},
    {"worker_pickle_bytes", "pickled_bytes", NULL, 1},
    {"sampler", "sampler", NULL, 0},
    {"pin_memory", "pin_memory", NULL, 0},
    {"persistent_workers", "persistent_workers", NULL, 0},
    {"in_order", "in_order", NULL, 0},
    {"drop_last", "drop_last", NULL, 0},
    {"dataset_code", NULL, "loader_code", 0},
    {"dataset_holds", NULL, "loader_holds", 0},
    {"with_replacement", NULL, NULL, 0},
    {"loader_made_again", NULL, NULL, 0},
};
enum { SAID = sizeof(said) / sizeof(*said) };

struct pp_judged {
    char row[48];
    char value[SAID][VALUE];
    int known[SAID];
};

struct search {
    const struct pp_source *source;
    const char *name;
    struct pp_judged *out;
    double waited; /* of the one that was found; -1: none was */
    char text[TEXT], there[TEXT];
};

/* 0: it is not there. */
static int value_in(const char *text, const char *key, char value[VALUE])
{
    int length;
    const char *word = pp_rows_word(text, key, &length);
    if (word)
        snprintf(value, VALUE, "%.*s", length, word);
    return word != NULL;
}

static void on_loader(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct search *x = ctx;
    char waited[VALUE] = "0";
    const char *variable = x->source->meta(x->source->ctx, "loader_name", key);
    pp_text_add(x->there, sizeof(x->there), "%s%s", x->there[0] ? ", " : "", variable ? variable : "");
    int called = strcmp(key, x->name) == 0 || (variable && strcmp(variable, x->name) == 0);
    const char *place = x->source->meta(x->source->ctx, "loader_place", key);
    const char *base = place ? strrchr(place, '/') : NULL;
    called |= place && (strcmp(place, x->name) == 0 || (base && strcmp(base + 1, x->name) == 0));
    pp_text_add(x->there, sizeof(x->there), "%s%s", variable && x->there[0] ? " at " : "",
                place ? place : key);
    if (!value || !called)
        return;
    value_in(value, "data_wait_ms", waited);
    if (atof(waited) <= x->waited)
        return;
    x->waited = atof(waited);
    snprintf(x->out->row, sizeof(x->out->row), "%s", key);
    snprintf(x->text, sizeof(x->text), "%s", value);
}

pp_status pp_judged_read(const struct pp_source *source, const char *name, struct pp_judged **out,
                         struct pp_err *err)
{
    struct pp_judged *j = *out = calloc(1, sizeof(*j));
    struct search x = {.source = source, .name = name, .out = j, .waited = -1};
    pp_status st = j ? source->each_meta(source->ctx, "loader", on_loader, &x, err)
                     : pp_fail(err, PP_E_NO_MEMORY, "no memory for the DataLoaders of %s", source->path);
    if (st == PP_OK && x.waited < 0)
        st = pp_fail(err, PP_E_USAGE, "--loader %s: %s has %s%s", name, source->path,
                     x.there[0] ? "these DataLoaders: "
                                : "no DataLoaders; only PyTorch jobs under pipeprobe exec have",
                     x.there);
    for (size_t i = 0; st == PP_OK && i < SAID; i++) {
        const char *text = said[i].section ? source->meta(source->ctx, said[i].section, j->row) : NULL;
        if (text)
            j->known[i] = snprintf(j->value[i], VALUE, "%s", text) > 0;
        else if (said[i].in_row)
            j->known[i] = value_in(x.text, said[i].in_row, j->value[i]) &&
                          !(said[i].zero_is_unknown && strcmp(j->value[i], "0") == 0);
    }
    if (j && strcmp(j->value[0], "0") == 0)
        snprintf(j->value[1], VALUE, "1");
    if (st != PP_OK) {
        free(j);
        *out = NULL;
    }
    return st;
}

int pp_judged_has(const struct pp_judged *j, const char *section, const char *key, const char **value)
{
    if (strcmp(section, "config") != 0)
        return 0;
    *value = strcmp(key, "dataloader") == 0 ? j->row : NULL;
    for (size_t i = 0; i < SAID && !*value; i++)
        if (strcmp(key, said[i].key) == 0) {
            *value = j->known[i] ? j->value[i] : NULL;
            return 1;
        }
    return *value != NULL;
}
