/* Image folder: a class per directory, in torchvision ImageFolder's order and by its rules, or a plain
 * directory of images.
 *
 * 1.28 million files take about 26 bytes each plus their names: per directory one block of names and one
 * 32-bit offset per file; a sample's directory is found by bisection over the directories' first indexes.
 * Files are opened relative to the opened root, whatever the number of classes. */
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/foreign.h"

#include <malloc.h>

struct folder_dir {
    char *rel;
    int64_t label;
    uint64_t first; /* dataset index of its first image */
    struct pp_names images;
};

struct folder {
    struct pp_dataset base;
    struct pp_object root_dir;
    int flat; /* images directly in the root, no classes */
    char *root;
    struct folder_dir *dir; /* by rising first */
    size_t n_dirs;
    struct pp_names class_names;
};

static const struct folder_dir *dir_of(const struct folder *f, uint64_t index)
{
    return &f->dir[pp_last_at(&f->dir->first, f->n_dirs, sizeof(*f->dir), index)];
}

static int relative_path(const struct folder_dir *dir, uint64_t index, char *buf, size_t size)
{
    const char *name = dir->images.bytes + dir->images.at[index - dir->first];
    return snprintf(buf, size, "%s%s%s", dir->rel, dir->rel[0] ? "/" : "", name);
}

static pp_status folder_read(const struct pp_dataset *d, uint64_t index,
                             const struct pp_read_context *context, struct pp_sample *s, struct pp_err *err)
{
    const struct folder *f = (const struct folder *)d;
    const struct folder_dir *dir = dir_of(f, index);
    char rel[PATH_MAX];

    if (relative_path(dir, index, rel, sizeof(rel)) >= (int)sizeof(rel))
        return pp_fail(err, PP_E_UNSUPPORTED, "the path of image %llu is longer than the system allows",
                       (unsigned long long)index);
    s->label = dir->label;
    struct pp_read r = {
        .name = rel, .context = context, .buf = s->buf, .cap = s->cap, .limit = pp_sample_limit(s)};
    pp_status st = pp_storage_read_whole(f->root_dir.storage, &f->root_dir, &r, err);
    s->grown += s->cap != r.cap;
    s->buf = r.buf;
    s->cap = r.cap;
    s->data = r.buf;
    s->size = r.got;
    s->cache_known = r.cache_known;
    s->cache_hit_bytes = r.cache_hit_bytes;
    if (st == PP_OK && s->size == 0)
        st = pp_fail(err, PP_E_EMPTY, "%s has 0 bytes", rel);
    return st;
}

static void folder_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    const struct folder *f = (const struct folder *)d;
    int n = snprintf(buf, size, "%s/", f->root);
    if (n >= 0 && (size_t)n < size)
        relative_path(dir_of(f, index), index, buf + n, size - (size_t)n);
}

static void folder_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct folder *f = (const struct folder *)d;
    char files[32], classes[32];
    pp_text_counted(files, sizeof(files), (double)d->len, "file", "files");
    pp_text_counted(classes, sizeof(classes), (double)f->class_names.n, "class", "classes");
    if (f->flat)
        snprintf(buf, size, "image folder, %s without class directories (every label is -1)", files);
    else
        snprintf(buf, size, "image folder, %s in %s", files, classes);
}

static uint64_t names_footprint(const struct pp_names *names)
{
    return malloc_usable_size(names->bytes) + malloc_usable_size(names->at);
}

static uint64_t folder_footprint(const struct pp_dataset *d)
{
    const struct folder *f = (const struct folder *)d;
    uint64_t bytes = sizeof(*f) + malloc_usable_size(f->dir) + malloc_usable_size(f->root) +
                     names_footprint(&f->class_names);
    for (size_t i = 0; i < f->n_dirs; i++)
        bytes += malloc_usable_size(f->dir[i].rel) + names_footprint(&f->dir[i].images);
    return bytes;
}

static void folder_close(struct pp_dataset *d)
{
    struct folder *f = (struct folder *)d;
    for (size_t i = 0; i < f->n_dirs; i++) {
        free(f->dir[i].rel);
        pp_names_free(&f->dir[i].images);
    }
    free(f->dir);
    free(f->root);
    pp_names_free(&f->class_names);
    pp_object_close(&f->root_dir);
}

static int64_t folder_label(const struct pp_dataset *d, uint64_t index)
{
    return dir_of((const struct folder *)d, index)->label;
}

static const struct pp_dataset_ops folder_ops = {
    .read = folder_read,
    .path = folder_path,
    .label = folder_label,
    .describe = folder_describe,
    .footprint = folder_footprint,
    .close = folder_close,
};

/* ---- open ---- */

struct lister {
    const struct pp_object *root;
    const struct pp_names *classes;
    struct pp_walk *walk;        /* one per class */
    atomic_uint_least64_t found; /* images, for progress */
};

static pp_status list_class(void *ctx, uint64_t i, struct pp_err *err)
{
    struct lister *l = ctx;
    return pp_walk_tree(l->root, l->classes->bytes + l->classes->at[i], &l->found, &l->walk[i], err);
}

/* The root of a data set with its splits in it is a class folder, too, with two or three classes; seldom the
 * one that was meant. */
static void warn_of_splits(struct folder *f)
{
    const char *first = NULL;
    for (size_t i = 0; i < f->class_names.n; i++) {
        const char *name = f->class_names.bytes + f->class_names.at[i];
        if (!pp_text_has_word("train training val valid validation test dev", name))
            return;
        first = first && strncmp(first, "train", 5) == 0 ? first : name;
    }
    if (first)
        pp_warn(&f->base.warnings,
                "the class directories of %s are named like splits, such as %s: did you mean %s/%s?", f->root,
                first, f->root, first);
}

/* Every class into f->dir, and what is no image to *others. Nothing found is no failure here. */
static pp_status list_classes(const struct pp_dataset_opts *opts, struct folder *f, struct pp_others *others,
                              struct pp_err *err)
{
    size_t n = f->class_names.n, dirs = 0, empty = 0, first_empty = 0;
    struct lister l = {.root = &f->root_dir,
                       .classes = &f->class_names,
                       .walk = calloc(n + 1, sizeof(*l.walk))};
    const struct pp_each each = {
        .n = n, .piece = list_class, .ctx = &l, .opts = opts, .what = "listing images", .done = &l.found};
    pp_status st = l.walk ? pp_each_run(&each, err)
                          : pp_fail(err, PP_E_NO_MEMORY, "no memory to list %zu classes", n);
    if (st != PP_OK)
        goto out;
    for (size_t i = 0; i < n; i++) {
        const struct pp_walk *walk = &l.walk[i];
        dirs += walk->n;
        if (walk->images == 0 && empty++ == 0)
            first_empty = i;
        pp_others_add(others, walk->others.n, NULL, walk->others.example, walk->others.tells);
    }
    f->dir = malloc((dirs + 1) * sizeof(*f->dir)); /* + 1: room for a flat root */
    if (!f->dir) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu directories", dirs);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < l.walk[i].n; k++) {
            struct pp_walk_dir *from = &l.walk[i].dir[k];
            f->dir[f->n_dirs++] = (struct folder_dir){.rel = from->rel,
                                                      .label = (int64_t)i,
                                                      .first = f->base.len,
                                                      .images = from->images};
            f->base.len += from->images.n;
            *from = (struct pp_walk_dir){0};
        }
        pp_warnings_move(&f->base.warnings, &l.walk[i].warnings);
    }
    if (f->base.len > 0 && empty > 0)
        pp_warn(
            &f->base.warnings,
            "%zu of %zu class directories hold%s no image (the first: %s); torchvision's ImageFolder refuses such a folder",
            empty, n, empty == 1 ? "s" : "", f->class_names.bytes + f->class_names.at[first_empty]);
out:
    for (size_t i = 0; l.walk && i < n; i++)
        pp_walk_free(&l.walk[i]);
    free(l.walk);
    return st;
}

static pp_status fail_empty(const struct folder *f, const struct pp_others *others, struct pp_err *err)
{
    const char *example = others->example;
    const struct pp_foreign *foreign = others->n ? pp_foreign_look(f->root_dir.storage, &f->root_dir, example)
                                                 : NULL;
    if (foreign && foreign->role == PP_FOREIGN_READ)
        return pp_fail(err, PP_E_EMPTY, "%s holds no image, and no sample in its %s files (such as %s): %s",
                       f->root, foreign->noun, example, foreign->advice);
    if (foreign)
        return pp_fail(err, PP_E_EMPTY, "%s holds %s files (such as %s), which pipeprobe does not read: %s",
                       f->root, foreign->noun, example, foreign->advice);
    if (others->n == 0 && f->class_names.n == 0)
        return pp_fail(err, PP_E_EMPTY, "%s is empty: there is nothing to read", f->root);
    if (others->n == 0)
        return pp_fail(err, PP_E_EMPTY, "no image below %s: its %zu directories hold no files", f->root,
                       f->class_names.n);
    return pp_fail(
        err, PP_E_EMPTY,
        "no image below %s: found %llu other file%s (such as %s) in %zu class director%s; images are known by .jpg, .jpeg, .png or "
        ".webp; for other data, record your own loader with 'pipeprobe exec -- python train.py'",
        f->root, (unsigned long long)others->n, others->n == 1 ? "" : "s", example, f->class_names.n,
        f->class_names.n == 1 ? "y" : "ies");
}

/* "100 of 200 files are WebP, which pipeprobe cannot decode": before the run, not as its errors. By the
 * names; what a file called .jpg really is shows when it is read. */
static pp_status judge_decoders(struct folder *f, const char *const *decoders, struct pp_err *err)
{
    uint64_t count[PP_IMAGE_KINDS + 1] = {0}, lost = 0;
    char decoded[64] = "", what[200] = "", files[32], all[32];
    for (size_t i = 0; i < f->n_dirs; i++)
        for (size_t k = 0; k < f->dir[i].images.n; k++)
            count[pp_image_kind_by_name(f->dir[i].images.bytes + f->dir[i].images.at[k])]++;
    for (int kind = 0; kind < PP_IMAGE_KINDS; kind++) {
        const char *name = pp_image_kinds[kind].name, *const *d = decoders;
        while (*d && strcmp(*d, name) != 0)
            d++;
        if (*d)
            pp_text_add(decoded, sizeof(decoded), "%s%s", decoded[0] ? ", " : "", name);
        if (*d || count[kind] == 0)
            continue;
        pp_text_add(what, sizeof(what), "%s%s of %s files %s %s", what[0] ? ", " : "",
                    pp_text_count(files, sizeof(files), (double)count[kind]),
                    pp_text_count(all, sizeof(all), (double)f->base.len), count[kind] == 1 ? "is" : "are",
                    name);
        lost += count[kind];
    }
    if (lost == f->base.len)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s: %s, which pipeprobe cannot decode (it decodes %s): convert them, or record your own loader with "
            "'pipeprobe exec -- python train.py'",
            f->root, what, decoded);
    if (lost)
        pp_warn(&f->base.warnings,
                "%s, which pipeprobe cannot decode (it decodes %s): the rate is that of the other %s", what,
                decoded, pp_text_count(files, sizeof(files), (double)(f->base.len - lost)));
    return PP_OK;
}

static pp_status folder_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    struct pp_listing *root = place->listing;
    if (!root)
        return pp_fail(err, PP_E_USAGE, "%s is not a directory of images", place->spec);
    struct folder *f = calloc(1, sizeof(*f));
    char *flat = strdup(""); /* rel of the root, where images lie directly in it */
    if (!f || !flat || !(f->root = strdup(place->spec))) {
        free(f);
        free(flat);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    }
    struct pp_others others = root->found;
    struct pp_warnings *w = &f->base.warnings;
    f->base.ops = &folder_ops;
    *out = &f->base;
    f->root_dir = place->root;
    place->root = (struct pp_object){0};
    f->class_names = root->subdirs;
    root->subdirs = (struct pp_names){0};
    for (size_t n = strlen(f->root); n > 1 && f->root[n - 1] == '/'; n--)
        f->root[n - 1] = '\0';
    pp_status st = list_classes(place->opts, f, &others, err);
    if (st != PP_OK)
        goto out;
    size_t images = root->images.n, classes = f->class_names.n;
    if (f->base.len == 0 && images == 0) {
        st = fail_empty(f, &others, err);
    } else if (f->base.len == 0) { /* one directory without labels */
        if (classes == 1)
            pp_warn(w, "%s/%s holds no image and is not used as a class", f->root,
                    f->class_names.bytes + f->class_names.at[0]);
        else if (classes > 1)
            pp_warn(w, "%zu directories in %s hold no image and are not used as classes", classes, f->root);
        pp_names_free(&f->class_names);
        f->flat = 1;
        f->dir[f->n_dirs++] = (struct folder_dir){.rel = flat, .label = -1, .images = root->images};
        f->base.len = images;
        flat = NULL;
        root->images = (struct pp_names){0};
    } else if (images > 0) {
        pp_warn(w,
                "%zu image%s directly in %s left out: without a class directory (torchvision does the same)",
                images, images == 1 ? "" : "s", f->root);
    }
    if (st == PP_OK && !f->flat)
        warn_of_splits(f);
    if (st == PP_OK && place->opts->decoders)
        st = judge_decoders(f, place->opts->decoders, err);
out:
    free(flat);
    return st;
}

/* Any directory: the one with neither classes nor images is empty, which open says. */
static int folder_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    if (place->info.kind == PP_PLACE_DIRECTORY)
        return 50;
    if (pp_image_kind_by_name(place->spec) != PP_IMAGE_KINDS)
        pp_fail(why, PP_E_USAGE, "%s is a single image: name the directory that holds the images",
                place->spec);
    return 0;
}

const struct pp_dataset_format pp_format_folder = {
    .name = "image-folder",
    .help = "a directory of images",
    .probe = folder_probe,
    .open = folder_open,
};
