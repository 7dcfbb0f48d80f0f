#include "probe/dataset/dataset_walk.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/dataset/foreign.h"

#include <strings.h>
#include <sys/resource.h>

int pp_has_suffix(const char *name, const char *suffixes)
{
    size_t length = strlen(name);
    while (*suffixes) {
        size_t n = strcspn(suffixes, " ");
        if (length >= n && strncasecmp(name + length - n, suffixes, n) == 0)
            return 1;
        suffixes += n + strspn(suffixes + n, " ");
    }
    return 0;
}

size_t pp_read_head(const struct pp_storage *s, const struct pp_object *dir, const char *name, uint8_t *head,
                    size_t size)
{
    struct pp_object o;
    struct pp_read r = {.name = name, .size = size, .buf = head, .cap = size};
    pp_status st = pp_storage_open(s, &(struct pp_open){.dir = dir, .name = name, .attempt = "open"}, &o,
                                   NULL);
    if (st == PP_OK)
        st = pp_object_read_at(&o, &r, NULL);
    pp_object_close(&o);
    return st == PP_OK ? r.got : 0;
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
    if (names->used + size > UINT32_MAX || !pp_grow(&names->bytes, &names->cap, names->used + size, 1) ||
        !pp_grow(&names->at, &names->n_cap, names->n + 1, sizeof(*names->at)))
        return -1;
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
static void sort_names(struct pp_names *names)
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

void pp_others_add(struct pp_others *to, uint64_t n, const char *dir, const char *name, int tells)
{
    if (n && (to->n == 0 || tells > to->tells)) {
        int size = snprintf(to->example, sizeof(to->example), "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
        to->tells = size < (int)sizeof(to->example) ? tells : 0;
    }
    to->n += n;
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

static pp_status sort_entry(void *ctx, const struct pp_entry *e, struct pp_err *err)
{
    const struct lister *l = ctx;
    struct pp_listing *out = l->out;
    int failed, is_image = pp_image_kind_by_name(e->name) != PP_IMAGE_KINDS,
                is_directory = e->kind == PP_ENTRY_DIRECTORY;
    struct pp_place_info info;
    if (e->kind == PP_ENTRY_UNTOLD && !is_image)
        is_directory = pp_storage_stat(l->dir->storage, l->dir, e->name, "stat", &info, NULL) == PP_OK &&
                       info.kind == PP_PLACE_DIRECTORY;
    if (is_directory) {
        failed = add_name(&out->subdirs, e->name);
    } else if (is_image) {
        failed = add_name(&out->images, e->name);
        atomic_fetch_add_explicit(l->found, 1, memory_order_relaxed);
    } else {
        const struct pp_foreign *f = pp_foreign_by_name(e->name);
        pp_others_add(&out->found, 1, NULL, e->name, !f ? 0 : f->role == PP_FOREIGN_BESIDE ? 1 : 2);
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
    sort_names(&out->images);
    sort_names(&out->subdirs);
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
    if (!rel || !pp_grow(&w->node, &w->cap, w->n + 1, sizeof(*w->node))) {
        free(rel);
        return -1;
    }
    w->node[w->n++] = (struct node){.rel = rel, .parent = parent};
    return 0;
}

/* What the directory of a node holds, into the walk: its images, and its own directories as further nodes. -1
 * without memory. */
static int keep_listing(struct walker *w, size_t i, struct pp_listing *l)
{
    struct pp_walk *out = w->out;
    const char *rel = w->node[i].rel;
    pp_others_add(&out->others, l->found.n, rel, l->found.example, l->found.tells);
    for (size_t k = 0; k < l->subdirs.n; k++) {
        char *below;
        if (asprintf(&below, "%s/%s", rel, l->subdirs.bytes + l->subdirs.at[k]) < 0 ||
            add_node(w, below, i) != 0)
            return -1;
    }
    if (l->images.n == 0)
        return 0;
    char *copy = strdup(rel);
    if (!copy || !pp_grow(&out->dir, &w->dir_cap, out->n + 1, sizeof(*out->dir))) {
        free(copy);
        return -1;
    }
    out->images += l->images.n;
    out->dir[out->n++] = (struct pp_walk_dir){.rel = copy, .images = l->images};
    l->images = (struct pp_names){0};
    return 0;
}

static pp_status list_node(struct walker *w, size_t i, struct pp_err *err)
{
    const char *rel = w->node[i].rel;
    const struct pp_open o = {.dir = w->root, .name = rel, .how = PP_OPEN_DIRECTORY, .attempt = "list"};
    struct pp_object dir;
    struct pp_place_info info;
    struct pp_listing l;
    struct pp_err why;
    pp_err_clear(&why);
    pp_status st = pp_storage_open(w->root->storage, &o, &dir, &why);
    /* What Python's os.walk passes over in silence: the directory is not for us, or cannot be reached by its
     * name. */
    if (st == PP_E_ACCESS || st == PP_E_NOT_FOUND) {
        pp_warn(&w->out->warnings, "%s; its files are left out", why.text);
        return PP_OK;
    }
    if (st != PP_OK)
        return pp_fail(err, st, "%s", why.text);
    st = pp_object_info(&dir, rel, &info, err);
    if (st != PP_OK)
        goto out;
    memcpy(w->node[i].id, info.id, sizeof(info.id));
    int has_id = info.id[0] || info.id[1]; /* else a storage without links */
    for (size_t k = i; has_id && w->node[k].parent != k;) {
        k = w->node[k].parent;
        if (memcmp(w->node[k].id, info.id, sizeof(info.id)) != 0)
            continue;
        pp_warn(
            &w->out->warnings,
            "%s is a link to a parent directory and is left out; torchvision would list its files up to 40 times",
            rel);
        goto out;
    }
    st = pp_list(&dir, rel, w->found, &l, err);
    if (st == PP_OK && keep_listing(w, i, &l) != 0)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the list of files in %s", rel);
    pp_listing_free(&l);
out:
    pp_object_close(&dir);
    return st;
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
        st = list_node(&w, i, err);
    for (size_t i = 0; i < w.n; i++)
        free(w.node[i].rel);
    free(w.node);
    if (st != PP_OK)
        pp_walk_free(out);
    else if (out->n > 1)
        qsort(out->dir, out->n, sizeof(*out->dir), pp_by_text); /* of rel, which stands first */
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

/* ---- every file, by several threads ---- */

/* Start-up waits more than it computes: eight threads keep a mount with 3 ms look-ups busy and do not crowd
 * two cores. */
enum { MOST_THREADS = 8 };
#define PROGRESS_NS 100000000u

struct pool {
    const struct pp_each *each;
    atomic_uint_least64_t next, finished; /* relaxed: results are read after pthread_join */
    atomic_int stop;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int running; /* below: under lock */
    uint64_t failed_at;
    pp_status status;
    struct pp_err err;
};

static void keep_failure(struct pool *p, uint64_t i, pp_status st, const struct pp_err *err)
{
    pthread_mutex_lock(&p->lock);
    if (p->status == PP_OK || i < p->failed_at) {
        p->status = st;
        p->failed_at = i;
        p->err = *err;
    }
    pthread_mutex_unlock(&p->lock);
    atomic_store_explicit(&p->stop, 1, memory_order_relaxed);
}

static void do_pieces(struct pool *p)
{
    while (!atomic_load_explicit(&p->stop, memory_order_relaxed)) {
        uint64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (i >= p->each->n)
            break;
        struct pp_err err;
        pp_err_clear(&err);
        pp_status st = p->each->piece(p->each->ctx, i, &err);
        if (st != PP_OK)
            keep_failure(p, i, st, &err);
        else
            atomic_fetch_add_explicit(&p->finished, 1, memory_order_relaxed);
    }
}

static void *thread_main(void *arg)
{
    struct pool *p = arg;
    pthread_setname_np(pthread_self(), "pp-open");
    do_pieces(p);
    pthread_mutex_lock(&p->lock);
    p->running--;
    pthread_cond_signal(&p->ended);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

pp_status pp_each_run(const struct pp_each *each, struct pp_err *err)
{
    struct pool p = {.each = each, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread[MOST_THREADS];
    int want = each->n < MOST_THREADS ? (int)each->n : MOST_THREADS, started = 0;
    pp_cond_init(&p.ended);
    pthread_mutex_lock(&p.lock);
    for (; started < want; started++, p.running++)
        if (pthread_create(&thread[started], NULL, thread_main, &p) != 0)
            break;
    /* Reports every PROGRESS_NS until no thread is left, or the report says stop. */
    int (*report)(void *, const char *, uint64_t, uint64_t) = each->opts->progress;
    uint64_t due = pp_now_ns() + PROGRESS_NS;
    while (p.running > 0) {
        pp_cond_wait_until(&p.ended, &p.lock, due);
        if (p.running == 0 || pp_now_ns() < due)
            continue;
        due = pp_now_ns() + PROGRESS_NS;
        if (!report)
            continue;
        pthread_mutex_unlock(&p.lock);
        uint64_t done = atomic_load_explicit(each->done ? each->done : &p.finished, memory_order_relaxed);
        if (report(each->opts->progress_ctx, each->what, done, each->done ? 0 : each->n)) {
            struct pp_err stopped;
            pp_fail(&stopped, PP_E_INTERRUPTED, "stopped while %s", each->what);
            keep_failure(&p, UINT64_MAX, PP_E_INTERRUPTED, &stopped);
            report = NULL;
        }
        pthread_mutex_lock(&p.lock);
    }
    pthread_mutex_unlock(&p.lock);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    if (started == 0) /* no thread to be had: do it here, without progress */
        do_pieces(&p);

    pthread_cond_destroy(&p.ended);
    pthread_mutex_destroy(&p.lock);
    if (p.status != PP_OK && err)
        *err = p.err;
    return p.status;
}

uint64_t pp_each_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 256;
    return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 1 << 16 ? 1 << 15 : limit.rlim_cur / 2;
}
