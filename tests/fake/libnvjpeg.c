/* nvJPEG without a GPU: see fake_nvjpeg.h. Build: a shared library with the soname libnvjpeg.so.12; and, as
 * older versions, libnvjpeg.so.11, which lacks a call that is needed, and libnvjpeg.so.10, which decodes no
 * regions of interest. */
#include "probe/base/clock.h"
#include "probe/device/decode.h"
#include "probe/device/nvjpeg.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_nvjpeg.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_BATCH 4096
#define MAX_STREAMS 64

enum { INVALID_PARAMETER = 2, INTERNAL_ERROR = 8 };

static struct {
    int major, minor, engines, cores, create, create_any, fancy, refuse, poison, red, roi, roi_rc, off;
    int bad_width, bad_rc, fail_rc, refuse_from, burst;
    unsigned fail_at;
    double steal;
    uint64_t batch_ns, image_ns;
    atomic_uint calls, batches, singles, images, regions, unpinned, unpadded;
    unsigned most_at_once;
    struct {
        void *stream;
        uint64_t until_ns;
    } busy[MAX_STREAMS];
    atomic_int alive;
} fake;

/* The driver that the test loaded. */
static __typeof__(fake_cuda_owns) *owns;
static __typeof__(fake_cuda_pins) *pins;
static __typeof__(fake_cuda_occupy) *occupy;
static __typeof__(fake_cuda_occupy_sms) *occupy_sms;
static __typeof__(fake_cuda_poison) *poison;

struct pp_nvjpeg_handle_st {
    int backend;
};
struct pp_nvjpeg_state_st {
    atomic_int in_use;
    int batch; /* 0: not initialised */
};
struct pp_nvjpeg_stream_st {
    int width, height, supported;
};
struct pp_nvjpeg_params_st {
    int x, y, width, height; /* -1: the whole image */
};
static const struct pp_nvjpeg_params_st whole = {.width = -1, .height = -1};

static void configure(const char *words)
{
    char copy[512], *rest = copy, *word;
    snprintf(copy, sizeof(copy), "%s", words ? words : "");
    memset(&fake, 0, sizeof(fake));
    fake.major = 12;
    fake.minor = 4;
    fake.engines = 1;
    fake.cores = 5;
    fake.roi = 1;
    fake.batch_ns = 200000;
    fake.image_ns = 20000;
    while ((word = strsep(&rest, ";"))) {
        unsigned long us;
        if (sscanf(word, "version=%d.%d", &fake.major, &fake.minor) == 2 ||
            sscanf(word, "engines=%d", &fake.engines) == 1 || sscanf(word, "cores=%d", &fake.cores) == 1 ||
            sscanf(word, "create=%d", &fake.create) == 1 ||
            sscanf(word, "create-any=%d", &fake.create_any) == 1 ||
            sscanf(word, "fancy=%d", &fake.fancy) == 1 || sscanf(word, "refuse=%d", &fake.refuse) == 1 ||
            sscanf(word, "refuse-from=%d", &fake.refuse_from) == 1 ||
            sscanf(word, "burst=%d", &fake.burst) == 1 || sscanf(word, "steal=%lf", &fake.steal) == 1 ||
            sscanf(word, "bad=%d:%d", &fake.bad_width, &fake.bad_rc) == 2 ||
            sscanf(word, "poison=%d", &fake.poison) == 1 || sscanf(word, "red=%d", &fake.red) == 1 ||
            sscanf(word, "roi=%d", &fake.roi) == 1 || sscanf(word, "off=%d", &fake.off) == 1 ||
            sscanf(word, "roi-rc=%d", &fake.roi_rc) == 1 ||
            sscanf(word, "fail=%u:%d", &fake.fail_at, &fake.fail_rc) == 2)
            continue;
        if (sscanf(word, "batch-us=%lu", &us) == 1)
            fake.batch_ns = us * 1000;
        else if (sscanf(word, "image-us=%lu", &us) == 1)
            fake.image_ns = us * 1000;
    }
}

__attribute__((constructor)) static void start(void)
{
    configure(getenv("PP_FAKE_NVJPEG"));
}

/* A program that decodes has opened the driver before. */
static int find_driver(void)
{
    void *cuda = owns ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (cuda) {
        *(void **)&pins = dlsym(cuda, "fake_cuda_pins");
        *(void **)&occupy = dlsym(cuda, "fake_cuda_occupy");
        *(void **)&occupy_sms = dlsym(cuda, "fake_cuda_occupy_sms");
        *(void **)&poison = dlsym(cuda, "fake_cuda_poison");
        *(void **)&owns = dlsym(cuda, "fake_cuda_owns");
    }
    return owns != NULL;
}

EXPORT void fake_nvjpeg_reset(const char *words)
{
    configure(words);
}

EXPORT unsigned fake_nvjpeg_batches(void)
{
    return fake.batches;
}

EXPORT unsigned fake_nvjpeg_singles(void)
{
    return fake.singles;
}

EXPORT unsigned fake_nvjpeg_images(void)
{
    return fake.images;
}

EXPORT unsigned fake_nvjpeg_regions(void)
{
    return fake.regions;
}

EXPORT unsigned fake_nvjpeg_unpinned(void)
{
    return fake.unpinned;
}

EXPORT unsigned fake_nvjpeg_unpadded(void)
{
    return fake.unpadded;
}

EXPORT unsigned fake_nvjpeg_most_at_once(void)
{
    return fake.most_at_once;
}

EXPORT size_t fake_nvjpeg_leaks(void)
{
    return (size_t)fake.alive;
}

/* ---- libjpeg ---- */

struct reader {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    jmp_buf on_error;
    JSAMPLE *volatile row; /* of the whole image */
};

static _Noreturn void give_up(j_common_ptr c)
{
    longjmp(((struct reader *)c)->on_error, 1);
}

static void count_warning(j_common_ptr c, int level)
{
    c->err->num_warnings += level < 0;
}

static void open_reader(struct reader *r, const unsigned char *data, size_t size)
{
    memset(&r->c, 0, sizeof(r->c));
    r->c.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = give_up;
    r->errors.emit_message = count_warning;
    jpeg_create_decompress(&r->c);
    jpeg_mem_src(&r->c, data, size);
}

/* What the engines take: baseline, grey or three components, not 4:1:0 or 4:1:1. */
static int engine_takes(const struct jpeg_decompress_struct *c)
{
    const jpeg_component_info *y = c->comp_info;
    return !c->progressive_mode && !c->arith_code && (c->num_components == 3 || c->num_components == 1) &&
           y->h_samp_factor <= 2 && y->v_samp_factor <= 2 && (int)c->image_width != fake.refuse &&
           (!fake.refuse_from || (int)c->image_width < fake.refuse_from);
}

/* As a decoder would that fills a grey image's first channel alone. */
static void blacken(const struct pp_nvjpeg_image *to, int width, int height)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            memset(to->channel[0] + (size_t)y * to->pitch[0] + 3 * (size_t)x + 1, 0, 2);
}

static int is_of_engines(int backend)
{
    return backend == PP_NVJPEG_HARDWARE || backend == PP_NVJPEG_HARDWARE_DEVICE;
}

/* Whether the window is within an image of that size. */
static int is_within(const struct pp_nvjpeg_params_st *p, int width, int height)
{
    return p->width == -1 ? p->height == -1 && p->x == 0 && p->y == 0
                          : p->x >= 0 && p->y >= 0 && p->width > 0 && p->height > 0 &&
                                p->x + p->width <= width && p->y + p->height <= height;
}

/* Row after row into memory that is the device's. A window has the pixels that the whole image has there: so
 * the image is decoded, and the window kept. */
static void put_rows(struct reader *r, const struct pp_nvjpeg_params_st *p, const struct pp_nvjpeg_image *to)
{
    struct jpeg_decompress_struct *c = &r->c;
    size_t x = 3 * (size_t)p->x, size = 3 * (size_t)(p->width == -1 ? (int)c->output_width : p->width);
    int from = p->y, end = p->width == -1 ? (int)c->output_height : p->y + p->height;
    while (c->output_scanline < c->output_height) {
        int y = (int)c->output_scanline;
        JSAMPROW row = r->row;
        jpeg_read_scanlines(c, &row, 1);
        for (size_t i = 0; fake.off && i < 3 * (size_t)c->output_width; i++)
            row[i] = (JSAMPLE)(row[i] + fake.off < 255 ? row[i] + fake.off : 255);
        if (y >= from && y < end)
            memcpy(to->channel[0] + (size_t)(y - from) * to->pitch[0], r->row + x, size);
    }
    if (fake.red && c->num_components == 1)
        blacken(to, (int)size / 3, end - from);
}

static int decode(const unsigned char *data, size_t size, const struct pp_nvjpeg_params_st *p,
                  const struct pp_nvjpeg_image *to, int backend)
{
    struct reader r;
    volatile int rc = PP_NVJPEG_BAD_JPEG;
    r.row = NULL;
    if (!data || !size)
        return INVALID_PARAMETER;
    if (setjmp(r.on_error) == 0) {
        open_reader(&r, data, size);
        jpeg_read_header(&r.c, TRUE);
        int width = (int)r.c.image_width, height = (int)r.c.image_height;
        size_t wide = 3 * (size_t)(p->width == -1 ? width : p->width),
               high = (size_t)(p->width == -1 ? height : p->height);
        if (is_of_engines(backend) && !engine_takes(&r.c))
            rc = PP_NVJPEG_NOT_SUPPORTED;
        else if (width == fake.bad_width)
            rc = fake.bad_rc;
        else if (!is_within(p, width, height) || to->pitch[0] < wide ||
                 !owns(to->channel[0], to->pitch[0] * (high - 1) + wide))
            rc = INVALID_PARAMETER;
        else {
            r.c.out_color_space = JCS_RGB;
            r.c.do_fancy_upsampling = fake.fancy ? TRUE : FALSE;
            r.row = malloc(3 * (size_t)width);
            jpeg_start_decompress(&r.c);
            put_rows(&r, p, to);
            jpeg_finish_decompress(&r.c);
            rc = r.errors.num_warnings ? PP_NVJPEG_BAD_JPEG : 0;
            fake.images++;
            fake.regions += p->width != -1;
            if (width == fake.poison)
                poison(700);
        }
    }
    free(r.row);
    jpeg_destroy_decompress(&r.c);
    return rc;
}

/* ---- handles ---- */

EXPORT int nvjpegGetProperty(int which, int *value)
{
    *value = which == 0 ? fake.major : which == 1 ? fake.minor : 0;
    return 0;
}

static void *alive(size_t size)
{
    fake.alive++;
    return calloc(1, size);
}

static int gone(void *p)
{
    free(p);
    fake.alive--;
    return 0;
}

EXPORT int nvjpegCreateEx(int backend, void *device, void *pinned, unsigned flags, pp_nvjpeg_handle *out)
{
    (void)device;
    (void)pinned;
    (void)flags;
    int rc = fake.create_any           ? fake.create_any
             : !is_of_engines(backend) ? 0
             : fake.create             ? fake.create
             : fake.engines == 0       ? PP_NVJPEG_ARCH_MISMATCH
                                       : 0;
    if (rc)
        return rc;
    *out = alive(sizeof(**out));
    (*out)->backend = backend;
    return 0;
}

EXPORT int nvjpegDestroy(pp_nvjpeg_handle h)
{
    return gone(h);
}

#ifndef FAKE_OLD
EXPORT int nvjpegGetHardwareDecoderInfo(pp_nvjpeg_handle h, unsigned *engines, unsigned *cores)
{
    (void)h;
    *engines = (unsigned)fake.engines;
    *cores = (unsigned)fake.cores;
    return 0;
}
#endif

EXPORT int nvjpegJpegStateCreate(pp_nvjpeg_handle h, pp_nvjpeg_state *out)
{
    (void)h;
    *out = alive(sizeof(**out));
    return 0;
}

EXPORT int nvjpegJpegStateDestroy(pp_nvjpeg_state s)
{
    return gone(s);
}

EXPORT int nvjpegJpegStreamCreate(pp_nvjpeg_handle h, pp_nvjpeg_stream *out)
{
    (void)h;
    *out = alive(sizeof(**out));
    return 0;
}

EXPORT int nvjpegJpegStreamDestroy(pp_nvjpeg_stream s)
{
    return gone(s);
}

EXPORT int nvjpegJpegStreamParseHeader(pp_nvjpeg_handle h, const unsigned char *data, size_t size,
                                       pp_nvjpeg_stream s)
{
    struct reader r;
    volatile int rc = PP_NVJPEG_BAD_JPEG;
    (void)h;
    if (setjmp(r.on_error) == 0) {
        open_reader(&r, data, size);
        jpeg_read_header(&r.c, TRUE);
        s->width = (int)r.c.image_width;
        s->height = (int)r.c.image_height;
        s->supported = engine_takes(&r.c);
        rc = 0;
    }
    jpeg_destroy_decompress(&r.c);
    return rc;
}

EXPORT int nvjpegDecodeBatchedSupported(pp_nvjpeg_handle h, pp_nvjpeg_stream s, int *unsupported)
{
    *unsupported = is_of_engines(h->backend) && !s->supported;
    return 0;
}

#ifndef FAKE_WHOLE
EXPORT int nvjpegDecodeParamsCreate(pp_nvjpeg_handle h, pp_nvjpeg_params *out)
{
    (void)h;
    *out = alive(sizeof(**out));
    **out = whole;
    return 0;
}

EXPORT int nvjpegDecodeParamsDestroy(pp_nvjpeg_params p)
{
    return gone(p);
}

EXPORT int nvjpegDecodeParamsSetROI(pp_nvjpeg_params p, int x, int y, int width, int height)
{
    *p = (struct pp_nvjpeg_params_st){x, y, width, height};
    return is_within(p, 65535, 65535) ? 0 : INVALID_PARAMETER;
}

/* As the documentation has it: of HARDWARE alone. */
EXPORT int nvjpegDecodeBatchedSupportedEx(pp_nvjpeg_handle h, pp_nvjpeg_stream s, pp_nvjpeg_params p,
                                          int *unsupported)
{
    *unsupported = h->backend != PP_NVJPEG_HARDWARE || !s->supported || !is_within(p, s->width, s->height) ||
                   (p->width != -1 && !fake.roi);
    return 0;
}
#endif

/* ---- decoding ---- */

static void enter(pp_nvjpeg_state s)
{
    if (atomic_exchange(&s->in_use, 1)) {
        fprintf(stderr, "fake nvJPEG: two threads use one state\n");
        abort();
    }
}

static int leave(pp_nvjpeg_state s, int rc)
{
    atomic_store(&s->in_use, 0);
    return rc;
}

static int planned_failure(void)
{
    return fake.fail_at && ++fake.calls >= fake.fail_at ? fake.fail_rc : 0;
}

EXPORT int nvjpegDecodeBatchedInitialize(pp_nvjpeg_handle h, pp_nvjpeg_state s, int batch, int threads,
                                         int format)
{
    (void)h;
    enter(s);
    int rc = batch < 1 || batch > MAX_BATCH || threads < 1 || format != PP_NVJPEG_RGBI ? INVALID_PARAMETER
                                                                                       : 0;
    s->batch = rc ? 0 : batch;
    return leave(s, rc);
}

EXPORT int nvjpegDecodeBatchedPreAllocate(pp_nvjpeg_handle h, pp_nvjpeg_state s, int batch, int width,
                                          int height, int subsampling, int format)
{
    (void)h;
    (void)subsampling;
    enter(s);
    return leave(s, batch != s->batch || width < 1 || height < 1 || format != PP_NVJPEG_RGBI
                        ? INVALID_PARAMETER
                        : 0);
}

/* One thread gives batches to the decoder. */
static void note_busy(void *stream, uint64_t ns)
{
    uint64_t now = pp_now_ns();
    unsigned at_once = 0;
    int i = 0;
    while (i < MAX_STREAMS - 1 && fake.busy[i].stream && fake.busy[i].stream != stream)
        i++;
    fake.busy[i].stream = stream;
    fake.busy[i].until_ns = now + ns;
    for (i = 0; i < MAX_STREAMS; i++)
        at_once += fake.busy[i].until_ns > now;
    fake.most_at_once = at_once > fake.most_at_once ? at_once : fake.most_at_once;
}

/* What an engine reads behind the end is there, and says nothing. */
static int is_padded(const unsigned char *data, size_t size)
{
    int padded = 1;
    for (size_t i = 0; i < PP_DEVICE_DECODE_PADDING && padded; i++)
        padded = data[size + i] == 0;
    return padded;
}

static void look_at_input(const unsigned char *data, size_t size)
{
    int on_device = owns(data, 1);
    size_t with_padding = size + PP_DEVICE_DECODE_PADDING;
    int is_there = on_device ? owns(data, with_padding) : pins(data, with_padding);
    fake.unpinned += !is_there;
    fake.unpadded += is_there && !is_padded(data, size);
}

static void take_time(const struct pp_nvjpeg_handle_st *h, int images, pp_cu_stream stream)
{
    int cores = is_of_engines(h->backend) ? fake.engines * fake.cores : 1;
    uint64_t ns = fake.batch_ns + fake.image_ns * (uint64_t)images / (uint64_t)(cores > 0 ? cores : 1);
    if (fake.burst && (int)((fake.batches - 1) / (unsigned)fake.burst) % 2)
        return; /* in no time */
    note_busy(stream, ns);
    if (fake.steal > 0 && !is_of_engines(h->backend))
        occupy_sms(stream, ns, fake.steal);
    else
        occupy(stream, ns);
}

/* As a whole or not at all: a bad image fails the call, and what came before it is lost. Encoded bytes are
 * the host's, or the device's, as the back end wants them. */
static int decode_batch(pp_nvjpeg_handle h, pp_nvjpeg_state s, const unsigned char *const *data,
                        const size_t *sizes, const struct pp_nvjpeg_image *to, pp_nvjpeg_params const *params,
                        pp_cu_stream stream)
{
    fake.batches++;
    int rc = !s->batch || !find_driver() ? INVALID_PARAMETER : planned_failure();
    for (int i = 0; i < s->batch && rc == 0; i++) {
        look_at_input(data[i], sizes[i]);
        rc = !pp_nvjpeg_reads_device(h->backend) != !owns(data[i], sizes[i])
                 ? INVALID_PARAMETER
                 : decode(data[i], sizes[i], params ? params[i] : &whole, &to[i], h->backend);
    }
    if (rc == 0)
        take_time(h, s->batch, stream);
    else
        s->batch = 0; /* "also use to reset failed batches" */
    return rc;
}

EXPORT int nvjpegDecodeBatched(pp_nvjpeg_handle h, pp_nvjpeg_state s, const unsigned char *const *data,
                               const size_t *sizes, struct pp_nvjpeg_image *to, pp_cu_stream stream)
{
    enter(s);
    return leave(s, decode_batch(h, s, data, sizes, to, NULL, stream));
}

#ifndef FAKE_WHOLE
EXPORT int nvjpegDecodeBatchedEx(pp_nvjpeg_handle h, pp_nvjpeg_state s, const unsigned char *const *data,
                                 const size_t *sizes, struct pp_nvjpeg_image *to, pp_nvjpeg_params *params,
                                 pp_cu_stream stream)
{
    enter(s);
    int rc = h->backend != PP_NVJPEG_HARDWARE ? PP_NVJPEG_NOT_IMPLEMENTED : fake.roi_rc;
    if (rc)
        s->batch = 0;
    return leave(s, rc ? rc : decode_batch(h, s, data, sizes, to, params, stream));
}
#endif

EXPORT int nvjpegDecode(pp_nvjpeg_handle h, pp_nvjpeg_state s, const unsigned char *data, size_t size,
                        int format, struct pp_nvjpeg_image *to, pp_cu_stream stream)
{
    enter(s);
    fake.singles++;
    int rc = format != PP_NVJPEG_RGBI || !find_driver() ? INVALID_PARAMETER : planned_failure();
    if (rc == 0)
        rc = owns(data, size) ? INVALID_PARAMETER : decode(data, size, &whole, to, h->backend);
    if (rc == 0)
        take_time(h, 1, stream);
    return leave(s, rc);
}
