/* nvJPEG without a GPU: see fake_nvjpeg.h. Build: a shared library with the soname libnvjpeg.so.12; and, as
 * an older version that lacks a call, libnvjpeg.so.11. */
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

enum { INVALID_PARAMETER = 2, INTERNAL_ERROR = 8 };

static struct {
    int major, minor, engines, cores, create, create_any, fancy, refuse, poison, red;
    int bad_width, bad_rc, fail_rc;
    unsigned fail_at;
    uint64_t batch_ns, image_ns;
    atomic_uint calls, batches, singles, images;
    atomic_int alive;
} fake;

/* The driver that the test loaded. */
static __typeof__(fake_cuda_owns) *owns;
static __typeof__(fake_cuda_occupy) *occupy;
static __typeof__(fake_cuda_poison) *poison;

struct pp_nvjpeg_handle_st {
    int backend;
};
struct pp_nvjpeg_state_st {
    atomic_int in_use;
    int batch; /* 0: not initialised */
};
struct pp_nvjpeg_stream_st {
    int width, supported;
};

static void configure(const char *words)
{
    char copy[512], *rest = copy, *word;
    snprintf(copy, sizeof(copy), "%s", words ? words : "");
    memset(&fake, 0, sizeof(fake));
    fake.major = 12;
    fake.minor = 4;
    fake.engines = 1;
    fake.cores = 5;
    fake.batch_ns = 200000;
    fake.image_ns = 20000;
    while ((word = strsep(&rest, ";"))) {
        unsigned long us;
        if (sscanf(word, "version=%d.%d", &fake.major, &fake.minor) == 2 ||
            sscanf(word, "engines=%d", &fake.engines) == 1 || sscanf(word, "cores=%d", &fake.cores) == 1 ||
            sscanf(word, "create=%d", &fake.create) == 1 ||
            sscanf(word, "create-any=%d", &fake.create_any) == 1 ||
            sscanf(word, "fancy=%d", &fake.fancy) == 1 || sscanf(word, "refuse=%d", &fake.refuse) == 1 ||
            sscanf(word, "bad=%d:%d", &fake.bad_width, &fake.bad_rc) == 2 ||
            sscanf(word, "poison=%d", &fake.poison) == 1 || sscanf(word, "red=%d", &fake.red) == 1 ||
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
        *(void **)&occupy = dlsym(cuda, "fake_cuda_occupy");
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

EXPORT size_t fake_nvjpeg_leaks(void)
{
    return (size_t)fake.alive;
}

/* ---- libjpeg ---- */

struct reader {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    jmp_buf on_error;
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
    memset(r, 0, sizeof(*r));
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
           y->h_samp_factor <= 2 && y->v_samp_factor <= 2 && (int)c->image_width != fake.refuse;
}

/* As a decoder would that fills a grey image's first channel alone. */
static void blacken(const struct jpeg_decompress_struct *c, const struct pp_nvjpeg_image *to)
{
    for (JDIMENSION y = 0; y < c->output_height; y++)
        for (JDIMENSION x = 0; x < c->output_width; x++)
            memset(to->channel[0] + y * to->pitch[0] + 3 * x + 1, 0, 2);
}

/* Row after row into memory that is the device's. */
static int decode(const unsigned char *data, size_t size, const struct pp_nvjpeg_image *to, int backend)
{
    struct reader r;
    volatile int rc = PP_NVJPEG_BAD_JPEG;
    if (!data || !size)
        return INVALID_PARAMETER;
    if (setjmp(r.on_error) == 0) {
        open_reader(&r, data, size);
        jpeg_read_header(&r.c, TRUE);
        int width = (int)r.c.image_width;
        if (backend == PP_NVJPEG_HARDWARE && !engine_takes(&r.c))
            rc = PP_NVJPEG_NOT_SUPPORTED;
        else if (width == fake.bad_width)
            rc = fake.bad_rc;
        else if (to->pitch[0] < (size_t)width * 3 ||
                 !owns(to->channel[0], to->pitch[0] * (r.c.image_height - 1) + (size_t)width * 3))
            rc = INVALID_PARAMETER;
        else {
            r.c.out_color_space = JCS_RGB;
            r.c.do_fancy_upsampling = fake.fancy ? TRUE : FALSE;
            jpeg_start_decompress(&r.c);
            while (r.c.output_scanline < r.c.output_height) {
                JSAMPROW row = to->channel[0] + r.c.output_scanline * to->pitch[0];
                jpeg_read_scanlines(&r.c, &row, 1);
            }
            jpeg_finish_decompress(&r.c);
            if (fake.red && r.c.num_components == 1)
                blacken(&r.c, to);
            rc = r.errors.num_warnings ? PP_NVJPEG_BAD_JPEG : 0;
            fake.images++;
            if (width == fake.poison)
                poison(700);
        }
    }
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
    int rc = fake.create_any                 ? fake.create_any
             : backend != PP_NVJPEG_HARDWARE ? 0
             : fake.create                   ? fake.create
             : fake.engines == 0             ? PP_NVJPEG_ARCH_MISMATCH
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
        s->supported = engine_takes(&r.c);
        rc = 0;
    }
    jpeg_destroy_decompress(&r.c);
    return rc;
}

EXPORT int nvjpegDecodeBatchedSupported(pp_nvjpeg_handle h, pp_nvjpeg_stream s, int *unsupported)
{
    *unsupported = h->backend == PP_NVJPEG_HARDWARE && !s->supported;
    return 0;
}

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

static void take_time(const struct pp_nvjpeg_handle_st *h, int images, pp_cu_stream stream)
{
    int cores = h->backend == PP_NVJPEG_HARDWARE ? fake.engines * fake.cores : 1;
    occupy(stream, fake.batch_ns + fake.image_ns * (uint64_t)images / (uint64_t)(cores > 0 ? cores : 1));
}

/* As a whole or not at all: a bad image fails the call, and what came before it is lost. */
EXPORT int nvjpegDecodeBatched(pp_nvjpeg_handle h, pp_nvjpeg_state s, const unsigned char *const *data,
                               const size_t *sizes, struct pp_nvjpeg_image *to, pp_cu_stream stream)
{
    enter(s);
    fake.batches++;
    int rc = !s->batch || !find_driver() ? INVALID_PARAMETER : planned_failure();
    for (int i = 0; i < s->batch && rc == 0; i++)
        rc = decode(data[i], sizes[i], &to[i], h->backend);
    if (rc == 0)
        take_time(h, s->batch, stream);
    else
        s->batch = 0; /* "also use to reset failed batches" */
    return leave(s, rc);
}

EXPORT int nvjpegDecode(pp_nvjpeg_handle h, pp_nvjpeg_state s, const unsigned char *data, size_t size,
                        int format, struct pp_nvjpeg_image *to, pp_cu_stream stream)
{
    enter(s);
    fake.singles++;
    int rc = format != PP_NVJPEG_RGBI || !find_driver() ? INVALID_PARAMETER : planned_failure();
    if (rc == 0)
        rc = decode(data, size, to, h->backend);
    if (rc == 0)
        take_time(h, 1, stream);
    return leave(s, rc);
}
