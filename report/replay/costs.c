#include "report/replay/costs_impl.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

static pp_status refuse(const struct pp_costs *c, const char *path, struct pp_err *err)
{
    if (c->streaming)
        return pp_fail(
            err, PP_E_INCONCLUSIVE,
            "%s is a streamed run (--stream): its samples come from a reader thread, which the replay does not model",
            path);
    if (c->n < 8)
        return pp_fail(err, PP_E_INCONCLUSIVE,
                       "%s holds %zu samples of a steady state, too few to replay; record longer", path,
                       c->n);
    if (!c->has_resources)
        return pp_fail(
            err, PP_E_INCONCLUSIVE,
            "%s has no CPU time and run-queue delay with its spans (no /proc/thread-self/schedstat?), and wall times alone predict wrongly",
            path);
    if (c->workers < 1 || c->batch_size < 1)
        return pp_fail(err, PP_E_INCONCLUSIVE,
                       "%s does not say how many workers it ran with, or its batch size", path);
    return PP_OK;
}

struct pp_costs_pass *pp_costs_begin(const struct pp_source *source, const struct pp_timeline *tl,
                                     struct pp_costs *out)
{
    struct pp_costs_pass *p = calloc(1, sizeof(*p));
    memset(out, 0, sizeof(*out));
    if (!p)
        return NULL;
    p->c = out;
    p->tl = tl;
    p->source = source;
    p->others.text = "collective_others_ns";
    p->n_threads = source->threads(source->ctx, &p->threads);
    p->workers = calloc(p->n_threads + 1, sizeof(*p->workers));
    if (!p->workers) {
        free(p);
        return NULL;
    }
    for (size_t i = 0; i < p->n_threads; i++)
        p->workers[i].thread = p->threads[i].id;
    out->glance = source->glance;
    out->base = calloc(PP_BASE_RATES,
                       sizeof(*out->base)); /* without memory for it everything takes longer, no more */
    return p;
}

pp_status pp_costs_end(struct pp_costs_pass *p, const struct pp_source *source, struct pp_err *err)
{
    if (!p)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the threads of %s", source->path);
    struct pp_costs *c = p->c;
    pp_status st = pp_costs_facts(source, c, err);
    for (size_t i = 0; i < p->n_threads; i++)
        pp_costs_finish_sample(p, &p->workers[i]);
    if (p->no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the samples of %s", source->path);
    if (st == PP_OK) {
        pp_costs_sum_up(p);
        st = refuse(c, source->path, err);
    }
    free(p->sync.at);
    free(p->copy.at);
    free(p->step_ns);
    free(p->workers);
    free(p);
    return st;
}

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    return pp_costs_chunk(ctx, thread, spans, n);
}

pp_status pp_costs_read(const struct pp_source *source, const struct pp_timeline *tl, struct pp_costs *out,
                        struct pp_err *err)
{
    struct pp_costs_pass *p = pp_costs_begin(source, tl, out);
    pp_status st = p ? source->each_chunk(source->ctx, NULL, each_chunk, p, NULL, err) : PP_OK;
    pp_status ended = pp_costs_end(p, source, st == PP_OK ? err : NULL);
    return st == PP_OK ? ended : st;
}

void pp_costs_free(struct pp_costs *c)
{
    free(c->outages);
    free(c->samples);
    free(c->others_ns);
    free(c->base);
    c->samples = NULL;
    c->others_ns = NULL;
    c->n_others = 0;
    c->outages = NULL;
    c->n_outages = 0;
    c->base = NULL;
    c->n = c->room = 0;
}
