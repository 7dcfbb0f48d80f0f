#include "probe/dataset/dataset_walk.h"
#include "probe/base/err.h"
#include "probe/dataset/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int pp_has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcasecmp(name + n - m, suffix) == 0;
}

int pp_has_image_extension(const char *name)
{
    return pp_image_kind_by_name(name) != PP_IMAGE_KINDS;
}

void pp_names_free(struct pp_names *names)
{
    free(names->bytes);
    free(names->at);
    *names = (struct pp_names){0};
}

/* 0, or -1 without memory or beyond 4 GiB of names in one directory (at is 32 bits wide to keep the list
 * small). */
static int add_name(struct pp_names *names, const char *name)
{
    size_t size = strlen(name) + 1;
    if (names->used + size > UINT32_MAX)
        return -1;
    if (names->used + size > names->cap) {
        size_t cap = names->cap * 2 > names->used + size ? names->cap * 2 : names->used + size + 256;
        char *bytes = realloc(names->bytes, cap);
        if (!bytes)
            return -1;
        names->bytes = bytes;
        names->cap = cap;
    }
    if (names->n == names->n_cap) {
        size_t n_cap = names->n_cap ? names->n_cap * 2 : 16;
        uint32_t *at = realloc(names->at, n_cap * sizeof(*at));
        if (!at)
            return -1;
        names->at = at;
        names->n_cap = n_cap;
    }
    memcpy(names->bytes + names->used, name, size);
    names->at[names->n++] = (uint32_t)names->used;
    names->used += size;
    return 0;
}

static int by_bytes(const void *a, const void *b, void *bytes)
{
    return strcmp((char *)bytes + *(const uint32_t *)a, (char *)bytes + *(const uint32_t *)b);
}

/* Sorts and gives back what growing left over. */
static void finish_names(struct pp_names *names)
{
    if (names->n == 0) {
        pp_names_free(names);
        return;
    }
    qsort_r(names->at, names->n, sizeof(*names->at), by_bytes, names->bytes);
    char *bytes = realloc(names->bytes, names->used);
    uint32_t *at = realloc(names->at, names->n * sizeof(*at));
    if (bytes)
        names->bytes = bytes, names->cap = names->used;
    if (at)
        names->at = at, names->n_cap = names->n;
}

void pp_listing_free(struct pp_listing *l)
{
    pp_names_free(&l->images);
    pp_names_free(&l->subdirs);
    pp_names_free(&l->others);
}

struct lister {
    const struct pp_object *dir;
    struct pp_listing *out;
    atomic_uint_least64_t *found;
};

static int is_directory(const struct pp_object *dir, const struct pp_entry *e)
{
    struct pp_place_info info;
    if (e->kind != PP_ENTRY_UNTOLD)
        return e->kind == PP_ENTRY_DIRECTORY;
    if (pp_has_image_extension(e->name))
        return 0;
    return pp_storage_stat(dir->storage, dir, e->name, "stat", &info, NULL) == PP_OK &&
           info.kind == PP_PLACE_DIRECTORY;
}

static pp_status sort_entry(void *ctx, const struct pp_entry *e, struct pp_err *err)
{
    const struct lister *l = ctx;
    struct pp_listing *out = l->out;
    int failed;
    if (is_directory(l->dir, e)) {
        failed = add_name(&out->subdirs, e->name);
    } else if (pp_has_image_extension(e->name)) {
        failed = add_name(&out->images, e->name);
        atomic_fetch_add_explicit(l->found, 1, memory_order_relaxed);
    } else {
        int telling = pp_foreign_tells(e->name);
        if (out->others.n == 0 || telling > out->example_tells) {
            snprintf(out->example, sizeof(out->example), "%.*s", (int)sizeof(out->example) - 1, e->name);
            out->example_tells = telling;
        }
        failed = add_name(&out->others, e->name);
    }
    return failed ? pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu names", out->images.n + 1) : PP_OK;
}

pp_status pp_list(const struct pp_object *dir, const char *name, atomic_uint_least64_t *found,
                  struct pp_listing *out, struct pp_err *err)
{
    struct lister l = {.dir = dir, .out = out, .found = found};
    *out = (struct pp_listing){0};
    pp_status st = pp_object_list(dir, name, sort_entry, &l, err);
    if (st == PP_E_NO_MEMORY)
        st = pp_fail(err, st, "cannot list %s: no memory for %zu names", name, out->images.n + 1);
    if (st != PP_OK) {
        pp_listing_free(out);
        return st;
    }
    finish_names(&out->images);
    finish_names(&out->subdirs);
    return PP_OK;
}

/* A directory met by the walk: at first a path to visit, then visited. */
struct node {
    char *rel;
    size_t parent; /* index of the directory it was found in; its own for the top */
    uint64_t id[2];
};

struct walker {
    const struct pp_object *root;
    struct node *node; /* visited in the order found; those found later follow */
    size_t n, cap, dir_cap;
    struct pp_walk *out;
    atomic_uint_least64_t *found;
};

/* Takes rel over; NULL is taken for lack of memory. */
static int add_node(struct walker *w, char *rel, size_t parent)
{
    if (!rel)
        return -1;
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 8;
        struct node *node = realloc(w->node, cap * sizeof(*node));
        if (!node) {
            free(rel);
            return -1;
        }
        w->node = node;
        w->cap = cap;
    }
    w->node[w->n++] = (struct node){.rel = rel, .parent = parent};
    return 0;
}

static char *join(const char *dir, const char *name)
{
    char *s;
    return asprintf(&s, "%s/%s", dir, name) < 0 ? NULL : s;
}

/* 1 when node i is one of the directories it was found below. */
static int leads_back(const struct walker *w, size_t i)
{
    if (w->node[i].id[0] == 0 && w->node[i].id[1] == 0) /* a storage without links */
        return 0;
    for (size_t k = i; w->node[k].parent != k;) {
        k = w->node[k].parent;
        if (memcmp(w->node[k].id, w->node[i].id, sizeof(w->node[i].id)) == 0)
            return 1;
    }
    return 0;
}

static int keep_images(struct walker *w, const char *rel, struct pp_names *images)
{
    struct pp_walk *out = w->out;
    if (images->n == 0)
        return 0;
    if (out->n == w->dir_cap) {
        size_t cap = w->dir_cap ? w->dir_cap * 2 : 1;
        struct pp_walk_dir *dir = realloc(out->dir, cap * sizeof(*dir));
        if (!dir)
            return -1;
        out->dir = dir;
        w->dir_cap = cap;
    }
    char *copy = strdup(rel);
    if (!copy)
        return -1;
    out->images += images->n;
    out->dir[out->n++] = (struct pp_walk_dir){.rel = copy, .images = *images};
    *images = (struct pp_names){0};
    return 0;
}

static int take_listing(struct walker *w, size_t i, struct pp_listing *l)
{
    struct pp_walk *out = w->out;
    if (l->others.n && (out->others == 0 || l->example_tells > out->example_tells)) {
        int n = snprintf(out->example, sizeof(out->example), "%s/%s", w->node[i].rel, l->example);
        out->example_tells = n < (int)sizeof(out->example) ? l->example_tells : 0;
    }
    out->others += l->others.n;
    for (size_t k = 0; k < l->subdirs.n; k++)
        if (add_node(w, join(w->node[i].rel, l->subdirs.bytes + l->subdirs.at[k]), i) != 0)
            return -1;
    return keep_images(w, w->node[i].rel, &l->images);
}

/* What Python's os.walk passes over in silence: the directory is not for us, or cannot be reached by its
 * name. */
static int is_passed_over(pp_status st)
{
    return st == PP_E_ACCESS || st == PP_E_NOT_FOUND;
}

static pp_status list_node(struct walker *w, size_t i, const struct pp_object *dir, struct pp_err *err)
{
    const char *rel = w->node[i].rel;
    struct pp_place_info info;
    struct pp_listing l;
    pp_status st = pp_object_info(dir, rel, &info, err);
    if (st != PP_OK)
        return st;
    memcpy(w->node[i].id, info.id, sizeof(info.id));
    if (leads_back(w, i)) {
        pp_warn(
            &w->out->warnings,
            "%s is a link to a parent directory and is left out; torchvision would list its files up to 40 times",
            rel);
        return PP_OK;
    }
    st = pp_list(dir, rel, w->found, &l, err);
    if (st == PP_OK && take_listing(w, i, &l) != 0)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the list of files in %s", rel);
    pp_listing_free(&l);
    return st;
}

static pp_status visit(struct walker *w, size_t i, struct pp_err *err)
{
    struct pp_object dir;
    struct pp_err why;
    const struct pp_open o = {.dir = w->root,
                              .name = w->node[i].rel,
                              .how = PP_OPEN_DIRECTORY,
                              .attempt = "list"};
    pp_err_clear(&why);
    pp_status st = pp_storage_open(w->root->storage, &o, &dir, &why);
    if (st != PP_OK && is_passed_over(st)) {
        pp_warn(&w->out->warnings, "%s; its files are left out", why.text);
        return PP_OK;
    }
    if (st != PP_OK)
        return pp_fail(err, st, "%s", why.text);
    st = list_node(w, i, &dir, err);
    pp_object_close(&dir);
    return st;
}

static int by_rel(const void *a, const void *b)
{
    return strcmp(((const struct pp_walk_dir *)a)->rel, ((const struct pp_walk_dir *)b)->rel);
}

pp_status pp_walk_tree(const struct pp_object *root, const char *top, atomic_uint_least64_t *found,
                       struct pp_walk *out, struct pp_err *err)
{
    struct walker w = {.root = root, .out = out, .found = found};
    pp_status st = PP_OK;
    *out = (struct pp_walk){0};
    if (add_node(&w, strdup(top), 0) != 0)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to list %s", top);
    for (size_t i = 0; st == PP_OK && i < w.n; i++)
        st = visit(&w, i, err);
    for (size_t i = 0; i < w.n; i++)
        free(w.node[i].rel);
    free(w.node);
    if (st != PP_OK)
        pp_walk_free(out);
    else if (out->n > 1)
        qsort(out->dir, out->n, sizeof(*out->dir), by_rel);
    return st;
}

void pp_walk_free(struct pp_walk *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->dir[i].rel);
        pp_names_free(&w->dir[i].images);
    }
    free(w->dir);
    pp_warnings_free(&w->warnings);
    *w = (struct pp_walk){0};
}
