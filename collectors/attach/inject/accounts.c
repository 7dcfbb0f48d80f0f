#include "collectors/attach/inject/inject.h"

#include "probe/base/clock.h"
#include "probe/trace/run_delay.h"

#define WORTH_NS 50000u /* a reading costs up to 0.8 us, two are needed: 3 % of this */
/* As the recorder: less wall time than this beyond CPU time is not worth a look at schedstat */
#define UNEXPLAINED_NS 20000u

static uint64_t cpu_ns(const struct open_range *r)
{
    return r->label.of_process ? pp_process_cpu_ns() : pp_thread_cpu_ns();
}

/* Reading the CPU clock lets the kernel take the CPU away where the time slice is over. What the thread then
 * waits must not be run delay of the range, whose stamps do not hold it: at the beginning the CPU clock is
 * read before the delay, at the end behind it. */
void inject_account_begin(struct accounts *a, struct open_range *r)
{
    r->measured = 0;
    if (a->brief[r->label.phase])
        return;
    r->measured = PP_SPAN_HAS_CPU;
    r->cpu_ns = cpu_ns(r);
    if (pp_run_delay_read(a->delay.fd, &r->run_delay_ns))
        r->measured |= PP_SPAN_HAS_DELAY;
}

void inject_account_end(struct accounts *a, const struct open_range *r, uint64_t wall_ns, struct pp_span *s)
{
    uint64_t now = 0;
    a->brief[r->label.phase] = wall_ns < WORTH_NS;
    if (!r->measured)
        return;
    int delayed = wall_ns > UNEXPLAINED_NS && r->measured & PP_SPAN_HAS_DELAY,
        read = delayed && pp_run_delay_read(a->delay.fd, &now) && now >= r->run_delay_ns;
    s->cpu_ns = cpu_ns(r) - r->cpu_ns;
    if (r->label.of_process && s->cpu_ns > wall_ns) /* of several threads: some of them ran all the time */
        s->cpu_ns = wall_ns;
    s->flags |= r->measured;
    if (read && wall_ns > s->cpu_ns + UNEXPLAINED_NS)
        s->run_delay_ns = now - r->run_delay_ns;
    else if (delayed && !read)
        s->flags &= (uint16_t)~PP_SPAN_HAS_DELAY;
}
