#include "tui/cli/run/ranks_render.h"

#include "probe/base/json.h"
#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the first recording that tells says of who came last. */
static const struct pp_report_finding *late_rank(const struct rank_result *ranks, int n)
{
    for (int r = 0; r < n; r++)
        for (size_t i = 0; ranks[r].report && i < ranks[r].report->n_findings; i++) {
            const struct pp_report_finding *f = &ranks[r].report->findings[i];
            if (strcmp(f->kind, "late-rank") == 0 && f->state != PP_FINDING_NOT_MEASURED)
                return f;
        }
    return NULL;
}

static double number_of(const struct pp_report_finding *f, const char *name)
{
    for (size_t i = 0; f && i < f->numbers; i++)
        if (strcmp(f->number[i].name, name) == 0)
            return f->number[i].value;
    return NAN;
}

static const char *verdict_of(const struct pp_report *r)
{
    return r->verdict.headline ? r->verdict.headline : r->verdict.l0;
}

void ranks_text(const struct rank_result *ranks, int n)
{
    char rate[32], data[32], others[32], share[32], steps[48];
    const struct pp_report_finding *late = late_rank(ranks, n);
    double last = number_of(late, "last_rank"), all = 0;
    for (int r = 0; r < n; r++)
        all += ranks[r].report ? ranks[r].report->samples_per_s : 0;
    const char *subject = NULL;
    for (int r = 0; r < n && !subject; r++)
        subject = ranks[r].report ? ranks[r].report->subject : NULL;
    printf("%d ranks%s%s: %s samples/s in all\n\n", n, subject ? " of " : "", subject ? subject : "",
           pp_text_rate(rate, sizeof(rate), all));
    printf("%4s %11s %11s %12s  %s\n", "rank", "samples/s", "data wait", "other ranks", "verdict");
    for (int r = 0; r < n; r++) {
        const struct pp_report *p = ranks[r].report;
        if (p)
            printf("%4d %11s %11s %12s  %s\n", r, pp_text_rate(rate, sizeof(rate), p->samples_per_s),
                   pp_text_percent(data, sizeof(data), p->data_wait_share),
                   pp_text_percent(others, sizeof(others), p->collective_share), verdict_of(p));
        else
            printf("%4d %11s %11s %12s  no recording (exit code %d)\n", r, "-", "-", "-", ranks[r].code);
    }
    if (late && late->state == PP_FINDING_FOUND && last >= 0 && last < n) {
        const struct rank_result *slow = &ranks[(int)last];
        printf("\nRank %d was last in %s of %s: all ranks wait for it.\n", (int)last,
               pp_text_percent(share, sizeof(share), number_of(late, "last_share")),
               pp_text_counted(steps, sizeof(steps), number_of(late, "collective_steps"), "step", "steps"));
        if (slow->report)
            printf("%s\nFull report: pipeprobe report %s\n", slow->report->verdict.sentence, slow->file);
    } else if (late) {
        printf("\nNo single slowest rank (most often rank %d, %s of the steps).\n", (int)last,
               pp_text_percent(share, sizeof(share), number_of(late, "last_share")));
    }
}

void ranks_json(const struct rank_result *ranks, int n)
{
    struct pp_json j;
    const struct pp_report_finding *late = late_rank(ranks, n);
    pp_json_begin(&j, stdout, 2);
    pp_json_object(&j);
    pp_json_key(&j, "schema"), pp_json_str(&j, "pipeprobe.ranks/1");
    pp_json_key(&j, "last_rank"), pp_json_num(&j, number_of(late, "last_rank"));
    pp_json_key(&j, "last_share"), pp_json_num(&j, number_of(late, "last_share"));
    pp_json_key(&j, "collective_steps"), pp_json_num(&j, number_of(late, "collective_steps"));
    pp_json_key(&j, "ranks"), pp_json_array(&j);
    for (int r = 0; r < n; r++) {
        const struct pp_report *p = ranks[r].report;
        pp_json_object(&j);
        pp_json_key(&j, "rank"), pp_json_int(&j, r);
        pp_json_key(&j, "exit_code"), pp_json_int(&j, ranks[r].code);
        pp_json_key(&j, "file"), pp_json_str(&j, p ? ranks[r].file : NULL);
        pp_json_key(&j, "samples_per_s"), pp_json_num(&j, p ? p->samples_per_s : NAN);
        pp_json_key(&j, "data_wait_share"), pp_json_num(&j, p ? p->data_wait_share : NAN);
        pp_json_key(&j, "collective_share"), pp_json_num(&j, p ? p->collective_share : NAN);
        pp_json_key(&j, "subject"), pp_json_str(&j, p ? p->subject : NULL);
        pp_json_key(&j, "l0"), pp_json_str(&j, p ? p->verdict.l0 : NULL);
        pp_json_key(&j, "l1"), pp_json_str(&j, p ? p->verdict.l1 : NULL);
        pp_json_key(&j, "l2"), pp_json_str(&j, p ? p->verdict.l2 : NULL);
        pp_json_key(&j, "sentence"), pp_json_str(&j, p ? p->verdict.sentence : NULL);
        pp_json_object_end(&j);
    }
    pp_json_array_end(&j);
    pp_json_object_end(&j);
    pp_json_end(&j);
}
