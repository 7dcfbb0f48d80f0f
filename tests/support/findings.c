#include "tests/support/findings.h"

#include "tests/support/one_voice.h"

struct pp_report *report_of_source(const struct pp_source *source)
{
    struct pp_report *r = NULL;
    struct pp_err err = {0};
    char why[4096];
    if (pp_report_from(source, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_non_null(r);
    if (one_voice_broken(r, why, sizeof(why)))
        fail_msg("%s: %s", r->verdict.headline ? r->verdict.headline : r->verdict.l0, why);
    return r;
}

struct pp_report *report_of(struct fake_run *f)
{
    struct pp_source source = fake_source(f);
    return report_of_source(&source);
}

void report_done(struct pp_report *r, struct fake_run *f)
{
    pp_report_free(r);
    fake_free(f);
}

const struct pp_report_finding *finding_or_null(const struct pp_report *r, const char *kind)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].kind, kind) == 0)
            return &r->findings[i];
    return NULL;
}

const struct pp_report_finding *finding(const struct pp_report *r, const char *kind)
{
    const struct pp_report_finding *f = finding_or_null(r, kind);
    if (!f)
        fail_msg("there is no finding %s", kind);
    return f;
}

double number(const struct pp_report_finding *f, const char *name)
{
    for (size_t i = 0; i < f->numbers; i++)
        if (strcmp(f->number[i].name, name) == 0)
            return f->number[i].value;
    fail_msg("%s has no number %s", f->kind, name);
    return NAN;
}

void says(const char *text, const char *words)
{
    if (!text || !strstr(text, words))
        fail_msg("'%s' does not say '%s'", text ? text : "(nothing)", words);
}

struct fake_run *fake_waits(int workers, double wait, double read)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"), worker[2];
    assert_in_range(workers, 1, 2);
    for (int i = 0; i < workers; i++)
        worker[i] = fake_thread(f, PP_LANE_WORKER, i ? "worker-1" : "worker-0");
    uint64_t waits = (uint64_t)(wait * 100) * FAKE_MS, reads = (uint64_t)(read * 100) * FAKE_MS;
    for (uint32_t b = 0; b < 80; b++) {
        uint64_t t = FAKE_T0 + b * 100 * FAKE_MS;
        fake_span(f, trainer, PP_PHASE_DATA_WAIT, t, waits)->batch = b;
        fake_span(f, trainer, PP_PHASE_STEP, t + waits, 100 * FAKE_MS - waits)->batch = b;
        for (int i = 0; i < workers; i++) {
            fake_span(f, worker[i], PP_PHASE_READ, t, reads)->batch = b;
            fake_span(f, worker[i], PP_PHASE_DECODE, t + reads, 100 * FAKE_MS - reads)->batch = b;
        }
    }
    return f;
}

void fake_counts(struct fake_run *f, const char *name, double start, double per_s)
{
    for (int s = 0; s <= 8; s++)
        fake_counter(f, name, FAKE_T0 + (uint64_t)s * 1000 * FAKE_MS, start + s * per_s);
}
