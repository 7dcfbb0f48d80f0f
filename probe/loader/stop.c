#include "probe/loader/stop.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"

void pp_stop_init(struct pp_stop *s)
{
    *s = (struct pp_stop){.failure = PP_OK};
    pthread_mutex_init(&s->lock, NULL);
}

void pp_stop_free(struct pp_stop *s)
{
    pthread_mutex_destroy(&s->lock);
}

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

void pp_stop_count_useless(struct pp_stop *s, pp_status st, const char *path, const struct pp_err *err)
{
    pthread_mutex_lock(&s->lock);
    char *example = s->useless.example[st];
    if (s->useless.times[st]++ == 0)
        snprintf(example, sizeof(s->useless.example[st]), "%.120s: %.190s", path, err->text);
    pthread_mutex_unlock(&s->lock);
}

pp_status pp_stop_fail_useless(struct pp_stop *s, uint64_t samples, struct pp_err *err)
{
    size_t most = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 1; i < PP_STATUS_COUNT; i++)
        most = s->useless.times[i] > s->useless.times[most] ? i : most;
    pp_status st = pp_fail(
        err, PP_E_CORRUPT,
        "none of the last %llu sample%s could be used; most often they are %s (%llu), for example %s",
        (unsigned long long)samples, samples == 1 ? "" : "s", pp_status_name((pp_status)most),
        (unsigned long long)s->useless.times[most], s->useless.example[most]);
    pthread_mutex_unlock(&s->lock);
    return st;
}
