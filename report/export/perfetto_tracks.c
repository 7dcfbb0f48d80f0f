#include "report/export/perfetto.h"

#include <stdio.h>
#include <string.h>

enum {
    PROCESS_PID = 1,
    PROCESS_CMDLINE = 2,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_SORT = 3,
    THREAD_NAME = 5
};
enum { COUNTER_UNIT = 3, UNIT_TIME_NS = 1, UNIT_COUNT = 2, UNIT_SIZE_BYTES = 3 };

/* A process is known by its first thread. */
static size_t process_of(const struct perfetto *p, const struct pp_thread_row *t)
{
    const struct pp_thread_row *first = p->run->threads;
    while (first < t && first->pid != t->pid)
        first++;
    return (size_t)(first - p->run->threads);
}

uint64_t perfetto_thread_track(const struct perfetto *p, const struct pp_thread_row *t, unsigned beside)
{
    return THREAD_TRACKS * (beside + 1) + (uint64_t)(t - p->run->threads);
}

uint64_t perfetto_process_track(const struct perfetto *p, const struct pp_thread_row *t)
{
    return PROCESS_TRACKS + (t ? process_of(p, t) : 0);
}

static int64_t pid_of(const struct pp_thread_row *t)
{
    return t && t->pid > 0 ? t->pid : 1;
}

static pp_status put_process(struct perfetto *p, size_t number, const struct pp_thread_row *t,
                             struct pp_err *err)
{
    const char *command = p->run->source->meta(p->run->source->ctx, "run", "command_line");
    size_t packet = perfetto_begin(p), track = pp_proto_begin(&p->proto, PACKET_TRACK), process;
    pp_proto_uint(&p->proto, TRACK_UUID, PROCESS_TRACKS + number);
    process = pp_proto_begin(&p->proto, TRACK_PROCESS);
    pp_proto_int(&p->proto, PROCESS_PID, pid_of(t));
    pp_proto_str(&p->proto, PROCESS_NAME, p->run->program);
    if (command)
        pp_proto_str(&p->proto, PROCESS_CMDLINE, command);
    pp_proto_end(&p->proto, process);
    pp_proto_end(&p->proto, track);
    return perfetto_end(p, packet, err);
}

pp_status perfetto_put_processes(struct perfetto *p, struct pp_err *err)
{
    const struct pp_export_run *run = p->run;
    pp_status st = run->n_threads ? PP_OK : put_process(p, 0, NULL, err);
    for (size_t i = 0; i < run->n_threads && st == PP_OK; i++)
        if (process_of(p, &run->threads[i]) == i)
            st = put_process(p, i, &run->threads[i], err);
    return st;
}

pp_status perfetto_put_thread(struct perfetto *p, const struct pp_thread_row *t, struct pp_err *err)
{
    size_t packet = perfetto_begin(p), track = pp_proto_begin(&p->proto, PACKET_TRACK), thread;
    pp_proto_uint(&p->proto, TRACK_UUID, perfetto_thread_track(p, t, 0));
    pp_proto_uint(&p->proto, TRACK_PARENT, perfetto_process_track(p, t));
    thread = pp_proto_begin(&p->proto, TRACK_THREAD);
    pp_proto_int(&p->proto, THREAD_PID, pid_of(t));
    pp_proto_int(&p->proto, THREAD_TID, t->tid > 0 ? t->tid : (int64_t)t->id + 1);
    pp_proto_int(&p->proto, THREAD_SORT, (int64_t)(t->id & INT32_MAX));
    pp_proto_str(&p->proto, THREAD_NAME, t->name);
    pp_proto_end(&p->proto, thread);
    pp_proto_end(&p->proto, track);
    return perfetto_end(p, packet, err);
}

pp_status perfetto_put_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name,
                             struct pp_err *err)
{
    size_t packet = perfetto_begin(p), track = pp_proto_begin(&p->proto, PACKET_TRACK);
    pp_proto_uint(&p->proto, TRACK_UUID, uuid);
    if (parent)
        pp_proto_uint(&p->proto, TRACK_PARENT, parent);
    pp_proto_str(&p->proto, TRACK_NAME, name);
    pp_proto_end(&p->proto, track);
    return perfetto_end(p, packet, err);
}

/* The unit is in the name: rss_bytes, process_cpu_ns_total. */
static unsigned unit_of(const char *name)
{
    size_t n = strlen(name), total = strlen("_total");
    if (n > total && strcmp(name + n - total, "_total") == 0)
        n -= total;
    if (n > 3 && strncmp(name + n - 3, "_ns", 3) == 0)
        return UNIT_TIME_NS;
    return n > 6 && strncmp(name + n - 6, "_bytes", 6) == 0 ? UNIT_SIZE_BYTES : UNIT_COUNT;
}

pp_status perfetto_put_counter_track(struct perfetto *p, size_t number, struct pp_err *err)
{
    const struct counter_track *c = &p->counters[number];
    const struct pp_thread_row *t = c->thread ? c->thread : p->run->threads;
    size_t packet = perfetto_begin(p), track = pp_proto_begin(&p->proto, PACKET_TRACK), counter;
    pp_proto_uint(&p->proto, TRACK_UUID, COUNTER_TRACKS + number);
    if (t)
        pp_proto_uint(&p->proto, TRACK_PARENT, perfetto_process_track(p, t));
    pp_proto_str(&p->proto, TRACK_NAME, c->name);
    counter = pp_proto_begin(&p->proto, TRACK_COUNTER);
    pp_proto_uint(&p->proto, COUNTER_UNIT, unit_of(c->name));
    pp_proto_end(&p->proto, counter);
    pp_proto_end(&p->proto, track);
    return perfetto_end(p, packet, err);
}
