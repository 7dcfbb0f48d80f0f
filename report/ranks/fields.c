#include "report/ranks/judge.h"

#include "probe/base/array.h"
#include "probe/base/text.h"

#define TO_1 .range = "0..1"
#define F(member, unit, text, ...) PP_FIELD_AT(ROW, #member, member, unit, text, __VA_ARGS__)

#define ROW struct pp_ranks_row
const struct pp_field pp_ranks_row_fields[] = {
    F(rank, COUNT, "its number in the job"),
    F(host, NONE, "name of its machine"),
    F(node, COUNT, "number of its machine, where the launcher says it"),
    F(local_rank, COUNT, "its number on its machine"),
    F(gpu, NONE, "number of its device"),
    F(exit_code, COUNT, "of its process, where pipeprobe started it"),
    F(file, NONE, "its recording; null: there is none"),
    F(outcome, NONE, "how it ended: finished, failed, ...; killed: its program was; null: and pipeprobe"),
    F(first_by_ns, NS,
      "where one exec was in front of the launcher and the job failed: it ended first, so long before the next rank"),
    F(samples_per_s, RATE, "in its steady state"),
    F(data_wait_share, SHARE, "of its step time: waiting for data and the device", TO_1),
    F(collective_share, SHARE, "of its step time: waiting for other ranks; null: not recorded", TO_1),
    F(last_share, SHARE, "of the compared steps: it was the last rank", TO_1),
    F(own_ns, NS, "mean per step: what it takes until it meets the others"),
    F(wait_ns, NS, "mean per step: waiting for data"),
    F(sync_ns, NS, "mean per step: waiting for the device"),
    F(step_ns, NS,
      "mean per step: the step itself, and where collective_ns is null the wait for others in it"),
    F(collective_ns, NS, "mean per step: waiting for other ranks; null: not recorded"),
    F(steps, COUNT, "steps of its steady state"),
    F(until, NONE, "what it recorded until then is judged, by its own clock, in UTC; null: not known"),
    PP_FLAG_AT(ROW, "running", running, "its recording had no end, and was still written"),
    F(clock_offset_ns, NS, "its clock less that of the first rank that could be compared; null: not known"),
    F(clock_error_ns, NS, "the error of that"),
    F(lost_spans, COUNT, "spans and other facts that its recording lacks"),
    F(subject, NONE, "whose pipeline was recorded"),
    F(l0, NONE, "class of its own verdict"),
    F(l1, NONE, "and what bounds it"),
    F(l2, NONE, "and how"),
    F(sentence, NONE, "its own verdict"),
    PP_FIELDS_END,
};
#undef ROW

PP_VALUE_OF(schema, void, pp_value_text("pipeprobe.ranks/1"))

#define ROW struct pp_ranks
const struct pp_field pp_ranks_fields[] = {
    PP_FIELD_MADE("schema", TEXT, schema, "name and version of this document", .flags = PP_FIELD_ALWAYS),
    PP_FIELD_AT(ROW, "kind", kind_name, NONE, "what the ranks are to each other",
                .values = pp_ranks_kind_words, .flags = PP_FIELD_ALWAYS),
    F(sentence, NONE, "the same in words"),
    F(why, NONE, "what the straggler spends its time on"),
    F(where, NONE, "one rank or one node, and since when"),
    F(next_step, NONE, "what to do or to look at"),
    F(note, NONE, "what limits this judgement"),
    F(no_end, NONE, "the ranks whose recordings have no end yet, with the time of the last digest"),
    F(clocks, NONE, "how far the clocks of the ranks are apart, where that is seen"),
    F(clock_error_ns, NS,
      "how exactly the clocks of the ranks are known against each other, from the ends of their collectives: of "
      "events of two ranks that are closer no order is known; null: not known"),
    F(job, NONE, "as the launcher names it"),
    F(launcher, NONE, "that started the ranks"),
    F(attempt, COUNT, "restarts of the job before this one"),
    F(world_size, COUNT, "ranks of the job"),
    F(missing_ranks, COUNT, "ranks of the job without a recording here"),
    F(missing, NONE, "their numbers: 5, 7-9"),
    F(compared_steps, COUNT, "steps that every rank has, without warm-up"),
    F(collective_steps, COUNT, "of them with the wait for other ranks recorded; null: none"),
    F(last_rank, COUNT, "the rank that was last most often, straggler or not"),
    F(last_share, SHARE, "of the compared steps", TO_1),
    F(straggler_rank, COUNT, "null: there is no single one"),
    F(straggler_host, NONE, "its machine; of a node-straggler the machine"),
    F(straggler_gpu, NONE, "number of its device"),
    F(straggler_file, NONE, "its recording"),
    F(step_ns, NS, "a whole step of the median rank, waits included"),
    F(wait_p50_ns, NS, "over all steps of all ranks: wait for data and the device, median"),
    F(wait_p99_ns, NS, "likewise: 99th percentile"),
    F(own_p50_ns, NS, "over all steps of all ranks: what a rank takes until it meets the others, median"),
    F(own_p99_ns, NS, "likewise: 99th percentile"),
    F(lost_ns, NS,
      "per step: what a rank that is not last waits for the last one, mean; where the cause is cpu-contended, with "
      "exchange_delay_ns"),
    F(lost_share, SHARE, "of step_ns"),
    F(lost_rank_s, S, "the same over all ranks and compared steps: GPU seconds where each rank has a GPU"),
    F(gpu_hour, NUMBER, "price of an hour of a rank that was stated (--gpu-hour); null: none"),
    F(lost_cost_per_day, NUMBER,
      "what lost_rank_s comes to in a day at that price, of all ranks; null: no price"),
    F(gain_share, SHARE,
      "of throughput, were the last rank of each step as fast as the next one; of a rank-straggler that rank, in the "
      "steps that it is last in; where the cause is cpu-contended, also without exchange_delay_ns; null: less than a "
      "tenth of the step would be left, faster than any loader here was seen"),
    F(gap_ns, NS,
      "own time per step of the straggler over that of the median rank; where all wait for its part in the exchange, "
      "with exchange_delay_ns"),
    F(cause, NONE,
      "cpu-contended: waiting for a CPU has 80 % of the gap; else the phase that has 80 % of it; null: none has"),
    F(cause_ns, NS, "its excess over the median rank, per step"),
    F(cause_share, SHARE, "of the gap", TO_1),
    F(cpu_wait_ns, NS,
      "of the gap: its trainer was ready and had no CPU, or its workers, as far as that lengthens the wait for data"),
    F(cpu_wait_share, SHARE, "of the gap", TO_1),
    F(exchange_delay_ns, NS,
      "where the cause is cpu-contended, per step, of the wait for other ranks: its threads that exchange with them "
      "were ready and had no CPU, for a larger part of the wait than those of the median rank; sampled"),
    F(input_cause, NONE, "where the cause is data_wait: the phase of the workers with 80 % of their excess"),
    F(input_cause_ns, NS, "per sample, of the straggler"),
    F(input_median_ns, NS, "per sample, of the median rank"),
    F(since_step, COUNT, "number of the step from which on it is last; null: the first compared one"),
    F(since_s, S, "from the first compared step to that one"),
    {"ranks", PP_FIELD_ROWS, PP_ROWS_AT(ROW, rows, n_rows), .fields = pp_ranks_row_fields,
     .help = "by number"},
    PP_FIELDS_END,
};
#undef ROW

enum { CELL = 32, SHOWN = 16 };

void ranks_forget_numbers(const struct pp_field *fields, void *row)
{
    for (; fields->type != PP_FIELD_END; fields++)
        if (fields->type == PP_FIELD_NUMBER)
            *(double *)((char *)row + fields->at) = NAN;
}

/* The one most often last first; of equals the lower rank; those that were not compared behind them. */
static int by_last(const void *a, const void *b)
{
    const struct pp_ranks_row *x = *(const struct pp_ranks_row *const *)a,
                              *y = *(const struct pp_ranks_row *const *)b;
    double p = isnan(x->last_share) ? -1 : x->last_share, q = isnan(y->last_share) ? -1 : y->last_share;
    return p != q ? PP_COMPARE(q, p) : PP_COMPARE(x->rank, y->rank);
}

const struct pp_ranks_row **ranks_by_last(const struct pp_ranks *r)
{
    const struct pp_ranks_row **order = calloc(r->n_rows + 1, sizeof(*order));
    for (size_t i = 0; order && i < r->n_rows; i++)
        order[i] = &r->rows[i];
    if (order)
        qsort(order, r->n_rows, sizeof(*order), by_last);
    return order;
}

static void put_table(const struct pp_ranks *r, int all, FILE *out)
{
    int hosts = 0; /* or GPUs: there are several places */
    for (size_t i = 0; i < r->n_rows; i++)
        hosts |= r->rows[i].gpu ||
                 (r->rows[i].host && r->rows[0].host && strcmp(r->rows[i].host, r->rows[0].host) != 0);
    size_t shown = all || r->n_rows <= SHOWN ? r->n_rows : SHOWN;
    const struct pp_ranks_row **order = shown < r->n_rows ? ranks_by_last(r) : NULL;
    fprintf(out, "%5s  %s%11s %10s %10s %11s %8s  %s\n", "rank", hosts ? "node             GPU  " : "",
            "samples/s", "own time", "data wait", "other ranks", "last", "verdict");
    for (size_t i = 0; i < shown; i++) {
        const struct pp_ranks_row *p = order ? order[i] : &r->rows[i];
        char rate[CELL], data[CELL], others[CELL], last[CELL], own[CELL];
        fprintf(out, "%5.0f  ", p->rank);
        if (hosts)
            fprintf(out, "%-16.16s %-4.4s ", p->host ? p->host : "-", p->gpu ? p->gpu : "-");
        if (!p->file)
            fprintf(out, "no recording (exit code %.0f)\n", p->exit_code);
        else
            fprintf(out, "%11s %10s %10s %11s %8s  %s%s%s\n",
                    pp_text_rate(rate, sizeof(rate), p->samples_per_s),
                    pp_text_duration(own, sizeof(own), p->own_ns),
                    pp_text_percent(data, sizeof(data), p->data_wait_share),
                    pp_text_percent(others, sizeof(others), p->collective_share),
                    pp_text_percent(last, sizeof(last), p->last_share),
                    p->l1   ? p->l1
                    : p->l0 ? p->l0
                            : "-",
                    p->l2 ? ", " : "", p->l2 ? p->l2 : "");
    }
    if (shown < r->n_rows)
        fprintf(out, "       ... and %zu more, which are last less often (--all)\n", r->n_rows - shown);
    free(order);
}

static void put_line(const char *label, const char *text, FILE *out)
{
    if (text)
        fprintf(out, "%-9s %s\n", label, text);
}

void pp_ranks_text(const struct pp_ranks *r, int all, FILE *out)
{
    char a[CELL], b[CELL];
    double rate = 0;
    const char *subject = NULL;
    int gpus = r->n_rows > 0; /* of all */
    for (size_t i = 0; i < r->n_rows; i++) {
        gpus &= r->rows[i].gpu != NULL;
        rate += r->rows[i].samples_per_s > 0 ? r->rows[i].samples_per_s : 0;
        subject = subject ? subject : r->rows[i].subject;
    }
    fprintf(out, "%s%s%s%s%s%s: %s samples/s in all\n\n",
            pp_text_counted(a, sizeof(a), (double)r->n_rows, "rank", "ranks"), subject ? " of " : "",
            subject ? subject : "", r->job ? ", job " : "", r->job ? r->job : "",
            r->attempt > 0 ? ", restarted" : "", pp_text_rate(b, sizeof(b), rate));
    put_table(r, all, out);
    fprintf(out, "\n%s\n", r->sentence);
    put_line("why", r->why, out);
    put_line("where", r->where, out);
    if (r->straggler_file)
        for (size_t i = 0; i < r->n_rows; i++)
            if (r->rows[i].file && strcmp(r->rows[i].file, r->straggler_file) == 0)
                put_line("verdict", r->rows[i].sentence, out);
    if (r->lost_share >= 0.1 || r->exchange_delay_ns > 0) {
        double hours = r->lost_rank_s / 3600;
        fprintf(out, "%-9s %.*f %s over %s; ", "cost", hours < 1 ? 4 : 1, hours,
                gpus ? "GPU-hours" : "rank-hours",
                pp_text_counted(a, sizeof(a), (double)r->compared_steps, "step", "steps"));
        if (r->lost_cost_per_day > 0)
            fprintf(out, "%s a day at %.4g an hour; ", pp_text_rate(b, sizeof(b), r->lost_cost_per_day),
                    r->gpu_hour);
        if (isnan(r->gain_share))
            fputs("gain unknown: no other rank's loader was seen at that pace\n", out);
        else
            fprintf(out, "throughput +%s if the last rank %s\n", pp_text_percent(b, sizeof(b), r->gain_share),
                    isnan(r->exchange_delay_ns) ? "were as fast as the next one" : "had its CPUs");
    }
    if (r->missing_ranks)
        fprintf(out, "%-9s rank%s %s of %.0f: no recording here\n", "missing",
                r->missing_ranks == 1 ? "" : "s", r->missing, r->world_size);
    put_line("no end", r->no_end, out);
    put_line("clocks", r->clocks, out);
    put_line("note", r->note, out);
    put_line("next", r->next_step, out);
}
