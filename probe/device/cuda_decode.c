#include "probe/device/cuda_decode.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/resize.cuh"

#define CHANNELS 3u
#define THREADS 256u
#define MOST_BLOCKS_X 1024u
#define MOST_BLOCKS_Y 65535u
#define PITCH_ALIGN 32u
#define IMAGE_ALIGN 256u

static const char failed_batch[] = "decoding a batch on the device failed";

/* Memory that grows and stays. */
struct pool {
    pp_cu_pointer device;
    void *host; /* page-locked; NULL: none is wanted */
    size_t size;
};

struct pp_cuda_flight {
    pp_cu_stream stream;
    pp_cu_event started, decoded, done;
    pp_nvjpeg_state state, single;
    int initialised;                 /* batch size of state; 0: none, or it failed */
    struct pool pixels, jobs, bytes; /* bytes: encoded, for back ends that read them there */
    /* opts.batch of each */
    const unsigned char **data, **device_data;
    pp_nvjpeg_params *params; /* NULL: no regions */
    size_t *sizes;
    struct pp_nvjpeg_image *to;
    struct pp_device_region *place;
};

static size_t aligned(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static pp_status check(const struct pp_cuda_decode *c, pp_cu_result rc, const char *what, struct pp_err *err)
{
    pp_status st = pp_cuda_check(c->cu, rc, err, PP_CUDA_LOST, "%s", what);
    return st == PP_OK || st == PP_E_NO_MEMORY ? st : PP_E_SYSTEM;
}

/* ---- making and ending ---- */

static void free_pool(const struct pp_cuda_decode *c, struct pool *p)
{
    if (p->device)
        c->cu->cuMemFree_v2(p->device);
    if (p->host)
        c->cu->cuMemFreeHost(p->host);
    *p = (struct pool){0};
}

void pp_device_decode_trim(struct pp_device *device)
{
    struct pp_cuda_decode *c = &((struct pp_cuda *)device)->decode;
    size_t n = pp_cuda_enter((const struct pp_cuda *)device) == 0 ? c->flights : 0;
    for (size_t i = 0; i < n; i++) {
        free_pool(c, &c->flight[i].pixels);
        free_pool(c, &c->flight[i].jobs);
        free_pool(c, &c->flight[i].bytes);
    }
}

void pp_cuda_decode_free(struct pp_cuda_decode *c)
{
    for (size_t k = 0; c->flight && k < c->flights; k++) {
        struct pp_cuda_flight *f = &c->flight[k];
        const pp_cu_event events[] = {f->started, f->decoded, f->done};
        if (f->state)
            c->nv.nvjpegJpegStateDestroy(f->state);
        if (f->single)
            c->nv.nvjpegJpegStateDestroy(f->single);
        for (size_t i = 0; f->params && i < c->opts.batch; i++)
            if (f->params[i])
                c->nv.nvjpegDecodeParamsDestroy(f->params[i]);
        free_pool(c, &f->pixels);
        free_pool(c, &f->jobs);
        free_pool(c, &f->bytes);
        for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
            if (events[i])
                c->cu->cuEventDestroy_v2(events[i]);
        if (f->stream)
            c->cu->cuStreamDestroy_v2(f->stream);
        free(f->data);
        free(f->device_data);
        free(f->params);
        free(f->sizes);
        free(f->to);
        free(f->place);
    }
    free(c->flight);
    if (c->single)
        c->nv.nvjpegDestroy(c->single);
    if (c->choice.handle)
        c->nv.nvjpegDestroy(c->choice.handle);
    if (c->table)
        c->cu->cuMemFree_v2(c->table);
    if (c->now)
        c->cu->cuEventDestroy_v2(c->now);
    if (c->idle)
        c->cu->cuStreamDestroy_v2(c->idle);
    *c = (struct pp_cuda_decode){0};
}

static pp_status make_flight(struct pp_cuda_decode *c, struct pp_cuda_flight *f, struct pp_err *err)
{
    const struct pp_cuda_driver *cu = c->cu;
    size_t n = c->opts.batch;
    f->data = calloc(n, sizeof(*f->data));
    f->device_data = calloc(n, sizeof(*f->device_data));
    f->sizes = calloc(n, sizeof(*f->sizes));
    f->to = calloc(n, sizeof(*f->to));
    f->place = calloc(n, sizeof(*f->place));
    if (c->regions)
        f->params = calloc(n, sizeof(*f->params));
    if (!f->data || !f->device_data || !f->sizes || !f->to || !f->place || (c->regions && !f->params))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a batch of %zu images to decode", n);
    pp_cu_result rc = cu->cuStreamCreate(&f->stream, PP_CU_STREAM_NON_BLOCKING);
    if (rc == 0)
        rc = cu->cuEventCreate(&f->started, PP_CU_EVENT_BLOCKING_SYNC);
    if (rc == 0)
        rc = cu->cuEventCreate(&f->decoded, PP_CU_EVENT_BLOCKING_SYNC);
    if (rc == 0)
        rc = cu->cuEventCreate(&f->done, PP_CU_EVENT_BLOCKING_SYNC | PP_CU_EVENT_DISABLE_TIMING);
    if (rc == 0 && c->nv.nvjpegJpegStateCreate(c->choice.handle, &f->state) != 0) {
        f->state = NULL;
        return pp_fail(err, PP_E_NO_MEMORY,
                       "nvJPEG has no room for a decoder state; use fewer --copy-buffers");
    }
    for (size_t i = 0; f->params && i < n && rc == 0; i++)
        if (c->nv.nvjpegDecodeParamsCreate(c->choice.handle, &f->params[i]) != 0) {
            f->params[i] = NULL;
            return pp_fail(err, PP_E_NO_MEMORY, "nvJPEG has no room for the regions of %zu images", n);
        }
    return check(c, rc, "making a stream and events for decoding failed", err);
}

pp_status pp_cuda_decode_make(struct pp_cuda_decode *c, const struct pp_cuda_driver *cu, pp_cu_module module,
                              size_t flights, const struct pp_device_decode_opts *opts, struct pp_err *err)
{
    *c = (struct pp_cuda_decode){.cu = cu, .opts = *opts, .flights = flights};
    pp_status st = pp_nvjpeg_load(&c->nv, err);
    if (st == PP_OK)
        st = pp_nvjpeg_choose(&c->nv, cu, opts->batch, (enum pp_nvjpeg_backend)opts->backend, &c->choice,
                              err);
    c->regions = c->choice.regions;
    if (st == PP_OK) {
        static const char *const kernels[] = {
            [1] = "pp_resize_u8", [2] = "pp_resize_f16", [4] = "pp_resize_f32"};
        int has_table = opts->value_bytes > 1;
        size_t size = (size_t)CHANNELS * 256 * (size_t)opts->value_bytes;
        pp_cu_result rc = cu->cuModuleGetFunction(&c->kernel, module, kernels[opts->value_bytes]);
        if (rc == 0 && has_table)
            rc = cu->cuMemAlloc_v2(&c->table, size);
        if (rc == 0 && has_table)
            rc = cu->cuMemcpyHtoD_v2(c->table, opts->table, size);
        if (rc == 0)
            rc = cu->cuStreamCreate(&c->idle, PP_CU_STREAM_NON_BLOCKING);
        if (rc == 0)
            rc = cu->cuEventCreate(&c->now, PP_CU_EVENT_BLOCKING_SYNC);
        st = pp_cuda_check(cu, rc, err, "a newer driver may accept it",
                           "loading the kernel that resizes into the device failed");
    }
    if (st == PP_OK && !(c->flight = calloc(flights, sizeof(*c->flight))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu batches under way", flights);
    if (st == PP_OK) {
        /* One image in each batch under way may be as large, and others as well. */
        enum { OTHERS = 4 };
        size_t available = 0, total = 0;
        pp_cu_result rc = c->cu->cuMemGetInfo_v2(&available, &total);
        c->most_pixels = available / CHANNELS / OTHERS / c->flights;
        st = check(c, rc, "asking for the device's memory failed", err);
    }
    for (size_t i = 0; i < flights && st == PP_OK; i++)
        st = make_flight(c, &c->flight[i], err);
    if (st != PP_OK)
        pp_cuda_decode_free(c);
    return st;
}

/* A fifth more than is needed, so that growing ends. */
static pp_cu_result grow(const struct pp_cuda_decode *c, struct pool *p, size_t size, int with_host)
{
    if (p->size >= size)
        return 0;
    free_pool(c, p);
    size += size / 5;
    pp_cu_result rc = c->cu->cuMemAlloc_v2(&p->device, size);
    if (rc != 0)
        p->device = 0;
    if (rc == 0 && with_host && (rc = c->cu->cuMemHostAlloc(&p->host, size, PP_CU_HOST_PORTABLE)) != 0)
        p->host = NULL;
    if (rc == 0)
        p->size = size;
    return rc;
}

/* ---- bytes to pixels ---- */

/* Where the pixels of each image go: one after another. */
static size_t lay_out(struct pp_cuda_flight *f, const struct pp_device_image *images, size_t n,
                      pp_cu_pointer base)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        f->place[i] = pp_device_decoded(&images[i]);
        size_t pitch = aligned((size_t)f->place[i].width * CHANNELS, PITCH_ALIGN);
        f->to[i] = (struct pp_nvjpeg_image){.channel = {(unsigned char *)(uintptr_t)(base + at)},
                                            .pitch = {pitch}};
        f->data[i] = images[i].data;
        f->sizes[i] = images[i].size;
        at += aligned(pitch * (size_t)f->place[i].height, IMAGE_ALIGN);
    }
    return at;
}

/* Room for the pixels of the batch. */
static pp_status reserve(const struct pp_cuda_decode *c, struct pp_cuda_flight *f,
                         const struct pp_device_image *images, size_t n, struct pp_err *err)
{
    size_t size = lay_out(f, images, n, 0);
    pp_cu_result rc = grow(c, &f->pixels, size, 0);
    if (rc == PP_CU_OUT_OF_MEMORY)
        return pp_cuda_check(c->cu, rc, err, "try a smaller --batch-size or fewer --copy-buffers",
                             "reserving %zu MiB on the device for the pixels of %zu images failed",
                             size >> 20, n);
    lay_out(f, images, n, f->pixels.device);
    return check(c, rc, failed_batch, err);
}

static void forget_regions(struct pp_device_image *images, size_t n)
{
    for (size_t i = 0; i < n; i++)
        images[i].region = (struct pp_device_region){0};
}

/* What a failure that is not of an image means: memory, the decoder, or the device. */
static pp_status fail_decoder(const struct pp_cuda_decode *c, const struct pp_cuda_flight *f,
                              pp_nvjpeg_result rc, struct pp_err *err)
{
    pp_status st = check(c, c->cu->cuStreamSynchronize(f->stream), failed_batch, err);
    if (st != PP_OK)
        return st;
    return pp_fail(err, rc == PP_NVJPEG_ALLOCATOR_FAILURE ? PP_E_NO_MEMORY : PP_E_UNSUPPORTED,
                   "nvJPEG failed to decode a batch on the device (status %d, %s)%s", rc,
                   pp_nvjpeg_result_name(rc),
                   rc == PP_NVJPEG_ALLOCATOR_FAILURE ? "; try a smaller --batch-size" : "");
}

/* A batch fails as a whole: here it is found out by which of its images. */
static pp_status decode_singly(struct pp_cuda_decode *c, struct pp_cuda_flight *f,
                               struct pp_device_image *images, size_t n, struct pp_err *err)
{
    pp_nvjpeg_result rc = 0;
    forget_regions(images, n); /* one image alone is decoded as a whole */
    pp_status made = reserve(c, f, images, n, err);
    if (made != PP_OK)
        return made;
    if (!c->single && (rc = c->nv.nvjpegCreateEx(PP_NVJPEG_HYBRID, NULL, NULL, 0, &c->single)) != 0)
        c->single = NULL;
    if (rc == 0 && !f->single && (rc = c->nv.nvjpegJpegStateCreate(c->single, &f->single)) != 0)
        f->single = NULL;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = c->nv.nvjpegDecode(c->single, f->single, f->data[i], f->sizes[i], PP_NVJPEG_RGBI, &f->to[i],
                                f->stream);
        /* The state's buffers serve the next image. */
        pp_status st = rc ? PP_OK
                          : check(c, c->cu->cuStreamSynchronize(f->stream),
                                  "decoding an image on the device failed", err);
        if (st != PP_OK)
            return st;
        if (pp_nvjpeg_is_of_image(rc)) {
            images[i].failed = rc;
            rc = 0;
        }
    }
    return rc ? fail_decoder(c, f, rc, err) : PP_OK;
}

static int has_region(const struct pp_device_image *images, size_t n)
{
    size_t i = 0;
    while (i < n && !images[i].region.width)
        i++;
    return i < n;
}

static pp_nvjpeg_result decode_batch(struct pp_cuda_decode *c, struct pp_cuda_flight *f,
                                     const struct pp_device_image *images, size_t n)
{
    pp_nvjpeg_handle h = c->choice.handle;
    pp_nvjpeg_result rc = 0;
    if (f->initialised != (int)n)
        rc = c->nv.nvjpegDecodeBatchedInitialize(h, f->state, (int)n, c->opts.cpu_threads, PP_NVJPEG_RGBI);
    if (rc == 0 && has_region(images, n)) {
        for (size_t i = 0; i < n && rc == 0; i++) {
            const struct pp_device_region *r = &images[i].region;
            rc = r->width ? c->nv.nvjpegDecodeParamsSetROI(f->params[i], r->x, r->y, r->width, r->height)
                          : c->nv.nvjpegDecodeParamsSetROI(f->params[i], 0, 0, -1, -1);
        }
        rc = rc ? rc
                : c->nv.nvjpegDecodeBatchedEx(c->choice.handle, f->state, f->data, f->sizes, f->to, f->params,
                                              f->stream);
    } else if (rc == 0) {
        rc = c->nv.nvjpegDecodeBatched(h, f->state,
                                       pp_nvjpeg_reads_device(c->choice.backend) ? f->device_data : f->data,
                                       f->sizes, f->to, f->stream);
    }
    f->initialised = rc == 0 ? (int)n : 0;
    return rc;
}

/* The flight of a ticket, in the device's context, which is current from now on. */
static pp_status enter(const struct pp_cuda *c, uint64_t ticket, struct pp_cuda_flight **out,
                       struct pp_err *err)
{
    *out = &c->decode.flight[ticket % (uint64_t)c->n_targets];
    return pp_cuda_check(&c->cu, pp_cuda_enter(c), err, PP_CUDA_LOST, "decoding on the device failed");
}

pp_status pp_device_decode_start(struct pp_device *device, struct pp_device_image *images, size_t n,
                                 uint64_t *ticket, struct pp_err *err)
{
    struct pp_cuda *cuda = (struct pp_cuda *)device;
    struct pp_cuda_decode *c = &cuda->decode;
    struct pp_cuda_flight *f;
    pp_status st = enter(cuda, cuda->copies, &f, err);
    if (st != PP_OK)
        return st;
    if (!c->regions)
        forget_regions(images, n);
    st = reserve(c, f, images, n, err);
    if (st == PP_OK)
        st = check(c, c->cu->cuEventRecord(f->started, f->stream), failed_batch, err);
    /* The encoded bytes onto the device, where the back end reads them there; padding goes with them. */
    if (st == PP_OK && pp_nvjpeg_reads_device(c->choice.backend)) {
        size_t size = 0;
        for (size_t i = 0; i < n; i++)
            size += aligned(f->sizes[i] + PP_DEVICE_DECODE_PADDING, IMAGE_ALIGN);
        pp_cu_result rc = grow(c, &f->bytes, size, 0);
        pp_cu_pointer at = f->bytes.device;
        for (size_t i = 0; i < n && rc == 0; i++) {
            size_t padded = f->sizes[i] + PP_DEVICE_DECODE_PADDING;
            f->device_data[i] = (const unsigned char *)(uintptr_t)at;
            rc = c->cu->cuMemcpyHtoDAsync_v2(at, f->data[i], padded, f->stream);
            at += aligned(padded, IMAGE_ALIGN);
        }
        st = check(c, rc, "copying encoded images to the device failed", err);
    }
    if (st == PP_OK && n) {
        /* A library that says that it decodes regions and does not, is given whole images from then on. */
        pp_nvjpeg_result failed = decode_batch(c, f, images, n);
        if (failed == PP_NVJPEG_NOT_IMPLEMENTED && has_region(images, n)) {
            c->regions = 0;
            forget_regions(images, n);
            st = reserve(c, f, images, n, err);
            failed = st == PP_OK ? decode_batch(c, f, images, n) : 0;
        }
        if (failed && (pp_nvjpeg_is_of_image(failed) || failed == PP_NVJPEG_EXECUTION_FAILED))
            st = decode_singly(c, f, images, n, err);
        else if (failed)
            st = fail_decoder(c, f, failed, err);
    }
    if (st == PP_OK)
        st = check(c, c->cu->cuEventRecord(f->decoded, f->stream), failed_batch, err);
    if (st == PP_OK)
        *ticket = cuda->copies++;
    return st;
}

pp_status pp_device_decode_settle(struct pp_device *device, uint64_t ticket, struct pp_err *err)
{
    const struct pp_cuda *c = (const struct pp_cuda *)device;
    struct pp_cuda_flight *f;
    pp_status st = enter(c, ticket, &f, err);
    return st == PP_OK ? check(&c->decode, c->cu.cuEventSynchronize(f->decoded), failed_batch, err) : st;
}

pp_status pp_device_decode_pixels(struct pp_device *device, uint64_t ticket, size_t i, uint8_t *to,
                                  struct pp_err *err)
{
    const struct pp_cuda *c = (const struct pp_cuda *)device;
    struct pp_cuda_flight *f;
    pp_status st = enter(c, ticket, &f, err);
    if (st != PP_OK)
        return st;
    const struct pp_nvjpeg_image *from = &f->to[i];
    size_t row = (size_t)f->place[i].width * CHANNELS;
    pp_cu_result rc = 0;
    for (int y = 0; y < f->place[i].height && rc == 0; y++)
        rc = c->cu.cuMemcpyDtoH_v2(to + (size_t)y * row,
                                   (pp_cu_pointer)(uintptr_t)from->channel[0] + (size_t)y * from->pitch[0],
                                   row);
    return check(&c->decode, rc, "reading decoded pixels back from the device failed", err);
}

/* ---- pixels to samples ---- */

/* Into the batch at `to`. */
static pp_status make_samples(struct pp_cuda_decode *c, struct pp_cuda_flight *f,
                              const struct pp_device_rows *rows, pp_cu_pointer to, struct pp_err *err)
{
    size_t size = rows->n_images * sizeof(struct pp_resize_job);
    for (size_t i = 0; i < rows->n_images; i++)
        size += aligned(rows->images[i].tables_bytes, 8);
    pp_cu_result rc = grow(c, &f->jobs, size, 1);
    /* Jobs, then the tables of each: in page-locked memory, and at the same offsets on the device. */
    struct pp_resize_job *job = f->jobs.host;
    size_t table_at = rows->n_images * sizeof(*job);
    unsigned jobs = 0;
    for (size_t i = 0; i < rows->n_images && rc == 0; i++) {
        const struct pp_device_image *image = &rows->images[i];
        if (image->failed)
            continue;
        size_t pitch = f->to[i].pitch[0];
        memcpy((char *)f->jobs.host + table_at, image->tables, image->tables_bytes);
        job[jobs++] = (struct pp_resize_job){
            .pixels = (pp_cu_pointer)(uintptr_t)f->to[i].channel[0] +
                      (size_t)(image->crop_y - f->place[i].y) * pitch +
                      (size_t)(image->crop_x - f->place[i].x) * CHANNELS,
            .out = to + image->row * rows->row_bytes,
            .tables = f->jobs.device + table_at,
            .pitch = (unsigned)pitch,
            .x_count = image->x_count,
            .x_taps = image->x_taps,
            .y_count = image->y_count,
            .y_taps = image->y_taps,
            .left = image->left,
            .top = image->top,
            .flip = image->flip,
        };
        table_at += aligned(image->tables_bytes, 8);
    }
    /* The rows [from, end) that no image fills, in as few copies as there are runs. */
    for (size_t from = 0, image = 0; from < rows->count && rc == 0; image++) {
        size_t end = from;
        while (image < rows->n_images && rows->images[image].failed)
            image++;
        size_t next = image < rows->n_images ? rows->images[image].row : rows->count;
        if (next > from) {
            end = next;
            rc = c->cu->cuMemcpyHtoDAsync_v2(to + from * rows->row_bytes, rows->data + from * rows->row_bytes,
                                             (end - from) * rows->row_bytes, f->stream);
        }
        from = end + 1; /* behind the image's row */
    }
    if (rc == 0 && jobs)
        rc = c->cu->cuMemcpyHtoDAsync_v2(f->jobs.device, f->jobs.host, size, f->stream);
    if (rc == 0 && jobs) {
        pp_cu_pointer at = f->jobs.device, table = c->table;
        unsigned width = (unsigned)c->opts.width, height = (unsigned)c->opts.height,
                 blocks = (width * height + THREADS - 1) / THREADS;
        void *args[] = {&at, &table, &width, &height, &jobs};
        rc = c->cu->cuLaunchKernel(c->kernel, blocks < MOST_BLOCKS_X ? blocks : MOST_BLOCKS_X,
                                   jobs < MOST_BLOCKS_Y ? jobs : MOST_BLOCKS_Y, 1, THREADS, 1, 1, 0,
                                   f->stream, args, NULL);
    }
    return check(c, rc, "making samples of decoded pixels on the device failed", err);
}

pp_status pp_device_decode_finish(struct pp_device *device, uint64_t ticket,
                                  const struct pp_device_rows *rows, struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)device;
    struct pp_cuda_target *t = &c->target[ticket % (uint64_t)c->n_targets];
    size_t size = rows->count * rows->row_bytes;
    struct pp_cuda_flight *f;
    pp_status st = enter(c, ticket, &f, err);
    if (st == PP_OK)
        st = pp_cuda_reserve(c, t, size, err);
    if (st == PP_OK)
        st = make_samples(&c->decode, f, rows, t->at, err);
    if (st != PP_OK) {
        c->copies = ticket; /* the next batch takes the same target */
        return st;
    }
    pp_cu_result rc = 0;
    if (c->normalize.kernel)
        rc = pp_cuda_normalize_start(&c->normalize, t->at, size, t->normalized, f->stream);
    if (rc == 0)
        rc = c->cu.cuEventRecord(f->done, f->stream);
    return pp_cuda_check(&c->cu, rc, err, PP_CUDA_LOST,
                         "making samples of decoded pixels on the device failed");
}

pp_status pp_device_decode_wait(struct pp_device *device, uint64_t ticket, struct pp_device_decode_times *out,
                                struct pp_err *err)
{
    const struct pp_cuda_decode *c = &((const struct pp_cuda *)device)->decode;
    struct pp_cuda_flight *f;
    pp_status st = enter((const struct pp_cuda *)device, ticket, &f, err);
    if (st != PP_OK)
        return st;
    *out = (struct pp_device_decode_times){0};
    pp_cu_result rc = c->cu->cuEventSynchronize(f->done);
    /* The device's clock and ours meet in an event that is recorded and waited for now: it happened between
     * the stamps around both. Of a few the one with the narrowest bracket counts; each is usually some ten
     * microseconds wide. */
    enum { TRIES = 3, NARROW_NS = 100000 };
    const struct pp_cuda_driver *cu = c->cu;
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < TRIES && rc == 0 && narrowest > NARROW_NS; i++) {
        float from_start = 0, from_end = 0;
        uint64_t before = pp_now_ns();
        if ((rc = cu->cuEventRecord(c->now, c->idle)) == 0)
            rc = cu->cuEventSynchronize(c->now);
        uint64_t bracket = pp_now_ns() - before, now = before + bracket / 2;
        if (rc == 0)
            rc = cu->cuEventElapsedTime(&from_start, f->started, c->now);
        if (rc == 0)
            rc = cu->cuEventElapsedTime(&from_end, f->decoded, c->now);
        if (rc != 0 || bracket >= narrowest)
            continue;
        narrowest = bracket;
        *out = (struct pp_device_decode_times){.start_ns = now - (uint64_t)((double)from_start * 1e6),
                                               .end_ns = now - (uint64_t)((double)from_end * 1e6)};
    }
    return check(c, rc, failed_batch, err);
}
