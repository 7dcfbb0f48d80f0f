#include "probe/trace/observe.h"

const struct pp_observer *pp_observer_now;

void pp_trace_set_observer(const struct pp_observer *o)
{
    __atomic_store_n(&pp_observer_now, o, __ATOMIC_RELEASE);
}
