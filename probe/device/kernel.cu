// What runs on the device: the trainer's step, and the normalisation of batches that were copied as bytes. Built into kernel.ptx by `make ptx`; see docs/guide/gpu.md.

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

// Work that the multiprocessors share with other kernels: rounds of shifts, of which none can be left out or taken together. No thread's value becomes 0, which no
// compiler knows.
extern "C" __global__ void pp_work(unsigned rounds, unsigned *out)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    for (unsigned i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    if (x == 0)
        *out = x;
}

#define PP_KERNEL extern "C" __global__
#include "normalize.cuh"
#include "resize.cuh"
