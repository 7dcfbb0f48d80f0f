#include "probe/decode/decode.h"

#include "probe/base/err.h"

/* Libraries that a build may do without: the Makefile says what pkg-config found. */
#if PP_HAVE_WEBP
#define WEBP_NAME "a WebP image"
#else
#define WEBP_NAME "a WebP image, which needs libwebp (install libwebp-dev and build again)"
#endif

const struct pp_decode_ops *const pp_decode_rows[] = {&pp_decode_jpeg,   &pp_decode_png,
#if PP_HAVE_WEBP
                                                      &pp_decode_webp,
#endif
                                                      &pp_decode_tokens, &pp_decode_text, NULL};

void pp_decode_image_names(const char **names, size_t size)
{
    size_t n = 0;
    for (const struct pp_decode_ops *const *row = pp_decode_rows; *row && n + 1 < size; row++)
        if ((*row)->result == PP_DECODED_PIXELS && (*row)->content == PP_CONTENT_IMAGE)
            names[n++] = (*row)->name;
    names[n] = NULL;
}

struct pp_decoder {
    int exif_rotate;
    struct pp_image_budget budget;
    size_t encoded; /* bytes of the image last opened: part of what is held */
    struct pp_image_arena arena;
    struct pp_buffer pixels, rotated;
    struct pp_image_info info; /* of the image last opened */
    const struct codec *image; /* that opened it; NULL: none is open */
    size_t codecs;
    struct codec {
        const struct pp_decode_ops *ops;
        void *state;
    } codec[];
};

/* What no row decodes, by its signature: the sentence says what was found instead of an image. */
static const struct signature {
    uint8_t at, length;
    const char *bytes, *name;
} signatures[] = {
    {0, 4, "GIF8", "a GIF"},
    {8, 4, "WEBP", WEBP_NAME},
    {0, 2, "BM", "a BMP image"},
    {0, 4, "II*\0", "a TIFF image"},
    {0, 4, "MM\0*", "a TIFF image"},
    {4, 8, "ftypavif", "an AVIF image"},
    {4, 8, "ftypheic", "a HEIC image"},
    {4, 8, "ftypmif1", "a HEIF image"},
    {0, 4, "\0\0\1\0", "an ICO image"},
    {0, 8, "\0\0\0\x0cjP  ", "a JPEG 2000 image"},
    {0, 2, "\x1f\x8b", "a gzip file"},
    {0, 4, "PK\3\4", "a zip archive"},
    {0, 4, "%PDF", "a PDF document"},
    {0, 5, "<?xml", "an XML document"},
    {0, 4, "<svg", "an SVG image"},
    {0, 9, "<!DOCTYPE", "an HTML page (a failed download?)"},
    {0, 9, "<!doctype", "an HTML page (a failed download?)"},
    {0, 5, "<html", "an HTML page (a failed download?)"},
    {0, 5, "<HTML", "an HTML page (a failed download?)"},
    {0, 4, "\0\0\0\0", "a run of zero bytes (a hole left by an interrupted copy?)"},
};

enum accept {
    REFUSED,
    ACCEPTED,
    CUT /* the bytes end inside the signature: truncated, if no other row accepts them */
};

/* Of at least one byte. */
static enum accept accepts(const struct pp_decode_ops *ops, const struct pp_encoded *in)
{
    for (size_t i = 0; i < 2 && ops->signature[i].length; i++) {
        const struct pp_decode_signature *s = &ops->signature[i];
        size_t left = in->size > s->at ? in->size - s->at : 0;
        if (left && memcmp(in->data + s->at, s->bytes, left < s->length ? left : s->length) != 0)
            return REFUSED;
        if (left < s->length)
            return CUT;
    }
    return ACCEPTED;
}

static const struct codec *codec_of(const struct pp_decoder *d, const struct pp_encoded *in)
{
    for (size_t i = 0; i < d->codecs; i++) {
        const struct pp_decode_ops *ops = d->codec[i].ops;
        if (!ops->signature[0].length || (in->size && accepts(ops, in) == ACCEPTED))
            return &d->codec[i];
    }
    return NULL;
}

static pp_status fail_unknown(const struct pp_decoder *d, const struct pp_encoded *in, struct pp_err *err)
{
    char none[160] = "not decoded"; /* or "not JPEG", "neither JPEG nor PNG", "none of JPEG, PNG, WebP" */
    size_t n = 0;
    if (d->codecs == 2)
        snprintf(none, sizeof(none), "neither %s nor %s", d->codec[0].ops->name, d->codec[1].ops->name);
    else
        for (size_t i = 0; i < d->codecs && n < sizeof(none); i++)
            n += (size_t)snprintf(none + n, sizeof(none) - n, "%s%s",
                                  i                ? ", "
                                  : d->codecs == 1 ? "not "
                                                   : "none of ",
                                  d->codec[i].ops->name);
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
        const struct signature *s = &signatures[i];
        if (in->size >= (size_t)s->at + s->length && memcmp(in->data + s->at, s->bytes, s->length) == 0)
            return pp_fail(err, PP_E_UNSUPPORTED, "%s: it looks like %s", none, s->name);
    }
    for (size_t i = 0; i < d->codecs; i++) {
        const struct pp_decode_ops *ops = d->codec[i].ops;
        if (accepts(ops, in) == CUT)
            return pp_fail(err, PP_E_CORRUPT, "a %s of only %zu bytes: the file is truncated", ops->name,
                           in->size);
    }
    return pp_fail(err, PP_E_UNSUPPORTED, "%s: it starts with the byte%s 0x%02x 0x%02x", none,
                   in->size > 1 ? "s" : "", in->data[0], in->size > 1 ? in->data[1] : 0u);
}

pp_status pp_decoder_create(const struct pp_decoder_opts *opts, struct pp_decoder **out, struct pp_err *err)
{
    const struct pp_decode_ops *const *rows = opts->rows ? opts->rows : pp_decode_rows;
    pp_status status = PP_OK;
    size_t n = 0;
    for (size_t i = 0; rows[i]; i++)
        n += (size_t)(rows[i]->content == opts->content);
    size_t size = sizeof(struct pp_decoder) + n * sizeof(struct codec);
    struct pp_decoder *d = calloc(1, size);
    if (!d)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a decoder (%zu bytes)", size);
    d->exif_rotate = opts->exif_rotate;
    d->budget.limit = opts->memory_limit ? opts->memory_limit : PP_SAMPLE_MEMORY;
    d->arena.budget = d->pixels.budget = d->rotated.budget = &d->budget;
    for (size_t i = 0; rows[i] && status == PP_OK; i++) {
        if (rows[i]->content != opts->content)
            continue;
        struct codec *c = &d->codec[d->codecs++];
        c->ops = rows[i];
        if (c->ops->create)
            status = c->ops->create(&d->arena, &c->state, err);
        else if (c->ops->state_bytes && !(c->state = calloc(1, c->ops->state_bytes)))
            status = pp_fail(err, PP_E_NO_MEMORY, "no memory for a %s decoder (%zu bytes)", c->ops->name,
                             c->ops->state_bytes);
        else if (c->state)
            *(struct pp_image_arena **)c->state = &d->arena;
    }
    if (status != PP_OK) {
        pp_decoder_destroy(d);
        return status;
    }
    *out = d;
    return PP_OK;
}

void pp_decoder_destroy(struct pp_decoder *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->codecs; i++)
        if (d->codec[i].ops->destroy)
            d->codec[i].ops->destroy(d->codec[i].state);
    pp_buffer_free(&d->rotated);
    pp_buffer_free(&d->pixels);
    pp_image_arena_free(&d->arena);
    free(d);
}

uint64_t pp_decoder_grown(const struct pp_decoder *d)
{
    return d->arena.grown + d->pixels.grown + d->rotated.grown;
}

size_t pp_decoder_footprint(const struct pp_decoder *d)
{
    return sizeof(*d) + d->codecs * sizeof(d->codec[0]) + d->arena.held_bytes + d->pixels.capacity +
           d->rotated.capacity;
}

const struct pp_decode_ops *pp_decoder_choose(const struct pp_decoder *d, const struct pp_encoded *in)
{
    const struct codec *c = codec_of(d, in);
    return c ? c->ops : NULL;
}

/* A decoder that was refused memory by the budget says that there is none; here it is said why. */
static pp_status explain(struct pp_decoder *d, pp_status status, struct pp_err *err)
{
    size_t need = d->budget.refused;
    d->budget.refused = 0;
    if (status != PP_E_NO_MEMORY || !need)
        return status;
    return pp_fail_sample_memory(err, "decompression bomb", need, d->budget.limit);
}

pp_status pp_decoder_open(struct pp_decoder *d, const struct pp_encoded *in, struct pp_image_info *info,
                          struct pp_err *err)
{
    for (size_t i = 0; i < d->codecs; i++)
        if (d->codec[i].ops->close)
            d->codec[i].ops->close(d->codec[i].state);
    pp_image_arena_reset(&d->arena);
    pp_buffer_trim(&d->pixels);
    pp_buffer_trim(&d->rotated);
    d->image = NULL;
    d->budget.held -= d->encoded;
    d->encoded = 0;
    if (in->size == 0)
        return pp_fail(err, PP_E_EMPTY, "the file is empty");
    if (in->size > d->budget.limit)
        return pp_fail_sample_memory(err, "too large a file", in->size, d->budget.limit);
    const struct codec *c = codec_of(d, in);
    if (!c)
        return fail_unknown(d, in, err);
    if (c->ops->result != PP_DECODED_PIXELS)
        return pp_fail(err, PP_E_USAGE, "%s: a sample of this content has no pixels", c->ops->name);
    struct pp_image_info read = {.format = NULL};
    d->encoded = in->size;
    d->budget.held += in->size;
    pp_status status = c->ops->open(c->state, in, &read, err);
    if (status != PP_OK)
        return explain(d, status, err);
    d->image = c;
    d->info = read;
    d->info.format = c->ops->name;
    if (d->exif_rotate && read.orientation >= 5) { /* 5 to 8 exchange width and height */
        d->info.width = read.height;
        d->info.height = read.width;
    }
    *info = d->info;
    return PP_OK;
}

/* An orientation as the way from a shown pixel to the stored one: exchange x and y, then mirror in the stored
 * image. */
static const struct orientation {
    unsigned char swap, mirror_x, mirror_y;
} orientations[9] = {
    [1] = {0, 0, 0}, [2] = {0, 1, 0}, [3] = {0, 1, 1}, [4] = {0, 0, 1},
    [5] = {1, 0, 0}, [6] = {1, 0, 1}, [7] = {1, 1, 1}, [8] = {1, 1, 0},
};

static pp_status rotate(struct pp_decoder *d, struct pp_pixels *p, struct pp_err *err)
{
    const struct orientation *o = &orientations[d->info.orientation];
    int width = o->swap ? p->height : p->width, height = o->swap ? p->width : p->height;
    size_t stride = (size_t)width * 4;
    if (pp_buffer_reserve(&d->rotated, stride * (size_t)height) != 0)
        return pp_fail(err, PP_E_NO_MEMORY,
                       "no memory to rotate the image by its EXIF orientation (%zu bytes)",
                       stride * (size_t)height);

    ptrdiff_t along_x = o->mirror_x ? -4 : 4,
              along_y = o->mirror_y ? -(ptrdiff_t)p->stride : (ptrdiff_t)p->stride;
    const uint8_t *first = p->data + (o->mirror_x ? (size_t)(p->width - 1) * 4 : 0) +
                           (o->mirror_y ? (size_t)(p->height - 1) * p->stride : 0);
    ptrdiff_t step_x = o->swap ? along_y : along_x, step_y = o->swap ? along_x : along_y;
    for (int y = 0; y < height; y++) {
        uint8_t *to = d->rotated.data + (size_t)y * stride;
        for (int x = 0; x < width; x++)
            memcpy(to + (size_t)x * 4, first + x * step_x + y * step_y, 4);
    }
    *p = (struct pp_pixels){.data = d->rotated.data, .width = width, .height = height, .stride = stride};
    return PP_OK;
}

pp_status pp_decoder_region(struct pp_decoder *d, struct pp_rect crop, struct pp_pixels *out,
                            struct pp_err *err)
{
    int rotates = d->exif_rotate && d->info.orientation > 1;
    if (!d->image)
        return pp_fail(err, PP_E_USAGE, "no image is open");
    if (crop.x < 0 || crop.y < 0 || crop.width < 1 || crop.height < 1 ||
        crop.width > d->info.width - crop.x || crop.height > d->info.height - crop.y)
        return pp_fail(err, PP_E_USAGE, "region %dx%d at (%d, %d) does not lie inside the image of %dx%d",
                       crop.width, crop.height, crop.x, crop.y, d->info.width, d->info.height);
    if (rotates) {
        /* from the region that is shown to the stored one */
        const struct orientation *o = &orientations[d->info.orientation];
        int width = d->info.width, height = d->info.height;
        if (o->swap) {
            crop = (struct pp_rect){.x = crop.y, .y = crop.x, .width = crop.height, .height = crop.width};
            width = d->info.height;
            height = d->info.width;
        }
        if (o->mirror_x)
            crop.x = width - crop.x - crop.width;
        if (o->mirror_y)
            crop.y = height - crop.y - crop.height;
    }
    pp_status status = d->image->ops->region(d->image->state, crop, &d->pixels, out, err);
    if (status == PP_OK && rotates)
        status = rotate(d, out, err);
    return explain(d, status, err);
}

pp_status pp_decoder_row(struct pp_decoder *d, const struct pp_encoded *in, void *out, size_t size,
                         struct pp_err *err)
{
    const struct codec *c = codec_of(d, in);
    if (!c || c->ops->result != PP_DECODED_ROW)
        return pp_fail(err, PP_E_USAGE, "no decoder makes a batch row of sample %llu",
                       (unsigned long long)in->index);
    return c->ops->row(c->state, in, out, size, err);
}
