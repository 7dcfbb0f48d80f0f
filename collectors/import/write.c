#include "collectors/import/imported_impl.h"

#include "collectors/store/writer.h"
#include "probe/base/array.h"
#include "probe/base/err.h"

enum { SPANS_AT_ONCE = 4096 };

/* ---- threads ---- */

/* A number where the text is one that fits; else 0. */
static int64_t number_of(const char *text)
{
    char *end;
    long long v = strtoll(text, &end, 10);
    return *text && !*end && v > 0 && v <= UINT32_MAX ? v : 0;
}

static pp_status put_threads(struct pp_imported *im, struct pp_store *store)
{
    uint32_t id = 0;
    pp_status status = PP_OK;
    for (size_t i = 0; i < im->n_threads; i++)
        im->threads[i].spans = 0;
    for (size_t i = 0; i < im->n_spans; i++)
        im->threads[im->spans[i].thread].spans++;
    for (uint32_t i = 0; i < im->n_threads && status == PP_OK; i++) {
        struct import_thread *t = &im->threads[i];
        char name[96];
        if (!t->spans)
            continue;
        /* Of the phases it spent: where most of them belong; the trainer is known. */
        pp_lane lane = i == im->trainer ? PP_LANE_TRAINER : PP_LANE_MAIN;
        for (int k = 0; k < PP_LANE_COUNT && i != im->trainer; k++)
            if (k != PP_LANE_TRAINER && t->lanes[k] > t->lanes[lane])
                lane = (pp_lane)k;
        t->id = id++;
        im->facts.workers |= lane == PP_LANE_WORKER;
        if (t->name[0])
            snprintf(name, sizeof(name), "%s", t->name);
        else
            snprintf(name, sizeof(name), i == im->trainer ? "trainer %s" : "thread %s", t->tid);
        status = pp_store_thread(store, &(struct pp_store_thread){.id = t->id,
                                                                  .lane = lane,
                                                                  .name = name,
                                                                  .pid = number_of(t->pid),
                                                                  .tid = number_of(t->tid),
                                                                  .recorded = t->spans});
    }
    return status;
}

/* ---- spans, GPU ---- */

static const char *const gpu_kinds[] = {[PP_IMPORT_KERNEL] = "kernel",
                                        [PP_IMPORT_MEMCPY] = "memcpy",
                                        [PP_IMPORT_MEMSET] = "memset",
                                        [PP_IMPORT_SYNC] = "sync",
                                        [PP_IMPORT_CALL] = "api"};

static pp_status put_gpu_row(struct pp_imported *im, struct pp_store *store, const struct pp_import_gpu *g)
{
    uint32_t batch = PP_NO_BATCH;
    const struct import_thread *t = g->thread < im->n_threads ? &im->threads[g->thread] : NULL;
    int64_t tid = t ? number_of(t->tid) : 0;
    pp_status status = pp_store_gpu(store,
                                    &(struct pp_store_gpu){.kind = gpu_kinds[g->kind],
                                                           .start_ns = g->start_ns,
                                                           .dur_ns = g->dur_ns,
                                                           .correlation = g->correlation,
                                                           .device = g->device == UINT16_MAX ? PP_GPU_NONE
                                                                                             : g->device,
                                                           .context = PP_GPU_NONE,
                                                           .stream = g->stream,
                                                           .thread = tid ? (uint32_t)tid : PP_GPU_NONE,
                                                           .bytes = g->bytes,
                                                           .source = pp_import_memories[g->source],
                                                           .target = pp_import_memories[g->target],
                                                           .asynchronous = g->asynchronous,
                                                           .name = g->name ? im->names[g->name] : NULL,
                                                           .result = -1});
    if (g->kind == PP_IMPORT_CALL && g->correlation != UINT32_MAX && g->thread == im->trainer) {
        /* The batch in whose time a call of the trainer's thread was made; PP_NO_BATCH: none. */
        size_t before = PP_BEFORE(im->n_steps, i, im->step_start_ns[i] <= g->start_ns);
        batch = before ? (uint32_t)before - 1 : PP_NO_BATCH;
    }
    if (status == PP_OK && batch != PP_NO_BATCH)
        status = pp_store_gpu_batch(store, g->correlation, batch);
    return status;
}

/* ---- what it is, and what is missing ---- */

static void put_facts(const struct pp_imported *im, struct pp_store *store)
{
    static const char *const waits[] = {[PP_WAITS_NONE] = "none",
                                        [PP_WAITS_LOADER] = "loader",
                                        [PP_WAITS_ANNOTATED] = "annotated",
                                        [PP_WAITS_ELSEWHERE] = "another thread"};
    const struct pp_import_facts *f = &im->facts;
    const struct {
        const char *section, *key, *value;
    } texts[] = {{"run", "source", f->source},
                 {"import", "waits", waits[f->waits]},
                 {"import", "loader", f->loader},
                 {"config", "loader", f->module && !f->loader[0] ? f->module : ""},
                 {"environment", "hostname", f->host},
                 {"config", "device_name", f->device},
                 {"import", "backend", f->backend},
                 {"import", "calls",
                  !f->calls          ? ""
                  : f->workers       ? "of workers"
                  : f->trainer_calls ? "of the trainer"
                                     : "none"}};
    const struct {
        const char *key, *unit;
        uint64_t value;
    } numbers[] = {{"events", "events", f->events},
                   {"steps", "steps", f->steps},
                   {"fetches", "waits", f->fetches},
                   {"duplicate_annotations", "events", f->twins}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].value[0])
            pp_store_meta_text(store, texts[i].section, texts[i].key, texts[i].value);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        pp_store_meta_num(store, "import", numbers[i].key, (double)numbers[i].value, numbers[i].unit);
}

static void put_losses(const struct pp_imported *im, struct pp_store *store)
{
    const struct pp_import_facts *f = &im->facts;
    char text[200];
    const struct {
        const char *what, *why;
        uint64_t count;
    } losses[] = {
        {"spans", "the trace has more than 500,000 steps, waits and collectives", im->lost_spans},
        {"ranges", "the trace has more than 400,000 ranges of the program", im->lost_ranges},
        {"threads", "the trace has more than 4,096 of them", im->lost_threads},
        {"calls", "the trace has more than 400,000 calls and ranges: shares of reads are too low",
         im->lost_calls},
        {"calls", "folded into sums (DFTRACER_ENABLE_AGGREGATION): when they were made is not known",
         f->folded},
        {"ranks",
         "other processes wait for data too, and are left out: the one with the most steps is judged",
         f->other_trainers},
        {"gpu", "rows of other processes than the trainer's", im->other_gpu},
        {"names", "there are more than 1,000 different ones: their spans are kept without a name",
         im->lost_names},
        {"events", "the trace has more than 262,144 names of events: those of the rest are left out",
         f->lost_meanings},
        {"events", "events without a valid time, or more than 100 days from the others", f->odd_times},
        {"waits", "no step follows them in the trace", im->dropped_waits},
    };
    if (!f->workers)
        pp_store_loss(
            store, "workers", 0,
            f->no_workers
                ? f->no_workers
                : "not recorded: a profiler in the trainer's process sees no worker process; pipeprobe exec -- "
                  "python train.py records them");
    if (f->blind)
        pp_store_loss(store, "resources", 0, f->blind);
    if (f->ended) {
        snprintf(text, sizeof(text), "%s at byte %llu: what is whole before it was taken", f->ended,
                 (unsigned long long)f->ended_at);
        pp_store_loss(store, "trace", 0, text);
    }
    for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
        if (losses[i].count)
            pp_store_loss(store, losses[i].what, losses[i].count, losses[i].why);
}

pp_status pp_imported_write(struct pp_imported *im, struct pp_store *store,
                            pp_status (*stopped)(struct pp_err *err), struct pp_err *err)
{
    pp_status status = put_threads(im, store);
    for (size_t i = 1; i <= im->n_names && status == PP_OK; i++)
        status = pp_store_name(store, (uint16_t)i, im->names[i]);
    if (status == PP_OK) {
        struct pp_span *some = malloc(SPANS_AT_ONCE * sizeof(*some));
        status = some ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory to write the recording");
        for (size_t i = 0, n; i < im->n_spans && status == PP_OK; i += n) {
            uint32_t thread = im->spans[i].thread;
            for (n = 0; i + n < im->n_spans && n < SPANS_AT_ONCE && im->spans[i + n].thread == thread; n++)
                some[n] = im->spans[i + n].s;
            status = stopped ? stopped(err) : PP_OK;
            if (status == PP_OK)
                status = pp_store_append(store, im->threads[thread].id, some, n);
        }
        free(some);
    }
    if (status == PP_OK) {
        char text[160];
        /* A file may hold several training processes (Nsight Systems): only what the trainer's did is judged
         * with it. */
        int64_t trainer = number_of(im->threads[im->trainer].pid);
        size_t kept = 0;
        for (size_t i = 0; i < im->n_gpu; i++)
            if (!im->gpu[i].process || !trainer || im->gpu[i].process == trainer)
                im->gpu[kept++] = im->gpu[i];
        im->other_gpu = im->n_gpu - kept;
        im->n_gpu = kept;
        if (im->lost_gpu) {
            snprintf(text, sizeof(text), "not recorded: the trace has more than %u rows of GPU activity",
                     PP_IMPORT_GPU_ROWS);
            status = pp_store_meta_text(store, "gpu", "activity", text);
        } else {
            for (size_t i = 0; i < im->n_gpu && status == PP_OK; i++) {
                status = stopped && i % SPANS_AT_ONCE == 0 ? stopped(err) : PP_OK;
                if (status == PP_OK)
                    status = put_gpu_row(im, store, &im->gpu[i]);
            }
            if (im->n_gpu && status == PP_OK) {
                snprintf(text, sizeof(text), "from the trace (%s)", im->facts.source);
                status = pp_store_meta_text(store, "gpu", "activity", text);
                pp_store_meta_num(store, "gpu", "records", (double)im->n_gpu, "records");
                pp_store_meta_num(store, "gpu", "records_dropped", 0, "records");
            }
        }
    }
    if (status == PP_OK) {
        put_facts(im, store);
        put_losses(im, store);
    }
    pp_status stored = pp_store_commit(store, err); /* and the first failure of the store, in its words */
    return stored == PP_OK ? status : stored;
}
