/* Synthetic samples: images made at open and handed out as if they had been read, with a stated latency. SPEC
 * is key=value,...
 *
 * They lie in a storage of their own, so that what is done to reads (injected faults) is done to these. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/synthetic_image.h"
#include "probe/storage/fault.h"
#include "probe/storage/model.h"

#include <malloc.h>

enum { MAX_SIDE = 16384, MAX_UNIQUE = 65536, JITTER_STREAM = 7 };

struct spec {
    uint64_t n, unique, classes, seed, quality, read_ns;
    double jitter; /* share of read_ns by which a read's latency varies either way */
    int width[2], height[2];
    enum pp_synthetic_format format;
};

/* ---- the storage: object number i is sample i ---- */

struct made {
    struct pp_storage base;
    struct spec spec;
    struct {
        uint8_t *data;
        size_t size;
    } * image; /* spec.unique of them */
};

struct synthetic {
    struct pp_dataset base;
    const struct made *made; /* base.storage, or what that wraps */
};

static pp_status made_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    const struct made *m = (const struct made *)o->storage;
    const struct spec *s = &m->spec;
    uint64_t index = (uint64_t)o->handle, start = s->read_ns ? pp_now_ns() : 0;
    memcpy(r->buf, m->image[index % s->unique].data, r->size);
    r->data = r->buf;
    r->got = r->size;
    r->cache_known = 1; /* a stated latency stands for storage; without one the bytes are in memory */
    r->cache_hit_bytes = s->read_ns ? 0 : r->size;
    if (s->read_ns) {
        struct pp_rng rng = pp_rng_key(s->seed, 0, index, JITTER_STREAM);
        double latency_ns = (double)s->read_ns * (1 + s->jitter * (pp_rng_unit(&rng) * 2 - 1));
        pp_sleep_until_ns(start + (uint64_t)latency_ns);
    }
    return PP_OK;
}

static void made_detach(struct pp_storage *s)
{
    struct made *m = (struct made *)s;
    for (uint64_t i = 0; m->image && i < m->spec.unique; i++)
        free(m->image[i].data);
    free(m->image);
    free(m);
}

static const struct pp_storage_ops made_ops = {
    .name = "synthetic",
    .help = "images made at open",
    .detach = made_detach,
    .read_at = made_read_at,
};

/* ---- the data set ---- */

static int64_t synthetic_label(const struct pp_dataset *d, uint64_t index)
{
    return (int64_t)(index % ((const struct synthetic *)d)->made->spec.classes);
}

static pp_status synthetic_read(const struct pp_dataset *d, uint64_t index,
                                const struct pp_read_context *context, struct pp_sample *s,
                                struct pp_err *err)
{
    const struct made *m = ((const struct synthetic *)d)->made;
    const struct pp_object o = {.storage = d->storage, .handle = (int64_t)index};
    size_t size = m->image[index % m->spec.unique].size;
    pp_status st = pp_sample_reserve(s, size, "a synthetic image", err);
    if (st != PP_OK)
        return st;
    struct pp_read r = {.name = "synthetic", .size = size, .context = context, .buf = s->buf, .cap = s->cap};
    st = pp_object_read_at(&o, &r, err);
    s->size = st == PP_OK ? r.got : 0;
    s->label = synthetic_label(d, index);
    s->cache_known = r.cache_known;
    s->cache_hit_bytes = r.cache_hit_bytes;
    return st;
}

static void synthetic_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    snprintf(buf, size, "synthetic:%llu", (unsigned long long)index);
}

static void synthetic_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct made *y = ((const struct synthetic *)d)->made;
    const struct spec *s = &y->spec;
    uint64_t bytes = 0;
    char n[32], mean[32], range[64] = "";
    for (uint64_t i = 0; i < s->unique; i++)
        bytes += y->image[i].size;
    pp_text_count(n, sizeof(n), (double)d->len);
    pp_text_bytes(mean, sizeof(mean), (double)bytes / (double)s->unique);
    if (s->width[0] != s->width[1] || s->height[0] != s->height[1])
        snprintf(range, sizeof(range), " to %dx%d", s->width[1], s->height[1]);
    snprintf(buf, size, "synthetic, %s %s sample%s of %dx%d%s (%llu different, %s on average)", n,
             s->format == PP_SYNTHETIC_PNG ? "PNG" : "JPEG", d->len == 1 ? "" : "s", s->width[0],
             s->height[0], range, (unsigned long long)s->unique, mean);
}

static uint64_t synthetic_footprint(const struct pp_dataset *d)
{
    const struct made *y = ((const struct synthetic *)d)->made;
    uint64_t bytes = sizeof(struct synthetic) + sizeof(*y) + malloc_usable_size(y->image);
    for (uint64_t i = 0; i < y->spec.unique; i++)
        bytes += malloc_usable_size(y->image[i].data);
    return bytes;
}

static const struct pp_dataset_ops synthetic_ops = {
    .read = synthetic_read,
    .path = synthetic_path,
    .label = synthetic_label,
    .describe = synthetic_describe,
    .footprint = synthetic_footprint,
};

/* ---- the SPEC ---- */

#define NUMBER(member, least, most) .offset = offsetof(struct spec, member), .min = least, .max = most
static const struct key {
    const char *name, *wants;
    enum { A_NUMBER, A_SIZE, A_FORMAT, A_TIME, A_SHARE } kind; /* A_NUMBER: whole, to offset */
    size_t offset;
    int64_t min, max;
} keys[] = {
    {"n", "a number of samples from 1 to 2^40, such as 10k", NUMBER(n, 1, INT64_C(1) << 40)},
    {"size", "WIDTHxHEIGHT or WIDTHxHEIGHT..WIDTHxHEIGHT with sides from 1 to 16384, such as 500x375",
     .kind = A_SIZE},
    {"unique", "a number of different images from 1 to 65536", NUMBER(unique, 1, MAX_UNIQUE)},
    {"quality", "a JPEG quality from 1 to 100", NUMBER(quality, 1, 100)},
    {"format", "jpeg or png", .kind = A_FORMAT},
    {"read", "the time a read takes, up to 60s, such as 2ms", .kind = A_TIME},
    {"jitter", "the spread of the read time, a share from 0 to 1", .kind = A_SHARE},
    {"classes", "a number of labels from 1 to 2^40", NUMBER(classes, 1, INT64_C(1) << 40)},
    {"seed", "a number from 0 to 2^63-1", NUMBER(seed, 0, INT64_MAX)},
};
enum { KEYS = sizeof(keys) / sizeof(*keys) };

/* 0: text is no such value. */
static int set_value(struct spec *s, const struct key *k, const char *text)
{
    int64_t number;
    int parts, used = 0, is_png = strcmp(text, "png") == 0;
    switch (k->kind) {
    case A_SIZE: /* "500x375" or "100x100..1000x800" */
        parts = sscanf(text, "%5dx%5d%n..%5dx%5d%n", &s->width[0], &s->height[0], &used, &s->width[1],
                       &s->height[1], &used);
        if ((parts != 2 && parts != 4) || text[used] != '\0')
            return 0;
        if (parts == 2) {
            s->width[1] = s->width[0];
            s->height[1] = s->height[0];
        }
        for (int i = 0; i < 2; i++)
            if (s->width[i] < 1 || s->width[i] > MAX_SIDE || s->height[i] < 1 || s->height[i] > MAX_SIDE)
                return 0;
        return 1;
    case A_FORMAT:
        s->format = is_png ? PP_SYNTHETIC_PNG : PP_SYNTHETIC_JPEG;
        return is_png || strcmp(text, "jpeg") == 0;
    case A_TIME:
        return pp_parse_duration(text, &s->read_ns) == PP_OK && s->read_ns <= 60 * UINT64_C(1000000000);
    case A_SHARE: return pp_parse_double(text, &s->jitter) == PP_OK && s->jitter >= 0 && s->jitter <= 1;
    case A_NUMBER: break;
    }
    if (pp_parse_int(text, &number) != PP_OK || number < k->min || number > k->max)
        return 0;
    *(uint64_t *)((char *)s + k->offset) = (uint64_t)number;
    return 1;
}

static pp_status parse_spec(struct spec *spec, const char *text, struct pp_err *err)
{
    pp_status st = PP_OK;
    char *copy = strdup(text), *rest = copy, *item;
    *spec = (struct spec){
        .n = 10000, .unique = 64, .classes = 1000, .quality = 90, .width = {500, 500}, .height = {375, 375}};
    if (!copy)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read the synthetic spec");
    while (st == PP_OK && (item = strsep(&rest, ",")) != NULL) {
        if (!item[0])
            continue;
        char *value = strchr(item, '=');
        const struct key *k = keys;
        if (value)
            *value++ = '\0';
        while (k < keys + KEYS && strcmp(k->name, item) != 0)
            k++;
        if (k == keys + KEYS) {
            const char *names[KEYS + 1] = {0};
            char all[128] = "";
            for (size_t i = 0; i < KEYS; i++) {
                names[i] = keys[i].name;
                pp_text_add(all, sizeof(all), "%s%s", i ? " " : "", keys[i].name);
            }
            const char *near = pp_nearest(item, names);
            st = pp_fail(err, PP_E_USAGE, "the synthetic spec has no key \"%s\"%s%s%s (keys: %s)", item,
                         near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "", all);
            break;
        }
        if (!value || !set_value(spec, k, value))
            st = pp_fail(err, PP_E_USAGE, "synthetic spec: %s must be %s, not \"%s\"", item, k->wants,
                         value ? value : "");
    }
    free(copy);
    if (spec->unique > spec->n)
        spec->unique = spec->n;
    return st;
}

/* ---- open ---- */

/* From the smaller to the larger size in equal ratios, so that 100x in area means as many images below 10x as
 * above. */
static int side_of(const int from_to[2], double share)
{
    int side = (int)lround(from_to[0] * pow((double)from_to[1] / from_to[0], share));
    return side < 1 ? 1 : side > MAX_SIDE ? MAX_SIDE : side;
}

static pp_status make_image(void *ctx, uint64_t i, struct pp_err *err)
{
    struct made *y = ctx;
    const struct spec *s = &y->spec;
    struct pp_rng rng = pp_rng_key(s->seed, 0, i, 0);
    double share = pp_rng_unit(&rng);
    const struct pp_synthetic_spec image = {.width = side_of(s->width, share),
                                            .height = side_of(s->height, share),
                                            .format = s->format,
                                            .quality = (int)s->quality,
                                            .seed = pp_rng_next(&rng)};
    return pp_synthetic_image(&image, &y->image[i].data, &y->image[i].size, err);
}

static pp_status synthetic_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    struct spec spec;
    pp_status st = parse_spec(&spec, place->spec, err);
    if (st != PP_OK)
        return st;
    struct synthetic *y = calloc(1, sizeof(*y));
    struct made *m = calloc(1, sizeof(*m));
    if (!y || !m) {
        free(y);
        free(m);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the synthetic dataset");
    }
    m->base.ops = &made_ops;
    m->base.flags = PP_STORAGE_PAGE_CACHE;
    m->spec = spec;
    m->image = calloc(spec.unique, sizeof(*m->image));
    y->base.ops = &synthetic_ops;
    *out = &y->base;
    y->base.len = spec.n;
    y->base.storage = &m->base;
    y->made = m;
    const struct pp_each each = {.n = spec.unique,
                                 .piece = make_image,
                                 .ctx = m,
                                 .opts = place->opts,
                                 .what = "making synthetic images"};
    st = m->image ? pp_each_run(&each, err)
                  : pp_fail(err, PP_E_NO_MEMORY, "no memory for %llu synthetic images",
                            (unsigned long long)spec.unique);
    if (st == PP_OK)
        st = pp_storage_wrap_model(&m->base, place->opts->model, &y->base.storage, err);
    if (st == PP_OK)
        st = pp_storage_wrap_faults(y->base.storage, place->opts->read_faults, &y->base.storage, err);
    return st;
}

/* ---- options ---- */

/* clang-format off */
static const struct pp_opt synthetic_opts[] = {
    {.name = "synthetic", .type = PP_OPT_STRING, .offset = offsetof(struct pp_dataset_options, synthetic), .arg = "SPEC", .group = "Data",
     .help = "generated images instead of DATASET: n=10000,size=500x375,read=2ms"},
    {.name = NULL},
};
/* clang-format on */

const struct pp_dataset_format pp_format_synthetic = {
    .name = "synthetic",
    .help = "made-up images",
    .no_place = 1,
    .open = synthetic_open,
    .opts = synthetic_opts,
};
