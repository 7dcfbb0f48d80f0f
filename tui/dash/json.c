#include "tui/dash/json.h"

#include "probe/base/json_fields.h"

#include <pipeprobe/span.h>

static double since_start_s(const struct pp_live_snapshot *s, double at_s)
{
    return at_s - (double)s->origin_ns / 1e9;
}

static void put_verdict_fields(struct pp_json *j, const struct pp_report *r)
{
    str(j, "l0", r->verdict.l0);
    str(j, "l1", r->verdict.l1);
    str(j, "l2", r->verdict.l2);
    num(j, "confidence", r->verdict.confidence);
    str(j, "sentence", r->verdict.sentence);
    str(j, "next_step", r->verdict.next_step);
}

static void put_verdict(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "verdict");
    if (!r) {
        pp_json_null(j);
        return;
    }
    pp_json_object(j);
    put_verdict_fields(j, r);
    pp_json_object_end(j);
}

/* Of the time that is looked at; null where that is the whole run. */
static void put_moment(struct pp_json *j, const struct pp_dash_model *m)
{
    pp_json_key(j, "moment_verdict");
    if (!m->moment) {
        pp_json_null(j);
        return;
    }
    pp_json_object(j);
    num(j, "from_s", since_start_s(m->snap, (double)m->moment_from_ns / 1e9));
    num(j, "to_s", since_start_s(m->snap, (double)m->moment_to_ns / 1e9));
    put_verdict_fields(j, m->moment);
    pp_json_object_end(j);
}

static void put_stages(struct pp_json *j, const struct pp_live_snapshot *s)
{
    pp_json_key(j, "stages");
    pp_json_array(j);
    for (size_t i = 0; i < s->n_stages; i++) {
        const struct pp_live_stage *g = &s->stages[i];
        pp_json_object(j);
        str(j, "phase", pp_phase_info(g->phase)->name);
        str(j, "lane", pp_lane_name(g->lane));
        whole(j, "threads", g->threads);
        num(j, "per_s", g->per_s);
        num(j, "mean_ns", g->mean_ns);
        whole(j, "max_ns", g->max_ns);
        num(j, "share", g->share);
        num(j, "cpu_share", g->cpu);
        num(j, "run_queue_share", g->run_queue);
        num(j, "blocked_share", g->blocked);
        num(j, "bytes_per_s", g->bytes_per_s);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_workers(struct pp_json *j, const struct pp_live_snapshot *s)
{
    pp_json_key(j, "workers");
    pp_json_array(j);
    for (size_t i = 0; i < s->n_workers; i++) {
        const struct pp_live_worker *w = &s->workers[i];
        const struct pp_phase_info *state = pp_phase_info(w->state);
        pp_json_object(j);
        str(j, "name", w->name);
        str(j, "state", state ? state->name : NULL);
        num(j, "samples_per_s", w->samples_per_s);
        num(j, "busy_share", w->busy);
        num(j, "waiting_share", w->waiting);
        num(j, "cpu_share", w->cpu);
        num(j, "run_queue_share", w->run_queue);
        whole(j, "errors", w->errors);
        num(j, "longest_ns", w->max_ns);
        pp_json_key(j, "sample");
        if (w->sample == PP_NO_SAMPLE)
            pp_json_null(j);
        else
            pp_json_uint(j, w->sample);
        str(j, "path", w->path);
        num(j, "sample_age_ns", w->sample_age_ns);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_queues(struct pp_json *j, const struct pp_live_snapshot *s)
{
    pp_json_key(j, "queues");
    pp_json_array(j);
    for (size_t i = 0; i < s->n_queues; i++) {
        pp_json_object(j);
        str(j, "name", s->queues[i].name);
        num(j, "depth", s->queues[i].depth);
        pp_json_key(j, "capacity");
        if (s->queues[i].capacity)
            pp_json_uint(j, s->queues[i].capacity);
        else
            pp_json_null(j);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_events(struct pp_json *j, const struct pp_live_snapshot *s)
{
    enum { NEWEST = 50 };
    pp_json_key(j, "events");
    pp_json_array(j);
    for (size_t i = s->n_events > NEWEST ? s->n_events - NEWEST : 0; i < s->n_events; i++) {
        pp_json_object(j);
        num(j, "at_s", since_start_s(s, (double)s->events[i].t_ns / 1e9));
        str(j, "kind", pp_live_event_name(s->events[i].kind));
        whole(j, "count", s->events[i].count);
        str(j, "text", s->events[i].text);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

int pp_dash_json(const struct pp_dash_state *st, const struct pp_dash_model *m, FILE *out)
{
    const struct pp_live_snapshot *s = m->snap;
    struct pp_json j;
    pp_json_begin(&j, out, 2);
    pp_json_object(&j);
    str(&j, "schema", "pipeprobe.top/1");
    str(&j, "path", m->path);
    str(&j, "state", pp_live_state_name(s->state));
    num(&j, "quiet_s", s->state == PP_LIVE_RUNNING ? s->quiet_s : 0);
    num(&j, "at_s", s->last_s >= s->first_s ? since_start_s(s, (double)(s->at_s + 1)) : 0);
    num(&j, "window_s", s->window_s);
    num(&j, "samples_per_s", s->samples_per_s);
    num(&j, "batches_per_s", s->batches_per_s);
    num(&j, "data_wait_share", s->wait_share);
    num(&j, "step_mean_ns", s->step_ns);
    num(&j, "read_bytes_per_s", s->read_bytes_per_s);
    whole(&j, "errors", s->errors);
    whole(&j, "dropped_spans", s->dropped);
    num(&j, "stalled_ns", s->stalled_ns);
#define PUT_GPU(sym, key) num(&j, key, s->gpu[PP_LIVE_GPU_##sym]);
    PP_LIVE_GPU_MAP(PUT_GPU)
#undef PUT_GPU
    put_moment(&j, m);
    put_verdict(&j, m->report);
    put_stages(&j, s);
    put_queues(&j, s);
    put_workers(&j, s);
    put_events(&j, s);
    pp_json_object_end(&j);
    return pp_json_end(&j);
}
