#include "report/checks.h"

#include "probe/base/err.h"

struct pass {
    struct pp_laws_pass *laws;
    struct pp_periodic_pass *periodic;
    int no_memory;
};

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    p->no_memory |= pp_laws_chunk(p->laws, thread, spans, n) || pp_periodic_chunk(p->periodic, thread, spans, n);
    return p->no_memory;
}

pp_status pp_checks_run(const struct pp_source *source, const struct pp_timeline *timeline, const struct pp_tally *tally, const struct pp_report *r,
                        struct pp_report_arena *arena, struct pp_checks *out, struct pp_err *err)
{
    struct pass p = {.laws = pp_laws_begin(source, timeline), .periodic = pp_periodic_begin(source, timeline)};
    p.no_memory = !p.laws || !p.periodic;
    pp_status status = p.no_memory ? PP_OK : source->each_chunk(source->ctx, each_chunk, &p, NULL, err);
    if (p.no_memory)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory to check %s", source->path);
    pp_laws_end(p.laws, tally, r, arena, &out->laws);
    pp_status ended = pp_periodic_end(p.periodic, source, &out->periodic, status == PP_OK ? err : NULL);
    return status == PP_OK ? ended : status;
}
