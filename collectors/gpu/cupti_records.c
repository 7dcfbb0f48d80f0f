#include "collectors/gpu/cupti_records.h"

#define DOMAIN_DRIVER 1u
#define DOMAIN_RUNTIME 2u

uint64_t pp_cupti_to_monotonic(const struct pp_cupti_anchor *before, const struct pp_cupti_anchor *after,
                               uint64_t cupti_ns)
{
    uint64_t t = cupti_ns + (uint64_t)before->offset_ns;
    double share = after->t_ns > before->t_ns
                       ? (double)(int64_t)(t - before->t_ns) / (double)(after->t_ns - before->t_ns)
                       : 0;
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return t + (uint64_t)(int64_t)(share * (double)(after->offset_ns - before->offset_ns));
}

static void set_times(struct pp_store_gpu *row, uint64_t start, uint64_t end)
{
    row->start_ns = start;
    row->dur_ns = end > start ? end - start : 0;
}

enum pp_cupti_outcome pp_cupti_read(const struct pp_cupti_api_table *t, const struct pp_cupti_record *r,
                                    struct pp_store_gpu *row, uint32_t *correlation, uint64_t *batch)
{
    *row = (struct pp_store_gpu){.correlation = PP_GPU_NONE,
                                 .device = PP_GPU_NONE,
                                 .context = PP_GPU_NONE,
                                 .stream = PP_GPU_NONE,
                                 .thread = PP_GPU_NONE,
                                 .asynchronous = -1,
                                 .result = -1};
    switch (r->kind) {
    case PP_CUPTI_MEMCPY: {
        static const char *const memory[] = {NULL,    "pageable", "pinned",        "device",
                                             "array", "managed",  "device static", "managed static"};
        enum { MEMORY = sizeof(memory) / sizeof(memory[0]) };
        const struct pp_cupti_memcpy *m = (const void *)r;
        row->kind = "memcpy";
        row->bytes = m->bytes;
        row->source = m->source_kind < MEMORY ? memory[m->source_kind] : NULL;
        row->target = m->target_kind < MEMORY ? memory[m->target_kind] : NULL;
        row->asynchronous = m->flags & 1;
        row->device = m->device, row->context = m->context, row->stream = m->stream,
        row->correlation = m->correlation;
        set_times(row, m->start, m->end);
        break;
    }
    case PP_CUPTI_MEMSET: {
        const struct pp_cupti_memset *m = (const void *)r;
        row->kind = "memset";
        row->bytes = m->bytes;
        row->device = m->device, row->context = m->context, row->stream = m->stream,
        row->correlation = m->correlation;
        set_times(row, m->start, m->end);
        break;
    }
    case PP_CUPTI_KERNEL: {
        const struct pp_cupti_kernel *k = (const void *)r;
        row->kind = "kernel";
        row->name = k->name;
        row->device = k->device, row->context = k->context, row->stream = k->stream,
        row->correlation = k->correlation;
        set_times(row, k->start, k->end);
        break;
    }
    case PP_CUPTI_DRIVER:
    case PP_CUPTI_RUNTIME: {
        const struct pp_cupti_api *a = (const void *)r;
        row->kind = "api";
        uint32_t domain = r->kind == PP_CUPTI_DRIVER ? DOMAIN_DRIVER : DOMAIN_RUNTIME;
        if (t->cuptiGetCallbackName(domain, a->call, &row->name) != 0)
            row->name = NULL;
        row->thread = a->thread, row->correlation = a->correlation;
        row->result = (int)a->result;
        set_times(row, a->start, a->end);
        break;
    }
    case PP_CUPTI_SYNCHRONIZATION: {
        static const char *const types[] = {NULL, "event synchronize", "stream wait event",
                                            "stream synchronize", "context synchronize"};
        const struct pp_cupti_sync *s = (const void *)r;
        row->kind = "sync";
        row->name = s->type < sizeof(types) / sizeof(types[0]) ? types[s->type] : NULL;
        row->context = s->context, row->stream = s->stream, row->correlation = s->correlation;
        set_times(row, s->start, s->end);
        break;
    }
    case PP_CUPTI_OVERHEAD: {
        static const char *const names[] = {NULL,
                                            "CUPTI buffer flush",
                                            "CUPTI instrumentation",
                                            "CUPTI resource",
                                            "module loading",
                                            "lazy function loading",
                                            "command buffer full",
                                            "CUPTI buffer request"}; /* by the upper half */
        const struct pp_cupti_overhead *o = (const void *)r;
        uint32_t upper = o->what >> 16, lower = o->what & 0xffff;
        row->kind = "overhead";
        row->name = o->what == 1                                         ? "driver compiler"
                    : !lower && upper < sizeof(names) / sizeof(names[0]) ? names[upper]
                                                                         : NULL;
        set_times(row, o->start, o->end);
        break;
    }
    case PP_CUPTI_EXTERNAL_CORRELATION: {
        const struct pp_cupti_external *x = (const void *)r;
        *correlation = x->correlation;
        *batch = x->external;
        return x->external_kind == PP_CUPTI_CUSTOM0 ? PP_CUPTI_BATCH : PP_CUPTI_IGNORED;
    }
    default: return PP_CUPTI_IGNORED;
    }
    return row->start_ns ? PP_CUPTI_ROW : PP_CUPTI_IGNORED;
}
