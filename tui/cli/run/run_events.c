#include "tui/cli/run/run_record.h"
#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/trace/drain_side.h"
#include "tui/cli/jobs/again.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include <xxhash.h>

#define LINE_EVERY_NS 200000000u
#define HANG_NS UINT64_C(5000000000) /* in one piece of work */

static void on_error(void *ctx, const struct pp_loader_error *e)
{
    struct run_events *ev = ctx;
    const char *reason = e->reason;
    size_t n = e->path && reason ? strlen(e->path) : 0;
    /* A reason that begins with the file's own name says it twice in a list of files: "zero.jpg has 0 bytes"
     * is "has 0 bytes". */
    for (size_t i = 0; i < n && reason == e->reason; i++)
        if ((i == 0 || e->path[i - 1] == '/') && strncmp(reason, e->path + i, n - i) == 0 &&
            reason[n - i] == ' ')
            reason += n - i + 1;
    atomic_fetch_add_explicit(&ev->errors, 1, memory_order_relaxed);
    if (ev->store)
        pp_store_error(ev->store, &(struct pp_store_error){.t_ns = e->t_ns,
                                                           .thread = e->thread,
                                                           .batch = e->batch,
                                                           .sample = e->sample,
                                                           .path = e->path,
                                                           .kind = e->kind,
                                                           .action = e->action,
                                                           .reason = reason});
}

/* What changes how the run goes on is among the file's errors too, as what opening the data set met is. */
static void on_note(void *ctx, const char *text)
{
    struct run_events *ev = ctx;
    pp_progress_clear(&ev->progress);
    if (!ev->quiet)
        pp_cli_note("note", text);
    if (ev->store)
        pp_store_error(ev->store, &(struct pp_store_error){.t_ns = pp_now_ns(),
                                                           .batch = PP_NO_BATCH,
                                                           .sample = PP_NO_SAMPLE,
                                                           .path = ev->shared,
                                                           .kind = "warning",
                                                           .action = "noted",
                                                           .reason = text});
}

static int on_tick(void *ctx, const struct pp_loader_progress *p)
{
    struct run_events *ev = ctx;
    /* The dashboard was left while the run goes on: its terminal is ours again. */
    if (ev->top && *ev->top && again_has_ended(ev->top, NULL)) {
        pp_progress_begin(&ev->progress, ev->quiet);
        if (!ev->quiet)
            fprintf(stderr,
                    "note       the dashboard was left, the run goes on; pipeprobe top %s shows it again\n",
                    ev->path);
    }
    if (ev->store && pp_store_failed(ev->store))
        return 1; /* what is measured from here on is not recorded */
    if (!ev->progress.on || p->elapsed_ns < ev->next_line_ns)
        return 0;
    ev->next_line_ns = p->elapsed_ns + LINE_EVERY_NS;
    char rate[48], wait[96] = "", left_text[48] = "", errors[48] = "", epoch[48], batch[48], hang[96], t[32];
    double elapsed = (double)p->elapsed_ns, share = elapsed > 0 ? (double)p->wait_ns / elapsed : 0;
    uint64_t n_errors = atomic_load_explicit(&ev->errors, memory_order_relaxed);
    double left = ev->max_ns ? (double)ev->max_ns - elapsed : -1;
    if (ev->max_steps && p->batches) {
        double by_steps = elapsed / (double)p->batches * (double)(ev->max_steps - p->batches);
        left = left < 0 || by_steps < left ? by_steps : left;
    }
    if (left >= 0)
        snprintf(left_text, sizeof(left_text), "%s left", pp_text_duration(t, sizeof(t), left));
    if (ev->has_step)
        snprintf(wait, sizeof(wait), "data wait %.0f %%", share * 100);
    if (n_errors)
        snprintf(errors, sizeof(errors), "%llu error%s", (unsigned long long)n_errors,
                 n_errors == 1 ? "" : "s");
    snprintf(rate, sizeof(rate), "%s samples/s",
             pp_text_rate(t, sizeof(t), (double)p->samples / elapsed * 1e9));
    snprintf(epoch, sizeof(epoch), "epoch %llu", (unsigned long long)p->epoch);
    snprintf(batch, sizeof(batch), "batch %llu", (unsigned long long)p->batches);
    /* "HANG: pp-worker-1 in read for 12.0 s": the worker that is longest in one piece of work; "": none. */
    uint32_t threads = ev->session ? pp_session_threads(ev->session) : 0;
    uint64_t now_ns = pp_now_ns(), longest = HANG_NS;
    hang[0] = '\0';
    for (uint32_t i = 0; i < threads; i++) {
        struct pp_span open;
        struct pp_ring_info info;
        if (!pp_ring_open_now(ev->session, i, now_ns, &open) || open.phase < PP_PHASE_READ ||
            open.phase > PP_PHASE_COLLATE || open.dur_ns < longest)
            continue;
        longest = open.dur_ns;
        pp_session_ring_info(ev->session, i, &info);
        snprintf(hang, sizeof(hang), "HANG: %s in %s for %s", info.name, pp_phase_info(open.phase)->name,
                 pp_text_duration(t, sizeof(t), (double)open.dur_ns));
    }
    pp_progress_parts(&ev->progress,
                      /* XProf's words for the stall so far. */
                      (const char *const[]){rate, left_text, hang, wait, errors,
                                            ev->has_step ? share >= 0.20   ? "highly input-bound so far"
                                                           : share >= 0.05 ? "moderately input-bound so far"
                                                                           : "not input-bound so far"
                                                         : "",
                                            epoch, batch},
                      8);
    return 0;
}

static void on_deliver(void *ctx, const struct pp_loader_delivery *got)
{
    struct run_events *ev = ctx;
    size_t n = ev->keep_indexes ? got->samples : 0;
    if (ev->out_of_memory ||
        !pp_grow(&ev->deliveries, &ev->cap_batches, ev->n_batches + 1, sizeof(*ev->deliveries)) ||
        !pp_grow(&ev->indexes, &ev->cap_indexes, ev->n_indexes + n, sizeof(*ev->indexes))) {
        ev->out_of_memory = 1;
        return;
    }
    struct run_delivery *d = &ev->deliveries[ev->n_batches++];
    *d = (struct run_delivery){.batch = got->batch, .first_index = ev->n_indexes, .samples = n};
    if (ev->keep_digests)
        d->digest = XXH3_64bits(got->data, got->samples * ev->row_bytes) ^
                    XXH3_64bits_withSeed(got->labels, got->samples * sizeof(*got->labels), 1) ^
                    XXH3_64bits_withSeed(got->indexes, got->samples * sizeof(*got->indexes), 2);
    if (n)
        memcpy(ev->indexes + ev->n_indexes, got->indexes, n * sizeof(*got->indexes));
    ev->n_indexes += n;
}

const struct pp_loader_events run_events_hooks = {.error = on_error,
                                                  .tick = on_tick,
                                                  .note = on_note,
                                                  .deliver = on_deliver};

PP_BY(by_batch, struct run_delivery, batch)

pp_status run_events_write(struct run_events *ev, const struct run_opts *o, const struct run_parts *p,
                           const struct pp_loader_result *r, struct pp_err *err)
{
    size_t n = r->batches < ev->n_batches ? r->batches : ev->n_batches;
    pp_status st = PP_OK;
    /* A loader that never began stands nowhere: a state saved before stays as it is. */
    if (o->save_state && r->start_ns) {
        struct pp_loader_state s = p->state;
        s.epoch = r->epoch;
        s.consumed = r->position;
        s.shard = r->cursor.shard;
        s.offset = r->cursor.offset;
        s.number = r->cursor.number;
        st = pp_state_save(o->save_state, &s, err);
    }
    FILE *list = NULL;
    if (st == PP_OK && o->list_delivered && !(list = fopen(o->list_delivered, "w")))
        st = pp_fail_errno(err, errno, "--list-delivered: opening %s failed", o->list_delivered);
    for (size_t i = 0; list && i < n; i++)
        for (size_t k = 0; k < ev->deliveries[i].samples; k++)
            fprintf(list, "%llu\t%llu\n", (unsigned long long)ev->deliveries[i].batch,
                    (unsigned long long)ev->indexes[ev->deliveries[i].first_index + k]);
    int failed = list && ferror(list);
    if (list && (fclose(list) != 0 || failed))
        st = pp_fail_errno(err, errno, "--list-delivered: writing %s failed", o->list_delivered);
    else if (list && ev->out_of_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "--list-delivered: memory ran out; %s is incomplete",
                     o->list_delivered);
    if (st != PP_OK || !o->digest)
        return st;
    /* In the order of the batches: equal for any number of workers. */
    XXH3_state_t *state = XXH3_createState();
    uint64_t digest = 0;
    if (state) {
        XXH3_64bits_reset(state);
        qsort(ev->deliveries, n, sizeof(*ev->deliveries), by_batch);
        for (size_t i = 0; i < n; i++)
            XXH3_64bits_update(state, &ev->deliveries[i].digest, sizeof(ev->deliveries[i].digest));
        digest = XXH3_64bits_digest(state);
        XXH3_freeState(state);
    }
    fprintf(o->json ? stderr : stdout, "digest %016llx of %zu batches\n", (unsigned long long)digest, n);
    return PP_OK;
}
