#include "tui/cli/doctor/doctor_checks.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/dataset/synthetic_image.h"
#include "probe/decode/decode.h"
#include "probe/decode/jpeg_plain.h"
#include "probe/device/decode.h"
#include "probe/device/device.h"
#include "probe/device/nvjpeg.h"

enum { WIDTH = 500, HEIGHT = 375, QUALITY = 90, IMAGES = 8, FLIGHTS = 2, ALONE = 10 };
#define LEAST_NS 150000000u /* of a cell */
#define OUT_SIDE 224        /* no sample is made: the decoder alone is measured */

static const enum pp_nvjpeg_backend backends[PP_DECODE_BACKENDS] = {PP_NVJPEG_HARDWARE,
                                                                    PP_NVJPEG_HARDWARE_DEVICE,
                                                                    PP_NVJPEG_GPU_HYBRID, PP_NVJPEG_HYBRID};
static const size_t batches[PP_DECODE_BATCHES] = {1, 8, 64, 256};
static const struct kind {
    int luma_h, luma_v, gray;
} kinds[PP_DECODE_KINDS] = {{1, 1, 0}, {2, 1, 0}, {2, 2, 0}, {1, 1, 1}};

struct encoded {
    uint8_t *data;
    size_t size;
};

static pp_status make_images(const struct kind *k, struct encoded image[IMAGES], struct pp_err *err)
{
    pp_status st = PP_OK;
    for (int i = 0; i < IMAGES && st == PP_OK; i++)
        st = pp_synthetic_image(&(struct pp_synthetic_spec){.width = WIDTH,
                                                            .height = HEIGHT,
                                                            .quality = QUALITY,
                                                            .seed = (uint64_t)i,
                                                            .luma_h = k->luma_h,
                                                            .luma_v = k->luma_v,
                                                            .gray = k->gray},
                                &image[i].data, &image[i].size, err);
    return st;
}

/* ---- a device with a decoder, and a batch in its page-locked memory ---- */

struct bench {
    struct pp_device *device;
    struct pp_device_parser *parser;
    struct pp_device_image *images;
    uint8_t *bytes;
    size_t batch, size; /* size: of bytes */
};

static void close_bench(struct bench *b)
{
    pp_device_parser_destroy(b->parser);
    if (b->bytes)
        pp_device_free(b->device, b->bytes, b->size);
    pp_device_close(b->device);
    free(b->images);
}

static pp_status open_bench(struct bench *b, int backend, size_t batch, const struct encoded image[IMAGES],
                            struct pp_err *err)
{
    const struct pp_device_decode_opts opts = {.backend = backend,
                                               .batch = batch,
                                               .cpu_threads = 1,
                                               .width = OUT_SIDE,
                                               .height = OUT_SIDE,
                                               .value_bytes = 1};
    *b = (struct bench){.batch = batch};
    pp_status st = pp_device_open(&(struct pp_device_opts){.kind = "cuda", .copy_buffers = FLIGHTS},
                                  &b->device, err);
    if (st != PP_OK)
        return st;
    st = pp_device_decode_open(b->device, &opts, err);
    if (st == PP_OK)
        st = pp_device_parser_create(b->device, &b->parser, err);
    /* The images again and again until the batch is full. */
    size_t at = 0;
    b->images = calloc(batch, sizeof(*b->images));
    for (size_t i = 0; i < batch; i++)
        b->size += image[i % IMAGES].size + PP_DEVICE_DECODE_PADDING;
    if (st == PP_OK)
        st = b->images ? pp_device_alloc(b->device, b->size, (void **)&b->bytes, err)
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for a batch of %zu", batch);
    for (size_t i = 0; i < batch && st == PP_OK; i++) {
        const struct encoded *from = &image[i % IMAGES];
        struct pp_device_region whole = {0};
        memcpy(b->bytes + at, from->data, from->size);
        b->images[i] = (struct pp_device_image){.data = b->bytes + at,
                                                .size = from->size,
                                                .width = WIDTH,
                                                .height = HEIGHT};
        at += from->size + PP_DEVICE_DECODE_PADDING;
        if (!pp_device_parser_accepts(b->parser, from->data, from->size, &whole))
            st = pp_fail(err, PP_E_UNSUPPORTED, "it does not take baseline images of this kind");
    }
    if (st != PP_OK)
        close_bench(b);
    return st;
}

/* ---- rates ---- */

/* One batch is decoded while the next is prepared. The first pays for memory. */
static pp_status measure_rate(struct bench *b, double *images_per_s, struct pp_err *err)
{
    uint64_t before = 0, ticket, start = 0, n = 0;
    pp_status st = pp_device_decode_start(b->device, b->images, b->batch, &before, err);
    if (st == PP_OK)
        st = pp_device_decode_settle(b->device, before, err);
    start = pp_now_ns();
    if (st == PP_OK)
        st = pp_device_decode_start(b->device, b->images, b->batch, &before, err);
    while (st == PP_OK && (n == 0 || pp_now_ns() - start < LEAST_NS)) {
        st = pp_device_decode_start(b->device, b->images, b->batch, &ticket, err);
        if (st == PP_OK)
            st = pp_device_decode_settle(b->device, before, err);
        before = ticket;
        n++;
    }
    double ns = (double)(pp_now_ns() - start); /* of n batches that are done */
    if (st == PP_OK)
        st = pp_device_decode_settle(b->device, before, err);
    for (size_t i = 0; st == PP_OK && i < b->batch; i++)
        if (b->images[i].failed)
            return pp_fail(err, PP_E_UNSUPPORTED, "it refuses baseline images");
    *images_per_s = st == PP_OK ? (double)n * (double)b->batch * 1e9 / ns : 0;
    return st;
}

static void measure_backend(struct pp_decode_rates *out, int k, const struct encoded image[IMAGES])
{
    struct pp_decode_backend_rates *row = &out->backend[k];
    struct pp_err err;
    pp_status st = PP_OK;
    pp_err_clear(&err);
    row->name = pp_nvjpeg_backend_name(backends[k]);
    for (int i = 0; i < PP_DECODE_BATCHES && st == PP_OK; i++) {
        struct bench b;
        st = open_bench(&b, (int)backends[k], batches[i], image, &err);
        if (st != PP_OK)
            break;
        st = measure_rate(&b, &row->images_per_s[i], &err);
        for (int times = 0; st == PP_OK && batches[i] == 1 && times < ALONE; times++) {
            uint64_t ticket, start = pp_now_ns();
            st = pp_device_decode_start(b.device, b.images, 1, &ticket, &err);
            if (st == PP_OK)
                st = pp_device_decode_settle(b.device, ticket, &err);
            double ns = (double)(pp_now_ns() - start);
            row->least_batch_ns = row->least_batch_ns == 0 || ns < row->least_batch_ns ? ns
                                                                                       : row->least_batch_ns;
        }
        close_bench(&b);
    }
    if (st != PP_OK)
        snprintf(row->why_not, sizeof(row->why_not), "%.319s", err.text);
}

static pp_status decode_here(struct pp_decoder *d, const struct encoded *e, struct pp_pixels *out,
                             struct pp_err *err)
{
    struct pp_encoded in = {.data = e->data, .size = e->size};
    struct pp_image_info info;
    pp_status st = pp_decoder_open(d, &in, &info, err);
    return st == PP_OK ? pp_decoder_region(d, (struct pp_rect){.width = WIDTH, .height = HEIGHT}, out, err)
                       : st;
}

/* ---- pixels ---- */

/* What cannot be compared has no images. */
static pp_status compare_kind(struct pp_decoder *d, const struct kind *k, struct pp_pixels_off *off,
                              struct pp_err *err)
{
    struct encoded image[IMAGES] = {0};
    struct pp_pixels ours;
    struct bench b;
    struct pp_err ignored;
    uint64_t ticket;
    uint8_t *rgb = malloc((size_t)WIDTH * HEIGHT * 3);
    pp_status st = rgb ? make_images(k, image, err)
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for an image to compare");
    if (st == PP_OK && open_bench(&b, PP_NVJPEG_AUTO, IMAGES, image, &ignored) == PP_OK) {
        pp_status there = pp_device_decode_start(b.device, b.images, IMAGES, &ticket, &ignored);
        if (there == PP_OK)
            there = pp_device_decode_settle(b.device, ticket, &ignored);
        for (size_t i = 0; i < IMAGES && there == PP_OK && st == PP_OK; i++) {
            if (b.images[i].failed)
                continue;
            there = pp_device_decode_pixels(b.device, ticket, i, rgb, &ignored);
            st = there == PP_OK ? decode_here(d, &image[i], &ours, err) : PP_OK;
            if (there == PP_OK && st == PP_OK)
                pp_pixels_off_add(off, rgb, &ours);
        }
        close_bench(&b);
    }
    for (int i = 0; i < IMAGES; i++)
        free(image[i].data);
    free(rgb);
    return st;
}

pp_status pp_decode_rates(struct pp_decode_rates *out, struct pp_err *err)
{
    struct encoded image[IMAGES] = {0};
    struct pp_decoder *decoder = NULL;
    struct pp_nvjpeg_found found;
    *out = (struct pp_decode_rates){.width = WIDTH, .height = HEIGHT, .quality = QUALITY};
    memcpy(out->batch, batches, sizeof(batches));
    pp_status st = pp_nvjpeg_look(batches[PP_DECODE_BATCHES - 1], &found, err);
    if (st != PP_OK)
        return st;
    out->usual = pp_nvjpeg_backend_name(found.choice.backend);
    st = pp_decoder_create(&(struct pp_decoder_opts){.content = PP_CONTENT_IMAGE}, &decoder, err);
    if (st == PP_OK)
        st = make_images(&kinds[2], image, err);
    if (st == PP_OK) {
        double *per_s = &out->cpu_images_per_s;
        struct pp_pixels pixels;
        uint64_t start = pp_now_ns(), n = 0;
        for (; st == PP_OK && pp_now_ns() - start < LEAST_NS; n++)
            st = decode_here(decoder, &image[n % IMAGES], &pixels, err);
        *per_s = (double)n * 1e9 / (double)(pp_now_ns() - start);
    }
    for (int k = 0; k < PP_DECODE_BACKENDS && st == PP_OK; k++)
        measure_backend(out, k, image);
    for (int k = 0; k < PP_DECODE_KINDS && st == PP_OK; k++) {
        static const enum pp_jpeg_sampling names[] = {PP_JPEG_444, PP_JPEG_422, PP_JPEG_420, PP_JPEG_GRAY};
        out->kind[k].sampling = pp_jpeg_sampling_name(names[k]);
        struct pp_pixels_off *off = &out->kind[k].off;
        st = compare_kind(decoder, &kinds[k], off, err);
        out->kind[k].mean = off->values ? (double)off->sum / (double)off->values : 0;
    }
    for (int i = 0; i < IMAGES; i++)
        free(image[i].data);
    pp_decoder_destroy(decoder);
    return st;
}

/* ---- shown ---- */

void pp_decode_rates_text(FILE *out)
{
    struct pp_decode_rates *r = calloc(1, sizeof(*r));
    const struct pp_decode_backend_rates *usual = NULL;
    struct pp_err err;
    char rate[32];
    pp_err_clear(&err);
    if (!r || pp_decode_rates(r, &err) != PP_OK) {
        fprintf(out, "\nJPEG on the GPU was not measured: %s\n", r ? err.text : "no memory");
        free(r);
        return;
    }
    fprintf(out, "\nJPEG on the GPU, images/s of %dx%d, 4:2:0, quality %d\n  %-22s ", r->width, r->height,
            r->quality, "batch");
    for (int i = 0; i < PP_DECODE_BATCHES; i++)
        fprintf(out, " %9zu", r->batch[i]);
    for (int k = 0; k < PP_DECODE_BACKENDS; k++) {
        const struct pp_decode_backend_rates *row = &r->backend[k];
        fprintf(out, "\n  %-22s ", row->name);
        for (int i = 0; i < PP_DECODE_BATCHES && !row->why_not[0]; i++)
            fprintf(out, " %9s", pp_text_rate(rate, sizeof(rate), row->images_per_s[i]));
        if (row->why_not[0])
            fprintf(out, " not measured: %s", row->why_not);
        else
            fprintf(out, "   %.3g ms at least", row->least_batch_ns / 1e6);
        if (strcmp(row->name, r->usual) == 0 && !row->why_not[0])
            usual = row;
    }
    fprintf(out, "\n  %-22s  %9s\n", "one CPU thread", pp_text_rate(rate, sizeof(rate), r->cpu_images_per_s));
    fprintf(out, "Pixels against libjpeg-turbo's, of 255 (%s)\n", r->usual);
    for (int k = 0; k < PP_DECODE_KINDS; k++)
        if (r->kind[k].off.images)
            fprintf(out, "  %-22s  mean %.2f, largest %d\n", r->kind[k].sampling, r->kind[k].mean,
                    r->kind[k].off.largest);
        else
            fprintf(out, "  %-22s  not decoded by it\n", r->kind[k].sampling);
    if (usual)
        fprintf(out, "For images of this size: pipeprobe whatif FILE --set decode=nvjpeg:%.0f:%.3g\n",
                usual->images_per_s[PP_DECODE_BATCHES - 1], usual->least_batch_ns / 1e6);
    free(r);
}

void pp_decode_rates_json(struct pp_json *j)
{
    struct pp_decode_rates *r = calloc(1, sizeof(*r));
    struct pp_err err;
    pp_json_key(j, "nvjpeg");
    if (!r || pp_decode_rates(r, &err) != PP_OK) {
        pp_json_null(j);
        free(r);
        return;
    }
    pp_json_object(j);
    pp_json_put_int(j, "width", r->width);
    pp_json_put_int(j, "height", r->height);
    pp_json_put_int(j, "quality", r->quality);
    pp_json_put_str(j, "usual_backend", r->usual);
    pp_json_put_num(j, "cpu_thread_images_per_s", r->cpu_images_per_s);
    pp_json_put_array(j, "backends");
    for (int k = 0; k < PP_DECODE_BACKENDS; k++) {
        const struct pp_decode_backend_rates *row = &r->backend[k];
        pp_json_object(j);
        pp_json_put_str(j, "backend", row->name);
        pp_json_put_str(j, "not_measured", row->why_not[0] ? row->why_not : NULL);
        pp_json_put_num(j, "least_batch_ns", row->least_batch_ns);
        pp_json_put_array(j, "rates");
        for (int i = 0; i < PP_DECODE_BATCHES && !row->why_not[0]; i++) {
            pp_json_object(j);
            pp_json_put_uint(j, "batch", r->batch[i]);
            pp_json_put_num(j, "images_per_s", row->images_per_s[i]);
            pp_json_object_end(j);
        }
        pp_json_array_end(j);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    pp_json_put_array(j, "differences");
    for (int k = 0; k < PP_DECODE_KINDS; k++) {
        const struct pp_pixels_off *off = &r->kind[k].off;
        pp_json_object(j);
        pp_json_put_str(j, "sampling", r->kind[k].sampling);
        pp_json_put_uint(j, "images", off->images);
        pp_json_put_num(j, "mean", r->kind[k].mean);
        pp_json_put_int(j, "max", off->largest);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    pp_json_object_end(j);
    free(r);
}
