#include "report/ranks/digest_pass.h"

#include "probe/base/err.h"
#include "report/build/build.h"

#include <stdlib.h>

static void take_report(const struct pp_report *report, struct pp_rank_row *r)
{
    r->l0 = report->verdict.l0;
    r->l1 = report->verdict.l1;
    r->l2 = report->verdict.l2;
    r->sentence = report->verdict.cause_line ? report->verdict.cause_line : report->verdict.sentence;
    r->subject = report->subject;
    r->samples_per_s = report->samples_per_s;
    r->data_wait_share = report->data_wait_share;
    r->collective_share = report->collective_share;
    r->samples = report->window_samples;
    for (size_t i = 0; i < report->n_phases; i++) {
        const struct pp_report_phase *p = &report->phases[i];
        if (p->lane == PP_LANE_TRAINER || (unsigned)p->phase >= PP_PHASE_COUNT)
            continue;
        r->work_ns[p->phase] += p->total_ns;
        if (digest_pass_is_work(p->phase) && p->run_delay_share > 0)
            r->work_delay_ns += (uint64_t)(p->run_delay_share * (double)p->total_ns);
    }
    for (size_t i = 0; i < report->n_losses; i++)
        r->lost_spans += report->losses[i].count;
}

pp_status pp_digest_read(const char *path, struct pp_digest *out, struct pp_err *err)
{
    struct pp_source source;
    struct pp_timeline tl = {0};
    struct pp_report *report = NULL;
    struct digest_pass *p = calloc(1, sizeof(*p));
    *out = (struct pp_digest){0};
    if (!p)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    pp_status st = pp_source_open(path, &source, err);
    if (st == PP_OK)
        st = digest_pass_begin(p, &source, err);
    source.glance = 1; /* pictures and intervals are not asked for */
    if (st == PP_OK)
        st = pp_timeline_build_each(&source, &tl, digest_pass_batch, p, err);
    if (st == PP_OK)
        st = digest_pass_collectives(p, &source, err);
    if (st == PP_OK)
        st = digest_pass_waits(p, &source, err);
    if (st == PP_OK)
        st = pp_report_from(&source, &report, err);
    if (st == PP_OK) {
        take_report(report, &p->row);
        p->row.until_utc_ns = digest_pass_until(p, &source, tl.spans ? tl.last_ns : 0);
        p->row.running = !p->row.outcome && digest_pass_is_written(path);
        st = digest_pass_make(p, out, err);
    }
    pp_report_free(report);
    pp_timeline_free(&tl);
    pp_source_close(&source);
    digest_pass_free(p);
    free(p);
    return st;
}
