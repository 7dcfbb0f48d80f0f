/* Perfetto's protobuf trace: track events. tests/e2e/perfetto_reads_our_export.sh decodes the result with the
 * reference decoder.
 *
 * One packet sequence; names, categories and annotation names are interned in the packet that first needs
 * them. Begin and end of a span are written together: the trace processor sorts packets by time, keeping file
 * order among equals, and the walker's order (starts never go back within a track, the longer first) is what
 * makes equal times nest. Times are CLOCK_MONOTONIC, which is made the trace's clock. */
#include "report/export/perfetto.h"
#include "report/export/place.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pp_status put_loss(struct perfetto *p, const struct pp_export_loss *l, struct pp_err *err)
{
    size_t packet = perfetto_begin_at(p, p->run->origin_ns),
           event = perfetto_begin_event(p, TYPE_INSTANT, perfetto_process_track(p, p->run->threads));
    pp_proto_str(&p->proto, EVENT_NAME, "lost");
    pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    perfetto_note_text(p, "what", l->what);
    perfetto_note_number(p, "count", l->count);
    perfetto_note_text(p, "why", l->why);
    pp_proto_end(&p->proto, event);
    return perfetto_end(p, packet, err);
}

static pp_status put_recovery(struct perfetto *p, struct pp_err *err)
{
    size_t packet = perfetto_begin_at(p, p->run->origin_ns),
           event = perfetto_begin_event(p, TYPE_INSTANT, perfetto_process_track(p, p->run->threads));
    pp_proto_str(&p->proto, EVENT_NAME, "recovered");
    perfetto_note_text(p, "what", p->run->recovery);
    pp_proto_end(&p->proto, event);
    return perfetto_end(p, packet, err);
}

static pp_status perfetto_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                               struct pp_err *err)
{
    struct perfetto *p = *self = calloc(1, sizeof(*p));
    if (!p || !(p->tracks = calloc(run->n_threads + 1, sizeof(*p->tracks))))
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", place->out);
    p->run = run;
    pp_out_begin(&p->out, place->fd, place->out);
    pp_gpu_tracks_begin(&p->gpu, run);
    pp_status st = perfetto_put_head(p, err);
    if (st == PP_OK)
        st = perfetto_put_processes(p, err);
    for (size_t i = 0; i < run->n_losses && st == PP_OK; i++)
        st = put_loss(p, &run->losses[i], err);
    if (st == PP_OK && run->recovery)
        st = put_recovery(p, err);
    return st;
}

static pp_status perfetto_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    return perfetto_put_thread(self, t, err);
}

static pp_status perfetto_error(void *self, const struct pp_error_row *e, const struct pp_thread_row *t,
                                struct pp_err *err)
{
    struct perfetto *p = self;
    size_t packet = perfetto_begin_at(p, e->t_ns);
    size_t event = perfetto_begin_event(p, TYPE_INSTANT,
                                        t ? perfetto_thread_track(p, t, 0)
                                          : perfetto_process_track(p, p->run->threads));
    pp_proto_str(&p->proto, EVENT_NAME, e->kind ? e->kind : "error");
    pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    perfetto_note_text(p, "path", e->path);
    perfetto_note_text(p, "reason", e->reason);
    perfetto_note_text(p, "action", e->action);
    perfetto_note_number(p, "count", e->count);
    pp_proto_end(&p->proto, event);
    return perfetto_end(p, packet, err);
}

/* Number of the counter's track; n_counters when it has none yet. A run has few counters. */
static size_t find_counter(const struct perfetto *p, const struct pp_export_counter *c)
{
    size_t i = 0;
    while (i < p->n_counters &&
           (strcmp(p->counters[i].name, c->name) != 0 ||
            perfetto_process_track(p, p->counters[i].thread) != perfetto_process_track(p, c->thread)))
        i++;
    return i;
}

static pp_status add_counter(struct perfetto *p, const struct pp_export_counter *c, struct pp_err *err)
{
    struct counter_track *more = realloc(p->counters, (p->n_counters + 1) * sizeof(*more));
    char *name = more ? strdup(c->name) : NULL;
    if (more)
        p->counters = more;
    if (!name)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", p->out.label);
    more[p->n_counters++] = (struct counter_track){.name = name, .thread = c->thread};
    return perfetto_put_counter_track(p, p->n_counters - 1, err);
}

static pp_status perfetto_counter(void *self, const struct pp_export_counter *c, struct pp_err *err)
{
    struct perfetto *p = self;
    size_t number = find_counter(p, c), packet, event;
    pp_status st = number == p->n_counters ? add_counter(p, c, err) : PP_OK;
    if (st != PP_OK || !isfinite(c->value))
        return st;
    packet = perfetto_begin_at(p, c->t_ns);
    event = perfetto_begin_event(p, TYPE_COUNTER, COUNTER_TRACKS + number);
    pp_proto_double(&p->proto, EVENT_DOUBLE_COUNTER, c->value);
    pp_proto_end(&p->proto, event);
    return perfetto_end(p, packet, err);
}

/* The name of a span goes along with its first use. */
static void intern_name(struct perfetto *p, const struct pp_export_span *e)
{
    uint8_t *byte = &p->interned[e->key / 8], bit = (uint8_t)(1u << e->key % 8);
    if (*byte & bit)
        return;
    size_t data = pp_proto_begin(&p->proto, PACKET_INTERNED);
    perfetto_intern(p, INTERNED_NAME, e->key + 1, e->name);
    pp_proto_end(&p->proto, data);
    *byte |= bit;
}

static void put_notes(struct perfetto *p, const struct pp_span *s)
{
    if (s->batch != PP_NO_BATCH)
        perfetto_note(p, NOTE_BATCH, s->batch);
    if (s->flags & PP_SPAN_COUNT)
        perfetto_note(p, NOTE_SAMPLES, s->sample);
    else if (s->sample != PP_NO_SAMPLE)
        perfetto_note(p, NOTE_SAMPLE, s->sample);
    if (s->bytes)
        perfetto_note(p, NOTE_BYTES, s->bytes);
    if (s->flags & PP_SPAN_HAS_CPU)
        perfetto_note(p, NOTE_CPU, s->cpu_ns);
    if (s->flags & PP_SPAN_HAS_DELAY)
        perfetto_note(p, NOTE_DELAY, s->run_delay_ns);
    if (s->flags & PP_SPAN_HAS_CACHE)
        perfetto_note(p, NOTE_CACHE, s->cache_hit_kib);
    if (s->epoch)
        perfetto_note(p, NOTE_EPOCH, s->epoch);
    if (s->flags & PP_SPAN_UNFINISHED)
        perfetto_note(p, NOTE_UNFINISHED, 1);
    if (s->flags & PP_SPAN_WARMUP)
        perfetto_note(p, NOTE_WARMUP, 1);
}

static pp_status put_span_begin(struct perfetto *p, const struct pp_export_span *e, uint64_t track,
                                struct pp_err *err)
{
    const struct pp_span *s = e->span;
    size_t packet = perfetto_begin_at(p, s->start_ns), event;
    intern_name(p, e);
    event = perfetto_begin_event(p, TYPE_BEGIN, track);
    pp_proto_uint(&p->proto, EVENT_NAME_IID, e->key + 1);
    pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, e->waits ? CATEGORY_WAIT : CATEGORY_WORK);
    if (s->flags & PP_SPAN_ERROR)
        pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    if (e->flow != PP_FLOW_NONE)
        pp_proto_fixed64(&p->proto, e->flow == PP_FLOW_END ? EVENT_LAST_FLOW : EVENT_FLOW,
                         (uint64_t)s->batch + 1);
    put_notes(p, s);
    pp_proto_end(&p->proto, event);
    return perfetto_end(p, packet, err);
}

static pp_status perfetto_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct perfetto *p = self;
    uint64_t *known = &p->tracks[e->thread - p->run->threads],
             track = perfetto_thread_track(p, e->thread, e->track);
    pp_status st = PP_OK;
    if (e->track && !(*known >> e->track & 1)) {
        char name[96];
        snprintf(name, sizeof(name), "%s (overlapping %u)", e->thread->name, e->track);
        st = perfetto_put_track(p, track, perfetto_thread_track(p, e->thread, 0), name, err);
        *known |= 1ull << e->track;
    }
    if (st == PP_OK)
        st = put_span_begin(p, e, track, err);
    return st == PP_OK ? perfetto_put_end(p, e->end_ns, track, err) : st;
}

static pp_status put_gpu_row(void *self, const struct pp_gpu_row *row, struct pp_err *err)
{
    return perfetto_put_gpu(self, row, err);
}

static pp_status put_request_row(void *self, const struct pp_request_row *row, struct pp_err *err)
{
    return perfetto_put_request(self, row, err);
}

static pp_status perfetto_close(void *self, int complete, struct pp_err *err)
{
    struct perfetto *p = self;
    pp_status st = PP_OK;
    if (!p)
        return st;
    if (complete)
        st = pp_out_end(&p->out, err);
    for (size_t i = 0; i < p->n_counters; i++)
        free(p->counters[i].name);
    free(p->counters);
    free(p->tracks);
    pp_gpu_tracks_free(&p->gpu);
    pp_request_tracks_free(&p->requests);
    pp_proto_free(&p->proto);
    free(p);
    return st;
}

const struct pp_exporter pp_export_perfetto = {
    .name = "perfetto",
    .suffixes = {".pftrace", ".perfetto-trace"},
    .next = "open %s in ui.perfetto.dev",
    .streams = 1,
    .open = perfetto_open,
    .thread = perfetto_thread,
    .error = perfetto_error,
    .counter = perfetto_counter,
    .gpu = put_gpu_row,
    .request = put_request_row,
    .span = perfetto_span,
    .close = perfetto_close,
};
