#include "probe/storage/cache/cache.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/storage/cache/cache_ring.h"

#include <stdarg.h>

#include <xxhash.h>

PP_COUNTER_SET(pp_cache_counters, PP_CACHE_COUNTS_LIST)

static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER; /* guards trouble */
static char trouble[480];

void pp_cache_say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&saying);
    if (!trouble[0])
        vsnprintf(trouble, sizeof(trouble), fmt, args);
    pthread_mutex_unlock(&saying);
    va_end(args);
}

int pp_cache_trouble(char *out, size_t size)
{
    pthread_mutex_lock(&saying);
    snprintf(out, size, "%s", trouble);
    pthread_mutex_unlock(&saying);
    return out[0] != '\0';
}

void pp_cache_begin_counts(void)
{
    for (unsigned i = 0; i < pp_cache_counters.n; i++)
        pp_count_set(&pp_cache_counters, i, 0);
    pthread_mutex_lock(&saying);
    trouble[0] = '\0';
    pthread_mutex_unlock(&saying);
}

struct cached {
    struct pp_storage base;
    struct pp_cache_ring *ring;
};

struct object {
    struct pp_object inner;
    int stream; /* read from front to back, for samples that it does not name */
    size_t name_size;
    char name[]; /* with its store's: "http://host:9000 s3://bucket/key" */
};

static const struct pp_object *inner_of(const struct pp_object *o)
{
    return o ? &((const struct object *)o->state)->inner : NULL;
}

/* What name is called in the cache; a path alone is told from that of another directory by its inode. */
static size_t full_name(const struct cached *c, const struct pp_object *dir, const char *name, char *out,
                        size_t size)
{
    const struct object *parent = dir ? dir->state : NULL;
    const char *scope = c->base.inner->scope && *c->base.inner->scope ? c->base.inner->scope : NULL;
    int n = parent
                ? snprintf(out, size, "%s%s%s", parent->name,
                           parent->name_size && parent->name[parent->name_size - 1] == '/' ? "" : "/", name)
                : snprintf(out, size, "%s%s%s", scope ? scope : "", scope ? " " : "", name);
    return n > 0 ? (size_t)n : 0;
}

/* 0: it has none, and nothing of it may be kept. */
static uint64_t version_of(const struct pp_place_info *i)
{
    const uint64_t parts[] = {(uint64_t)i->version, i->size, i->id[0], i->id[1]};
    if (i->kind != PP_PLACE_OBJECT || !i->version || i->size == PP_SIZE_UNKNOWN)
        return 0;
    uint64_t v = XXH3_64bits(parts, sizeof(parts));
    return v ? v : 1;
}

/* ---- what passes through ---- */

static void cached_detach(struct pp_storage *s)
{
    struct cached *c = (struct cached *)s;
    pp_cache_ring_close(c->ring);
    free(c);
}

static pp_status cached_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                             const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    return pp_storage_stat(s->inner, inner_of(dir), name, attempt, out, err);
}

static pp_status cached_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                             struct pp_err *err)
{
    const struct cached *c = (struct cached *)s;
    struct pp_open how = *o;
    char name[PP_CACHE_NAME + 1];
    size_t n = full_name(c, o->dir, o->name, name, sizeof(name)), kept = n < sizeof(name) ? n : 0;
    struct object *state = malloc(sizeof(*state) + kept + 1);
    if (!state)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", o->name);
    how.dir = inner_of(o->dir);
    how.how &= ~(unsigned)PP_OPEN_BORROW;
    state->stream = (o->how & PP_OPEN_SEQUENTIAL) != 0;
    state->name_size = kept; /* 0: too long to be kept */
    memcpy(state->name, name, kept);
    state->name[kept] = '\0';
    pp_status st = pp_storage_open(c->base.inner, &how, &state->inner, err);
    if (st == PP_OK)
        out->state = state;
    else
        free(state);
    return st;
}

static void cached_close(struct pp_object *o)
{
    struct object *state = o->state;
    pp_object_close(&state->inner);
    free(state);
}

static pp_status cached_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                             struct pp_err *err)
{
    return pp_object_info(inner_of(o), name, out, err);
}

static pp_status cached_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                             struct pp_err *err)
{
    return pp_object_list(inner_of(dir), name, each, ctx, err);
}

/* ---- ranges ---- */

/* 1: the bytes are in r->buf, which has room. The entry is given back either way. */
static int take_entry(const struct cached *c, const struct pp_cache_found *f, const struct pp_cache_id *id,
                      struct pp_read *r)
{
    struct pp_io_cached page;
    if (!pp_cache_ring_take(c->ring, f, id, r->buf, &page))
        return 0;
    r->data = r->buf;
    r->got = f->row.length;
    r->cache_known = page.known;
    r->cache_hit_bytes = page.hit_bytes;
    pp_count(&pp_cache_counters, PP_CACHE_COUNT_PAGE_BYTES, page.known ? page.hit_bytes : 0);
    pp_cache_ring_count(c->ring, f->row.key, r->got, 1);
    return 1;
}

static int hit_range(const struct cached *c, const struct pp_cache_id *id, struct pp_read *r)
{
    struct pp_cache_found f;
    if (!pp_cache_ring_find(c->ring, id, r->context ? r->context->epoch : 0, &f))
        return 0;
    if (f.row.length == id->asked)
        return take_entry(c, &f, id, r);
    pp_cache_ring_pass(c->ring, &f);
    return 0;
}

static pp_status cached_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    const struct cached *c = (struct cached *)o->storage;
    const struct object *state = o->state;
    struct pp_place_info info = {.kind = PP_PLACE_MISSING};
    struct pp_cache_flight flight;
    struct pp_cache_id id = {.name = state->name,
                             .name_size = state->name_size,
                             .offset = r->offset,
                             .place = c->ring->place};
    int of_use = (r->context || state->stream) && r->size > 0 && id.name_size > 0;
    if (of_use && pp_object_info(&state->inner, r->name, &info, err) == PP_OK)
        id.version = version_of(&info);
    if (!id.version || r->offset >= info.size) /* a failure of info is one of the read, too */
        return pp_object_read_at(&state->inner, r, err);
    id.asked = info.size - r->offset < r->size ? info.size - r->offset : r->size;
    if (hit_range(c, &id, r))
        return PP_OK;
    int waited = pp_cache_ring_enter(c->ring, pp_cache_key(&id), &flight);
    pp_status st = PP_OK; /* another may have ended between the look and the entering */
    if (!hit_range(c, &id, r)) {
        st = pp_object_read_at(&state->inner, r, err);
        if (st == PP_OK) {
            pp_cache_ring_count(c->ring, pp_cache_key(&id), r->got, 0);
            /* Of a file that another program writes to, what was read may be of another version than was
             * asked for before. */
            if (r->got == id.asked && (c->base.inner->request_bytes ||
                                       (pp_object_info(&state->inner, r->name, &info, NULL) == PP_OK &&
                                        version_of(&info) == id.version)))
                pp_cache_ring_store(c->ring, &id, r->data, r->got);
        }
    }
    if (!waited)
        pp_cache_ring_leave(c->ring, &flight);
    return st;
}

/* ---- whole objects ---- */

/* What the storage has now; 0: it does not say. */
static uint64_t ask_version(const struct cached *c, const struct pp_object *dir, const char *name)
{
    struct pp_place_info info;
    if (c->base.inner->request_bytes)
        pp_count(&pp_cache_counters, PP_CACHE_COUNT_CHECKS, 1);
    return pp_storage_stat(c->base.inner, inner_of(dir), name, "read", &info, NULL) == PP_OK
               ? version_of(&info)
               : 0;
}

/* 1: *st is the read's. */
static int hit_whole(const struct cached *c, const struct pp_object *dir, const struct pp_cache_id *id,
                     struct pp_read *r, pp_status *st, struct pp_err *err)
{
    struct pp_cache_found f;
    if (!pp_cache_ring_find(c->ring, id, r->context ? r->context->epoch : 0, &f))
        return 0;
    if (!f.checked || !c->base.inner->request_bytes) {
        uint64_t now = ask_version(c, dir, r->name);
        if (now)
            pp_cache_ring_check(c->ring, f.row.key, now);
        if (now != f.row.version) {
            pp_cache_ring_pass(c->ring, &f);
            return 0;
        }
    }
    *st = r->limit && f.row.length > r->limit ? pp_read_fail_limit(r, f.row.length, err)
                                              : pp_read_reserve(r, f.row.length, err);
    if (*st == PP_OK)
        return take_entry(c, &f, id, r);
    pp_cache_ring_pass(c->ring, &f);
    return 1;
}

static pp_status cached_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                   struct pp_err *err)
{
    const struct cached *c = (struct cached *)s;
    char name[PP_CACHE_NAME + 1];
    struct pp_cache_flight flight;
    struct pp_cache_id id = {.name = name,
                             .name_size = full_name(c, dir, r->name, name, sizeof(name)),
                             .asked = PP_CACHE_WHOLE,
                             .place = c->ring->place};
    pp_status st = PP_OK;
    int dir_named = !dir || ((const struct object *)dir->state)->name_size > 0;
    if (!r->context || !dir_named || id.name_size >= sizeof(name))
        return pp_storage_read_whole(c->base.inner, inner_of(dir), r, err);
    if (hit_whole(c, dir, &id, r, &st, err))
        return st;
    int waited = pp_cache_ring_enter(c->ring, pp_cache_key(&id), &flight);
    if (!hit_whole(c, dir, &id, r, &st, err)) {
        int local = !c->base.inner->request_bytes;
        uint64_t before = local ? ask_version(c, dir, r->name) : 0;
        st = pp_storage_read_whole(c->base.inner, inner_of(dir), r, err);
        if (st == PP_OK && r->got) {
            const struct pp_place_info told = {.kind = PP_PLACE_OBJECT,
                                               .size = r->got,
                                               .version = r->version,
                                               .id = {r->id[0], r->id[1]}};
            pp_cache_ring_count(c->ring, pp_cache_key(&id), r->got, 0);
            id.version = !local ? version_of(&told) : before == ask_version(c, dir, r->name) ? before : 0;
            if (id.version)
                pp_cache_ring_store(c->ring, &id, r->data, r->got);
        }
    }
    if (!waited)
        pp_cache_ring_leave(c->ring, &flight);
    return st;
}

static const struct pp_storage_ops cached_ops = {
    .name = "cache",
    .help = "a cache over another storage",
    .detach = cached_detach,
    .stat = cached_stat,
    .open = cached_open,
    .close = cached_close,
    .info = cached_info,
    .read_at = cached_read_at,
    .read_whole = cached_read_whole,
    .list = cached_list,
};

pp_status pp_storage_wrap_cache(struct pp_storage *inner, const char *place, const struct pp_cache_opts *o,
                                struct pp_storage **out, struct pp_err *err)
{
    *out = inner;
    if (!o)
        return PP_OK;
    struct cached *c = malloc(sizeof(*c));
    pp_status st = c ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for a cache");
    if (st == PP_OK)
        st = pp_cache_ring_open(o, place, &c->ring, err);
    if (st != PP_OK) {
        free(c);
        return st;
    }
    c->base = (struct pp_storage){.ops = &cached_ops,
                                  .flags = (inner->flags & ~(unsigned)PP_STORAGE_BORROWS) |
                                           PP_STORAGE_PAGE_CACHE,
                                  .request_bytes = inner->request_bytes,
                                  .scope = inner->scope,
                                  .inner = inner};
    *out = &c->base;
    return PP_OK;
}
