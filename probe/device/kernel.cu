// What runs on the device: the trainer's step, and the normalisation of batches that were copied as bytes. Built into kernel.ptx.h by `make ptx`; see docs/guide/gpu.md.

static __device__ __forceinline__ unsigned long long now_ns(void)
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); // nanoseconds, whatever the clocks of the SMs do
    return t;
}

// Keeps the device busy for a chosen time and touches no memory. One thread is enough: a stream has one kernel at a time.
extern "C" __global__ void pp_spin(unsigned long long ns)
{
    unsigned long long begin = now_ns();
    while (now_ns() - begin < ns) {
    }
}

#define PP_KERNEL extern "C" __global__
#include "normalize.cuh"
#include "resize.cuh"
