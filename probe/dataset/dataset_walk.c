#include "probe/dataset/dataset_walk.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

int pp_has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcasecmp(name + n - m, suffix) == 0;
}

int pp_has_image_extension(const char *name)
{
    static const char *const extensions[] = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                             ".pgm", ".tif",  ".tiff", ".webp"};
    for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++)
        if (pp_has_suffix(name, extensions[i]))
            return 1;
    return 0;
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
}

static int is_directory(int dirfd, const struct dirent *e)
{
    struct stat info;
    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
        return e->d_type == DT_DIR;
    if (pp_has_image_extension(e->d_name))
        return 0;
    return fstatat(dirfd, e->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

static int sort_entry(int dirfd, const struct dirent *e, struct pp_listing *out)
{
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return 0;
    if (is_directory(dirfd, e))
        return add_name(&out->subdirs, e->d_name);
    if (pp_has_image_extension(e->d_name))
        return add_name(&out->images, e->d_name);
    out->tars += pp_has_suffix(e->d_name, ".tar") != 0;
    if (out->others++ == 0)
        snprintf(out->example, sizeof(out->example), "%.*s", (int)sizeof(out->example) - 1, e->d_name);
    return 0;
}

pp_status pp_list(int fd, const char *name, struct pp_listing *out, struct pp_err *err)
{
    *out = (struct pp_listing){0};
    DIR *d = fdopendir(fd);
    if (!d) {
        int e = errno;
        close(fd);
        return pp_fail_errno(err, e, "cannot list %s", name);
    }
    pp_status st = PP_OK;
    struct dirent *e;
    while (st == PP_OK && (errno = 0, e = readdir(d)) != NULL)
        if (sort_entry(fd, e, out) != 0)
            st = pp_fail(err, PP_E_NO_MEMORY, "cannot list %s: no memory for %zu names", name,
                         out->images.n + 1);
    if (st == PP_OK && errno != 0)
        st = pp_fail_errno(err, errno, "cannot list %s", name);
    closedir(d);
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
    dev_t dev;
    ino_t ino;
};

struct walker {
    int root_fd;
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
    for (size_t k = i; w->node[k].parent != k;) {
        k = w->node[k].parent;
        if (w->node[k].dev == w->node[i].dev && w->node[k].ino == w->node[i].ino)
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
    atomic_fetch_add_explicit(w->found, images->n, memory_order_relaxed);
    out->dir[out->n++] = (struct pp_walk_dir){.rel = copy, .images = *images};
    *images = (struct pp_names){0};
    return 0;
}

static int take_listing(struct walker *w, size_t i, struct pp_listing *l)
{
    struct pp_walk *out = w->out;
    if (out->others == 0)
        memcpy(out->example, l->example, sizeof(out->example));
    out->others += l->others;
    out->tars += l->tars;
    for (size_t k = 0; k < l->subdirs.n; k++)
        if (add_node(w, join(w->node[i].rel, l->subdirs.bytes + l->subdirs.at[k]), i) != 0)
            return -1;
    return keep_images(w, w->node[i].rel, &l->images);
}

/* What Python's os.walk passes over in silence: the directory is not for us, or was removed meanwhile. */
static int is_passed_over(int e)
{
    return e == EACCES || e == EPERM || e == ENOENT || e == ENOTDIR || e == ELOOP || e == ENAMETOOLONG;
}

static pp_status visit(struct walker *w, size_t i, struct pp_err *err)
{
    const char *rel = w->node[i].rel;
    struct pp_listing l;
    struct stat info;
    int fd = pp_io_openat(w->root_fd, rel, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && is_passed_over(errno)) {
        char why[128];
        pp_warn(&w->out->warnings, "cannot list %s: %s; its files are left out", rel,
                strerror_r(errno, why, sizeof(why)));
        return PP_OK;
    }
    if (fd < 0)
        return pp_fail_errno(err, errno, "cannot list %s", rel);
    if (fstat(fd, &info) != 0) {
        int e = errno;
        close(fd);
        return pp_fail_errno(err, e, "cannot stat %s", rel);
    }
    w->node[i].dev = info.st_dev;
    w->node[i].ino = info.st_ino;
    if (leads_back(w, i)) {
        close(fd);
        pp_warn(
            &w->out->warnings,
            "%s is a link to a directory above it and is left out; torchvision would list its files again up to 40 times",
            rel);
        return PP_OK;
    }
    pp_status st = pp_list(fd, rel, &l, err);
    if (st != PP_OK)
        return st;
    if (take_listing(w, i, &l) != 0)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the list of files in %s", rel);
    pp_listing_free(&l);
    return st;
}

static int by_rel(const void *a, const void *b)
{
    return strcmp(((const struct pp_walk_dir *)a)->rel, ((const struct pp_walk_dir *)b)->rel);
}

pp_status pp_walk_tree(int root_fd, const char *top, atomic_uint_least64_t *found, struct pp_walk *out,
                       struct pp_err *err)
{
    struct walker w = {.root_fd = root_fd, .out = out, .found = found};
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
