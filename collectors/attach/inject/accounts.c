#include "collectors/attach/inject/inject.h"

#include "probe/base/clock.h"
#include "probe/trace/run_delay.h"

#define WORTH_NS 50000u /* a reading costs up to 0.8 us, two are needed: 3 % of this */
#define UNEXPLAINED_NS \
    20000u /* as the recorder: less wall time than this beyond CPU time is not worth a look at schedstat */

void inject_account_begin(struct accounts *a, struct open_range *r)
{
    r->measured = 0;
    if (a->brief[r->label.phase])
        return;
    r->measured = PP_SPAN_HAS_CPU;
    if (pp_run_delay_read(a->delay.fd, &r->run_delay_ns))
        r->measured |= PP_SPAN_HAS_DELAY;
    r->cpu_ns = pp_thread_cpu_ns();
}

void inject_account_end(struct accounts *a, const struct open_range *r, uint64_t wall_ns, struct pp_span *s)
{
    uint64_t now;
    a->brief[r->label.phase] = wall_ns < WORTH_NS;
    if (!r->measured)
        return;
    s->cpu_ns = pp_thread_cpu_ns() - r->cpu_ns;
    s->flags |= r->measured;
    if (wall_ns > s->cpu_ns + UNEXPLAINED_NS && r->measured & PP_SPAN_HAS_DELAY) {
        if (pp_run_delay_read(a->delay.fd, &now) && now >= r->run_delay_ns)
            s->run_delay_ns = now - r->run_delay_ns;
        else
            s->flags &= (uint16_t)~PP_SPAN_HAS_DELAY;
    }
}
