#include "report/ranks/ranks.h"

#define TO_1 .range = "0..1"
#define F(member, unit, text, ...) PP_FIELD_AT(ROW, #member, member, unit, text, __VA_ARGS__)

#define ROW struct pp_ranks_row
static const struct pp_field row_fields[] = {
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

static struct pp_value schema(const void *row, const void *root)
{
    (void)row, (void)root;
    return pp_value_text("pipeprobe.ranks/1");
}

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
    {"ranks", PP_FIELD_ROWS, PP_ROWS_AT(ROW, rows, n_rows), .fields = row_fields, .help = "by number"},
    PP_FIELDS_END,
};
#undef ROW
