#include "report/model/field_rows.h"

static const char *const phase_names[] = {
#define PP_PHASE(id, sym, name, lane, kind, colour, text) name,
#include <pipeprobe/phases.def>
#undef PP_PHASE
    NULL,
};
static const char *const lane_names[] = {"main", "reader", "worker", "copy", "trainer", "device", NULL};

/* ---- the run as a whole ---- */

#define ROW struct pp_report
static const struct pp_field window_fields[] = {
    FB("steady_state", has_steady_state,
       "false: the run ended during warm-up and the window is all its batches"),
    FK("duration_s", window_s, S, "of the window"),
    F(boundary_s, S, "at epoch boundaries and in checkpoints, apart from the stall"),
    FK("samples", window_samples, COUNT, "in the window"),
    FK("batches", window_batches, COUNT, "in the window"),
    PP_FIELDS_END,
};

static struct pp_value nothing_lost(const void *row, const void *root)
{
    const struct pp_report *r = row;
    uint64_t lost = 0;
    for (size_t i = 0; i < r->n_losses; i++)
        lost |= r->losses[i].count;
    return pp_value_bool(lost == 0);
}
#undef ROW

#define ROW struct pp_report_loss
static const struct pp_field loss_fields[] = {
    F(what, NONE, "what was lost, or noted"),
    F(count, COUNT, "how many; 0: nothing was lost, but something was done otherwise than usual"),
    F(why, NONE, "the reason"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report
static const struct pp_field losses_fields[] = {
    MADE("complete", BOOL, nothing_lost, "nothing was lost"),
    {"items", PP_FIELD_ROWS, PP_ROWS_AT(struct pp_report, losses, n_losses), .fields = loss_fields,
     .help = "losses and notes"},
    PP_FIELDS_END,
};

static const struct pp_field overhead_fields[] = {
    FK("cpu_s", overhead_cpu_s, S, "the recorder's own CPU time"),
    FK("share", overhead_share, SHARE, "of duration times usable CPUs"),
    PP_FIELDS_END,
};
#undef ROW

/* ---- the verdict ---- */

#define ROW struct pp_report_evidence
static const struct pp_field evidence_fields[] = {
    F(name, NONE, "what was measured", ALWAYS),
    F(value, NONE, "as people read it", ALWAYS),
    F(threshold, NONE, "what the value is held against"),
    F(supports, NONE, "the verdict: 1 yes, 0 neutral, -1 speaks against", .range = "-1..1"),
    F(code, NONE, "of the fact: it stays where words change", ALWAYS),
    F(amount, NONE, "the number behind value; shares are 0..1"),
    F(compare, NONE, "what the amount was asked to be: >=, <, <=; null: no number was asked"),
    F(limit, NONE, "the number that it was compared with"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_fix
static const struct pp_field fix_fields[] = {
    F(knob, NONE, "the option to change", ALWAYS),
    F(to, NONE, "its new value", ALWAYS),
    F(gain, SHARE, "over the measured rate: 0.4 is +40 %"),
    F(low, SHARE, "80 % interval of gain: lower end"),
    F(high, SHARE, "80 % interval of gain: upper end"),
    F(samples_per_s, RATE, "predicted throughput"),
    F(change, NONE, "the change in words: an argument of PyTorch's DataLoader where there is one"),
    F(text, NONE, "how", ALWAYS),
    F(set, NONE, "the change as data, for whatif --set"),
    FK("advice", advice, NONE,
       "0: do it; 1: measure whether it gains; 2: it gains nothing here, or another value is advised",
       .range = "0..2"),
    F(effort, NONE, "0: a setting; 1: work on code, data or machines; 2: an amount that no change sets",
      .range = "0..2"),
    F(assumes, NONE,
      "what the prediction takes for granted beyond what was recorded, with an interval as wide; null: nothing"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_step
static const struct pp_field path_fields[] = {
    F(set, NONE, "the setting that is changed besides those before it", ALWAYS),
    F(gain, SHARE, "of all so far together, over the measured rate"),
    F(low, SHARE, "80 % interval: lower end"),
    F(high, SHARE, "80 % interval: upper end"),
    F(samples_per_s, RATE, "predicted throughput with all so far"),
    PP_FIELDS_END,
};
#undef ROW

static const struct pp_field ruled_out_fields[] = {
    {"text", PP_FIELD_TEXT, .flags = PP_FIELD_ALWAYS, .help = "a cause, and why not"},
    PP_FIELDS_END,
};

static const char *const l0_values[] = {"input-bound", "cpu-starved", "not-input-bound", "inconclusive",
                                        NULL},
                         *const l1_values[] = {"storage", "transform", "loader", "sync", NULL},
                         *const level_values[] = {"highly", "moderately", "not", NULL};

#define ROW struct pp_report
static const struct pp_field verdict_fields[] = {
    FK("l0", verdict.l0, NONE, "whether the input holds the training up", .values = l0_values, ALWAYS),
    FK("l1", verdict.l1, NONE, "what holds the input up, or sets the ceiling", .values = l1_values),
    FK("l2", verdict.l2, NONE, "the cause within l1"),
    FK("level", verdict.level, NONE, "XProf's words: >= 20 %, >= 5 %, below", .values = level_values),
    FK("confidence", verdict.confidence, SHARE,
       "chance that l0 and l1 are right, calibrated on labelled runs (pipeprobe help accuracy); null: inconclusive, or no cause named",
       TO_1),
    FK("certainty", verdict.certainty, NONE, "confidence in words: near certain, likely, unclear"),
    FK("doubt", verdict.doubt, NONE, "what lowers the confidence most"),
    FK("parts", verdict.parts, NONE,
       "what the workers did while the trainer waited, in words; adds up to 100 %"),
    FK("explained", verdict.explained, SHARE, "part of the wait that the named cause explains", TO_1),
    FB("ceiling", verdict.ceiling, "true: there was no step, so only the loader's ceiling can be told"),
    FK("sentence", verdict.sentence, NONE, "the verdict in words"),
    FK("reason", verdict.reason, NONE, "why it is inconclusive, or why no cause is named"),
    FK("cause", verdict.cause, NONE, "the cause alone, as in the sentence"),
    FK("next_step", verdict.next_step, NONE, "what to try next"),
    FK("then_l1", verdict.then_l1, NONE,
       "where others take the CPUs: the class of what holds the job up once they do not"),
    FK("then_l2", verdict.then_l2, NONE, "and its cause"),
    FK("then", verdict.then, NONE, "the same in words, with what to do about it"),
    FK("other", verdict.other, NONE, "another way: beside a setting the code, beside code the setting"),
    FK("python", verdict.action.python, NONE, "the next step as a line of a PyTorch program, to paste"),
    FK("python_at", verdict.action.at, NONE,
       "where that line belongs: file, line and variable of the DataLoader"),
    FK("pytorch", verdict.action.words, NONE, "where there is no such line: what to change in PyTorch"),
    FK("dali", verdict.action.dali, NONE, "of a DALI pipeline, in place of both: what to change in it"),
    FK("command", verdict.action.command, NONE,
       "the next step in options of pipeprobe run; null when another loader was recorded"),
    F(headroom_samples_per_s, RATE,
      "if the exposed time (waits for data, and the step's own waiting for a CPU where the sentence counts it) were gone and nothing else changed: what taking a batch costs the trainer stays, unless a fix ends it"),
    F(headroom_gain, SHARE, "over the recorded rate: 0.25 is a quarter more"),
    FK("late_samples_per_s", verdict.late_samples_per_s, RATE,
       "the recorded rate since other processes took CPUs during the run: predicted changes start from it"),
    FK("replay_error", verdict.replay_error, SHARE,
       "rate of the replay of the run as it was over the measured one, minus 1", .flags = PP_FIELD_LAST),
    {"evidence", PP_FIELD_ROWS, PP_ROWS_IN(struct pp_report, verdict.evidence, verdict.evidences),
     .fields = evidence_fields, .help = "what the verdict rests on"},
    {"fixes", PP_FIELD_ROWS, PP_ROWS_AT(struct pp_report, verdict.fixes, verdict.n_fixes),
     .fields = fix_fields,
     .help =
         "changes as a replay of the recording predicts them: those to do, to measure, and not; within each the largest gain first"},
    {"path", PP_FIELD_ROWS, PP_ROWS_IN(struct pp_report, verdict.path, verdict.n_path), .fields = path_fields,
     .help = "settings to change one after the other, replayed together, until the next gains less than 5 %"},
    FK("why_no_fixes", verdict.why_no_fixes, NONE, "why the run cannot be replayed"),
    {"ruled_out", PP_FIELD_LIST, PP_ROWS_IN(struct pp_report, verdict.ruled_out, verdict.n_ruled_out),
     .fields = ruled_out_fields, .help = "causes that were weighed and are none, with the reason"},
    PP_FIELDS_END,
};
#undef ROW

/* ---- findings, proofs ---- */

static const char *const finding_kinds[] = {
#define FINDING(code, ...) code,
#define OR(...)
#include "report/rules/findings.def"
#undef FINDING
#undef OR
    NULL};
static const char *const finding_states[] = {"found", "not-found", "not-measured", NULL},
                         *const proof_kinds[] = {"fix", "headroom", NULL};

static const struct pp_field number_fields[] = {
    {"name", PP_FIELD_TEXT, .at = 0, .flags = PP_FIELD_ALWAYS, .help = "unit in it"},
    {"value", PP_FIELD_NUMBER,
     .at = offsetof(struct pp_report_finding, number[0].value) - offsetof(struct pp_report_finding, number)},
    PP_FIELDS_END,
};

#define ROW struct pp_report_finding
static const struct pp_field finding_fields[] = {
    F(kind, NONE, "what was looked for", .values = finding_kinds, ALWAYS),
    FK("state", state_name, NONE, "not-measured: nothing is said either way, and the sentence says why",
       .values = finding_states, ALWAYS),
    F(sentence, NONE, "what was found, what was seen instead, or why it is not known", ALWAYS),
    F(next_step, NONE, "null unless found"),
    {"numbers", PP_FIELD_MAP, PP_ROWS_IN(struct pp_report_finding, number, numbers), .fields = number_fields,
     .help = "what the sentence is made of, units in the names; empty when not measured"},
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_proof
static const struct pp_field proof_fields[] = {
    F(kind, NONE,
      "fix: one knob turned; headroom: the loader made infinitely fast (cached batches, with its CPUs kept busy)",
      .values = proof_kinds, ALWAYS),
    F(change, NONE, "what was changed", ALWAYS),
    F(value, NONE, "its new value", ALWAYS),
    FK("base_samples_per_s", base, RATE, "of this recording"),
    FK("predicted_samples_per_s", predicted, RATE, "from this recording"),
    FK("predicted_low", low, RATE, "80 % interval of predicted: lower end; null: it has none"),
    FK("predicted_high", high, RATE, "80 % interval of predicted: upper end"),
    FK("measured_samples_per_s", measured, RATE, "median of the rounds"),
    F(measured_low, RATE, "least of the rounds; null: one round"),
    F(measured_high, RATE, "most of the rounds"),
    FK("prediction_error", error, SHARE, "predicted / measured - 1"),
    F(rounds, COUNT, "how often it was run", .range = "1.."),
    F(ballast_cpus, COUNT, "headroom: CPUs taken in place of the input's own; null: none"),
    F(recording, NONE, "of the last round; null: not kept"),
    F(sentence, NONE, "prediction and measurement in words", ALWAYS),
    PP_FIELDS_END,
};
#undef ROW

/* ---- phases, workers, queues, errors ---- */

#define ROW struct pp_report_phase
PP_VALUE_OF(phase_name, ROW, pp_value_text(pp_name_of_phase(r->phase)))
PP_VALUE_OF(phase_lane, ROW, pp_value_text(pp_lane_name(r->lane)))
PP_VALUE_OF(phase_kind, ROW,
            pp_value_text(pp_phase_info(r->phase) && pp_phase_info(r->phase)->kind == PP_KIND_WORK ? "work"
                                                                                                   : "wait"))

static const char *const kind_values[] = {"work", "wait", NULL};

static const struct pp_field phase_fields[] = {
    MADE("phase", TEXT, phase_name, "its name", .values = phase_names, ALWAYS),
    MADE("lane", TEXT, phase_lane, "of the threads that spent it", .values = lane_names, ALWAYS),
    MADE("kind", TEXT, phase_kind, "the thread did something for the batch, or waited", .values = kind_values,
         ALWAYS),
    F(count, COUNT, "spans in the window"),
    F(total_ns, NS, "of all of them"),
    F(mean_ns, NS, "of a span"),
    F(p50_ns, NS, "median"),
    F(p95_ns, NS, "95th percentile"),
    F(p99_ns, NS, "99th percentile"),
    F(max_ns, NS, "the longest"),
    F(bytes, BYTES, "moved by them"),
    F(share, SHARE, "of its lane's time", FROM_0),
    F(cpu_share, SHARE, "of the phase's time on the CPU", FROM_0),
    F(run_delay_share, SHARE, "runnable, waiting for a CPU", FROM_0),
    F(blocked_share, SHARE, "the rest", FROM_0),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_worker
static const struct pp_field worker_fields[] = {
    F(thread, NONE, "its number in the recording"),
    F(name, NONE, "of the thread", ALWAYS),
    F(samples, COUNT, "finished in the window"),
    F(samples_per_s, RATE, "of this worker"),
    F(errors, NONE, "of the whole run"),
    F(retries, NONE, "of the whole run"),
    F(bytes, BYTES, "read in the window"),
    F(busy_share, SHARE, "in phases of work", FROM_0),
    F(wait_share, SHARE, "in phases of waiting", FROM_0),
    F(cpu_share, SHARE, "on the CPU", FROM_0),
    F(run_delay_share, SHARE, "runnable, waiting for a CPU", FROM_0),
    F(loader, NONE, "of several DataLoaders the one that it works for; null: there is one"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_slow_sample
static const struct pp_field slow_sample_fields[] = {
    F(name, NONE, "its file, or what else the data set shows of it; null: not known"),
    F(sample, COUNT, "its number in the data set; null: a stream's have none"),
    F(epoch, COUNT, "where it took longest"),
    F(batch, COUNT, "likewise, of the run"),
    F(worker, NONE, "likewise"),
    F(total_ns, NS, "likewise, without waiting for a CPU"),
    F(read_ns, NS, "of it"),
    F(decode_ns, NS, "of it"),
    F(transform_ns, NS, "of it"),
    F(times_median, FACTOR, "of the median sample"),
    F(visits, COUNT, "how often it was made in the steady state"),
    F(slow_visits, COUNT, "of these, how often it took half of the longest time or more"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_op
static const struct pp_field op_fields[] = {
    F(name, NONE, "a member of a transform with its arguments, or the function of a line", ALWAYS),
    F(place, NONE, "file and line of the job's code in which it takes most; null: not known"),
    F(path, NONE, "where the data set holds it; null: no member of a transform"),
    F(callee, NONE, "the library function that it mostly calls; null: none, or the name says it"),
    F(word, NONE, "as the what-if names it: op=WORD:FACTOR", ALWAYS),
    F(loader, NONE, "of several DataLoaders, whose it is; null: there is one"),
    F(advice, NONE, "what is known to be faster; null: nothing"),
    FB("judged", judged, "it is of the DataLoader that the verdict is about"),
    F(samples, COUNT, "stacks that it was seen in"),
    F(share, SHARE, "of the stall: stacks weighted by how much the trainer waited for their batches"),
    F(low, SHARE, "80 % interval of share: lower end"),
    F(high, SHARE, "80 % interval of share: upper end"),
    F(share_all, SHARE, "of all work of all workers, waited for or not"),
    F(cpu_share, SHARE, "of its stacks, on a CPU or waiting for one; the rest was blocked"),
    F(gain, SHARE, "of throughput, were it half: replayed; null: not replayed"),
    F(gain_low, SHARE, "80 % interval of gain: lower end"),
    F(gain_high, SHARE, "80 % interval of gain: upper end"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_step_line
static const struct pp_field step_line_fields[] = {
    F(name, NONE, "the function of the job's own code", ALWAYS),
    F(place, NONE, "file and line", ALWAYS),
    F(callee, NONE, "a library function that it calls; null: none was seen"),
    F(share, SHARE, "of the time of the training steps"),
    F(low, SHARE, "80 % interval of share: lower end"),
    F(high, SHARE, "80 % interval of share: upper end"),
    F(cpu_share, SHARE, "of its stacks, on a CPU or waiting for one; the rest was blocked"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_loader
static const struct pp_field loader_fields[] = {
    F(row, NONE, "process and number, as in meta section loader of the recording", ALWAYS),
    F(place, NONE, "file and line where the job makes it; null: not recorded"),
    F(name, NONE, "the variable that it gets there; null: not known"),
    F(source, NONE,
      "the call in that file: line, end line, columns in bytes (0 before Python 3.11), SHA-256 of the file; null: not recorded"),
    F(dataset, NONE, "type of its data set", ALWAYS),
    F(sampler, NONE, "type of its sampler"),
    F(start_method, NONE, "of its workers; none: it has none"),
    F(samples, COUNT, "of the data set; 0: it has no length"),
    F(num_workers, COUNT, "as in DataLoader(...)"),
    F(batch_size, COUNT, "likewise"),
    F(prefetch_factor, COUNT, "likewise"),
    F(timeout_s, S, "likewise"),
    F(pin_memory, COUNT, "likewise, 0 or 1"),
    F(persistent_workers, COUNT, "likewise"),
    F(in_order, COUNT, "likewise"),
    F(drop_last, COUNT, "likewise"),
    F(epochs, COUNT, "begun, of the whole run"),
    F(batches, COUNT, "taken by the training thread, of the whole run"),
    F(data_wait_s, S, "waited for them by the training thread, of the whole run"),
    F(wait_share, SHARE, "of the waits for all loaders; null: there were none", TO_1),
    F(samples_per_s, RATE, "of several loaders, in the time of its batches, their waits and steps"),
    FB("judged", judged, "the verdict's advice is about this loader"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_queue
static const struct pp_field queue_fields[] = {
    F(name, NONE, "of the queue", ALWAYS),
    F(capacity, COUNT, "batches it holds"),
    F(puts, COUNT, "batches put in"),
    F(gets, COUNT, "batches taken out"),
    F(put_wait_ns, NS, "waited because it was full"),
    F(get_wait_ns, NS, "waited because it was empty"),
    F(mean_depth, RATE, "batches in it, mean over time"),
    F(share_empty, SHARE, "of the time it was empty", FROM_0),
    F(share_full, SHARE, "of the time it was full", FROM_0),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_error_example
static const struct pp_field error_example_fields[] = {
    F(path, NONE, "the file"),
    F(reason, NONE, "what was wrong with it"),
    F(count, COUNT, "visits to it"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report_error_kind
static const struct pp_field error_fields[] = {
    F(kind, NONE, "of error", ALWAYS),
    F(action, NONE, "what was done about it", ALWAYS),
    F(count, COUNT, "visits: a file that fails is visited once per epoch"),
    F(files, COUNT, "distinct files"),
    FB("more_files", more_files, "the recording does not list all: there are at least so many files"),
    {"examples", PP_FIELD_ROWS, PP_ROWS_AT(ROW, examples, n_examples), .fields = error_example_fields,
     .help = "at most five, of different files"},
    F(example_path, NONE, "one of the files: the first of the examples"),
    F(example_reason, NONE, "what was wrong with it"),
    PP_FIELDS_END,
};
#undef ROW

/* ---- what PyTorch's loader would do ---- */

#define ROW struct pp_report_pytorch
static const struct pp_field pytorch_fields[] = {
    F(samples_per_s_low, RATE, "expected throughput with the same workers, prefetch and step: lower end"),
    F(samples_per_s_high, RATE, "upper end"),
    F(data_wait_share_low, SHARE, "expected data wait: lower end; null without a step", TO_1),
    F(data_wait_share_high, SHARE, "upper end", TO_1),
    F(ratio_low, RATE, "pipeprobe's throughput over PyTorch's with PIL, as measured: lower end"),
    F(ratio_high, RATE, "upper end"),
    F(source, NONE, "where the ratio was measured"),
    F(sentence, NONE, "the same in words, or why it is not known", ALWAYS),
    PP_FIELDS_END,
};
#undef ROW

/* ---- environment and configuration ---- */

#define ROW struct pp_report_pair
PP_VALUE_OF(pair_value, ROW,
            r->numeric && r->value ? pp_value_number(strtod(r->value, NULL)) : pp_value_text(r->value))

static const struct pp_field pair_fields[] = {
    F(key, NONE, "name", ALWAYS),
    {"value", PP_FIELD_ANY, .get = pair_value, .help = "a number or a text"},
    PP_FIELDS_END,
};

static const struct pp_field note_fields[] = {
    F(key, NONE, "name", ALWAYS),
    F(note, NONE, "why it has its value", ALWAYS),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_report
PP_VALUE_OF(schema_name, void, pp_value_text("pipeprobe.report/1"))
static const char *const schema_values[] = {"pipeprobe.report/1", NULL};

static const char *const subject_kinds[] = {"unknown", "own-loader", "pytorch-loader", "job", "program",
                                            "trace",   NULL};

const struct pp_field pp_report_fields[] = {
    MADE("schema", TEXT, schema_name, "of this document", .values = schema_values, ALWAYS),
    FK("file", path, NONE, "the recording", ALWAYS),
    F(gpu_hour, NUMBER, "price of an hour of a GPU that was stated (--gpu-hour); null: none"),
    F(wait_cost_per_day, NUMBER, "what the wait costs at it in a day, for each GPU"),
    F(made, NONE,
      "when the recording was made, by which command, in which directory and from which commit; the versions of Python and torch, the GPU, and where the data lies"),
    F(subject, NONE, "whose pipeline was recorded, which is what the verdict is about", ALWAYS),
    FK("subject_kind", subject_kind_name, NONE,
       "own-loader: pipeprobe run; pytorch-loader: run --loader pytorch; job: pipeprobe exec; program: libpipeprobe; trace: pipeprobe import",
       .values = subject_kinds, ALWAYS),
    F(outcome, NONE,
      "how the run ended: finished (of a job: with exit status 0), failed, interrupted, unfinished (killed), ...",
      ALWAYS),
    F(ended, NONE, "why a job failed or was interrupted; null: it finished, or that is not known"),
    F(ended_remedy, NONE, "what to do about it"),
    F(exit_status, COUNT, "of a job; 128 + N where signal N ended it; null: not recorded"),
    F(samples_per_s, RATE, "throughput; of a ceiling run, the ceiling"),
    F(batches_per_s, RATE, "throughput in batches"),
    F(bytes_per_s, BYTES_PER_S, "bytes read"),
    F(data_wait_share, SHARE,
      "stall: (data_wait + device_sync) / (data_wait + device_sync + collective + step) of the trainer; null without a step",
      TO_1),
    F(accelerator_utilization_share, SHARE,
      "AU as MLPerf Storage defines it: compute time / total time of the steady state, epoch boundaries and checkpoints included; null without a step",
      TO_1),
    F(collective_share, SHARE,
      "waiting for the other ranks of the run: collective / (data_wait + device_sync + collective + step) of the trainer; null without a collective step",
      TO_1),
    F(step_mean_ns, NS, "mean step of the trainer"),
    F(cache_hit_share, SHARE, "bytes read that came from the page cache", TO_1),
    F(duration_s, S, "whole run"),
    F(startup_s, S, "listing the data set, building the index, starting threads"),
    F(first_batch_s, S, "from the start of the run until the trainer had its first batch"),
    F(samples, COUNT, "whole run"),
    F(batches, COUNT, "whole run"),
    F(epochs, COUNT, "epochs seen, the last one perhaps in part"),
    FK("error_count", errors, COUNT, "visits to samples that failed: each fails once per epoch"),
    FK("error_file_count", error_files, COUNT, "distinct files among them"),
    FK("retry_count", retries, COUNT, "reads that were tried again"),
    FK("span_count", spans, COUNT, "recorded spans"),
    {"window", PP_FIELD_OBJECT, .fields = window_fields, .help = "the steady state, which shares are of"},
    {"verdict", PP_FIELD_OBJECT, .fields = verdict_fields, .help = "what bounds the run"},
    {"findings", PP_FIELD_ROWS, PP_ROWS_AT(ROW, findings, n_findings), .fields = finding_fields,
     .help = "what is looked for in every run beside the wait: one row each, found or not"},
    {"proof", PP_FIELD_ROWS, PP_ROWS_AT(ROW, proofs, n_proofs), .fields = proof_fields,
     .help = "predictions that were run for real (run --prove)"},
    {"spent", PP_FIELD_ROWS, PP_ROWS_AT(ROW, spent, n_spent), .fields = pp_report_spent_fields,
     .help = "where the time of a sample goes in the window: adds up to 1 / samples_per_s"},
    {"phases", PP_FIELD_ROWS, PP_ROWS_AT(ROW, phases, n_phases), .fields = phase_fields,
     .help = "each phase on the threads of one lane"},
    {"workers", PP_FIELD_ROWS, PP_ROWS_AT(ROW, workers, n_workers), .fields = worker_fields,
     .help = "shares of the window's wall time"},
    {"loaders", PP_FIELD_ROWS, PP_ROWS_AT(ROW, loaders, n_loaders), .fields = loader_fields,
     .help = "the DataLoaders of a PyTorch job under pipeprobe exec; none for other recordings"},
    {"slow_samples", PP_FIELD_ROWS, PP_ROWS_AT(ROW, slow_samples, n_slow_samples),
     .fields = slow_sample_fields,
     .help =
         "the samples that take twice the median one or more, at most ten, the slowest first; of several DataLoaders the judged one's"},
    {"ops", PP_FIELD_ROWS, PP_ROWS_AT(ROW, ops, n_ops), .fields = op_fields,
     .help =
         "operations of the transforms, and lines of the job's code, that Python stacks found in the workers, the largest gain first"},
    FK("op_samples", op_samples, COUNT,
       "weighted stacks that the shares of ops rest on; null: no stacks were recorded"),
    FK("why_no_ops", why_no_ops, NONE, "why none is named although there are stacks"),
    {"step_lines", PP_FIELD_ROWS, PP_ROWS_AT(ROW, step_lines, n_step_lines), .fields = step_line_fields,
     .help = "lines of the training thread within its steps, likewise, the largest share first"},
    {"queues", PP_FIELD_ROWS, PP_ROWS_AT(ROW, queues, n_queues), .fields = queue_fields,
     .help = "of the whole run"},
    {"errors", PP_FIELD_ROWS, PP_ROWS_AT(ROW, error_kinds, n_error_kinds), .fields = error_fields,
     .help = "of the whole run, by kind"},
    {"losses", PP_FIELD_OBJECT, .fields = losses_fields, .help = "what the recording lacks"},
    {"overhead", PP_FIELD_OBJECT, .fields = overhead_fields, .help = "what recording took from the run"},
    {"pytorch", PP_FIELD_OBJECT, .at = offsetof(ROW, pytorch), .flags = PP_FIELD_INDIRECT,
     .fields = pytorch_fields,
     .help =
         "what a PyTorch DataLoader is expected to do on this data; null: the subject is not pipeprobe's own loader"},
    {"gpu", PP_FIELD_OBJECT, .at = offsetof(ROW, gpu), .flags = PP_FIELD_INDIRECT,
     .fields = pp_report_gpu_fields,
     .help = "what the GPU did in the window, from CUPTI; null: the run had no CUDA device"},
    {"decode", PP_FIELD_OBJECT, .at = offsetof(ROW, decode), .flags = PP_FIELD_INDIRECT,
     .fields = pp_report_decode_fields,
     .help = "images that the GPU decoded (run --decode), of the whole run; null: none"},
    {"environment", PP_FIELD_MAP, PP_ROWS_AT(ROW, environment, n_environment), .fields = pair_fields,
     .help = "the fingerprint of the machine, as stored"},
    {"config", PP_FIELD_MAP, PP_ROWS_AT(ROW, config, n_config), .fields = pair_fields,
     .help = "every option as used"},
    {"config_notes", PP_FIELD_MAP, .at = offsetof(ROW, config), .count_at = offsetof(ROW, n_config),
     .stride = sizeof(struct pp_report_pair), .flags = PP_FIELD_INDIRECT | PP_FIELD_SKIP_NULL,
     .fields = note_fields, .help = "why an option has its value, where it was chosen"},
    {"series", PP_FIELD_OBJECT, .fields = pp_report_series_fields,
     .help = "what the pictures of the HTML report show"},
    PP_FIELDS_END,
};
#undef ROW
