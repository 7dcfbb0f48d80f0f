#include "probe/loader/stop.h"

#include "probe/base/clock.h"

void pp_stop_fail(struct pp_stop *s, pp_status st, const struct pp_err *err)
{
    pthread_mutex_lock(&s->lock);
    if (s->failure == PP_OK) {
        s->failure = st;
        s->failure_err = *err;
    }
    pthread_mutex_unlock(&s->lock);
    pp_stop_request(s);
}

void pp_stop_sleep(const struct pp_stop *s, uint64_t ns)
{
    uint64_t now = pp_now_ns(), end = now + ns;
    while (now < end && !pp_stop_is_requested(s)) {
        pp_sleep_until_ns(end - now > PP_STOP_CHECK_NS ? now + PP_STOP_CHECK_NS : end);
        now = pp_now_ns();
    }
}
