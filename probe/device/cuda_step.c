#include "probe/device/cuda_step.h"

#include "probe/base/err.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

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

static pp_cu_result launch(struct pp_cuda_step *s, unsigned blocks)
{
    return blocks ? launch_work(s, blocks) : pp_cuda_step_launch(s, CALIBRATION_NS);
}

/* What the blocks, or without any a step of CALIBRATION_NS, really take by the device's own events. The
 * launch before pays for loading the code, and has the device busy until the next one is there. */
static pp_cu_result measure(struct pp_cuda_step *s, unsigned blocks, double *took_ns)
{
    const struct pp_cuda_driver *cu = s->cu;
    pp_cu_event from = NULL, to = NULL;
    float ms = 0;
    pp_cu_result rc = launch(s, blocks);
    if (rc == 0)
        rc = cu->cuEventCreate(&from, PP_CU_EVENT_BLOCKING_SYNC);
    if (rc == 0)
        rc = cu->cuEventCreate(&to, PP_CU_EVENT_BLOCKING_SYNC);
    if (rc == 0)
        rc = cu->cuEventRecord(from, s->stream);
    if (rc == 0)
        rc = launch(s, blocks);
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

/* The least of some: what others do on the device makes it longer. */
static pp_cu_result make_work(struct pp_cuda_step *s, pp_cu_device device, pp_cu_module module)
{
    int processors = 0;
    double took_ns = 0, least_ns = INFINITY;
    pp_cu_result rc = s->cu->cuDeviceGetAttribute(&processors, PP_CU_ATTRIBUTE_MULTIPROCESSORS, device);
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
    return rc;
}

pp_status pp_cuda_step_make(struct pp_cuda_step *s, pp_cu_device device, pp_cu_module module, int work,
                            struct pp_err *err)
{
    double took_ns;
    pp_cu_result rc = s->cu->cuModuleGetFunction(&s->spin, module, "pp_spin");
    if (rc == 0 && work)
        rc = make_work(s, device, module);
    if (rc == 0)
        rc = measure(s, 0, &took_ns);
    if (rc == 0 && fabs(took_ns - CALIBRATION_NS) > CALIBRATION_TOLERANCE * CALIBRATION_NS)
        snprintf(s->note, sizeof(s->note), "a step of %.3g ms takes %.3g ms on this device: its %s",
                 CALIBRATION_NS / 1e6, took_ns / 1e6,
                 work ? "clocks vary, or others use it" : "timer resolution is coarse");
    return pp_cuda_check(s->cu, rc, err, "a newer driver may accept it",
                         "loading the step's kernel into the device failed");
}

void pp_cuda_step_free(struct pp_cuda_step *s)
{
    if (s->out)
        s->cu->cuMemFree_v2(s->out);
    s->out = 0;
}
