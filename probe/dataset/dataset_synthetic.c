/* Synthetic samples: images made at open and handed out as if they had been read, with a stated latency. SPEC
 * is key=value,... */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "probe/base/rng.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_each.h"
#include "probe/dataset/dataset_ops.h"
#include "probe/dataset/synthetic_image.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 16384, MAX_UNIQUE = 65536, JITTER_STREAM = 7 };

struct spec {
    uint64_t n, unique, classes, seed, read_ns;
    double jitter; /* share of read_ns by which a read's latency varies either way */
    int width[2], height[2], quality;
    enum pp_synthetic_format format;
};

struct synthetic {
    struct pp_dataset base;
    struct spec spec;
    struct {
        uint8_t *data;
        size_t size;
    } * image; /* spec.unique of them */
};

static struct synthetic *synthetic_of(const struct pp_dataset *d)
{
    return (struct synthetic *)d;
}

static uint64_t latency_of(const struct spec *spec, uint64_t index)
{
    struct pp_rng rng = pp_rng_key(spec->seed, 0, index, JITTER_STREAM);
    return (uint64_t)((double)spec->read_ns * (1 + spec->jitter * (pp_rng_unit(&rng) * 2 - 1)));
}

static pp_status synthetic_read(const struct pp_dataset *d, uint64_t index, struct pp_sample *s,
                                struct pp_err *err)
{
    const struct synthetic *y = synthetic_of(d);
    uint64_t which = index % y->spec.unique, start = y->spec.read_ns ? pp_now_ns() : 0;
    pp_status st = pp_sample_reserve(s, y->image[which].size, err);
    if (st != PP_OK)
        return st;
    memcpy(s->buf, y->image[which].data, y->image[which].size);
    s->size = y->image[which].size;
    s->label = (int64_t)(index % y->spec.classes);
    s->cache_known = 1; /* a stated latency stands for storage; without one the bytes are in memory */
    s->cache_hit_bytes = y->spec.read_ns ? 0 : s->size;
    if (y->spec.read_ns)
        pp_sleep_until_ns(start + latency_of(&y->spec, index));
    return PP_OK;
}

static void synthetic_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    snprintf(buf, size, "synthetic:%llu", (unsigned long long)index);
}

static uint64_t encoded_bytes(const struct synthetic *y)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < y->spec.unique; i++)
        bytes += y->image[i].size;
    return bytes;
}

static void synthetic_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct synthetic *y = synthetic_of(d);
    const struct spec *s = &y->spec;
    char n[32], mean[32], range[64] = "";
    pp_text_count(n, sizeof(n), (double)d->len);
    pp_text_bytes(mean, sizeof(mean), (double)encoded_bytes(y) / (double)s->unique);
    if (s->width[0] != s->width[1] || s->height[0] != s->height[1])
        snprintf(range, sizeof(range), " to %dx%d", s->width[1], s->height[1]);
    snprintf(buf, size, "synthetic, %s %s sample%s of %dx%d%s (%llu different, %s on average)", n,
             s->format == PP_SYNTHETIC_PNG ? "PNG" : "JPEG", d->len == 1 ? "" : "s", s->width[0],
             s->height[0], range, (unsigned long long)s->unique, mean);
}

static uint64_t synthetic_footprint(const struct pp_dataset *d)
{
    const struct synthetic *y = synthetic_of(d);
    uint64_t bytes = sizeof(*y) + malloc_usable_size(y->image);
    for (uint64_t i = 0; i < y->spec.unique; i++)
        bytes += malloc_usable_size(y->image[i].data);
    return bytes;
}

static void synthetic_close(struct pp_dataset *d)
{
    struct synthetic *y = synthetic_of(d);
    for (uint64_t i = 0; y->image && i < y->spec.unique; i++)
        free(y->image[i].data);
    free(y->image);
}

static const struct pp_dataset_ops synthetic_ops = {
    .kind = PP_DATASET_SYNTHETIC,
    .content = PP_CONTENT_IMAGE,
    .sequential = 1,
    .read = synthetic_read,
    .path = synthetic_path,
    .describe = synthetic_describe,
    .footprint = synthetic_footprint,
    .close = synthetic_close,
};

/* ---- the SPEC ---- */

static int parse_in(const char *text, int64_t min, int64_t max, int64_t *out)
{
    return pp_parse_int(text, out) == PP_OK && *out >= min && *out <= max;
}

static int set_n(struct spec *s, const char *text)
{
    int64_t v;
    if (!parse_in(text, 1, INT64_C(1) << 40, &v))
        return 0;
    s->n = (uint64_t)v;
    return 1;
}

static int set_unique(struct spec *s, const char *text)
{
    int64_t v;
    if (!parse_in(text, 1, MAX_UNIQUE, &v))
        return 0;
    s->unique = (uint64_t)v;
    return 1;
}

static int set_classes(struct spec *s, const char *text)
{
    int64_t v;
    if (!parse_in(text, 1, INT64_C(1) << 40, &v))
        return 0;
    s->classes = (uint64_t)v;
    return 1;
}

static int set_seed(struct spec *s, const char *text)
{
    int64_t v;
    if (!parse_in(text, 0, INT64_MAX, &v))
        return 0;
    s->seed = (uint64_t)v;
    return 1;
}

static int set_quality(struct spec *s, const char *text)
{
    int64_t v;
    if (!parse_in(text, 1, 100, &v))
        return 0;
    s->quality = (int)v;
    return 1;
}

/* "500x375" or "100x100..1000x800" */
static int set_size(struct spec *s, const char *text)
{
    int used = 0;
    int parts = sscanf(text, "%5dx%5d%n..%5dx%5d%n", &s->width[0], &s->height[0], &used, &s->width[1],
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
}

static int set_format(struct spec *s, const char *text)
{
    s->format = strcmp(text, "png") == 0 ? PP_SYNTHETIC_PNG : PP_SYNTHETIC_JPEG;
    return strcmp(text, "png") == 0 || strcmp(text, "jpeg") == 0;
}

static int set_read(struct spec *s, const char *text)
{
    return pp_parse_duration(text, &s->read_ns) == PP_OK && s->read_ns <= 60 * UINT64_C(1000000000);
}

static int set_jitter(struct spec *s, const char *text)
{
    return pp_parse_double(text, &s->jitter) == PP_OK && s->jitter >= 0 && s->jitter <= 1;
}

static const struct key {
    const char *name;
    int (*set)(struct spec *s, const char *text); /* 0: not a value */
    const char *wants;
} keys[] = {
    {"n", set_n, "a number of samples from 1 to 2^40, such as 10k"},
    {"size", set_size,
     "WIDTHxHEIGHT or WIDTHxHEIGHT..WIDTHxHEIGHT with sides from 1 to 16384, such as 500x375"},
    {"unique", set_unique, "a number of different images from 1 to 65536"},
    {"quality", set_quality, "a JPEG quality from 1 to 100"},
    {"format", set_format, "jpeg or png"},
    {"read", set_read, "the time a read takes, up to 60s, such as 2ms"},
    {"jitter", set_jitter, "a share from 0 to 1 by which the time of a read varies"},
    {"classes", set_classes, "a number of labels from 1 to 2^40"},
    {"seed", set_seed, "a number from 0 to 2^63-1"},
};
enum { KEYS = sizeof(keys) / sizeof(*keys) };

static pp_status fail_unknown_key(const char *name, struct pp_err *err)
{
    const char *names[KEYS + 1] = {0};
    char all[128] = "";
    for (size_t i = 0; i < KEYS; i++) {
        names[i] = keys[i].name;
        size_t n = strlen(all);
        snprintf(all + n, sizeof(all) - n, "%s%s", i ? " " : "", keys[i].name);
    }
    const char *near = pp_nearest(name, names);
    if (near)
        return pp_fail(err, PP_E_USAGE,
                       "the synthetic spec has no key \"%s\"; did you mean \"%s\"? (keys: %s)", name, near,
                       all);
    return pp_fail(err, PP_E_USAGE, "the synthetic spec has no key \"%s\" (keys: %s)", name, all);
}

static pp_status set_key(struct spec *spec, char *item, struct pp_err *err)
{
    char *value = strchr(item, '=');
    if (value)
        *value++ = '\0';
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].name, item) != 0)
            continue;
        if (!value || !keys[i].set(spec, value))
            return pp_fail(err, PP_E_USAGE, "synthetic spec: %s wants %s, not \"%s\"", item, keys[i].wants,
                           value ? value : "");
        return PP_OK;
    }
    return fail_unknown_key(item, err);
}

static pp_status parse_spec(struct spec *spec, const char *text, struct pp_err *err)
{
    pp_status st = PP_OK;
    char *copy = strdup(text), *rest = copy, *item;
    *spec = (struct spec){
        .n = 10000, .unique = 64, .classes = 1000, .quality = 90, .width = {500, 500}, .height = {375, 375}};
    if (!copy)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read the synthetic spec");
    while (st == PP_OK && (item = strsep(&rest, ",")) != NULL)
        if (item[0])
            st = set_key(spec, item, err);
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
    struct synthetic *y = ctx;
    const struct spec *s = &y->spec;
    struct pp_rng rng = pp_rng_key(s->seed, 0, i, 0);
    double share = pp_rng_unit(&rng);
    const struct pp_synthetic_spec image = {.width = side_of(s->width, share),
                                            .height = side_of(s->height, share),
                                            .format = s->format,
                                            .quality = s->quality,
                                            .seed = pp_rng_next(&rng)};
    return pp_synthetic_image(&image, &y->image[i].data, &y->image[i].size, err);
}

pp_status pp_synthetic_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err)
{
    struct spec spec;
    *out = NULL;
    pp_status st = parse_spec(&spec, opts->spec, err);
    if (st != PP_OK)
        return st;
    struct synthetic *y = calloc(1, sizeof(*y));
    if (!y)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the synthetic dataset");
    y->base.ops = &synthetic_ops;
    y->base.len = spec.n;
    y->base.classes = spec.classes;
    y->spec = spec;
    y->image = calloc(spec.unique, sizeof(*y->image));
    const struct pp_each each = {.n = spec.unique,
                                 .threads = 8,
                                 .piece = make_image,
                                 .ctx = y,
                                 .opts = opts,
                                 .what = "making synthetic images"};
    st = y->image ? pp_each_run(&each, err)
                  : pp_fail(err, PP_E_NO_MEMORY, "no memory for %llu synthetic images",
                            (unsigned long long)spec.unique);
    if (st != PP_OK)
        pp_dataset_close(&y->base);
    else
        *out = &y->base;
    return st;
}
