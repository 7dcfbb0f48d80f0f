/* Chrome JSON that `pipeprobe export --to chrome` wrote, and what it shares with the other timelines of ours.
 */
#include "collectors/import/own.h"

#include "collectors/import/import.h"

#include <stdlib.h>
#include <string.h>

struct pp_own_name pp_own_name_of(struct pp_imported *im, const struct pp_namemap *user, const char *name)
{
    for (unsigned i = 1; i < PP_PHASE_COUNT; i++)
        if (pp_phase_info(i) && strcmp(pp_phase_info(i)->name, name) == 0)
            return (struct pp_own_name){.phase = (uint8_t)i};
    pp_phase phase = pp_namemap_phase(user, "", name);
    return (struct pp_own_name){.phase = (uint8_t)phase,
                                .name = phase == PP_PHASE_USER ? pp_imported_name(im, name) : 0};
}

void pp_own_span(struct pp_imported *im, uint32_t thread, struct pp_own_name name, const struct pp_event *e)
{
    struct pp_span s = {.dur_ns = (uint64_t)e->dur_ns, .sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
    if (!pp_imported_time(im, e->ts_ns, &s.start_ns))
        return;
    s.phase = name.phase;
    s.name = name.name;
    s.bytes = e->has & PP_HAS_BYTES ? e->bytes : 0;
    s.cpu_ns = e->has & PP_HAS_CPU ? e->cpu_ns : 0;
    s.run_delay_ns = e->has & PP_HAS_DELAY ? e->run_delay_ns : 0;
    s.cache_hit_kib = e->has & PP_HAS_CACHE ? (uint32_t)e->cache_hit_kib : 0;
    s.epoch = e->has & PP_HAS_EPOCH ? (uint16_t)e->epoch : 0;
    s.batch = e->has & PP_HAS_BATCH && e->batch < PP_NO_BATCH ? (uint32_t)e->batch : PP_NO_BATCH;
    pp_imported_facts(im)->numbered |= s.phase == PP_PHASE_STEP && s.batch != PP_NO_BATCH;
    if (e->has & (PP_HAS_SAMPLE | PP_HAS_SAMPLES))
        s.sample = e->has & PP_HAS_SAMPLES ? e->samples : e->sample;
    s.flags = (uint16_t)((e->has & PP_HAS_SAMPLES ? PP_SPAN_COUNT : 0) |
                         (e->has & PP_HAS_CPU ? PP_SPAN_HAS_CPU : 0) |
                         (e->has & PP_HAS_DELAY ? PP_SPAN_HAS_DELAY : 0) |
                         (e->has & PP_HAS_CACHE ? PP_SPAN_HAS_CACHE : 0) |
                         (e->has & PP_HAS_UNFINISHED ? PP_SPAN_UNFINISHED : 0) |
                         (e->has & PP_HAS_WARMUP ? PP_SPAN_WARMUP : 0));
    pp_imported_span(im, thread, &s, PP_ROLE_NONE);
}

struct mapper {
    struct pp_imported *im;
    struct pp_import_facts *facts;
    const struct pp_namemap *user;
};

static int on_event(void *ctx, const struct pp_event *e)
{
    struct mapper *m = ctx;
    m->facts->events++;
    if (e->ph[0] == 'M' && strcmp(e->name, "thread_name") == 0)
        pp_imported_thread_name(m->im, pp_imported_thread(m->im, e->pid, e->tid), e->label);
    else if (e->ph[0] == 'X' && (strncmp(e->cat, "wait", 4) == 0 || strncmp(e->cat, "work", 4) == 0) &&
             e->has & PP_HAS_TS && e->has & PP_HAS_DUR && e->dur_ns >= 0)
        pp_own_span(m->im, pp_imported_thread(m->im, e->pid, e->tid), pp_own_name_of(m->im, m->user, e->name),
                    e);
    return 0;
}

static int on_value(void *ctx, const char *name, const char *value)
{
    struct mapper *m = ctx;
    if (strcmp(name, "otherData.origin_utc_ns") == 0)
        m->facts->utc_ns = strtoll(value, NULL, 10);
    return 0;
}

static pp_status read_trace(const char *path, const struct pp_namemap *map, struct pp_imported *im,
                            struct pp_err *err)
{
    struct mapper m = {.im = im, .facts = pp_imported_facts(im), .user = map};
    struct pp_events_read read = {0};
    m.facts->collectives_wait = 1;
    pp_status status = pp_events_read(
        path, &(struct pp_event_sink){.event = on_event, .value = on_value, .ctx = &m}, &read, err);
    m.facts->ended = read.ended;
    m.facts->ended_at = read.at;
    return status;
}

static int probe(const struct pp_import_head *head)
{
    return strstr((const char *)head->data, "\"origin_mono_ns\"") != NULL;
}

const struct pp_importer pp_importer_pipeprobe = {
    .name = "pipeprobe",
    .what = "pipeprobe export --to chrome",
    .probe = probe,
    .read = read_trace,
};
