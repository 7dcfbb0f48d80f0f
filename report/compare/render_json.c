/* The comparison as a document: docs/compare.schema.json, which follows from the tables here. */
#include "report/compare/render.h"

#define F(member, unit, help, ...) PP_FIELD_AT(ROW, #member, member, unit, help, __VA_ARGS__)
#define FK(key, member, unit, help, ...) PP_FIELD_AT(ROW, key, member, unit, help, __VA_ARGS__)
#define FB(key, member, help) PP_FLAG_AT(ROW, key, member, help)
#define MADE PP_FIELD_MADE
#define ALWAYS .flags = PP_FIELD_ALWAYS
#define FROM_0 .range = "0.."
#define TO_1 .range = "0..1"

static const char *const answers[] = {"not-regressed", "regressed", "inconclusive", NULL},
                         *const metric_units[] = {"samples/s", "ratio", "seconds", "bytes", "", NULL},
                         *const part_names[] = {"cpu", "waiting for a CPU", "blocked", NULL},
                         *const schema_values[] = {"pipeprobe.compare/1", NULL};

/* ---- one metric ---- */

#define ROW struct pp_outliers
static const struct pp_field outlier_fields[] = {
    F(mild, COUNT, "beyond 1.5 interquartile ranges"),
    F(severe, COUNT, "beyond 3 interquartile ranges"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_compare_metric
PP_VALUE_OF(metric_key, ROW, pp_value_text(pp_cmp_metrics[r->id].key))
PP_VALUE_OF(metric_title, ROW, pp_value_text(pp_cmp_metrics[r->id].title))
PP_VALUE_OF(metric_unit, ROW, pp_value_text(pp_cmp_unit_names[pp_cmp_metrics[r->id].unit]))
PP_VALUE_OF(metric_answer, ROW, pp_value_text(pp_answer_names[r->answer]))

static const struct pp_field value_fields[] = {{.key = "value", .type = PP_FIELD_NUMBER}, PP_FIELDS_END},
                             pair_fields[] = {{"value", PP_FIELD_NUMBER, .flags = PP_FIELD_ALWAYS},
                                              PP_FIELDS_END};
/* One number per run of a side: an array of the metric, as long as the side has runs. */
#define RUNS(member, number, of) \
    PP_FIELD_LIST, .at = offsetof(ROW, member), .count_at = offsetof(struct pp_compare, number), \
                   .stride = sizeof(double), .flags = PP_FIELD_INDIRECT | PP_FIELD_COUNT_OF_ROOT, \
                   .fields = of

static const struct pp_field metric_fields[] = {
    MADE("metric", TEXT, metric_key, "its name in options and baselines", ALWAYS),
    MADE("title", TEXT, metric_title, "for people", ALWAYS),
    MADE("unit", TEXT, metric_unit, "of base, head and their medians", .values = metric_units, ALWAYS),
    MADE("answer", TEXT, metric_answer, "whether it regressed", .values = pp_answer_names, ALWAYS),
    FB("gated", gated, "a regression of it fails the comparison"),
    FB("improved", improved, "it got better, beyond chance"),
    FB("exact", exact, "a count that is the same in all runs of each side: compared without a test"),
    F(reason, NONE, "why it is inconclusive or not measured", .flags = PP_FIELD_EMPTY_UNKNOWN),
    F(base_median, NUMBER, "median over the runs of BASE"),
    F(head_median, NUMBER, "median over the runs of HEAD"),
    FK("change_share", change, SHARE, "head_median / base_median - 1"),
    FK("times_worse", ratio, NUMBER,
       "ratio of medians (of pairs: Hodges and Lehmann's estimate), turned so that above 1 is worse"),
    FK("times_worse_low", low, NUMBER,
       "bootstrap interval of the ratio of medians; of pairs: signed-rank interval"),
    FK("times_worse_high", high, NUMBER, "its upper end"),
    FK("threshold_share", threshold, SHARE, "how much worse is a regression", FROM_0, ALWAYS),
    FK("noise_floor_share", noise_floor, SHARE, "what runs of one side differ by among themselves", FROM_0),
    FK("mann_whitney_u", u, NUMBER, "of Mann and Whitney's test; null for pairs", FROM_0),
    F(p, NUMBER, "Mann-Whitney, two-sided; of pairs: sign flips, one-sided", TO_1),
    F(p_all, NUMBER,
      "over all gated questions together: Holm; of pairs: the largest statistic of all questions", TO_1),
    {"base", RUNS(base, n_base, value_fields), .help = "value of each run of BASE"},
    {"head", RUNS(head, n_head, value_fields), .help = "value of each run of HEAD"},
    {"pair_log_times_worse", RUNS(pair, n_base, pair_fields),
     .help = "of pairs: log of how many times worse, run by run; empty when not tested in pairs"},
    {"base_outliers", PP_FIELD_OBJECT, .at = offsetof(ROW, base_outliers), .fields = outlier_fields,
     .help = "runs of BASE far from the others; reported, never removed"},
    {"head_outliers", PP_FIELD_OBJECT, .at = offsetof(ROW, head_outliers), .fields = outlier_fields,
     .help = "the same of HEAD"},
    PP_FIELDS_END,
};
#undef ROW

/* ---- where the difference is ---- */

#define ROW struct pp_compare_part
PP_VALUE_OF(part_lane, ROW, pp_value_text(pp_lane_name(r->lane)))
PP_VALUE_OF(part_phase, ROW, pp_value_text(pp_phase_info(r->phase)->name))
PP_VALUE_OF(part_name, ROW, pp_value_text(r->part == PP_PART_UNSPLIT ? NULL : pp_part_names[r->part]))
PP_VALUE_OF(part_difference, ROW, pp_value_number(r->head_s - r->base_s))

static const struct pp_field part_fields[] = {
    MADE("lane", TEXT, part_lane, "of the threads that spent it", ALWAYS),
    MADE("phase", TEXT, part_phase, "what they spent it in", ALWAYS),
    MADE("part", TEXT, part_name, "null: CPU time was not measured there", .values = part_names),
    FK("base_s_per_batch", base_s, S, "median over the runs of BASE", ALWAYS),
    FK("head_s_per_batch", head_s, S, "median over the runs of HEAD", ALWAYS),
    MADE("difference_s_per_batch", NUMBER, part_difference, "of the two", .unit = PP_UNIT_S, ALWAYS),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_difference
static const struct pp_field difference_fields[] = {
    FK("field", name, NONE, "its name", ALWAYS),
    F(base, NONE, "value in the runs of BASE", ALWAYS),
    F(head, NONE, "value in the runs of HEAD", ALWAYS),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_compare_spent
PP_VALUE_OF(spent_kind, ROW, pp_value_text(pp_spent_kinds[r->kind].key))
PP_VALUE_OF(spent_difference, ROW, pp_value_number(r->head_ns - r->base_ns))

static const struct pp_field spent_fields[] = {
    MADE("kind", TEXT, spent_kind, "of time, as in the report's", ALWAYS),
    F(base_ns, NS, "per sample (per batch where samples are not known), mean over the runs of BASE", ALWAYS),
    F(head_ns, NS, "likewise of HEAD", ALWAYS),
    MADE("difference_ns", NUMBER, spent_difference, "of the two", .unit = PP_UNIT_NS, ALWAYS),
    PP_FIELDS_END,
};
#undef ROW

/* ---- the comparison ---- */

#define ROW struct pp_compare
PP_VALUE_OF(schema_name, void, pp_value_text(schema_values[0]))
PP_VALUE_OF(answer, ROW, pp_value_text(pp_answer_names[r->answer]))
PP_VALUE_OF(verdict_answer, ROW, pp_value_text(pp_answer_names[r->verdict.answer]))

#define SIDE(side) \
    FK("label", side##_label, NONE, "as given", ALWAYS), \
        FK("subject", side##_subject, NONE, "whose pipeline the runs recorded; null: unknown", \
           .flags = PP_FIELD_EMPTY_UNKNOWN), \
        FK("runs", n_##side, COUNT, "of this side", .range = "1.."), PP_FIELDS_END
static const struct pp_field base_fields[] = {SIDE(base)}, head_fields[] = {SIDE(head)};

static const struct pp_field settings_fields[] = {
    FK("alpha", opts.alpha, NUMBER, "over all gated questions and all looks", TO_1, ALWAYS),
    FK("confidence", opts.confidence, NUMBER, "of the intervals", TO_1, ALWAYS),
    FK("look_share", opts.look_share, SHARE,
       "of alpha and 1 - confidence, what this look at growing data may spend; 1: it is the only one", TO_1,
       ALWAYS),
    FB("paired", opts.paired,
       "run k of base and of head were made side by side and are compared pair by pair"),
    FK("resamples", opts.resamples, COUNT, "of the bootstrap", .range = "100.."),
    FK("seed", opts.seed, NONE, "of the resamples"),
    FB("refuse_below_noise", opts.refuse_below_noise,
       "a threshold below the noise floor gives no \"not-regressed\""),
    PP_FIELDS_END,
};

static const struct pp_field verdict_fields[] = {
    MADE("answer", TEXT, verdict_answer, "whether the class changed for the worse", .values = answers,
         ALWAYS),
    FB("gated", opts.gate_verdict, "a change for the worse fails the comparison"),
    FB("changed", verdict.changed, "beyond chance"),
    FK("base", verdict.base, NONE, "commonest class, level 0/level 1", ALWAYS),
    FK("head", verdict.head, NONE, "commonest class, level 0/level 1", ALWAYS),
    FK("base_runs", verdict.base_runs, COUNT, "runs of BASE that show it"),
    FK("head_runs", verdict.head_runs, COUNT, "runs of HEAD that show it"),
    FK("p", verdict.p, NUMBER, "Fisher's exact test; of pairs: sign flips", TO_1),
    FK("p_all", verdict.p_all, NUMBER, "over all gated questions together", TO_1),
    FK("sentence", verdict.sentence, NONE, "the same in words", ALWAYS),
    PP_FIELDS_END,
};

static const struct pp_field attribution_fields[] = {
    FK("sentence", attribution, NONE, "the same in words; null: nothing moved",
       .flags = PP_FIELD_EMPTY_UNKNOWN),
    FK("base_s_per_batch", base_batch_s, S, "median over the runs of BASE"),
    FK("head_s_per_batch", head_batch_s, S, "median over the runs of HEAD"),
    {"parts", PP_FIELD_ROWS, PP_ROWS_AT(ROW, part, n_parts), .fields = part_fields,
     .help = "largest difference first; per thread of the lane, so that the parts of a lane add up"},
    PP_FIELDS_END,
};

const struct pp_field pp_compare_fields[] = {
    MADE("schema", TEXT, schema_name, "of this document", .values = schema_values, ALWAYS),
    MADE("answer", TEXT, answer, "over all gated metrics and the verdict's class; exit code 0, 1, 3",
         .values = answers, ALWAYS),
    F(sentence, NONE, "the same in words", ALWAYS),
    F(regressed, COUNT, "gated findings that regressed, the verdict's class among them"),
    F(inconclusive, COUNT, "gated findings that are inconclusive"),
    {"base", PP_FIELD_OBJECT, .fields = base_fields, .help = "the runs that HEAD is compared with"},
    {"head", PP_FIELD_OBJECT, .fields = head_fields, .help = "the runs that are judged"},
    F(runs_needed, COUNT, "runs on each side below which no regression of a timing can be shown",
      .range = "1.."),
    {"settings", PP_FIELD_OBJECT, .fields = settings_fields, .help = "of the tests"},
    {"metrics", PP_FIELD_ROWS, .at = offsetof(ROW, metric), .count = PP_CMP_COUNT_OF_METRICS,
     .stride = sizeof(struct pp_compare_metric), .fields = metric_fields,
     .help = "all metrics, gated or not"},
    {"verdict_change", PP_FIELD_OBJECT, .fields = verdict_fields,
     .help = "whether the verdict's class changed"},
    {"attribution", PP_FIELD_OBJECT, .fields = attribution_fields,
     .help = "where the difference in time per batch is"},
    {"spent", PP_FIELD_ROWS, PP_ROWS_IN(ROW, spent, n_spent), .fields = spent_fields,
     .help = "where the time of a sample goes: a side's rows add up to the time of a sample"},
    {"changed_options", PP_FIELD_ROWS, PP_ROWS_IN(ROW, change, n_changes), .fields = difference_fields,
     .help = "options that differ between the sides"},
    {"environment_allowed", PP_FIELD_ROWS, PP_ROWS_IN(ROW, allowed, n_allowed), .fields = difference_fields,
     .help = "differences of the environment that were allowed"},
    PP_FIELDS_END,
};
#undef ROW
