#include "tui/dash/verdict.h"

#include "probe/base/clock.h"
#include "probe/base/cond.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PAUSE_NS UINT64_C(2000000000)
#define RETRY_NS UINT64_C(1000000000)
#define COST_TIMES 100

struct pp_verdicts {
    char *path;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stop, again;              /* under lock */
    struct pp_report *built;      /* under lock: newer than what the caller has */
    struct pp_report *with_caller;
};

static void *build_main(void *arg)
{
    struct pp_verdicts *v = arg;
    pthread_setname_np(pthread_self(), "pp-verdict");
    pthread_mutex_lock(&v->lock);
    while (!v->stop) {
        struct pp_report *report = NULL;
        v->again = 0;
        pthread_mutex_unlock(&v->lock);
        uint64_t began = pp_now_ns(), cpu = pp_thread_cpu_ns();
        pp_status status = pp_report_build(v->path, &report, NULL);
        uint64_t pause = status != PP_OK ? RETRY_NS : (pp_thread_cpu_ns() - cpu) * COST_TIMES;
        pthread_mutex_lock(&v->lock);
        if (status == PP_OK) {
            pp_report_free(v->built);
            v->built = report;
        }
        int final = status == PP_OK && strcmp(report->outcome, "unfinished") != 0;
        uint64_t until = final ? UINT64_MAX : began + (pause > LEAST_PAUSE_NS ? pause : LEAST_PAUSE_NS);
        while (!v->stop && !v->again && pp_now_ns() < until)
            pp_cond_wait_until(&v->wake, &v->lock, until);
    }
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

struct pp_verdicts *pp_verdicts_start(const char *path)
{
    struct pp_verdicts *v = calloc(1, sizeof(*v));
    if (!v || !(v->path = strdup(path))) {
        free(v);
        return NULL;
    }
    pthread_mutex_init(&v->lock, NULL);
    pp_cond_init(&v->wake);
    if (pthread_create(&v->thread, NULL, build_main, v) != 0) {
        free(v->path);
        free(v);
        return NULL;
    }
    return v;
}

static void ask(struct pp_verdicts *v, int *what)
{
    pthread_mutex_lock(&v->lock);
    *what = 1;
    pthread_cond_signal(&v->wake);
    pthread_mutex_unlock(&v->lock);
}

void pp_verdicts_wake(struct pp_verdicts *v)
{
    if (v)
        ask(v, &v->again);
}

void pp_verdicts_stop(struct pp_verdicts *v)
{
    if (!v)
        return;
    ask(v, &v->stop);
    pthread_join(v->thread, NULL);
    pthread_cond_destroy(&v->wake);
    pthread_mutex_destroy(&v->lock);
    pp_report_free(v->built);
    pp_report_free(v->with_caller);
    free(v->path);
    free(v);
}

const struct pp_report *pp_verdicts_newest(struct pp_verdicts *v)
{
    if (!v)
        return NULL;
    pthread_mutex_lock(&v->lock);
    if (v->built) {
        pp_report_free(v->with_caller);
        v->with_caller = v->built;
        v->built = NULL;
    }
    pthread_mutex_unlock(&v->lock);
    return v->with_caller;
}
