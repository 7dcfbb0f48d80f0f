/* The table of storages, the choice among them, and what is the same for all. */
#include "probe/storage/storage.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/storage/url.h"

extern const struct pp_storage_ops pp_storage_posix, pp_storage_web, pp_storage_s3;

static const struct pp_storage_ops *const table[] = {
    &pp_storage_posix,
    &pp_storage_web,
    &pp_storage_s3,
};

enum { TABLE = sizeof(table) / sizeof(*table), MORE = 8 };

static const struct pp_storage_ops *more[MORE];
static size_t n_more;

int pp_storage_register(const struct pp_storage_ops *ops)
{
    if (n_more == MORE)
        return -1;
    more[n_more++] = ops;
    return 0;
}

pp_status pp_storage_attach(const char *place, struct pp_storage **out, struct pp_err *err)
{
    const struct pp_storage_ops *best = NULL;
    int best_score = 0;
    *out = NULL;
    for (size_t i = 0; i < TABLE + n_more; i++) {
        const struct pp_storage_ops *ops = i < TABLE ? table[i] : more[i - TABLE];
        int score = ops->accepts ? ops->accepts(place) : 0;
        for (size_t k = 0; k < 2 && ops->schemes[k]; k++)
            score = pp_url_has_scheme(place, ops->schemes[k]) ? 100 : score;
        if (score > best_score) {
            best = ops;
            best_score = score;
        }
    }
    if (!best)
        return pp_fail(
            err, PP_E_USAGE,
            "cannot open %s: data is read from file systems, http://, https:// and s3://, and not from other URLs or pipes; mount the bucket, or copy the shards to a local disk",
            place);
    return best->attach(place, out, err);
}

void pp_storage_detach(struct pp_storage *s)
{
    if (!s)
        return;
    struct pp_storage *inner = s->inner;
    if (s->ops->detach)
        s->ops->detach(s);
    else
        free(s);
    pp_storage_detach(inner);
}

#define REMOTE_BACKOFF_NS 100000000u
#define MOST_ASKED_S 30u

static _Thread_local struct {
    int remote;
    unsigned asked_s;
} last_failure;

void pp_storage_note_retry_after(unsigned seconds)
{
    last_failure.remote = 1;
    last_failure.asked_s = seconds < MOST_ASKED_S ? seconds : MOST_ASKED_S;
}

uint64_t pp_storage_retry_wait_ns(uint64_t backoff_ns)
{
    if (!last_failure.remote)
        return backoff_ns;
    struct pp_rng rng = {pp_now_ns() ^ (uint64_t)(uintptr_t)&last_failure};
    uint64_t longest = backoff_ns < REMOTE_BACKOFF_NS ? REMOTE_BACKOFF_NS : backoff_ns;
    uint64_t wait = longest / 2 + pp_rng_below(&rng, longest / 2),
             asked = last_failure.asked_s * UINT64_C(1000000000);
    last_failure.remote = 0;
    return wait > asked ? wait : asked;
}

/* ---- calls, of the storage or of the one that it is over ---- */

struct pp_object pp_inner_object(const struct pp_object *o)
{
    struct pp_object in = *o;
    in.storage = o->storage->inner;
    return in;
}

/* NULL for NULL. */
static const struct pp_object *inner_of(const struct pp_object *o, struct pp_object *in)
{
    if (o)
        *in = pp_inner_object(o);
    return o ? in : NULL;
}

pp_status pp_storage_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                          const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    struct pp_object in;
    *out = (struct pp_place_info){.kind = PP_PLACE_MISSING};
    return s->ops->stat ? s->ops->stat(s, dir, name, attempt, out, err)
                        : pp_storage_stat(s->inner, inner_of(dir, &in), name, attempt, out, err);
}

pp_status pp_storage_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                          struct pp_err *err)
{
    struct pp_open how = *o;
    struct pp_object in;
    pp_status st;
    *out = (struct pp_object){.storage = s};
    if (s->ops->open) {
        st = s->ops->open(s, o, out, err);
    } else {
        how.dir = inner_of(o->dir, &in);
        st = pp_storage_open(s->inner, &how, out, err);
        out->storage = s;
    }
    if (st != PP_OK)
        *out = (struct pp_object){0};
    return st;
}

pp_status pp_storage_match(const struct pp_storage *s, const char *pattern, pp_entry_fn *each, void *ctx,
                           struct pp_err *err)
{
    if (s->ops->match)
        return s->ops->match(s, pattern, each, ctx, err);
    if (s->inner)
        return pp_storage_match(s->inner, pattern, each, ctx, err);
    return pp_fail(err, PP_E_UNSUPPORTED, "cannot list the files that match %s: %s has no patterns", pattern,
                   s->ops->name);
}

pp_status pp_object_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                         struct pp_err *err)
{
    struct pp_object in;
    *out = (struct pp_place_info){.kind = PP_PLACE_MISSING};
    return o->storage->ops->info ? o->storage->ops->info(o, name, out, err)
                                 : pp_object_info(inner_of(o, &in), name, out, err);
}

static void begin_read(struct pp_read *r)
{
    r->data = NULL;
    r->got = 0;
    r->cache_known = 0;
    r->cache_hit_bytes = 0;
    r->version = 0;
}

pp_status pp_object_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    begin_read(r);
    return o->storage->ops->read_at(o, r, err);
}

pp_status pp_object_borrow(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    begin_read(r);
    return o->storage->ops->borrow(o, r, err);
}

pp_status pp_object_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                         struct pp_err *err)
{
    const struct pp_storage *s = dir->storage;
    struct pp_object in;
    if (s->ops->list)
        return s->ops->list(dir, name, each, ctx, err);
    if (s->inner)
        return pp_object_list(inner_of(dir, &in), name, each, ctx, err);
    return pp_fail(err, PP_E_UNSUPPORTED, "cannot list %s: %s does not list", name, s->ops->name);
}

void pp_object_close(struct pp_object *o)
{
    if (o->storage && o->storage->ops->close) {
        o->storage->ops->close(o);
    } else if (o->storage) {
        struct pp_object in = pp_inner_object(o);
        pp_object_close(&in);
    }
    *o = (struct pp_object){0};
}

/* ---- whole objects ---- */

pp_status pp_read_reserve(struct pp_read *r, size_t size, struct pp_err *err)
{
    return pp_grow(&r->buf, &r->cap, size, 1)
               ? PP_OK
               : pp_fail(err, PP_E_NO_MEMORY, "cannot read %s: no memory for %zu bytes", r->name, size);
}

pp_status pp_storage_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                struct pp_err *err)
{
    struct pp_object o;
    struct pp_place_info info;
    begin_read(r);
    if (s->ops->read_whole)
        return s->ops->read_whole(s, dir, r, err);
    pp_status st = pp_storage_open(s, &(struct pp_open){.dir = dir, .name = r->name, .attempt = "open"}, &o,
                                   err);
    if (st != PP_OK)
        return st;
    st = pp_object_info(&o, r->name, &info, err);
    if (st == PP_OK && info.kind != PP_PLACE_OBJECT) {
        st = pp_fail(err, PP_E_UNSUPPORTED, "cannot read %s: it is not an object", r->name);
    } else if (st == PP_OK && info.size == PP_SIZE_UNKNOWN) { /* to its end */
        struct pp_read piece = *r;
        size_t got = 0;
        do {
            st = r->limit && got + 4096 > r->limit ? pp_read_fail_limit(r, got + 4096, err)
                                                   : pp_read_reserve(r, got + 4096, err);
            if (st != PP_OK)
                break;
            piece.offset = got;
            piece.size = piece.cap = r->cap - got;
            piece.buf = r->buf + got;
            st = pp_object_read_at(&o, &piece, err);
            got += st == PP_OK ? piece.got : 0;
        } while (st == PP_OK && piece.got == piece.size);
        r->data = r->buf;
        r->got = st == PP_OK ? got : 0;
    } else if (st == PP_OK && r->limit && info.size > r->limit) {
        st = pp_read_fail_limit(r, info.size, err);
    } else if (st == PP_OK && (st = pp_read_reserve(r, (size_t)info.size, err)) == PP_OK) {
        r->offset = 0;
        r->size = (size_t)info.size;
        st = pp_object_read_at(&o, r, err);
    }
    pp_object_close(&o);
    return st;
}

pp_status pp_inner_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                              struct pp_err *err)
{
    struct pp_object in;
    return pp_storage_read_whole(s->inner, inner_of(dir, &in), r, err);
}

pp_status pp_read_fail_limit(const struct pp_read *r, uint64_t size, struct pp_err *err)
{
    char what[320];
    snprintf(what, sizeof(what), "cannot read %s%s%s", r->part ? r->part : "", r->part ? " in " : "",
             r->name);
    return pp_fail_sample_memory(err, what, size, r->limit);
}
