#include "probe/trace/stamp.h"

#if PP_HAVE_TSC
#include <cpuid.h>
#endif

#define FIRST_INTERVAL_NS 5000000u
#define INTERVAL_NS 1000000000u
#define STEP_NS 1000000 /* a clock that is off by more (suspend, migration) is set, not steered */

__extension__ typedef __int128 wide;

/* The CPU promises a constant rate in all power states (CPUID 0x80000007 EDX bit 8), and the kernel, which
 * also checks that the cores agree, uses the TSC as its own clock. */
static int tsc_usable(void)
{
#if PP_HAVE_TSC
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8)))
        return 0;
    char source[32] = "";
    FILE *in = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (in) {
        if (!fgets(source, sizeof(source), in))
            source[0] = '\0';
        fclose(in);
    }
    return strcmp(source, "tsc\n") == 0;
#else
    return 0;
#endif
}

/* The tightest of a few sandwiches, lest an interrupt between the two clocks become a rate error. */
static void read_pair(uint64_t *tick, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = pp_stamp_now(1), now = pp_now_ns(), width = pp_stamp_now(1) - before;
        if (width < best) {
            best = width;
            *tick = before + width / 2;
            *ns = now;
        }
    }
}

static void publish_segment(struct pp_session_file *f, uint64_t tick0, uint64_t ns0, uint64_t mult)
{
    uint32_t n = f->segments;
    f->segment[n % PP_CLOCK_SEGMENTS] = (struct pp_clock_segment){tick0, ns0, mult};
    __atomic_store_n(&f->segments, n + 1, __ATOMIC_RELEASE); /* pairs with the acquire in pp_clock_ns_of */
}

static uint64_t rate(uint64_t ticks, uint64_t ns)
{
    return (uint64_t)(((wide)ns << 32) / (wide)(ticks ? ticks : 1));
}

void pp_stamp_begin(struct pp_session_file *f, struct pp_stamp_sync *sync)
{
    const char *asked = getenv("PIPEPROBE_CLOCK");
    f->clock = tsc_usable() && !(asked && strcmp(asked, "monotonic") == 0) ? PP_CLOCK_TSC
                                                                           : PP_CLOCK_MONOTONIC_NS;
    if (f->clock != PP_CLOCK_TSC)
        return;
    uint64_t tick, ns;
    read_pair(&tick, &ns);
    pp_sleep_until_ns(ns + FIRST_INTERVAL_NS);
    read_pair(&sync->tick, &sync->ns);
    sync->interval_ns = FIRST_INTERVAL_NS;
    publish_segment(f, sync->tick, sync->ns, rate(sync->tick - tick, sync->ns - ns));
}

void pp_stamp_resume(const struct pp_session_file *f, struct pp_stamp_sync *sync)
{
    if (f->clock != PP_CLOCK_TSC)
        return;
    read_pair(&sync->tick, &sync->ns);
    sync->interval_ns = FIRST_INTERVAL_NS;
}

void pp_stamp_anchor(struct pp_session_file *f, struct pp_stamp_sync *sync)
{
    if (f->clock != PP_CLOCK_TSC || pp_now_ns() - sync->ns < sync->interval_ns)
        return;
    uint64_t tick, ns;
    read_pair(&tick, &ns);
    uint64_t true_rate = rate(tick - sync->tick, ns - sync->ns);
    uint64_t said = pp_clock_ns_of(f, tick);
    int64_t off = (int64_t)(ns - said);
    if (off > STEP_NS || off < -STEP_NS) {
        publish_segment(f, tick, ns, true_rate);
    } else {
        /* |off| <= 1 ms over 1 s: the rate moves by at most 0.1 % and time never runs backwards. */
        wide correction = (wide)off * (wide)true_rate / INTERVAL_NS;
        publish_segment(f, tick, said, (uint64_t)((wide)true_rate + correction));
    }
    sync->tick = tick;
    sync->ns = ns;
    sync->interval_ns = sync->interval_ns * 2 < INTERVAL_NS ? sync->interval_ns * 2 : INTERVAL_NS;
}
