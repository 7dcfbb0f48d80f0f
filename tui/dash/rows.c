#include "tui/dash/rows.h"

const char *const pp_sort_names[PP_SORTS] = {"name",     "samples/s", "busy",          "waiting",
                                             "CPU wait", "errors",    "age of sample", "longest"};

struct order {
    const struct pp_live_worker *workers;
    int sort, invert;
};

/* Numbers from the largest, names as a person counts (worker-2 before worker-10); equal keys by name, so that
 * rows do not jump. */
static int by_key(const void *a, const void *b, void *ctx)
{
    const struct order *o = ctx;
    const struct pp_live_worker *w[2] = {&o->workers[*(const int *)a], &o->workers[*(const int *)b]};
    double k[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        switch (o->sort % PP_SORTS) {
        case PP_SORT_RATE: k[i] = w[i]->samples_per_s; break;
        case PP_SORT_BUSY: k[i] = w[i]->busy; break;
        case PP_SORT_WAITING: k[i] = w[i]->waiting; break;
        case PP_SORT_RUN_QUEUE: k[i] = isnan(w[i]->run_queue) ? -1 : w[i]->run_queue; break;
        case PP_SORT_ERRORS: k[i] = (double)w[i]->errors; break;
        case PP_SORT_AGE: k[i] = isnan(w[i]->sample_age_ns) ? -1 : w[i]->sample_age_ns; break;
        case PP_SORT_LONGEST: k[i] = w[i]->max_ns; break;
        }
    int d = k[0] < k[1] ? 1 : k[0] > k[1] ? -1 : strverscmp(w[0]->name, w[1]->name);
    return o->invert ? -d : d;
}

static int has_text(const char *in, const char *text)
{
    return in && strcasestr(in, text) != NULL;
}

int pp_row_has(enum pp_view v, const struct pp_dash_model *m, int i, const char *text)
{
    const struct pp_live_snapshot *s = m->snap;
    switch (v) {
    case PP_VIEW_OVERVIEW:
    case PP_VIEW_WORKERS: {
        const struct pp_phase_info *p = pp_phase_info(s->workers[i].state);
        return has_text(s->workers[i].name, text) || (p && has_text(p->name, text)) ||
               (s->workers[i].path && has_text(s->workers[i].path, text));
    }
    case PP_VIEW_STAGES:
        return has_text(pp_phase_info(s->stages[i].phase)->name, text) ||
               has_text(pp_lane_name(s->stages[i].lane), text);
    case PP_VIEW_ERRORS:
    case PP_VIEW_EVENTS:
        return has_text(s->events[i].text, text) || has_text(pp_live_event_names[s->events[i].kind], text);
    case PP_VIEW_LINES:
        return has_text(m->report->ops[i].name, text) || has_text(m->report->ops[i].place, text);
    case PP_VIEW_ENVIRONMENT:
        return has_text(m->facts[i].key, text) || has_text(m->facts[i].value, text) ||
               has_text(m->facts[i].section, text);
    case PP_VIEW_WHATIF: {
        const struct pp_knob *knob = pp_dash_knob(i);
        return pp_knob_find(text, strlen(text)) == knob || has_text(knob->name, text) ||
               has_text(knob->help, text);
    }
    case PP_VIEW_BATCH:
    case PP_VIEW_COUNT: break;
    }
    return 0;
}

void pp_rows_of(const struct pp_dash_state *s, const struct pp_dash_model *m, struct pp_rows *out)
{
    enum pp_view v = s->view;
    size_t n = 0;
    switch (v) {
    case PP_VIEW_OVERVIEW:
    case PP_VIEW_WORKERS: n = m->snap->n_workers; break;
    case PP_VIEW_STAGES: n = m->snap->n_stages; break;
    case PP_VIEW_ERRORS:
    case PP_VIEW_EVENTS: n = m->snap->n_events; break;
    case PP_VIEW_LINES: n = m->report ? m->report->n_ops : 0; break;
    case PP_VIEW_ENVIRONMENT: n = m->n_facts; break;
    case PP_VIEW_WHATIF:
        while (n < PP_DASH_KNOBS && pp_dash_knob((int)n))
            n++;
        break;
    case PP_VIEW_BATCH:
    case PP_VIEW_COUNT: break;
    }
    int newest_first = v == PP_VIEW_ERRORS || v == PP_VIEW_EVENTS;
    out->n = 0;
    for (size_t k = 0; k < n && out->n < PP_ROWS_MOST; k++) {
        int i = (int)(newest_first ? n - 1 - k : k);
        if (v == PP_VIEW_ERRORS && m->snap->events[i].kind != PP_LIVE_ERROR)
            continue;
        if (!s->filter[0] || pp_row_has(v, m, i, s->filter))
            out->index[out->n++] = i;
    }
    if (v == PP_VIEW_OVERVIEW || v == PP_VIEW_WORKERS) {
        struct order o = {m->snap->workers, s->sort, s->invert};
        qsort_r(out->index, (size_t)out->n, sizeof(int), by_key, &o);
    }
}
