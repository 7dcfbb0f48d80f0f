#include "probe/device/cuda_decode.h"

#include "probe/base/err.h"

#define CALIBRATION_NS 2000000u
#define CALIBRATION_TOLERANCE 0.1 /* beyond it the user is told what a step really takes */

/* Of work: threads of a block, blocks that a multiprocessor holds at a time, rounds of arithmetic of a thread
 * (well below 0.1 ms for a block), how often the device is filled to measure what a block takes, and that how
 * often; and how often a kernel of it fills the device, unless that makes too many kernels of a step. */
enum {
    THREADS = 256,
    BLOCKS_EACH = 8,
    ROUNDS = 512,
    FILLS = 32,
    TRIES = 3,
    FILLS_OF_KERNEL = 4,
    MOST_KERNELS = 256,
};

/* As many kernels, as a model's step is: the blocks of another stream get their turn when all of a kernel's
 * have begun. */
static pp_cu_result launch_work(struct pp_cuda_step *s, unsigned blocks)
{
    unsigned rounds = ROUNDS, each = s->fill * FILLS_OF_KERNEL, least = blocks / MOST_KERNELS + 1;
    void *args[] = {&rounds, &s->out};
    pp_cu_result rc = 0;
    each = each > least ? each : least;
    while (blocks && rc == 0) {
        unsigned now = blocks < each ? blocks : each;
        rc = s->cu->cuLaunchKernel(s->work, now, 1, 1, THREADS, 1, 1, 0, s->stream, args, NULL);
        blocks -= now;
    }
    return rc;
}

pp_cu_result pp_cuda_step_launch(struct pp_cuda_step *s, uint64_t ns)
{
    unsigned long long arg = ns;
    void *args[] = {&arg};
    if (s->work)
        return launch_work(s, (unsigned)fmin(fmax(round((double)ns / s->block_ns), 1), INT_MAX));
    return s->cu->cuLaunchKernel(s->spin, 1, 1, 1, 1, 1, 1, 0, s->stream, args, NULL);
}

/* What the blocks, or without any a step of CALIBRATION_NS, really take by the device's own events. The
 * launch before pays for loading the code, and has the device busy until the next one is there. */
static pp_cu_result measure(struct pp_cuda_step *s, unsigned blocks, double *took_ns)
{
    const struct pp_cuda_driver *cu = s->cu;
    pp_cu_event from = NULL, to = NULL;
    float ms = 0;
    pp_cu_result rc = blocks ? launch_work(s, blocks) : pp_cuda_step_launch(s, CALIBRATION_NS);
    if (rc == 0)
        rc = cu->cuEventCreate(&from, PP_CU_EVENT_BLOCKING_SYNC);
    if (rc == 0)
        rc = cu->cuEventCreate(&to, PP_CU_EVENT_BLOCKING_SYNC);
    if (rc == 0)
        rc = cu->cuEventRecord(from, s->stream);
    if (rc == 0)
        rc = blocks ? launch_work(s, blocks) : pp_cuda_step_launch(s, CALIBRATION_NS);
    if (rc == 0)
        rc = cu->cuEventRecord(to, s->stream);
    if (rc == 0)
        rc = cu->cuEventSynchronize(to);
    if (rc == 0)
        rc = cu->cuEventElapsedTime(&ms, from, to);
    if (from)
        cu->cuEventDestroy_v2(from);
    if (to)
        cu->cuEventDestroy_v2(to);
    *took_ns = (double)ms * 1e6;
    return rc;
}

pp_status pp_cuda_step_make(struct pp_cuda_step *s, pp_cu_device device, pp_cu_module module, int work,
                            struct pp_err *err)
{
    int processors = 0;
    double took_ns = 0, least_ns = INFINITY;
    pp_cu_result rc = s->cu->cuModuleGetFunction(&s->spin, module, "pp_spin");
    if (rc == 0 && work) { /* the least of some: what others do on the device makes it longer */
        rc = s->cu->cuDeviceGetAttribute(&processors, PP_CU_ATTRIBUTE_MULTIPROCESSORS, device);
        if (rc == 0)
            rc = s->cu->cuMemAlloc_v2(&s->out, sizeof(unsigned));
        if (rc == 0)
            rc = s->cu->cuModuleGetFunction(&s->work, module, "pp_work");
        s->fill = (unsigned)(processors > 0 ? processors : 1) * BLOCKS_EACH;
        for (int i = 0; i < TRIES && rc == 0; i++) {
            rc = measure(s, s->fill * FILLS, &took_ns);
            least_ns = fmin(least_ns, took_ns);
        }
        s->block_ns = fmax(least_ns / (s->fill * FILLS), 1e-3);
    }
    if (rc == 0)
        rc = measure(s, 0, &took_ns);
    if (rc == 0 && fabs(took_ns - CALIBRATION_NS) > CALIBRATION_TOLERANCE * CALIBRATION_NS)
        snprintf(s->note, sizeof(s->note), "a step of %.3g ms takes %.3g ms on this device: its %s",
                 CALIBRATION_NS / 1e6, took_ns / 1e6,
                 work ? "clocks vary, or others use it" : "timer resolution is coarse");
    return pp_cuda_check(s->cu, rc, err, "a newer driver may accept it",
                         "loading the step's kernel into the device failed");
}

#define CHANNELS 3u
#define VALUES 256u
#define THREADS 256u
#define MOST_BLOCKS_X 1024u /* threads go on to further pixels: 8 images of 512 x 512 fill any device */
#define MOST_BLOCKS_Y 65535u
#define TRIAL_PLANE 259u /* every value in every channel, and a last block that is not full */
#define TRIAL_IMAGES 3u

pp_cu_result pp_cuda_normalize_start(const struct pp_cuda_normalize *n, pp_cu_pointer from, size_t bytes,
                                     pp_cu_pointer to, pp_cu_stream stream)
{
    pp_cu_pointer table = n->table;
    unsigned plane = (unsigned)n->plane, images = (unsigned)(bytes / (n->plane * CHANNELS)),
             blocks = (plane + THREADS - 1) / THREADS;
    void *args[] = {&from, &to, &table, &plane, &images};
    return n->cu->cuLaunchKernel(n->kernel, blocks < MOST_BLOCKS_X ? blocks : MOST_BLOCKS_X,
                                 images < MOST_BLOCKS_Y ? images : MOST_BLOCKS_Y, 1, THREADS, 1, 1, 0, stream,
                                 args, NULL);
}

pp_status pp_cuda_normalize_make(struct pp_cuda_normalize *n, const struct pp_cuda_driver *cu,
                                 pp_cu_module module, const struct pp_device_normalize *what,
                                 struct pp_err *err)
{
    size_t size = CHANNELS * VALUES * what->value_bytes;
    *n = (struct pp_cuda_normalize){.cu = cu, .plane = what->plane, .value_bytes = what->value_bytes};
    pp_cu_result rc = cu->cuModuleGetFunction(&n->kernel, module,
                                              what->value_bytes == 4 ? "pp_normalize_f32"
                                                                     : "pp_normalize_f16");
    if (rc != 0)
        n->kernel = NULL;
    if (rc == 0)
        rc = cu->cuMemAlloc_v2(&n->table, size);
    if (rc == 0)
        rc = cu->cuMemcpyHtoD_v2(n->table, what->table, size);
    if (rc != 0)
        return pp_cuda_check(cu, rc, err, NULL, "making the table for normalising on the device failed");
    /* The trial: every value, compared with the table. */
    enum { BYTES = TRIAL_IMAGES * TRIAL_PLANE * CHANNELS };
    struct pp_cuda_normalize trial = *n; /* of other images */
    trial.plane = TRIAL_PLANE;
    pp_cu_pointer from = 0, to = 0;
    uint8_t in[BYTES];
    float out[BYTES] = {0};
    for (size_t i = 0; i < BYTES; i++)
        in[i] = (uint8_t)(i / CHANNELS * 11 + i % CHANNELS * 85); /* 11 has no factor in common with 256: a
                                                                     channel goes through all values */
    rc = cu->cuMemAlloc_v2(&from, BYTES);
    if (rc == 0)
        rc = cu->cuMemAlloc_v2(&to, BYTES * n->value_bytes);
    if (rc == 0)
        rc = cu->cuMemcpyHtoD_v2(from, in, BYTES);
    if (rc == 0)
        rc = pp_cuda_normalize_start(&trial, from, BYTES, to, NULL);
    if (rc == 0)
        rc = cu->cuMemcpyDtoH_v2(out, to, BYTES * n->value_bytes);
    if (from)
        cu->cuMemFree_v2(from);
    if (to)
        cu->cuMemFree_v2(to);
    int differ = 0;
    for (size_t i = 0; i < BYTES && rc == 0; i++) {
        size_t image = i / CHANNELS / TRIAL_PLANE, pixel = i / CHANNELS % TRIAL_PLANE, channel = i % CHANNELS,
               at = (image * CHANNELS + channel) * TRIAL_PLANE + pixel;
        differ |= memcmp((const char *)out + at * n->value_bytes,
                         (const char *)what->table + (channel * VALUES + in[i]) * n->value_bytes,
                         n->value_bytes);
    }
    if (differ)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "normalising on this device gives other values than the CPU; leave out --wire, and report this as a bug");
    return pp_cuda_check(cu, rc, err, NULL, "trying to normalise on the device failed");
}
