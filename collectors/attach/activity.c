/* What the GPU does for a recorded Python job (activity_file.h), stored as the
 * rows that a loader of our own has: tables gpu, gpu_batch and gpu_clock, and in section "gpu" who recorded
 * them, or why nothing is. One collector (collectors/collector.h), for a recording of another program that
 * asks for such rows. It takes at most as many as that says, then the job's process ends its part. */
#include "collectors/attach/activity_file.h"
#include "collectors/attach/session_files.h"
#include "collectors/collector.h"
#include "collectors/store/writer.h"

#define POLL_ROWS 100000u /* at most, some 0.1 s: spans are stored by the same thread */

struct activity {
    struct pp_store *store;
    struct pp_activity_file *file;
    char path[PATH_MAX];
    uint64_t tail, stored, most, lost;
    uint64_t from_ns, compared_ns, last_ns; /* clocks compared first and last; the last row's end; 0: none */
    uint64_t clock_error_ns;
    int converted;
    uint32_t said; /* the state that the file's meta table has */
};

/* ---- rows ---- */

/* Belongs to the buffer; NULL: none. The process may be writing at the table's end, and may be anybody's. */
static const char *name_of(const struct activity *a, uint16_t number, char buf[PP_ACTIVITY_NAME])
{
    uint32_t known = __atomic_load_n(
        &a->file->names, __ATOMIC_ACQUIRE); /* pairs with the release in number_of of python/record/gpu.c */
    if (!number || number > known || number >= PP_ACTIVITY_NAMES)
        return NULL;
    memcpy(buf, a->file->name[number], PP_ACTIVITY_NAME);
    buf[PP_ACTIVITY_NAME - 1] = '\0';
    return buf;
}

static void store_row(struct activity *a, const struct pp_activity_row *row)
{
    char kind[PP_ACTIVITY_NAME], name[PP_ACTIVITY_NAME], source[PP_ACTIVITY_NAME], target[PP_ACTIVITY_NAME];
    struct pp_store_gpu g = {.kind = name_of(a, row->kind, kind),
                             .start_ns = row->start_ns,
                             .dur_ns = row->dur_ns,
                             .correlation = row->correlation,
                             .device = row->device,
                             .context = row->context,
                             .stream = row->stream,
                             .thread = row->thread,
                             .bytes = row->bytes,
                             .source = name_of(a, row->source, source),
                             .target = name_of(a, row->target, target),
                             .asynchronous = row->asynchronous,
                             .name = name_of(a, row->name, name),
                             .result = row->result};
    if (!row->kind) {
        pp_store_gpu_clock(a->store, row->start_ns, (int64_t)row->bytes, row->dur_ns);
        a->from_ns = a->from_ns ? a->from_ns : row->start_ns;
        a->compared_ns = row->start_ns;
        a->converted |= row->bytes != 0;
        a->clock_error_ns = row->dur_ns > a->clock_error_ns ? row->dur_ns : a->clock_error_ns;
        return;
    }
    if (!g.kind || (int64_t)g.start_ns < 0 || (int64_t)(g.start_ns + g.dur_ns) < (int64_t)g.start_ns ||
        (int64_t)g.bytes < 0) {
        a->lost++;
        return;
    }
    pp_store_gpu(a->store, &g);
    if (row->batch != PP_NO_BATCH && row->correlation != PP_GPU_NONE)
        pp_store_gpu_batch(a->store, row->correlation, row->batch);
    a->stored++;
    if (g.start_ns + g.dur_ns > a->last_ns)
        a->last_ns = g.start_ns + g.dur_ns;
}

static void take_rows(struct activity *a, uint64_t most)
{
    struct pp_activity_file *f = a->file;
    uint64_t head = __atomic_load_n(
        &f->head, __ATOMIC_ACQUIRE);         /* pairs with the release in put_row of python/record/gpu.c */
    if (head - a->tail > PP_ACTIVITY_ROWS) { /* not what a recorded process writes */
        a->lost++;
        a->tail = head;
    }
    for (uint64_t n = 0; a->tail != head && n < most && a->stored < a->most; a->tail++, n++) {
        const struct pp_activity_row row = f->row[a->tail % PP_ACTIVITY_ROWS];
        store_row(a, &row);
    }
    if (a->stored >= a->most) {
        __atomic_store_n(&f->stop, 1, __ATOMIC_RELAXED); /* a request, and nothing else */
        a->tail = head;
    }
    __atomic_store_n(&f->tail, a->tail,
                     __ATOMIC_RELEASE); /* pairs with the acquire in put_row of python/record/gpu.c */
}

/* ---- who records ---- */

static void store_state(struct activity *a)
{
    const struct pp_activity_file *f = a->file;
    char text[sizeof(f->text)], until[sizeof(f->until)], device[sizeof(f->device)],
        said[sizeof(text) + sizeof(until) + 32];
    uint32_t state = __atomic_load_n(&f->state,
                                     __ATOMIC_ACQUIRE); /* pairs with the release in python/record/gpu.c */
    if (state == a->said || state > PP_ACTIVITY_ENDED)
        return;
    a->said = state;
    memcpy(text, f->text, sizeof(text));
    memcpy(until, f->until, sizeof(until));
    memcpy(device, f->device, sizeof(device));
    text[sizeof(text) - 1] = until[sizeof(until) - 1] = device[sizeof(device) - 1] = '\0';
    snprintf(said, sizeof(said), "%s%s%s%s", state == PP_ACTIVITY_REFUSED ? "not recorded: " : "", text,
             state == PP_ACTIVITY_ENDED && *until ? "; until " : "", state == PP_ACTIVITY_ENDED ? until : "");
    pp_store_meta_text(a->store, "gpu", "activity", said);
    if (*device)
        pp_store_meta_text(a->store, "environment", "gpu", device);
}

static void activity_poll(void *state)
{
    struct activity *a = state;
    take_rows(a, POLL_ROWS);
    store_state(a);
}

/* ---- begin and end ---- */

static pp_status activity_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    if (!opts->session_dir || opts->device || opts->gpu_activity <= 0)
        return pp_fail(err, PP_E_USAGE, "not asked to");
    struct activity *a = calloc(1, sizeof(*a));
    if (!a)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read the job's GPU activity");
    a->store = opts->store;
    a->most = (uint64_t)opts->gpu_activity;
    void *ring;
    pp_status st = pp_session_ring_make(a->path, opts->session_dir, PP_ACTIVITY_FILE_NAME, sizeof(*a->file),
                                        "GPU activity", &ring, err);
    if (st != PP_OK) {
        free(a);
        return st;
    }
    a->file = ring;
    memcpy(a->file->magic, PP_ACTIVITY_MAGIC, sizeof(a->file->magic));
    *out = a;
    return PP_OK;
}

static void activity_stop(void *state)
{
    struct activity *a = state;
    const struct pp_activity_file *f = a->file;
    __atomic_store_n(&a->file->stop, 1, __ATOMIC_RELAXED); /* as in take_rows */
    take_rows(a, PP_ACTIVITY_ROWS);
    store_state(a);
    uint64_t dropped = f->dropped + f->no_room + a->lost;
    /* Until when all that the GPU did is known; 0: to the end of the job. */
    uint64_t until = a->stored >= a->most || a->said != PP_ACTIVITY_ENDED ? a->last_ns
                     : f->until[0]                                        ? a->compared_ns
                                                                          : 0;
    if (a->said == PP_ACTIVITY_ON || a->said == PP_ACTIVITY_ENDED) {
        pp_store_meta_num(a->store, "gpu", "records", (double)a->stored, "records");
        pp_store_meta_num(a->store, "gpu", "records_dropped", (double)dropped, "records");
        pp_store_meta_num(a->store, "gpu", "clock_error_ns", (double)a->clock_error_ns, "ns");
        pp_store_meta_text(a->store, "gpu", "clock",
                           a->converted ? "converted, see gpu_clock" : "CUPTI stamped with CLOCK_MONOTONIC");
        pp_store_meta_num(a->store, "gpu", "from_ns", (double)a->from_ns, "ns");
        if (until)
            pp_store_meta_num(a->store, "gpu", "until_ns", (double)until, "ns");
        if (dropped)
            pp_store_loss(a->store, "gpu records", dropped,
                          "records of the job's GPU arrived faster than they were stored");
    }
    pp_session_ring_remove(a->path, a->file, sizeof(*a->file));
    free(a);
}

const struct pp_collector pp_collector_activity = {
    .name = "GPU activity of a job",
    .found = "a Python job's GPU activity is read from its session",
    .start = activity_start,
    .poll = activity_poll,
    .stop = activity_stop,
};
