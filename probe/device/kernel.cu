// The trainer's step as a kernel: keeps the device busy for a chosen time and touches no memory. One thread is enough: a stream has one kernel at a time.
// Built into kernel.ptx.h by `make ptx`; see docs/gpu.md.

static __device__ __forceinline__ unsigned long long now_ns(void)
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); // nanoseconds, whatever the clocks of the SMs do
    return t;
}

extern "C" __global__ void pp_spin(unsigned long long ns)
{
    unsigned long long begin = now_ns();
    while (now_ns() - begin < ns) {
    }
}
