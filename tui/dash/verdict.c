#include "tui/dash/verdict.h"

#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/pace.h"
#include "report/build/build.h"
#include "report/source/source.h"

#define LEAST_PAUSE_NS UINT64_C(2000000000)
#define PATIENT_PAUSE_NS UINT64_C(30000000000)
#define USUAL_COST_NS UINT64_C(100000000) /* of a patient one of many samples, until one was measured */
#define SLACK_NS UINT64_C(200000000)      /* so that asking again and again takes nothing itself */

struct pp_verdicts {
    char *path;
    double share;
    int patient;                   /* the share is below PP_VERDICTS_SHARE, and of the whole process */
    uint64_t began_ns, cost_ns;    /* cost: of one; the thread's alone */
    int parts;                     /* builds what is asked for; without, the whole run */
    struct pp_kept_requests *kept; /* the thread's; NULL: read each time */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stop, again, hurry; /* under lock, as what follows */
    struct pp_verdict_part asked, done;
    struct pp_report *built; /* newer than what the caller has */
    struct pp_verdict_part built_of;
    struct pp_report *with_caller; /* the caller's alone */
    struct pp_verdict_part with_caller_of;
};

pp_status pp_verdict_of(const char *path, const struct pp_verdict_part *part, const struct pp_verdicts *v,
                        struct pp_report **out, struct pp_err *err)
{
    struct pp_source source;
    const struct pp_source_view view = {.part = part != NULL,
                                        .from_ns = part ? part->from_ns : 0,
                                        .to_ns = part ? part->to_ns : 0};
    pp_status status = pp_source_open_as(path, &view, &source, err);
    pp_source_keep_requests(&source, v ? v->kept : NULL);
    source.glance = v && v->patient ? PP_GLANCE_SHORT : 1;
    *out = NULL;
    if (status == PP_OK)
        status = pp_report_from(&source, out, err);
    pp_source_close(&source);
    return status;
}

static int nothing_to_do(const struct pp_verdicts *v)
{
    return v->parts && memcmp(&v->asked, &v->done, sizeof(v->asked)) == 0;
}

static void *build_main(void *arg)
{
    struct pp_verdicts *v = arg;
    pthread_setname_np(pthread_self(), "pp-verdict");
    pthread_mutex_lock(&v->lock);
    while (!v->stop) {
        if (nothing_to_do(v)) {
            pp_cond_wait_until(&v->wake, &v->lock, UINT64_MAX);
            continue;
        }
        /* One that is patient begins when all that its process has taken, and what it is going to take, is
         * within the share. */
        uint64_t paid = v->patient ? pp_pace_until(v->began_ns, pp_process_cpu_ns() + v->cost_ns, v->share)
                                   : 0;
        if (pp_now_ns() < paid) {
            pp_cond_wait_until(&v->wake, &v->lock, paid < UINT64_MAX - SLACK_NS ? paid + SLACK_NS : paid);
            continue;
        }
        struct pp_report *report = NULL;
        struct pp_verdict_part part = v->asked;
        v->again = 0;
        pthread_mutex_unlock(&v->lock);
        uint64_t until;
        /* Without the lock; returns until when to rest. */
        uint64_t began = pp_now_ns(), cpu = pp_thread_cpu_ns();
        pp_status status = pp_verdict_of(v->path, v->parts ? &part : NULL, v, &report, NULL);
        if (status != PP_OK) {
            report = NULL;
            until = began + LEAST_PAUSE_NS;
        } else {
            int final = !v->parts && strcmp(report->outcome, "unfinished") != 0;
            uint64_t cost = pp_thread_cpu_ns() - cpu, at = pp_pace_until(began, cost, v->share),
                     least = began + (v->patient ? PATIENT_PAUSE_NS : LEAST_PAUSE_NS);
            v->cost_ns = final ? v->cost_ns : cost;
            until = final ? UINT64_MAX : at > least ? at : least;
        }
        pthread_mutex_lock(&v->lock);
        v->done = part;
        if (report) {
            pp_report_free(v->built);
            v->built = report;
            v->built_of = part;
        }
        while (!v->stop && !v->again && !(v->hurry && !nothing_to_do(v)) && pp_now_ns() < until)
            pp_cond_wait_until(&v->wake, &v->lock, until);
    }
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

struct pp_verdicts *pp_verdicts_start(const char *path, double share, int parts)
{
    struct pp_verdicts *v = calloc(1, sizeof(*v));
    if (!v || !(v->path = strdup(path))) {
        free(v);
        return NULL;
    }
    v->parts = parts;
    v->kept = pp_kept_requests_new();
    v->share = share;
    v->patient = share < PP_VERDICTS_SHARE;
    v->cost_ns = USUAL_COST_NS;
    v->began_ns = pp_now_ns();
    pthread_mutex_init(&v->lock, NULL);
    pp_cond_init(&v->wake);
    if (pthread_create(&v->thread, NULL, build_main, v) != 0) {
        pp_kept_requests_free(v->kept);
        free(v->path);
        free(v);
        return NULL;
    }
    return v;
}

void pp_verdicts_ask(struct pp_verdicts *v, uint64_t from_ns, uint64_t to_ns, int hurry)
{
    if (!v)
        return;
    pthread_mutex_lock(&v->lock);
    v->asked = (struct pp_verdict_part){from_ns, to_ns};
    v->hurry = hurry;
    if (!nothing_to_do(v))
        pthread_cond_signal(&v->wake);
    pthread_mutex_unlock(&v->lock);
}

void pp_verdicts_wake(struct pp_verdicts *v)
{
    if (!v)
        return;
    pthread_mutex_lock(&v->lock);
    v->again = 1;
    pthread_cond_signal(&v->wake);
    pthread_mutex_unlock(&v->lock);
}

void pp_verdicts_stop(struct pp_verdicts *v)
{
    if (!v)
        return;
    pthread_mutex_lock(&v->lock);
    v->stop = 1;
    pthread_cond_signal(&v->wake);
    pthread_mutex_unlock(&v->lock);
    pthread_join(v->thread, NULL);
    pthread_cond_destroy(&v->wake);
    pthread_mutex_destroy(&v->lock);
    pp_report_free(v->built);
    pp_report_free(v->with_caller);
    pp_kept_requests_free(v->kept);
    free(v->path);
    free(v);
}

const struct pp_report *pp_verdicts_newest(struct pp_verdicts *v, struct pp_verdict_part *of)
{
    if (of)
        *of = (struct pp_verdict_part){0, 0};
    if (!v)
        return NULL;
    pthread_mutex_lock(&v->lock);
    if (v->built) {
        pp_report_free(v->with_caller);
        v->with_caller = v->built;
        v->with_caller_of = v->built_of;
        v->built = NULL;
    }
    pthread_mutex_unlock(&v->lock);
    if (of)
        *of = v->with_caller_of;
    return v->with_caller;
}
