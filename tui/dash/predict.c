#include "tui/dash/state.h"

#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "report/measure/timeline.h"

#define COSTS_AGE_NS UINT64_C(10000000000) /* a growing file is read again after this */

struct pp_predictor {
    char *path;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stop, asked, answered; /* under lock, as what follows */
    char question[256];
    struct pp_predicted answer;

    struct pp_costs costs; /* of the thread alone */
    uint64_t read_ns;      /* 0: not read */
};

static void *predict_main(void *arg)
{
    struct pp_predictor *p = arg;
    pthread_setname_np(pthread_self(), "pp-whatif");
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (!p->asked) {
            pp_cond_wait_until(&p->wake, &p->lock, UINT64_MAX);
            continue;
        }
        struct pp_predicted a = {.status = PP_OK};
        struct pp_err err = {.code = PP_OK};
        memcpy(a.set, p->question, sizeof(a.set));
        p->asked = 0;
        pthread_mutex_unlock(&p->lock);
        struct pp_knobs knobs = pp_knobs_none();
        char words[sizeof(a.set)], *rest = words, *word;
        pp_status status = PP_OK;
        if (!p->read_ns || pp_now_ns() - p->read_ns >= COSTS_AGE_NS) {
            struct pp_source source;
            struct pp_timeline timeline = {0};
            pp_costs_free(&p->costs);
            memset(&p->costs, 0, sizeof(p->costs));
            status = pp_source_open(p->path, &source, &err);
            if (status == PP_OK)
                status = pp_timeline_build(&source, &timeline, &err);
            if (status == PP_OK)
                status = pp_costs_read(&source, &timeline, &p->costs, &err);
            if (status == PP_OK)
                status = pp_whatif_calibrate(&p->costs, &err);
            pp_timeline_free(&timeline);
            pp_source_close(&source);
            p->read_ns = status == PP_OK ? pp_now_ns() : 0;
        }
        if (status != PP_OK) {
            a.status = status;
        } else {
            a.measured = pp_whatif_measured(&p->costs);
            snprintf(words, sizeof(words), "%s", a.set);
            while (status == PP_OK && (word = strsep(&rest, " ")))
                if (*word)
                    status = pp_knobs_set(&knobs, &p->costs, word, &err);
            a.status = status == PP_OK ? pp_whatif(&p->costs, &knobs, &a.p, &err) : status;
        }
        snprintf(a.why, sizeof(a.why), "%.255s", err.text);
        pthread_mutex_lock(&p->lock);
        p->answer = a;
        p->answered = 1;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pp_predictor *pp_predictor_start(const char *path)
{
    struct pp_predictor *p = calloc(1, sizeof(*p));
    if (!p || !(p->path = strdup(path))) {
        free(p);
        return NULL;
    }
    strcpy(p->question, "?"); /* no question there can be: the first one is always new */
    pthread_mutex_init(&p->lock, NULL);
    pp_cond_init(&p->wake);
    if (pthread_create(&p->thread, NULL, predict_main, p) != 0) {
        free(p->path);
        free(p);
        return NULL;
    }
    return p;
}

void pp_predictor_stop(struct pp_predictor *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    pp_costs_free(&p->costs);
    free(p->path);
    free(p);
}

int pp_predictor_ask(struct pp_predictor *p, const char *set, struct pp_predicted *out)
{
    if (!p)
        return 0;
    pthread_mutex_lock(&p->lock);
    if (strcmp(p->question, set) != 0) {
        snprintf(p->question, sizeof(p->question), "%s", set);
        p->asked = 1;
        pthread_cond_signal(&p->wake);
    }
    int answered = p->answered;
    if (answered)
        *out = p->answer;
    pthread_mutex_unlock(&p->lock);
    return answered;
}

#define FACTOR_STEP 0.8 /* a knob moved three times halves or doubles */

const struct pp_knob *pp_dash_knob(int i)
{
    for (const struct pp_knob *knob = pp_knob_rows; knob->name; knob++)
        if (knob->step != PP_STEP_NONE && i-- == 0)
            return knob;
    return NULL;
}

static double value_of(const struct pp_dash_model *m, int i, int step)
{
    const struct pp_knob *knob = pp_dash_knob(i);
    double recorded = NAN;
    for (size_t k = 0; knob->recorded && k < m->n_facts; k++)
        if (strcmp(m->facts[k].key, knob->recorded) == 0) {
            recorded = atof(m->facts[k].value);
            break;
        }
    switch (knob->step) {
    case PP_STEP_ONE: return recorded + step;
    case PP_STEP_DOUBLE: return recorded * exp2(step);
    case PP_STEP_FIFTH: return pow(FACTOR_STEP, -step);
    case PP_STEP_TENTH: return 0.1 * step;
    case PP_STEP_NONE: break;
    }
    return NAN;
}

int pp_knob_move(const struct pp_dash_model *m, int i, int step, int by)
{
    const struct pp_knob *knob = pp_dash_knob(i);
    double v = value_of(m, i, step + by), least = 1, most = knob->most > 0 ? knob->most : 1024;
    if (knob->step == PP_STEP_FIFTH)
        least = 0.01, most = 100;
    else if (knob->step == PP_STEP_TENTH)
        least = 0, most = 1.0001;
    return v >= least && v <= most ? step + by
                                   : step; /* false for NAN: what was not recorded cannot be moved */
}

const char *pp_knob_text(const struct pp_dash_model *m, int i, int step, char *buf, size_t size)
{
    double v = value_of(m, i, step);
    if (isnan(v))
        snprintf(buf, size, "-");
    else
        snprintf(buf, size, pp_dash_knob(i)->recorded ? "%.0f" : "%.2g", v);
    return buf;
}

const char *pp_knobs_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf,
                          size_t size)
{
    char value[32];
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < PP_DASH_KNOBS && pp_dash_knob(i) && at < size; i++)
        if (s->knob[i])
            at += (size_t)snprintf(buf + at, size - at, "%s%s=%s", at ? " " : "", pp_dash_knob(i)->name,
                                   pp_knob_text(m, i, s->knob[i], value, sizeof(value)));
    return buf;
}
