/* The loader with JPEG decoded on the device, on the fakes of driver and nvJPEG: the same batches as on the
 * CPU, whatever is among the files and whatever fails.
 *
 * With PIPEPROBE_TEST_DEVICE set, on this machine's GPU: pixels may be off by PIXELS_OFF there, where the
 * fakes' are equal, and what only a fake can be told (how long it takes, what it refuses, when it fails) is
 * skipped. Exit code 77 without a GPU. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/decode.h"
#include "probe/device/device.h"
#include "probe/device/nvjpeg.h"
#include "probe/loader/loader.h"
#include "probe/sampler/sampler.h"
#include "probe/trace/trace.h"
#include "probe/transform/transform.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_nvjpeg.h"
#include "tests/fake/fake_open.h"
#include "tests/support/dataset_tree.h"
#include "tests/support/image_samples.h"

#include <math.h>
#include <xxhash.h>

enum { FILES = 40, ODD = 61, BATCH = 8 };
#define PIXELS_OFF 10.0           /* of 255, on average: the files are small, and full of edges of colour */
#define PIXEL (1 / 255.0 / 0.226) /* of a value that is normalised by ImageNet's deviations */

static int on_device;
#define NEEDS_A_FAKE(why) \
    if (on_device) { \
        print_message("# skip: only a fake %s\n", why); \
        skip(); \
    }

static __typeof__(fake_cuda_reset) *reset_cuda;
static __typeof__(fake_cuda_leaks) *leaks_cuda;
static __typeof__(fake_nvjpeg_reset) *reset;
static __typeof__(fake_nvjpeg_leaks) *leaks;
static __typeof__(fake_nvjpeg_singles) *singles;
static __typeof__(fake_nvjpeg_regions) *regions;
static __typeof__(fake_nvjpeg_unpinned) *unpinned;
static __typeof__(fake_nvjpeg_unpadded) *unpadded;
static __typeof__(fake_nvjpeg_most_at_once) *most_at_once;
static __typeof__(fake_cuda_calls) *calls;

/* ---- the files ---- */

/* Forty images: most are plain; 3 is cut, 7 has a marker in its data, 5 is progressive, 11 CMYK, 13 grey, 17
 * a PNG, 19 wants to be rotated, 23 and 31 are ODD pixels wide. */
static struct bytes file_of(int i)
{
    struct jpeg_kind k = {.width = 40 + i,
                          .height = 70 - i,
                          .space = JCS_YCbCr,
                          .h = {1 + i % 2, 1, 1},
                          .v = {1 + i % 3 / 2, 1, 1},
                          .quality = 60 + i};
    if (i == 17) {
        uint8_t rows[16 * 48];
        memset(rows, 77, sizeof(rows));
        return encode_png(16, 16, 8, PNG_COLOR_TYPE_RGB, 0, rows, 48, NULL, 0);
    }
    k.progressive = i == 5;
    if (i == 11)
        k.space = JCS_CMYK, k.h[3] = k.v[3] = 1, k.h[0] = k.v[0] = 1;
    if (i == 13)
        k.space = JCS_GRAYSCALE, k.h[0] = k.v[0] = 1;
    if (i == 19)
        k.orientation = 6;
    k.width = i == 23 || i == 31 ? ODD : k.width == ODD ? ODD + 100 : k.width;
    struct bytes b = encode_jpeg(&k, (uint64_t)i);
    if (i == 3)
        b.size /= 2;
    if (i == 7) /* a marker in the midst of the data */
        b.data[b.size - 60] = 0xff, b.data[b.size - 59] = 0xc0;
    return b;
}

static void put_files(void)
{
    for (int i = 0; i < FILES; i++) {
        char name[32];
        struct bytes b = file_of(i);
        snprintf(name, sizeof(name), "set/c/%02d.%s", i, i == 17 ? "png" : "jpg");
        tree_put(name, b.data, b.size);
        free(b.data);
    }
}

/* ---- a run ---- */

/* The rows of the last run on the CPU, and of the last one on the device. */
static struct {
    uint8_t *bytes;
    size_t n;
    enum pp_dtype dtype;
} rows_of[2];

static void keep_rows(int gpu, const void *data, size_t bytes)
{
    rows_of[gpu].bytes = realloc(rows_of[gpu].bytes, rows_of[gpu].n + bytes);
    assert_non_null(rows_of[gpu].bytes);
    memcpy(rows_of[gpu].bytes + rows_of[gpu].n, data, bytes);
    rows_of[gpu].n += bytes;
}

static float f16(uint16_t h)
{
    float v = ldexpf((float)(h & 1023) + (h & 0x7c00 ? 1024 : 0), (h >> 10 & 31 ? h >> 10 & 31 : 1) - 25);
    return h & 0x8000 ? -v : v;
}

static double value_at(int gpu, size_t i)
{
    const uint8_t *b = rows_of[gpu].bytes;
    float f;
    uint16_t h;
    switch (rows_of[gpu].dtype) {
    case PP_DTYPE_U8: return b[i];
    case PP_DTYPE_F16: memcpy(&h, b + 2 * i, 2); return f16(h) / PIXEL;
    default: memcpy(&f, b + 4 * i, 4); return f / PIXEL;
    }
}

/* Each row by itself: one in another's place is off by far more. */
static void assert_rows_close(size_t row_bytes)
{
    size_t each = row_bytes / pp_dtype_size(rows_of[0].dtype);
    assert_int_equal(rows_of[0].n, rows_of[1].n);
    for (size_t r = 0; r < rows_of[0].n / row_bytes; r++) {
        double off = 0;
        for (size_t i = r * each; i < (r + 1) * each; i++)
            off += fabs(value_at(0, i) - value_at(1, i)) / (double)each;
        if (off > PIXELS_OFF)
            fail_msg("row %zu is off by %.1f of 255", r, off);
    }
}

struct outcome {
    uint64_t digest, errors, began_ns, ended_ns;
    size_t row_bytes, samples;
    int gpu;
    char notes[600], path[512];
    struct pp_loader_result result;
    struct pp_err err;
    pp_status st;
};

static void on_deliver(void *ctx, const struct pp_loader_delivery *got)
{
    struct outcome *o = ctx;
    o->digest = XXH3_64bits_withSeed(got->data, got->samples * o->row_bytes, o->digest + got->batch);
    o->digest = XXH3_64bits_withSeed(got->indexes, got->samples * sizeof(*got->indexes), o->digest);
    o->samples += got->samples;
    if (on_device)
        keep_rows(o->gpu, got->data, got->samples * o->row_bytes);
}

static void on_error(void *ctx, const struct pp_loader_error *e)
{
    struct outcome *o = ctx;
    if (__atomic_fetch_add(&o->errors, 1, __ATOMIC_RELAXED) == 0)
        snprintf(o->path, sizeof(o->path), "%s", e->path);
}

static void on_note(void *ctx, const char *text)
{
    struct outcome *o = ctx;
    snprintf(o->notes + strlen(o->notes), sizeof(o->notes) - strlen(o->notes), "%s\n", text);
}

struct asked {
    const char *cuda, *nvjpeg; /* NULL: on the CPU */
    const char *transform;
    enum pp_dtype dtype;
    int backend, required, workers, copy_buffers, rotate, sync, epochs; /* epochs 0: 2 */
    uint64_t step_ns;                                                   /* on the device; 0: none */
    enum pp_on_error on_error;
    struct pp_session *session;
};

static struct outcome run(const struct asked *a)
{
    struct outcome o = {.st = PP_OK, .gpu = a->nvjpeg != NULL};
    struct pp_dataset *data;
    struct pp_sampler *sampler;
    struct pp_transform *t;
    struct pp_device *device;
    struct pp_loader *l = NULL;
    const char *spec = a->transform ? a->transform : "rrc:32,hflip,normalize=imagenet";
    rows_of[o.gpu].n = 0, rows_of[o.gpu].dtype = a->dtype;
    if (!on_device) {
        reset_cuda(a->cuda);
        reset(a->nvjpeg);
    }
    if (pp_dataset_open(&(struct pp_dataset_opts){.spec = tree_path("set")}, &data, &o.err) != PP_OK ||
        pp_sampler_create(&(struct pp_sampler_opts){.kind = PP_SAMPLER_SEQUENTIAL, .n = pp_dataset_len(data)},
                          &sampler, &o.err) != PP_OK ||
        pp_transform_parse(spec, a->dtype, &t, &o.err) != PP_OK)
        fail_msg("%s", o.err.text);
    o.st = pp_device_open(&(struct pp_device_opts){.kind = "cuda",
                                                   .copy_buffers = a->copy_buffers ? a->copy_buffers : 2},
                          &device, &o.err);
    o.row_bytes = pp_transform_bytes(t);
    struct pp_loader_opts opts = {.dataset = data,
                                  .sampler = sampler,
                                  .transform = t,
                                  .device = device,
                                  .session = a->session,
                                  .events = {&o, on_error, NULL, on_note, on_deliver},
                                  .workers = a->workers ? a->workers : 2,
                                  .prefetch = 2,
                                  .batch_size = BATCH,
                                  .in_order = 1,
                                  .seed = 7,
                                  .max_epochs = a->epochs ? (uint64_t)a->epochs : 2,
                                  .exif_rotate = a->rotate,
                                  .copy_buffers = a->copy_buffers ? a->copy_buffers : 2,
                                  .step = a->step_ns ? PP_STEP_DEVICE : PP_STEP_NONE,
                                  .step_ns = a->step_ns,
                                  .sync_every_step = a->sync,
                                  .on_error = a->on_error,
                                  .decode_on_device = a->nvjpeg != NULL,
                                  .decode_required = a->required};
    if (o.st == PP_OK && a->nvjpeg)
        o.st = pp_device_decode_open(device,
                                     &(struct pp_device_decode_opts){.backend = a->backend,
                                                                     .batch = BATCH,
                                                                     .cpu_threads = 2,
                                                                     .width = pp_transform_width(t),
                                                                     .height = pp_transform_height(t),
                                                                     .value_bytes = (int)pp_dtype_size(
                                                                         a->dtype),
                                                                     .table = pp_transform_values(t)},
                                     &o.err);
    if (o.st == PP_OK)
        o.st = pp_loader_create(&opts, &l, &o.err);
    o.began_ns = pp_now_ns();
    if (o.st == PP_OK)
        o.st = pp_loader_run(l, &o.result, &o.err);
    o.ended_ns = pp_now_ns();
    pp_loader_destroy(l);
    pp_device_close(device);
    pp_transform_destroy(t);
    pp_sampler_destroy(sampler);
    pp_dataset_close(data);
    return o;
}

static void assert_clean(void)
{
    if (on_device)
        return;
    assert_int_equal(leaks(), 0);
    assert_int_equal(leaks_cuda(), 0);
}

static void assert_same(const struct outcome *cpu, const struct outcome *gpu)
{
    if (gpu->st != PP_OK)
        fail_msg("%s", gpu->err.text);
    assert_int_equal(gpu->samples, cpu->samples);
    assert_int_equal(gpu->errors, cpu->errors);
    assert_int_equal(gpu->result.skipped, cpu->result.skipped);
    assert_int_equal(gpu->result.substituted, cpu->result.substituted);
    if (on_device)
        assert_rows_close(cpu->row_bytes);
    else
        assert_true(gpu->digest == cpu->digest);
    assert_clean();
}

/* ---- the tests ---- */

/* With the CPU's upsampling the fake gives the CPU's pixels, so that whole batches are equal bit for bit:
 * bytes, tables, kernel, and rows that were made on the CPU in their places among those of the device. */
static void batches_are_the_cpus_bit_for_bit(void **state)
{
    static const struct asked rows[] = {
        {.transform = "rrc:32,hflip,normalize=imagenet", .dtype = PP_DTYPE_F32},
        {.transform = "rrc:32,hflip,normalize=imagenet", .dtype = PP_DTYPE_F16},
        {.transform = "rrc:24x40,hflip", .dtype = PP_DTYPE_U8},
        {.transform = "resize:20,center:28,normalize=imagenet", .dtype = PP_DTYPE_F32}, /* padding */
        {.dtype = PP_DTYPE_F32, .on_error = PP_ON_ERROR_SUBSTITUTE},
        {.dtype = PP_DTYPE_F32, .rotate = 1},
        {.dtype = PP_DTYPE_F32, .workers = 5, .copy_buffers = 6},
        {.dtype = PP_DTYPE_F32, .workers = 1, .copy_buffers = 1},
    };
    /* the engines with regions of interest; without; a library that refuses them after all; no engines */
    static const char *const devices[] = {"fancy=1", "fancy=1;roi=0", "fancy=1;roi-rc=9",
                                          "fancy=1;engines=0"};
    (void)state;
    put_files();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct asked a = rows[i];
        struct outcome cpu = run(&a);
        assert_int_equal(cpu.st, PP_OK);
        assert_int_equal(cpu.errors, 2); /* the one that is cut, in each of two epochs */
        for (size_t d = 0; d < (on_device ? 1 : sizeof(devices) / sizeof(devices[0])); d++) {
            a.nvjpeg = devices[d];
            struct outcome gpu = run(&a);
            assert_same(&cpu, &gpu);
            if (on_device) { /* which of the odd ones its library takes is its own affair */
                assert_in_range(gpu.result.decode.images, FILES, 2 * FILES);
                continue;
            }
            /* without the cut one, the one with a marker, progressive, CMYK, PNG, and perhaps the one
             * that is rotated; the substitute of the cut one is decoded twice */
            assert_int_equal(gpu.result.decode.images,
                             2 * (FILES - 5 - (a.rotate != 0) + (a.on_error == PP_ON_ERROR_SUBSTITUTE)));
            assert_int_equal(gpu.result.decode.refused, 0);
            assert_int_equal(gpu.result.decode.regions, regions());
            if (d == 0) /* nearly every crop is a part of its image */
                assert_in_range(regions(), gpu.result.decode.images / 2, gpu.result.decode.images);
            else
                assert_int_equal(regions(), 0);
            assert_int_equal(gpu.result.decode.differences, 5);
            assert_in_range(gpu.result.decode.compared, 20, 5 * 16);
            assert_int_equal(gpu.result.decode.largest, 0);
            assert_int_equal(singles(), 0);
        }
    }
}

/* Whichever back end is asked for, from the host's memory or the device's. */
static void every_back_end_gives_the_same(void **state)
{
    static const struct {
        int backend, parts;
    } rows[] = {{PP_NVJPEG_HARDWARE, 1},
                {PP_NVJPEG_HARDWARE_DEVICE, 0},
                {PP_NVJPEG_GPU_HYBRID, 0},
                {PP_NVJPEG_GPU_HYBRID_DEVICE, 0},
                {PP_NVJPEG_HYBRID, 0}};
    struct asked a = {0};
    (void)state;
    put_files();
    struct outcome cpu = run(&a);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        a = (struct asked){.nvjpeg = "fancy=1", .backend = rows[i].backend, .copy_buffers = 3};
        struct outcome gpu = run(&a);
        if (on_device && gpu.st == PP_E_UNSUPPORTED) { /* a GPU without engines, or a library without it */
            print_message("%s\n", gpu.err.text);
            continue;
        }
        assert_same(&cpu, &gpu);
        if (on_device) {
            assert_in_range(gpu.result.decode.images, FILES, 2 * FILES);
            continue;
        }
        assert_int_equal(gpu.result.decode.images, 2 * (FILES - 5));
        assert_int_equal(gpu.result.decode.regions > 0, rows[i].parts);
        assert_int_equal(singles(), 0);
        assert_int_equal(unpinned(), 0);
        assert_int_equal(unpadded(), 0);
    }
    if (on_device)
        return;
    a = (struct asked){.nvjpeg = "fancy=1;engines=0", .backend = PP_NVJPEG_HARDWARE_DEVICE};
    struct outcome none = run(&a);
    assert_int_equal(none.st, PP_E_UNSUPPORTED);
    assert_non_null(
        strstr(none.err.text, "back end HARDWARE_DEVICE cannot be used: this GPU has no JPEG engine"));
    assert_clean();
}

/* A batch takes 30 ms, and the CPU's part of it a few. Pixels are compared one batch at a time, in the first
 * epochs. */
static void several_batches_are_under_way(void **state)
{
    (void)state;
    NEEDS_A_FAKE("takes as long as it is told");
    put_files();
    struct outcome one = run(&(struct asked){.nvjpeg = "batch-us=30000", .epochs = 4, .copy_buffers = 1});
    assert_int_equal(one.st, PP_OK);
    assert_int_equal(most_at_once(), 1);
    struct outcome four = run(&(struct asked){.nvjpeg = "batch-us=30000", .epochs = 4, .copy_buffers = 4});
    assert_int_equal(four.st, PP_OK);
    assert_in_range(most_at_once(), 2, 4);
}

/* After two epochs each place has had every batch, of which none is cropped at random: four more allocate
 * nothing. */
static void memory_is_taken_once(void **state)
{
    static const char *const names[] = {"cuMemAlloc_v2", "cuMemHostAlloc", "cuEventCreate", "cuStreamCreate"};
    unsigned before[4];
    (void)state;
    NEEDS_A_FAKE("counts its calls");
    put_files();
    for (int epochs = 2; epochs <= 6; epochs += 4) {
        struct outcome o = run(&(struct asked){.nvjpeg = "roi=0",
                                               .transform = "resize:40,center:32,normalize=imagenet",
                                               .epochs = epochs,
                                               .workers = 1});
        assert_int_equal(o.st, PP_OK);
        for (int i = 0; i < 4; i++) {
            if (epochs == 2)
                before[i] = calls(names[i]);
            else if (calls(names[i]) != before[i])
                fail_msg("%s: %u calls, then %u", names[i], before[i], calls(names[i]));
        }
    }
}

/* A batch with a damaged image falls apart into whole images. */
static void regions_are_forgotten_where_images_are_decoded_singly(void **state)
{
    struct asked a = {0};
    char words[64];
    (void)state;
    NEEDS_A_FAKE("refuses what it is told to");
    put_files();
    struct outcome cpu = run(&a);
    snprintf(words, sizeof(words), "fancy=1;bad=%d:3", ODD);
    a.nvjpeg = words;
    struct outcome gpu = run(&a);
    assert_same(&cpu, &gpu);
    assert_true(singles() > 0 && gpu.result.decode.regions > 0);
    assert_true(gpu.result.decode.regions < gpu.result.decode.images);
}

/* Without it the pixels are an engine's: close, and not equal where chroma is scaled up. */
static void differences_are_measured(void **state)
{
    struct asked a = {.nvjpeg = ""};
    uint64_t images = 0;
    (void)state;
    put_files();
    struct outcome o = run(&a);
    const struct pp_loader_decode *d = &o.result.decode;
    assert_int_equal(o.st, PP_OK);
    assert_in_range(d->largest, 1, 255);
    assert_true(d->mean > 0 && d->mean < 10);
    if (!on_device)
        assert_int_equal(d->differences, 5);
    for (size_t i = 0; i < d->differences && !on_device; i++) {
        int whole = !strcmp(d->difference[i].sampling, "4:4:4") || !strcmp(d->difference[i].sampling, "gray");
        assert_in_range(d->difference[i].images, 1, 16);
        assert_in_range(d->difference[i].largest, whole ? 0 : 1, whole ? 0 : d->largest);
        assert_true(whole ? d->difference[i].mean == 0 : d->difference[i].mean > 0);
        images += d->difference[i].images;
    }
    assert_true(on_device ? d->compared > 0 : d->compared == images);
    assert_clean();
}

/* A decoder whose grey images are none is found out by their pixels, and gets no more of them. */
static void grey_images_that_are_none_go_to_the_cpu(void **state)
{
    struct asked a = {0};
    (void)state;
    NEEDS_A_FAKE("has grey images that are none");
    put_files();
    struct outcome cpu = run(&a);
    a.nvjpeg = "fancy=1;red=1";
    struct outcome gpu = run(&a);
    assert_same(&cpu, &gpu);
    assert_in_range(gpu.result.decode.refused, 1, 2);
    assert_non_null(strstr(gpu.notes, "from here on the CPU decodes grey images"));
    assert_ptr_equal(strchr(gpu.notes, '\n'), gpu.notes + strlen(gpu.notes) - 1);
}

/* A batch with an image that the decoder refuses fails as a whole: each image alone, and that one on the CPU.
 */
static void a_refused_image_is_decoded_on_the_cpu(void **state)
{
    struct asked a = {0};
    char words[64];
    (void)state;
    NEEDS_A_FAKE("refuses what it is told to");
    put_files();
    struct outcome cpu = run(&a);
    static const int codes[] = {3, 4, 10};
    for (int i = 0; i < 3; i++) {
        snprintf(words, sizeof(words), "fancy=1;bad=%d:%d", ODD, codes[i]);
        a.nvjpeg = words;
        struct outcome gpu = run(&a);
        assert_same(&cpu, &gpu);
        assert_int_equal(gpu.result.decode.refused, 4); /* two images in each of two epochs */
        assert_true(singles() >= 2 * 2);
    }
    snprintf(words, sizeof(words), "fancy=1;refuse=%d", ODD); /* said by the header already */
    a.nvjpeg = words;
    struct outcome gpu = run(&a);
    assert_same(&cpu, &gpu);
    assert_int_equal(gpu.result.decode.refused, 0);
    assert_int_equal(gpu.result.decode.images, 2 * (FILES - 5 - 2));
    assert_int_equal(singles(), 0);
}

/* What the device refuses and the CPU finds damaged is an error of its sample. The fake is told to take a
 * file that our own look at the markers lets through: bits flipped inside the data. */
static void a_damaged_image_that_reaches_the_device_is_an_error_of_its_sample(void **state)
{
    struct asked a = {0};
    (void)state;
    put_files();
    struct bytes b = file_of(9);
    /* A Huffman table with a symbol count that cannot be: the markers are sound, the tables are not. */
    for (size_t i = 0; i + 20 < b.size; i++)
        if (b.data[i] == 0xff && b.data[i + 1] == 0xc4) {
            memset(b.data + i + 5, 0xff, 4);
            break;
        }
    tree_put("set/c/09.jpg", b.data, b.size);
    free(b.data);
    struct outcome cpu = run(&a);
    assert_int_equal(cpu.errors, 2 * 2);
    a.nvjpeg = "fancy=1";
    struct outcome gpu = run(&a);
    assert_same(&cpu, &gpu);
}

/* Memory runs out while the run goes: for the pixels of a batch with a large image, for nvJPEG itself. */
static void without_memory_the_cpu_goes_on_or_the_run_ends(void **state)
{
    static const struct {
        const char *cuda, *nvjpeg, *says;
    } rows[] = {
        {"fail=cuMemAlloc_v2:2:2", "fancy=1", "MiB on the device for the pixels of "},
        {"", "fancy=1;fail=1:5", "ALLOCATOR_FAILURE"},
        {"", "fancy=1;fail=3:5", "ALLOCATOR_FAILURE"},
    };
    struct asked a = {0};
    struct jpeg_kind large = {
        .width = 1000, .height = 700, .space = JCS_YCbCr, .h = {2, 1, 1}, .v = {2, 1, 1}};
    (void)state;
    NEEDS_A_FAKE("has no memory when it is told so");
    put_files();
    struct bytes b = encode_jpeg(&large, 1);
    tree_put("set/c/35.jpg", b.data, b.size); /* more bytes than a row of the batch, and 2 MB of pixels */
    free(b.data);
    struct outcome cpu = run(&a);
    a.nvjpeg = "fancy=1";
    struct outcome gpu = run(&a);
    assert_same(&cpu, &gpu);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        a = (struct asked){.cuda = rows[i].cuda, .nvjpeg = rows[i].nvjpeg};
        gpu = run(&a);
        assert_same(&cpu, &gpu);
        if (!strstr(gpu.notes, rows[i].says))
            fail_msg("\"%s\" instead of \"%s\"", gpu.notes, rows[i].says);
        assert_non_null(strstr(gpu.notes, "--decode auto goes on on the CPU: "));
        assert_non_null(strstr(gpu.result.decode.gave_up, rows[i].says));
        a.required = 1;
        gpu = run(&a);
        assert_int_equal(gpu.st, PP_E_NO_MEMORY);
        assert_non_null(strstr(gpu.err.text, rows[i].says));
        assert_clean();
    }
}

/* An image that the device's memory has no room for is the CPU's, whatever is required, and the others stay
 * where they are. */
static void an_image_that_is_too_large_is_the_cpus(void **state)
{
    struct jpeg_kind large = {
        .width = 1000, .height = 700, .space = JCS_YCbCr, .h = {2, 1, 1}, .v = {2, 1, 1}};
    struct asked a = {0};
    (void)state;
    NEEDS_A_FAKE("has as little memory as it is told");
    put_files();
    struct bytes b = encode_jpeg(&large, 1);
    tree_put("set/c/35.jpg", b.data, b.size);
    free(b.data);
    struct outcome cpu = run(&a);
    for (int required = 0; required < 2; required++) {
        a = (struct asked){.cuda = "device-mib=4", .nvjpeg = "fancy=1", .required = required};
        struct outcome gpu = run(&a);
        assert_same(&cpu, &gpu);
        assert_int_equal(gpu.result.decode.too_large, 2); /* one in each of two epochs */
        assert_int_equal(gpu.result.decode.images, 2 * (FILES - 5 - 1));
        assert_string_equal(gpu.result.decode.gave_up, "");
        assert_non_null(strstr(gpu.notes, "an image of 1000 x 700 pixels is too large for the GPU's memory"));
        assert_ptr_equal(strchr(gpu.notes, '\n'), gpu.notes + strlen(gpu.notes) - 1);
    }
}

/* A decoder that fails for another reason is given up once, and said once. */
static void a_decoder_that_fails_is_given_up(void **state)
{
    struct asked a = {0};
    (void)state;
    NEEDS_A_FAKE("fails when it is told to");
    put_files();
    struct outcome cpu = run(&a);
    a.nvjpeg = "fancy=1;fail=2:8";
    a.copy_buffers = 4;
    struct outcome gpu = run(&a);
    assert_same(&cpu, &gpu);
    assert_non_null(strstr(gpu.notes, "status 8, INTERNAL_ERROR"));
    assert_ptr_equal(strchr(gpu.notes, '\n'), gpu.notes + strlen(gpu.notes) - 1);
    assert_true(gpu.result.decode.images >= 1 && gpu.result.decode.images <= BATCH);
    a.required = 1;
    gpu = run(&a);
    assert_int_equal(gpu.st, PP_E_UNSUPPORTED);
    assert_clean();
}

/* ---- a device that is lost ---- */

/* The run has gone on without its device: the CPU's batches, one sentence, nothing of nvJPEG left behind.
 * What the driver had given, a lost device does not take back. */
static void assert_went_on(const struct outcome *cpu, const struct outcome *gpu, const char *says)
{
    if (gpu->st != PP_OK)
        fail_msg("%s", gpu->err.text);
    assert_int_equal(gpu->samples, cpu->samples);
    assert_int_equal(gpu->errors, cpu->errors);
    assert_true(gpu->digest == cpu->digest);
    assert_string_equal(gpu->result.ended_by, "epochs");
    if (!strstr(gpu->result.decode.lost, says))
        fail_msg("\"%s\" instead of \"%s\"", gpu->result.decode.lost, says);
    /* The copy lane may lose it before the first batch is waited for, hence before start_ns. */
    assert_in_range(gpu->result.decode.lost_ns, gpu->began_ns, gpu->ended_ns);
    assert_non_null(strstr(gpu->notes, "--decode auto goes on without the GPU: "));
    assert_non_null(strstr(gpu->notes, gpu->result.decode.lost));
    assert_ptr_equal(strchr(gpu->notes, '\n'), gpu->notes + strlen(gpu->notes) - 1);
    assert_int_equal(leaks(), 0);
}

/* A kernel that went wrong leaves a context in which nothing works. */
static void a_poisoned_context_ends_the_run_or_leaves_it_to_the_cpu(void **state)
{
    char words[64];
    (void)state;
    NEEDS_A_FAKE("is poisoned when it is told so");
    put_files();
    struct outcome cpu = run(&(struct asked){0});
    snprintf(words, sizeof(words), "fancy=1;poison=%d", ODD);
    struct outcome o = run(&(struct asked){.nvjpeg = words, .required = 1});
    assert_int_equal(o.st, PP_E_SYSTEM);
    assert_non_null(strstr(o.err.text, "an illegal memory access"));
    assert_non_null(strstr(o.err.text, "the device may be lost"));
    assert_string_equal(o.result.ended_by, "error");
    assert_true(o.result.batches >= 1); /* before the batch of that image */
    assert_int_equal(o.result.decode.lost_ns, 0);
    assert_int_equal(leaks(), 0);
    for (int buffers = 1; buffers <= 4; buffers++) {
        o = run(&(struct asked){.nvjpeg = words, .copy_buffers = buffers});
        assert_went_on(&cpu, &o, "an illegal memory access");
        /* The first batches were decoded there, and those after it were not. */
        assert_true(o.result.decode.images < FILES);
    }
}

/* At whatever call the device is lost, while it decodes, copies, steps or is waited for. */
static void a_device_may_be_lost_at_any_call(void **state)
{
    unsigned lost = 0;
    (void)state;
    NEEDS_A_FAKE("is lost when it is told so");
    put_files();
    struct outcome cpu = run(&(struct asked){0});
    for (unsigned at = 30; at < 900; at += 37) {
        char words[32];
        snprintf(words, sizeof(words), "lose=%u:719", at);
        struct asked a = {.cuda = words,
                          .nvjpeg = "fancy=1;batch-us=10;image-us=1",
                          .copy_buffers = 1 + (int)(at % 3),
                          .step_ns = at % 2 ? 20000 : 0,
                          .sync = at % 5 == 0};
        struct outcome gpu = run(&a);
        if (gpu.result.start_ns && gpu.result.decode.lost[0]) {
            assert_went_on(&cpu, &gpu, "CUDA error 719");
            lost++;
        } else if (gpu.result.start_ns) { /* it was over before */
            assert_int_equal(gpu.st, PP_OK);
            assert_true(gpu.digest == cpu.digest);
        } else {
            assert_true(gpu.st != PP_OK && gpu.err.text[0]);
        }
    }
    assert_true(lost >= 5);
}

/* Each call of the driver that decoding makes may fail, once: the right batches, unless the run had not begun
 * yet, and nothing is left behind. */
static void any_call_may_fail(void **state)
{
    struct asked cpu_asked = {0};
    (void)state;
    NEEDS_A_FAKE("fails when it is told to");
    put_files();
    struct outcome cpu = run(&cpu_asked);
    for (unsigned at = 20; at < 400; at += 13) {
        char words[32];
        snprintf(words, sizeof(words), "once=%u:2", at);
        struct asked a = {.cuda = words, .nvjpeg = "fancy=1;batch-us=10;image-us=1"};
        struct outcome gpu = run(&a);
        if (gpu.result.start_ns) {
            if (gpu.st != PP_OK)
                fail_msg("call %u: %s", at, gpu.err.text);
            assert_true(gpu.digest == cpu.digest);
            assert_int_equal(gpu.samples, cpu.samples);
        } else {
            assert_true(gpu.err.text[0]);
        }
        assert_int_equal(leaks(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(batches_are_the_cpus_bit_for_bit),
        TREE_TEST(every_back_end_gives_the_same),
        TREE_TEST(several_batches_are_under_way),
        TREE_TEST(memory_is_taken_once),
        TREE_TEST(regions_are_forgotten_where_images_are_decoded_singly),
        TREE_TEST(differences_are_measured),
        TREE_TEST(grey_images_that_are_none_go_to_the_cpu),
        TREE_TEST(a_refused_image_is_decoded_on_the_cpu),
        TREE_TEST(a_damaged_image_that_reaches_the_device_is_an_error_of_its_sample),
        TREE_TEST(without_memory_the_cpu_goes_on_or_the_run_ends),
        TREE_TEST(an_image_that_is_too_large_is_the_cpus),
        TREE_TEST(a_decoder_that_fails_is_given_up),
        TREE_TEST(a_poisoned_context_ends_the_run_or_leaves_it_to_the_cpu),
        TREE_TEST(a_device_may_be_lost_at_any_call),
        TREE_TEST(any_call_may_fail),
    };
    on_device = getenv("PIPEPROBE_TEST_DEVICE") != NULL;
    if (on_device) {
        struct pp_device *device;
        struct pp_err err;
        if (pp_device_open(&(struct pp_device_opts){.kind = "cuda", .copy_buffers = 2}, &device, &err) !=
            PP_OK) {
            fprintf(stderr, "# skip: %s\n", err.text);
            return 77;
        }
        pp_device_close(device);
        return cmocka_run_group_tests(tests, NULL, NULL);
    }
    void *cuda = fake_open("libcuda.so.1"), *nvjpeg = fake_open("libnvjpeg.so.12");
    *(void **)&reset_cuda = dlsym(cuda, "fake_cuda_reset");
    *(void **)&leaks_cuda = dlsym(cuda, "fake_cuda_leaks");
    *(void **)&reset = dlsym(nvjpeg, "fake_nvjpeg_reset");
    *(void **)&leaks = dlsym(nvjpeg, "fake_nvjpeg_leaks");
    *(void **)&singles = dlsym(nvjpeg, "fake_nvjpeg_singles");
    *(void **)&regions = dlsym(nvjpeg, "fake_nvjpeg_regions");
    *(void **)&unpinned = dlsym(nvjpeg, "fake_nvjpeg_unpinned");
    *(void **)&unpadded = dlsym(nvjpeg, "fake_nvjpeg_unpadded");
    *(void **)&most_at_once = dlsym(nvjpeg, "fake_nvjpeg_most_at_once");
    *(void **)&calls = dlsym(cuda, "fake_cuda_calls");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
