#include "probe/device/cuda_bandwidth.h"

#include "probe/base/clock.h"
#include "probe/device/cuda_driver.h"
#include "probe/device/ops.h"

#define LARGEST ((size_t)64 << 20)
#define LEAST_COPIES 4 /* the first pays for mappings */
#define LEAST_NS 15000000u
#define MOST_COPIES 1000

enum memory { PAGEABLE, PINNED, WRITE_COMBINED };

struct bench {
    struct pp_cuda_driver cu;
    pp_cu_device device;
    pp_cu_context context;
    pp_cu_stream stream;
    pp_cu_pointer target;
};

/* The fastest copy: what disturbs a copy makes it slower, never faster. */
static pp_cu_result fastest(struct bench *b, const void *p, size_t size, double *bytes_per_s)
{
    uint64_t best = UINT64_MAX, begin = pp_now_ns();
    for (int i = 0; i < LEAST_COPIES || (pp_now_ns() - begin < LEAST_NS && i < MOST_COPIES); i++) {
        uint64_t t0 = pp_now_ns();
        pp_cu_result rc = b->cu.cuMemcpyHtoDAsync_v2(b->target, p, size, b->stream);
        if (rc == 0)
            rc = b->cu.cuStreamSynchronize(b->stream);
        if (rc != 0)
            return rc;
        uint64_t took = pp_now_ns() - t0;
        best = took < best ? took : best;
    }
    *bytes_per_s = (double)size * 1e9 / (double)best;
    return 0;
}

pp_status pp_cuda_bandwidth(struct pp_bandwidth *out, struct pp_err *err)
{
    struct bench b = {0};
    *out = (struct pp_bandwidth){.size = {(size_t)64 << 10, (size_t)1 << 20, (size_t)16 << 20, LARGEST},
                                 .memory = {"pageable", "pinned", "write-combined"}};
    pp_status st = pp_cuda_driver_start(&b.cu, err);
    if (st != PP_OK)
        return st;
    pp_cu_result rc = b.cu.cuDeviceGet(&b.device, 0);
    if (rc == 0)
        rc = b.cu.cuDevicePrimaryCtxRetain(&b.context, b.device);
    if (rc == 0)
        rc = b.cu.cuCtxSetCurrent(b.context);
    if (rc == 0)
        rc = b.cu.cuStreamCreate(&b.stream, PP_CU_STREAM_NON_BLOCKING);
    if (rc == 0)
        rc = b.cu.cuMemAlloc_v2(&b.target, LARGEST);
    st = pp_cuda_check(&b.cu, rc, err, "see nvidia-smi", "measuring copies to the device failed");
    for (int m = 0; m < PP_BANDWIDTH_MEMORIES && st == PP_OK; m++) {
        void *p = NULL;
        enum memory kind = (enum memory)m;
        if (kind == PAGEABLE) {
            st = pp_pages_map(LARGEST, &p, err);
        } else {
            rc = b.cu.cuMemHostAlloc(&p, LARGEST,
                                     PP_CU_HOST_PORTABLE |
                                         (kind == WRITE_COMBINED ? PP_CU_HOST_WRITE_COMBINED : 0));
            if (rc == 0)
                memset(p, 1, LARGEST);
            st = pp_cuda_check(&b.cu, rc, err, NULL, "page-locking %zu MiB failed", LARGEST >> 20);
        }
        for (int s = 0; s < PP_BANDWIDTH_SIZES && st == PP_OK; s++)
            st = pp_cuda_check(&b.cu, fastest(&b, p, out->size[s], &out->bytes_per_s[m][s]), err, NULL,
                               "measuring copies from %s memory failed", out->memory[m]);
        if (m == PAGEABLE)
            pp_pages_unmap(p, LARGEST);
        else if (p)
            b.cu.cuMemFreeHost(p);
    }
    if (b.context) {
        if (b.target)
            b.cu.cuMemFree_v2(b.target);
        if (b.stream)
            b.cu.cuStreamDestroy_v2(b.stream);
        b.cu.cuCtxSetCurrent(NULL);
        b.cu.cuDevicePrimaryCtxRelease_v2(b.device);
    }
    return st;
}
