#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "probe/base/text.h"
#include "probe/transform/transform_internal.h"

#include <stdarg.h>

#define TRAIN_EXAMPLE "rrc:224,hflip,normalize=imagenet"
#define EVAL_EXAMPLE "resize:256,center:224,normalize=imagenet"

/* One step of the spec, "rrc:224:scale=0.1-1"; rest is what follows the name. */
struct step {
    const char *text; /* for messages */
    char *rest;
};

typedef pp_status parse_step(struct pp_transform *t, struct step s, struct pp_err *err);

static pp_status bad(struct pp_err *err, struct step s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static pp_status bad(struct pp_err *err, struct step s, const char *fmt, ...)
{
    char why[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    return pp_fail(err, PP_E_USAGE, "transform step \"%.60s\": %s", s.text, why);
}

/* "224" or "224x320" (height x width, as torchvision orders a pair); *end is what follows. */
static int read_size(const char *text, int *height, int *width, int *is_pair, const char **end)
{
    char *after;
    if (*text < '0' || *text > '9')
        return -1;
    long h = strtol(text, &after, 10), w = h;
    *is_pair = *after == 'x';
    if (*is_pair) {
        if (after[1] < '0' || after[1] > '9')
            return -1;
        w = strtol(after + 1, &after, 10);
    }
    if (h < 1 || w < 1 || h > PP_TRANSFORM_MAX_SIZE || w > PP_TRANSFORM_MAX_SIZE)
        return -1;
    *height = (int)h;
    *width = (int)w;
    *end = after;
    return 0;
}

/* A finite number or a fraction of two, "0.75" or "3/4". */
static int read_number(const char **text, double *out)
{
    char *after;
    *out = strtod(*text, &after);
    if (after == *text)
        return -1;
    if (*after == '/') {
        const char *below = after + 1;
        double divisor = strtod(below, &after);
        if (after == below)
            return -1;
        *out /= divisor;
    }
    *text = after;
    return isfinite(*out) ? 0 : -1;
}

/* "a-b" up to the end of text. */
static int read_range(const char *text, double range[2])
{
    if (read_number(&text, &range[0]) != 0 || *text++ != '-' || read_number(&text, &range[1]) != 0 || *text)
        return -1;
    return range[0] > 0 && range[0] <= range[1] ? 0 : -1;
}

static pp_status parse_rrc(struct pp_transform *t, struct step s, struct pp_err *err)
{
    int pair;
    const char *end;
    if (t->resize != PP_RESIZE_NONE || t->has_center)
        return bad(err, s, "rrc must come first, once, and without resize: " TRAIN_EXAMPLE);
    char *options = strchr(s.rest, ':');
    if (options)
        *options++ = '\0';
    if (read_size(s.rest, &t->resize_height, &t->resize_width, &pair, &end) != 0 || *end)
        return bad(err, s, "\"%s\" is not a size; rrc:SIZE or rrc:HxW with 1 to %d, as in rrc:224", s.rest,
                   PP_TRANSFORM_MAX_SIZE);
    t->resize = PP_RESIZE_RANDOM_CROP;
    while (options) {
        char *option = options;
        options = strchr(option, ':');
        if (options)
            *options++ = '\0';
        if (strncmp(option, "scale=", 6) == 0) {
            if (read_range(option + 6, t->scale) != 0 || t->scale[1] > 1)
                return bad(err, s, "\"%s\" is not a range of area shares in (0, 1]; as in scale=0.08-1",
                           option);
        } else if (strncmp(option, "ratio=", 6) == 0) {
            if (read_range(option + 6, t->ratio) != 0)
                return bad(err, s, "\"%s\" is not a range of aspect ratios; as in ratio=3/4-4/3", option);
        } else {
            return bad(err, s, "\"%s\" is not an option of rrc; it takes scale=a-b and ratio=a-b", option);
        }
    }
    return PP_OK;
}

static pp_status parse_resize(struct pp_transform *t, struct step s, struct pp_err *err)
{
    int pair;
    const char *end;
    if (t->resize != PP_RESIZE_NONE || t->has_center)
        return bad(err, s, "resize must come first, once, before center, and without rrc: " EVAL_EXAMPLE);
    if (read_size(s.rest, &t->resize_height, &t->resize_width, &pair, &end) != 0 || *end)
        return bad(err, s, "\"%s\" is not a size; resize:SIZE (shorter side) or resize:HxW with 1 to %d",
                   s.rest, PP_TRANSFORM_MAX_SIZE);
    t->resize = pair ? PP_RESIZE_EXACT : PP_RESIZE_SHORTER;
    return PP_OK;
}

static pp_status parse_center(struct pp_transform *t, struct step s, struct pp_err *err)
{
    int pair;
    const char *end;
    if (t->has_center)
        return bad(err, s, "center is given twice; once is enough");
    if (read_size(s.rest, &t->center_height, &t->center_width, &pair, &end) != 0 || *end)
        return bad(err, s, "\"%s\" is not a size; center:SIZE or center:HxW with 1 to %d, as in center:224",
                   s.rest, PP_TRANSFORM_MAX_SIZE);
    t->has_center = 1;
    t->flip_before_center = t->has_flip;
    return PP_OK;
}

static pp_status parse_hflip(struct pp_transform *t, struct step s, struct pp_err *err)
{
    const char *p = s.rest;
    if (t->has_flip)
        return bad(err, s, "hflip is given twice; once is enough");
    t->has_flip = 1;
    t->flip_p = 0.5;
    if (*p && (read_number(&p, &t->flip_p) != 0 || *p || t->flip_p < 0 || t->flip_p > 1))
        return bad(err, s, "\"%s\" is not a probability; hflip or hflip:P with P from 0 to 1", s.rest);
    return PP_OK;
}

static const double imagenet_mean[3] = {0.485, 0.456, 0.406}, imagenet_std[3] = {0.229, 0.224, 0.225};

/* Custom statistics separate means and standard deviations by a slash, so fractions are not read here. */
static int read_statistics(char *text, double mean[3], double std[3])
{
    char *slash = strchr(text, '/');
    const char *at = text;
    if (!slash)
        return -1;
    *slash = '\0';
    int wrong = 0;
    for (int i = 0; i < 6 && !wrong; i++) {
        if (i)
            wrong = i == 3 ? at++ != slash : *at++ != ',';
        wrong = wrong || read_number(&at, i < 3 ? &mean[i] : &std[i - 3]) != 0;
    }
    wrong = wrong || *at;
    *slash = '/';
    return wrong || !(std[0] > 0 && std[1] > 0 && std[2] > 0) ? -1 : 0;
}

static pp_status parse_normalize(struct pp_transform *t, struct step s, struct pp_err *err)
{
    if (strcmp(s.rest, "imagenet") == 0) {
        t->normalize = PP_NORMALIZE_IMAGENET;
        memcpy(t->mean, imagenet_mean, sizeof(t->mean));
        memcpy(t->std, imagenet_std, sizeof(t->std));
    } else if (strcmp(s.rest, "none") == 0) {
        t->normalize = PP_NORMALIZE_NONE;
    } else if (read_statistics(s.rest, t->mean, t->std) == 0) {
        t->normalize = PP_NORMALIZE_CUSTOM;
    } else {
        return bad(
            err, s,
            "normalize takes imagenet, none, or m,m,m/s,s,s with every s above 0, as in normalize=0.5,0.5,0.5/0.5,0.5,0.5, and comes last");
    }
    if (t->normalize != PP_NORMALIZE_NONE && t->dtype == PP_DTYPE_U8)
        return bad(
            err, s,
            "u8 output is not normalised; use normalize=none and normalise on the device, or --dtype f32 or f16");
    return PP_OK;
}

static const struct {
    const char *name;
    char separator; /* between name and arguments */
    int needs_arguments;
    const char *example;
    parse_step *parse;
} steps[] = {
    {"rrc", ':', 1, "rrc:224", parse_rrc},
    {"resize", ':', 1, "resize:256", parse_resize},
    {"center", ':', 1, "center:224", parse_center},
    {"hflip", ':', 0, "hflip, or hflip:0.5", parse_hflip},
    {"normalize", '=', 1, "normalize=imagenet", parse_normalize},
};
enum { N_STEPS = sizeof(steps) / sizeof(steps[0]) };

/* Splits at commas; normalize takes all the rest, for its numbers have commas too. */
static pp_status parse_steps(struct pp_transform *t, char *spec, struct pp_err *err)
{
    while (spec) {
        char *text = spec, shown[128], name[32];
        spec = strncmp(text, "normalize", 9) == 0 ? NULL : strchr(text, ',');
        if (spec)
            *spec++ = '\0';
        size_t length = strcspn(text, ":=");
        struct step s = {.text = shown};
        snprintf(shown, sizeof(shown), "%s", text);
        int i = 0;
        while (i < N_STEPS && (strlen(steps[i].name) != length || strncmp(text, steps[i].name, length) != 0))
            i++;
        if (i < N_STEPS) {
            if (text[length] ? text[length] != steps[i].separator : steps[i].needs_arguments)
                return bad(err, s, "%s is written %s", steps[i].name, steps[i].example);
            s.rest = text + length + (text[length] ? 1 : 0);
            pp_status status = steps[i].parse(t, s, err);
            if (status != PP_OK)
                return status;
            continue;
        }
        const char *names[N_STEPS + 1] = {NULL};
        snprintf(name, sizeof(name), "%.*s", (int)length, s.text);
        for (i = 0; i < N_STEPS; i++)
            names[i] = steps[i].name;
        const char *near = pp_nearest(name, names);
        if (near)
            return bad(err, s, "unknown step \"%s\"; did you mean %s?", name, near);
        return bad(
            err, s,
            "unknown step \"%s\"; steps are rrc:SIZE, resize:SIZE, center:SIZE, hflip[:P], normalize=...",
            name);
    }
    return PP_OK;
}

#define append(t, ...) pp_text_add((t)->text, sizeof((t)->text), __VA_ARGS__)

static void append_number(struct pp_transform *t, const char *before, double v)
{
    char number[40];
    append(t, "%s%s", before, pp_text_exact(number, sizeof(number), v));
}

/* As number, but 4/3 reads better than 1.3333333333333333. */
static void append_ratio(struct pp_transform *t, const char *before, double v)
{
    for (int below = 3; below <= 16; below++)
        for (int above = 1; above <= 32; above++)
            if ((double)above / below == v && floor(v * 100) != v * 100) {
                append(t, "%s%d/%d", before, above, below);
                return;
            }
    append_number(t, before, v);
}

static void append_size(struct pp_transform *t, const char *name, int height, int width, int pair)
{
    append(t, pair || height != width ? "%s%s:%dx%d" : "%s%s:%d", t->text[0] ? "," : "", name, height, width);
}

static void append_flip(struct pp_transform *t)
{
    append(t, "%shflip", t->text[0] ? "," : "");
    append_number(t, ":", t->flip_p);
}

static void write_text(struct pp_transform *t)
{
    if (t->resize == PP_RESIZE_RANDOM_CROP) {
        append_size(t, "rrc", t->resize_height, t->resize_width, 0);
        append_number(t, ":scale=", t->scale[0]);
        append_number(t, "-", t->scale[1]);
        append_ratio(t, ":ratio=", t->ratio[0]);
        append_ratio(t, "-", t->ratio[1]);
    } else if (t->resize != PP_RESIZE_NONE) {
        append_size(t, "resize", t->resize_height, t->resize_width, t->resize == PP_RESIZE_EXACT);
    }
    if (t->has_flip && t->flip_before_center)
        append_flip(t);
    if (t->has_center)
        append_size(t, "center", t->center_height, t->center_width, 0);
    if (t->has_flip && !t->flip_before_center)
        append_flip(t);
    if (t->normalize == PP_NORMALIZE_CUSTOM) {
        for (int i = 0; i < 6; i++)
            append_number(t, i == 0 ? ",normalize=" : i == 3 ? "/" : ",", i < 3 ? t->mean[i] : t->std[i - 3]);
    } else {
        append(t, ",normalize=%s", t->normalize == PP_NORMALIZE_IMAGENET ? "imagenet" : "none");
    }
}

pp_status pp_transform_parse(const char *spec, enum pp_dtype dtype, struct pp_transform **out,
                             struct pp_err *err)
{
    pp_status status = PP_OK;
    struct pp_transform *t = calloc(1, sizeof(*t));
    char *copy = strdup(spec);
    if (!t || !copy) {
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the transform");
        goto out;
    }
    t->dtype = dtype;
    t->scale[0] = 0.08, t->scale[1] = 1.0;
    t->ratio[0] = 3.0 / 4.0, t->ratio[1] = 4.0 / 3.0;
    status = parse_steps(t, copy, err);
    if (status == PP_OK && !t->has_center && t->resize == PP_RESIZE_NONE)
        status = pp_fail(
            err, PP_E_USAGE,
            "transform \"%.100s\" has no size: begin with rrc:SIZE, resize:HxW or resize:SIZE,center:SIZE",
            spec);
    else if (status == PP_OK && !t->has_center && t->resize == PP_RESIZE_SHORTER)
        status = pp_fail(
            err, PP_E_USAGE,
            "transform \"%.100s\": resize:%d keeps the aspect ratio, so samples of a batch would differ in size; add center:%d or write resize:%dx%d",
            spec, t->resize_width, t->resize_width, t->resize_height, t->resize_width);
    if (status != PP_OK)
        goto out;
    t->height = t->has_center ? t->center_height : t->resize_height;
    t->width = t->has_center ? t->center_width : t->resize_width;
    /* torchvision: to_tensor divides by 255, normalize subtracts and divides, each rounded to float32. f16
     * rounds that once more, to nearest even. */
    for (int c = 0; c < 3; c++) {
        for (int v = 0; v < 256; v++) {
            float x = (float)v / 255.0f;
            if (t->normalize != PP_NORMALIZE_NONE)
                x = (x - (float)t->mean[c]) / (float)t->std[c];
            _Float16 half = (_Float16)x;
            t->value_f32[c][v] = x;
            memcpy(&t->value_f16[c][v], &half, sizeof(half));
        }
    }
    t->simd_is_exact = pp_store_simd_is_exact(t);
    write_text(t);
    *out = t;
    t = NULL;
out:
    free(copy);
    pp_transform_destroy(t);
    return status;
}

pp_status pp_transform_until_normalize(const struct pp_transform *t, struct pp_transform **out,
                                       struct pp_err *err)
{
    struct pp_transform *u = malloc(sizeof(*u));
    if (!u)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the transform");
    *u = *t;
    u->dtype = PP_DTYPE_U8;
    u->normalize = PP_NORMALIZE_NONE;
    u->text[0] = '\0';
    write_text(u);
    *out = u;
    return PP_OK;
}

const void *pp_transform_values(const struct pp_transform *t)
{
    return t->dtype == PP_DTYPE_F16 ? (const void *)t->value_f16 : t->value_f32;
}

void pp_transform_destroy(struct pp_transform *t)
{
    free(t);
}
