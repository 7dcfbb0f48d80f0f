#include "report/build/decode.h"

#include <math.h>
#include <stdio.h>

/* Kinds of images that a recording may tell of: in its keys, and as people write them. */
static const struct {
    const char *key, *name;
} samplings[] = {{"444", "4:4:4"}, {"422", "4:2:2"}, {"420", "4:2:0"},
                 {"440", "4:4:0"}, {"gray", "gray"}, {"other", "other"}};
enum { SAMPLINGS = sizeof(samplings) / sizeof(samplings[0]) };

static double number(const struct pp_source *s, const char *key)
{
    double v;
    return s->meta_num(s->ctx, "decode", key, &v) ? v : NAN;
}

static const char *text(const struct pp_source *s, struct pp_arena *arena, const char *key)
{
    const char *value = s->meta(s->ctx, "decode", key);
    return value && value[0] ? pp_arena_copy(arena, value) : NULL;
}

static double difference(const struct pp_source *s, const char *kind, const char *what)
{
    char key[48];
    snprintf(key, sizeof(key), "difference_%s_%s", kind, what);
    return number(s, key);
}

static void read_differences(const struct pp_source *s, struct pp_report_decode *d)
{
    for (int i = 0; i < SAMPLINGS; i++) {
        double images = difference(s, samplings[i].key, "images");
        if (images >= 1 && images < 1e15)
            d->differences[d->n_differences++] = (struct pp_report_difference){
                .sampling = samplings[i].name,
                .images = (uint64_t)images,
                .mean = difference(s, samplings[i].key, "mean"),
                .largest = difference(s, samplings[i].key, "max"),
            };
    }
}

const struct pp_report_decode *pp_decode_read(const struct pp_source *source,
                                              const struct pp_timeline *timeline, struct pp_arena *arena)
{
    static const char *const parts[] = {[PP_PART_WHOLE] = NULL,
                                        [PP_PART_SETTING] = NULL,
                                        [PP_PART_BEFORE] = "before",
                                        [PP_PART_AFTER] = "after"};
    if (!source->meta(source->ctx, "decode", "backend"))
        return NULL;
    struct pp_report_decode *d = pp_arena_alloc(arena, sizeof(*d));
    struct pp_report_difference *rows = pp_arena_alloc(arena, SAMPLINGS * sizeof(*rows));
    if (!d || !rows)
        return NULL;
    *d = (struct pp_report_decode){.library = text(source, arena, "library"),
                                   .backend = text(source, arena, "backend"),
                                   .engines = number(source, "engines"),
                                   .cores = number(source, "cores"),
                                   .images = number(source, "images"),
                                   .regions = number(source, "regions"),
                                   .too_large = number(source, "too_large"),
                                   .refused = number(source, "refused"),
                                   .passed_over = text(source, arena, "passed_over"),
                                   .gave_up = text(source, arena, "gave_up"),
                                   .lost = text(source, arena, "lost"),
                                   .judged_part = timeline->has_steady_state ? parts[timeline->part] : NULL,
                                   .difference_mean = number(source, "difference_mean"),
                                   .difference_max = number(source, "difference_max"),
                                   .differences = rows};
    read_differences(source, d);
    return d;
}
