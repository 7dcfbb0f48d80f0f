/* The CUDA device: page-locked slots, a copy stream with an event per copy, and the trainer's step as a
 * kernel of chosen duration.
 *
 * Streams: copies run on one that does not wait for the legacy default stream, so that they overlap the step;
 * the step runs on one that does, so that a copy on the legacy stream (sync_copies) takes turns with it, as
 * cudaMemcpy in a training script does. Waiting threads sleep (blocking events): a spinning copy lane would
 * take a core from the workers under test. The primary context is used, and made current by every call, for
 * the loader's threads come and go. */
#include "probe/device/cuda_decode.h"

#include "probe/base/err.h"

/* The kernels' text, ended by a NUL; make runs in the directory that the path starts from. */
__asm__(".pushsection .rodata\n.global pp_kernel_ptx\n.hidden pp_kernel_ptx\n"
        "pp_kernel_ptx: .incbin \"probe/device/kernel.ptx\"\n.byte 0\n.popsection");
extern const char pp_kernel_ptx[];

#define DEFAULT_COPY_BUFFERS 2

static void free_target(const struct pp_cuda *c, struct pp_cuda_target *t)
{
    if (t->at)
        c->cu.cuMemFree_v2(t->at);
    if (t->normalized)
        c->cu.cuMemFree_v2(t->normalized);
    *t = (struct pp_cuda_target){.copied = t->copied};
}

static void cuda_close(struct pp_device *d)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    const struct pp_cuda_driver *cu = &c->cu;
    int is_there = c->context && pp_cuda_enter(c) == 0;
    if (is_there)
        cu->cuCtxSynchronize();
    pp_cuda_decode_free(&c->decode); /* of a device that is lost too: much of it is memory of the host */
    if (is_there) {
        for (int i = 0; i < PP_CUDA_TARGETS; i++) {
            free_target(c, &c->target[i]);
            if (c->target[i].copied)
                cu->cuEventDestroy_v2(c->target[i].copied);
        }
        if (c->normalize.table)
            cu->cuMemFree_v2(c->normalize.table);
        if (c->step.out)
            cu->cuMemFree_v2(c->step.out);
        if (c->module)
            cu->cuModuleUnload(c->module);
        if (c->stepped)
            cu->cuEventDestroy_v2(c->stepped);
        if (c->step_stream)
            cu->cuStreamDestroy_v2(c->step_stream);
        if (c->copy_stream)
            cu->cuStreamDestroy_v2(c->copy_stream);
        cu->cuCtxSetCurrent(NULL);
    }
    if (c->context)
        cu->cuDevicePrimaryCtxRelease_v2(c->device);
    free(c);
}

static void cuda_info(const struct pp_device *d, struct pp_device_info *out)
{
    const struct pp_cuda *c = (const struct pp_cuda *)d;
    out->name = c->name;
    out->pinned = !c->pageable;
    out->note = c->step.note[0] ? c->step.note : NULL;
    out->driver_version = c->cu.version;
    out->pci_bus_id = c->pci_bus_id[0] ? c->pci_bus_id : NULL;
}

static pp_status cuda_alloc(struct pp_device *d, size_t size, void **out, struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    if (c->pageable)
        return pp_pages_map(size, out, err);
    pp_cu_result rc = pp_cuda_enter(c);
    if (rc == 0)
        rc = c->cu.cuMemHostAlloc(out, size, PP_CU_HOST_PORTABLE);
    if (rc == 0)
        memset(*out, 0, size);
    return pp_cuda_check(&c->cu, rc, err, "try a smaller --batch-size or --prefetch, or --pageable",
                         "page-locking %zu MiB for batch slots failed", size >> 20);
}

static void cuda_free(struct pp_device *d, void *p, size_t size)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    if (c->pageable)
        pp_pages_unmap(p, size);
    else if (p && pp_cuda_enter(c) == 0)
        c->cu.cuMemFreeHost(p);
}

/* Batches are of one size but for short ones, so a target grows in the first round at most. */
pp_status pp_cuda_reserve(struct pp_cuda *c, struct pp_cuda_target *t, size_t size, struct pp_err *err)
{
    if (t->size >= size)
        return PP_OK;
    free_target(c, t);
    pp_cu_result rc = c->cu.cuMemAlloc_v2(&t->at, size);
    if (rc == 0 && c->normalize.kernel)
        rc = c->cu.cuMemAlloc_v2(&t->normalized, size * c->normalize.value_bytes);
    if (rc == 0)
        t->size = size;
    return pp_cuda_check(&c->cu, rc, err, "try a smaller --batch-size or fewer --copy-buffers",
                         "reserving %zu MiB on the device for a batch failed", size >> 20);
}

/* A ticket is the number of the copy. */
static pp_status cuda_copy_start(struct pp_device *d, const void *src, size_t size, uint64_t *ticket,
                                 struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    struct pp_cuda_target *t = &c->target[c->copies % (uint64_t)c->n_targets];
    pp_cu_stream stream = c->sync_copies ? NULL : c->copy_stream;
    pp_cu_result rc = pp_cuda_enter(c);
    if (rc == 0) {
        pp_status st = pp_cuda_reserve(c, t, size, err);
        if (st != PP_OK)
            return st;
    }
    if (rc == 0 && c->sync_copies)
        rc = c->cu.cuMemcpyHtoD_v2(t->at, src, size);
    else if (rc == 0)
        rc = c->cu.cuMemcpyHtoDAsync_v2(t->at, src, size, c->copy_stream);
    if (rc == 0 && c->normalize.kernel)
        rc = pp_cuda_normalize_start(&c->normalize, t->at, size, t->normalized, stream);
    if (rc == 0 && c->has_events)
        rc = c->cu.cuEventRecord(t->copied, stream);
    if (rc == 0)
        *ticket = c->copies++;
    return pp_cuda_check(&c->cu, rc, err, PP_CUDA_LOST, "copying a batch to the device failed");
}

/* A later copy may have taken the event over; its stream keeps order, so waiting for that one is waiting long
 * enough. */
static pp_status cuda_copy_wait(struct pp_device *d, uint64_t ticket, struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    pp_cu_result rc = c->has_events ? pp_cuda_enter(c) : 0;
    if (rc == 0 && c->has_events)
        rc = c->cu.cuEventSynchronize(c->target[ticket % (uint64_t)c->n_targets].copied);
    return pp_cuda_check(&c->cu, rc, err, PP_CUDA_LOST, "copying a batch to the device failed");
}

static pp_status cuda_step_start(struct pp_device *d, uint64_t ns, struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    pp_cu_result rc = pp_cuda_enter(c);
    if (rc == 0)
        rc = pp_cuda_step_launch(&c->step, ns);
    if (rc == 0)
        rc = c->cu.cuEventRecord(c->stepped, c->step_stream);
    return pp_cuda_check(&c->cu, rc, err, PP_CUDA_LOST, "starting the step's kernel failed");
}

static pp_status cuda_step_wait(struct pp_device *d, struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    pp_cu_result rc = pp_cuda_enter(c);
    if (rc == 0)
        rc = c->cu.cuEventSynchronize(c->stepped);
    return pp_cuda_check(&c->cu, rc, err, PP_CUDA_LOST, "the step's kernel failed");
}

static pp_status cuda_sync(struct pp_device *d, struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    pp_cu_result rc = pp_cuda_enter(c);
    if (rc == 0)
        rc = c->cu.cuCtxSynchronize();
    return pp_cuda_check(&c->cu, rc, err, PP_CUDA_LOST, "waiting for the device failed");
}

/* ---- decoding (decode.h): what is under way is in cuda_decode.c ---- */

struct pp_device_parser {
    struct pp_cuda *device;
    pp_nvjpeg_stream header;
    pp_nvjpeg_params params; /* NULL: images are decoded as a whole */
};

pp_status pp_device_decode_open(struct pp_device *d, const struct pp_device_decode_opts *opts,
                                struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    if (d->ops != &pp_device_cuda)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "the %s device decodes nothing; JPEG is decoded on a CUDA device%s%s", d->ops->kind,
                       d->passed_over[0] ? ": " : "", d->passed_over);
    pp_status st = pp_cuda_check(&c->cu, pp_cuda_enter(c), err, PP_CUDA_LOST,
                                 "decoding on the device failed");
    return st == PP_OK ? pp_cuda_decode_make(&c->decode, &c->cu, c->module, (size_t)c->n_targets, opts, err)
                       : st;
}

void pp_device_decode_info(const struct pp_device *d, struct pp_device_decode_info *out)
{
    const struct pp_cuda_decode *c = &((const struct pp_cuda *)d)->decode;
    *out = (struct pp_device_decode_info){.library = c->nv.library,
                                          .backend = pp_nvjpeg_backend_name(c->choice.backend),
                                          .note = c->choice.passed_over[0] ? c->choice.passed_over : NULL,
                                          .version = c->nv.version,
                                          .most_pixels = c->most_pixels,
                                          .engines = c->choice.engines,
                                          .cores = c->choice.cores};
}

void pp_device_parser_destroy(struct pp_device_parser *p)
{
    if (!p)
        return;
    const struct pp_nvjpeg *nv = &p->device->decode.nv;
    if (p->params)
        nv->nvjpegDecodeParamsDestroy(p->params);
    if (p->header)
        nv->nvjpegJpegStreamDestroy(p->header);
    free(p);
}

pp_status pp_device_parser_create(struct pp_device *d, struct pp_device_parser **out, struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    const struct pp_nvjpeg *nv = &c->decode.nv;
    pp_nvjpeg_handle h = c->decode.choice.handle;
    struct pp_device_parser *p = calloc(1, sizeof(*p));
    if (!p)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for nvJPEG to parse headers");
    p->device = c;
    int failed = pp_cuda_enter(c) != 0;
    if (!failed && (failed = nv->nvjpegJpegStreamCreate(h, &p->header) != 0))
        p->header = NULL;
    if (!failed && c->decode.choice.regions && (failed = nv->nvjpegDecodeParamsCreate(h, &p->params) != 0))
        p->params = NULL;
    if (failed) {
        pp_device_parser_destroy(p);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for nvJPEG to parse headers");
    }
    *out = p;
    return PP_OK;
}

/* The headers are parsed on the CPU; no context is needed. */
int pp_device_parser_accepts(struct pp_device_parser *p, const uint8_t *data, size_t size,
                             struct pp_device_region *region)
{
    const struct pp_nvjpeg *nv = &p->device->decode.nv;
    pp_nvjpeg_handle h = p->device->decode.choice.handle;
    int unsupported = 1;
    if (nv->nvjpegJpegStreamParseHeader(h, data, size, p->header) != 0)
        return 0;
    if (p->params && region->width &&
        nv->nvjpegDecodeParamsSetROI(p->params, region->x, region->y, region->width, region->height) == 0 &&
        nv->nvjpegDecodeBatchedSupportedEx(h, p->header, p->params, &unsupported) == 0 && !unsupported)
        return 1;
    *region = (struct pp_device_region){0};
    unsupported = 1;
    return nv->nvjpegDecodeBatchedSupported(h, p->header, &unsupported) == 0 && !unsupported;
}

pp_status pp_device_decode_read(struct pp_device *d, uint64_t ticket, void *to, size_t size,
                                struct pp_err *err)
{
    struct pp_cuda *c = (struct pp_cuda *)d;
    pp_cu_result rc = pp_cuda_enter(c);
    if (rc == 0)
        rc = c->cu.cuMemcpyDtoH_v2(to, c->target[ticket % (uint64_t)c->n_targets].at, size);
    return pp_cuda_check(&c->cu, rc, err, PP_CUDA_LOST, "reading a batch back from the device failed");
}

/* ---- opening ---- */

static pp_status make_context(struct pp_cuda *c, struct pp_err *err)
{
    const struct pp_cuda_driver *cu = &c->cu;
    char name[128] = "CUDA device";
    int major = 0, minor = 0;
    pp_cu_result rc = cu->cuDeviceGet(&c->device, 0);
    if (rc != 0)
        return pp_cuda_check(cu, rc, err, "see nvidia-smi", "asking for the first CUDA device failed");
    /* Names alone: without them the device works as well. */
    cu->cuDeviceGetName(name, sizeof(name), c->device);
    cu->cuDeviceGetAttribute(&major, PP_CU_ATTRIBUTE_MAJOR, c->device);
    cu->cuDeviceGetAttribute(&minor, PP_CU_ATTRIBUTE_MINOR, c->device);
    if (cu->cuDeviceGetPCIBusId(c->pci_bus_id, sizeof(c->pci_bus_id), c->device) != 0)
        c->pci_bus_id[0] = '\0';
    snprintf(c->name, sizeof(c->name), "%s (compute capability %d.%d, driver for CUDA %d.%d), %s", name,
             major, minor, cu->version / 1000, cu->version % 1000 / 10, c->pageable ? "pageable" : "pinned");
    rc = cu->cuDevicePrimaryCtxRetain(&c->context, c->device);
    if (rc != 0)
        c->context = NULL;
    return pp_cuda_check(cu, rc, err, "is another job using it? see nvidia-smi",
                         "making a context on %s failed", name);
}

static pp_status cuda_open(const struct pp_device_opts *opts, struct pp_device **out, struct pp_err *err)
{
    struct pp_cuda *c = calloc(1, sizeof(*c));
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the CUDA device");
    c->base.ops = &pp_device_cuda;
    c->pageable = opts->pageable;
    c->sync_copies = opts->sync_copies;
    c->n_targets = opts->copy_buffers < 1                 ? DEFAULT_COPY_BUFFERS
                   : opts->copy_buffers > PP_CUDA_TARGETS ? PP_CUDA_TARGETS
                                                          : opts->copy_buffers;
    pp_status st = pp_cuda_driver_start(&c->cu, err);
    if (st == PP_OK)
        st = make_context(c, err);
    if (st == PP_OK) {
        const struct pp_cuda_driver *cu = &c->cu;
        const unsigned event = PP_CU_EVENT_BLOCKING_SYNC | PP_CU_EVENT_DISABLE_TIMING;
        pp_cu_result rc = pp_cuda_enter(c);
        if (rc == 0)
            rc = cu->cuStreamCreate(&c->copy_stream, PP_CU_STREAM_NON_BLOCKING);
        if (rc == 0)
            rc = cu->cuStreamCreate(&c->step_stream, 0);
        if (rc == 0)
            rc = cu->cuEventCreate(&c->stepped, event);
        for (int i = 0; i < c->n_targets && rc == 0; i++)
            rc = cu->cuEventCreate(&c->target[i].copied, event);
        st = pp_cuda_check(cu, rc, err, "see nvidia-smi", "making streams and events on the device failed");
    }
    if (st == PP_OK) {
        st = pp_cuda_check(&c->cu, c->cu.cuModuleLoadData(&c->module, pp_kernel_ptx), err,
                           "a newer driver may accept it",
                           "loading the step's kernel into the device failed");
        c->step.cu = &c->cu;
        c->step.stream = c->step_stream;
        st = st == PP_OK ? pp_cuda_step_make(&c->step, c->device, c->module, opts->step_work, err) : st;
    }
    if (st == PP_OK && opts->normalize)
        st = pp_cuda_normalize_make(&c->normalize, &c->cu, c->module, opts->normalize, err);
    c->has_events = !c->sync_copies || c->normalize.kernel;
    if (st != PP_OK) {
        cuda_close(&c->base);
        return st;
    }
    *out = &c->base;
    return PP_OK;
}

const struct pp_device_ops pp_device_cuda = {
    .kind = "cuda",
    .text = "an NVIDIA GPU, through the driver's own library",
    .open = cuda_open,
    .close = cuda_close,
    .info = cuda_info,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy_start = cuda_copy_start,
    .copy_wait = cuda_copy_wait,
    .step_start = cuda_step_start,
    .step_wait = cuda_step_wait,
    .sync = cuda_sync,
};
