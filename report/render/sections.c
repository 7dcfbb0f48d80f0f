#include "report/render/sections.h"

#include "probe/base/text.h"
#include "report/render/answer.h"

enum { CELL = 40 };

/* ---- words that no field has ---- */

/* Whether a row is shown (struct pp_section), as one expression: of its row; r is the report. */
#define SHOWN_IF(name, type, condition) \
    static int name(const struct pp_report *r, const void *any, enum pp_printer in) \
    { \
        const type *row = any; \
        return condition; \
    }

WORDS_OF(phase_alone, struct pp_report_phase,
         pp_phase_info(row->phase) ? pp_phase_info(row->phase)->name : "?")

static const char *phase_name(const void *row, enum pp_printer in, char *buf)
{
    const struct pp_report_phase *p = row;
    const struct pp_phase_info *info = pp_phase_info(p->phase);
    if (in != PP_IN_TEXT || (info && info->lane == p->lane))
        return info ? info->name : "?";
    snprintf(buf, PP_CELL_TEXT, "%s (%s)", info ? info->name : "?", pp_lane_name(p->lane));
    return buf; /* "read (reader)": another lane than usual spends it */
}

static const char *phase_title(const void *row)
{
    const struct pp_phase_info *info = pp_phase_info(((const struct pp_report_phase *)row)->phase);
    return info ? info->text : "";
}

static const char *const supports_words[PP_PRINTERS][3] = {
    [PP_IN_TEXT] = {"-", "", "+"},
    [PP_IN_MD] = {"against", "", "supports"},
    [PP_IN_HTML] = {"\xe2\x88\x92 contradicts it", "for context", "+ supports it"},
};
WORDS_OF(supports, struct pp_report_evidence,
         supports_words[in][1 + (row->supports > 0) - (row->supports < 0)])

WORDS_OF(change_words, struct pp_report_fix,
         row->change ? row->change : PRINTED("%s to %s", row->knob, row->to))
WORDS_OF(gain_words, struct pp_report_fix, pp_text_gain(buf, PP_CELL_TEXT, row->gain, row->low, row->high))

/* The change, its rate, and how, without the change's name where that begins with it. */
static const char *fix_words(const void *row, enum pp_printer in, char *buf)
{
    const struct pp_report_fix *f = row;
    char change[PP_ANSWER_TEXT], rate[CELL];
    const char *name = pp_answer_change(f, change), *how = f->text;
    if (strncmp(how, name, strlen(name)) == 0)
        how += strlen(name), how += strspn(how, ": ");
    int counted = !isnan(f->samples_per_s);
    snprintf(buf, PP_CELL_TEXT, "%s: %s%s%s%s", name,
             counted ? pp_text_predicted(rate, CELL, f->samples_per_s)
                     : pp_text_gain(rate, CELL, f->gain, f->low, f->high),
             counted ? " samples/s" : "", *how ? "; " : "", how);
    return buf;
}

/* Of "storage: 25 % less of it gains ...". */
WORDS_OF(ruled_out_name, char *const, PRINTED("%.*s", (int)strcspn(*row, ":"), *row))
WORDS_OF(found_mark, void, "!")

/* " (5 visits)"; one visit needs no word. */
static const char *visits_text(const struct pp_report_error_example *e, char buf[CELL])
{
    char n[24];
    if (!e || e->count < 2)
        return "";
    snprintf(buf, CELL, " (%s visits)", pp_text_count(n, sizeof(n), (double)e->count));
    return buf;
}

static const char *error_example(const void *row, enum pp_printer in, char *buf)
{
    const struct pp_report_error_example *e = row;
    char visits[CELL];
    snprintf(buf, PP_CELL_TEXT, "%.1024s%s%s%s", e->path ? e->path : "", visits_text(e, visits),
             e->reason ? ": " : "", e->reason ? e->reason : "");
    return buf;
}

/* "3 corrupt, skipped; such as FILE (2 visits): REASON" */
static const char *error_words(const void *row, enum pp_printer in, char *buf)
{
    const struct pp_report_error_kind *e = row;
    char count[CELL];
    int many = e->count != 1 && strcmp(e->kind, "warning") == 0; /* the other kinds are adjectives */
    size_t n = (size_t)snprintf(buf, PP_CELL_TEXT, "%s %.64s%s, %.64s",
                                pp_text_count(count, CELL, (double)e->count), e->kind, many ? "s" : "",
                                e->action);
    if (e->example_path && e->example_path[0])
        n += (size_t)snprintf(buf + n, PP_CELL_TEXT - n, "; such as %.1024s%s", e->example_path,
                              visits_text(e->n_examples ? e->examples : NULL, count));
    if (e->example_reason)
        snprintf(buf + n, PP_CELL_TEXT - n, ": %s", e->example_reason);
    return buf;
}

WORDS_OF(finding_state, struct pp_report_finding,
         row->state == PP_FINDING_FOUND       ? "found"
         : row->state == PP_FINDING_NOT_FOUND ? "not there"
                                              : "not measured")

WORDS_OF(leg_name, struct pp_report_leg, row->other ? PRINTED("%s, for other batches", row->what) : row->what)

/* The end of a text: all of it but in a table of a terminal. */
static const char *end_of(const char *text, enum pp_printer in, size_t most, char *buf)
{
    size_t n = strlen(text), from = in == PP_IN_TEXT && n > most ? n - most : 0;
    snprintf(buf, PP_CELL_TEXT, "%s", text + from);
    return buf;
}

/* The data set's type where the variable is not known. */
WORDS_OF(loader_name, struct pp_report_loader,
         end_of(row->name      ? row->name
                : row->dataset ? row->dataset
                               : "?",
                in, 17, buf))
WORDS_OF(loader_place, struct pp_report_loader, end_of(row->place ? row->place : "-", in, 15, buf))

/* Of several DataLoaders with the one that it works for. */
WORDS_OF(worker_name, struct pp_report_worker,
         in == PP_IN_TEXT || !row->loader ? PRINTED("%s", row->name)
                                          : PRINTED("%s, %s", row->name, row->loader))
WORDS_OF(slow_worker, struct pp_report_slow_sample,
         PRINTED("%s%s", in == PP_IN_TEXT ? "  " : "", row->worker ? row->worker : "-"))

/* ---- which rows ---- */

/* Text says in one line that the laws hold, and a page folds away what did not decide. */
SHOWN_IF(shows_evidence, struct pp_report_evidence,
         row->supports != 0 || in == PP_IN_MD || (in == PP_IN_TEXT && row->kind != PP_EVIDENCE_LAW))
SHOWN_IF(shows_evidence_rest, struct pp_report_evidence, row->supports == 0)
SHOWN_IF(shows_fix, struct pp_report_fix, in != PP_IN_TEXT || (r->verdict.l1 && row->advice != PP_ADVICE_NO))
SHOWN_IF(is_found, struct pp_report_finding, row->state == PP_FINDING_FOUND)
SHOWN_IF(is_not_found, struct pp_report_finding, row->state == PP_FINDING_NOT_FOUND)
SHOWN_IF(is_not_measured, struct pp_report_finding, row->state == PP_FINDING_NOT_MEASURED)

/* ---- the tables ---- */

static const struct pp_section_column evidence[] = {
    {.form = "supports", .head = {TEXT(""), MD("")}, .width = -4, .words = supports},
    {.form = "name", .head = {TEXT(""), MD("evidence"), HTML("evidence")}, .width = -29},
    {.form = "value", .head = {TEXT(""), MD("#value"), HTML("#value")}, .width = 9},
    {.form = "threshold",
     .head = {TEXT(""), MD("threshold"), HTML("threshold")},
     .width = 44,
     .flags = PP_CELL_WRAP},
    {.form = "supports", .head = {HTML("the verdict")}, .words = supports},
};
const struct pp_section pp_section_evidence = {
    COLUMNS(evidence),
    .open_up_to = OPEN,
    .shows = shows_evidence,
    .title = {TEXT("How this was decided (+ for the cause, - against it)"), HTML("How this was decided")},
};
const struct pp_section pp_section_evidence_rest = {
    COLUMNS(evidence),
    .open_up_to = FOLDED,
    .shows = shows_evidence_rest,
    .title = {HTML("Measured, and not decisive here")},
};

static const struct pp_section_column fixes[] = {
    {.form = "gain", .head = {TEXT("")}, .width = -26, .words = gain_words},
    {.form = "change", .head = {TEXT("")}, .width = 28, .flags = PP_CELL_WRAP, .words = fix_words},
    {.form = "change", .head = {MD("change"), HTML("change")}, .words = change_words},
    {.form = "gain", .head = {MD("#predicted gain (80 % interval)")}, .words = gain_words},
    {.form = "gain", .head = {HTML("#gain")}},
    {.form = "low", .head = {HTML("#low")}},
    {.form = "high", .head = {HTML("#high")}},
    {.form = "samples_per_s", .head = {MD("#samples/s"), HTML("#samples/s")}},
    {.form = "text", .head = {HTML("how")}},
};
const struct pp_section pp_section_fixes = {
    COLUMNS(fixes),
    .open_up_to = FOLDED,
    .shows = shows_fix,
    .title = {TEXT("Predicted gains (replay, 80 % interval)"),
              HTML("Changes, predicted by replaying the recording (80 % interval)")},
};

static const struct pp_section_column ruled_out[] = {
    {.form = "text", .head = {TEXT("")}, .words = ruled_out_name},
    {.form = "text", .head = {MD(""), HTML("")}},
};
const struct pp_section pp_section_ruled_out = {
    COLUMNS(ruled_out),
    .layout = {TEXT(PP_JOINED), MD(PP_LIST), HTML(PP_LIST)},
    .lead = "  ",
    .title = {TEXT("Not the cause (25 % less of it gains next to nothing)"), MD("Not the cause:"),
              HTML("Not the cause")},
};

static const struct pp_section_column proofs[] = {
    {.form = "change", .head = {HTML("change")}},
    {.form = "value", .head = {HTML("to")}},
    {.form = "predicted_samples_per_s", .head = {HTML("#predicted")}},
    {.form = "predicted_low", .head = {HTML("#low")}},
    {.form = "predicted_high", .head = {HTML("#high")}},
    {.form = "measured_samples_per_s", .head = {HTML("#measured")}},
    {.form = "measured_low", .head = {HTML("#least")}},
    {.form = "measured_high", .head = {HTML("#most")}},
    {.form = "rounds", .head = {HTML("#rounds")}},
    {.form = "prediction_error", .head = {HTML("#off by")}},
};
SECTION(proofs, OPEN, HTML("Predicted and measured"));

static const struct pp_section_column proof_sentences[] = {
    {.form = "sentence", .head = {EVERYWHERE("")}, .width = 4, .flags = PP_CELL_WRAP},
};
const struct pp_section pp_section_proof_sentences = {
    COLUMNS(proof_sentences),
    .layout = {MD(PP_LIST), HTML(PP_LIST)},
    .title = {TEXT("Proved by experiment"), MD("**Proved by experiment:**")},
};

static const struct pp_section_column findings[] = {
    {.form = "kind", .head = {HTML("looked for")}},
    {.form = "state", .head = {HTML("state")}, .words = finding_state},
    {.form = "sentence", .head = {HTML("finding")}},
};
SECTION(findings, FOLDED, HTML("All that was looked for"));

/* With what to do; of those not found, or not measured, the names. */
static const struct pp_section_column found[] = {
    {.form = "state", .head = {TEXT("")}, .width = -4, .words = found_mark},
    {.form = "kind", .head = {EVERYWHERE("")}, .width = -18, .flags = PP_CELL_ROW_HEAD},
    {.form = "sentence", .head = {EVERYWHERE("")}, .width = 22, .flags = PP_CELL_WRAP},
    {.form = "next_step", .head = {EVERYWHERE("")}, .width = 22, .flags = PP_CELL_BELOW},
};
const struct pp_section pp_section_found = {
    COLUMNS(found),
    .layout = {MD(PP_LIST), HTML(PP_LIST)},
    .shows = is_found,
    .title = {MD("**Also found:**")},
};

static const struct pp_section_column names[] = {
    {.form = "kind", .head = {TEXT("")}},
};
const struct pp_section pp_section_not_found = {
    COLUMNS(names),
    .layout = {TEXT(PP_JOINED)},
    .shows = is_not_found,
    .lead = "  - not found         ",
};
const struct pp_section pp_section_not_measured = {
    COLUMNS(names),
    .layout = {TEXT(PP_JOINED)},
    .shows = is_not_measured,
    .lead = "  ? not measured      ",
};

static const struct pp_section_column durations[] = {
    {.form = "phase",
     .head = {TEXT("phase"), HTML("phase")},
     .width = -20,
     .flags = PP_CELL_ROW_HEAD,
     .words = phase_name,
     .title = phase_title},
    {.form = "lane", .head = {HTML("lane")}},
    {.form = "count", .head = {TEXT("count"), HTML("#count")}, .width = 8},
    {.form = "total_ns", .head = {TEXT("total"), HTML("#total")}, .width = 8},
    {.form = "mean_ns", .head = {TEXT("mean"), HTML("#mean")}, .width = 8},
    {.form = "p50_ns", .head = {TEXT("p50"), HTML("#p50")}, .width = 8},
    {.form = "p95_ns", .head = {TEXT("p95"), HTML("#p95")}, .width = 8},
    {.form = "p99_ns", .head = {TEXT("p99"), HTML("#p99")}, .width = 8},
    {.form = "max_ns", .head = {TEXT("max"), HTML("#max")}, .width = 8},
};
SECTION(durations, OPEN, TEXT("Phases"), HTML("How long"));

/* Where each lane's time went, and what that time was. */
static const struct pp_section_column shares[] = {
    {.form = "lane", .head = {MD("lane")}},
    {.form = "phase",
     .head = {EVERYWHERE("phase")},
     .width = -17,
     .flags = PP_CELL_ROW_HEAD,
     .words = phase_alone,
     .title = phase_title},
    {.form = "lane", .head = {TEXT("lane"), HTML("lane")}, .width = -8},
    {.form = "share", .head = {NUMBERS("share")}, .width = 8},
    {.form = "share",
     .head = {TEXT("  of lane's time"), HTML("of its lane's time")},
     .width = -18,
     .flags = PP_CELL_BAR},
    {.form = "cpu_share", .head = {TEXT("cpu"), MD("#cpu"), HTML("#on CPU")}, .width = 9},
    {.form = "run_delay_share", .head = {NUMBERS("CPU wait")}, .width = 11},
    {.form = "blocked_share", .head = {NUMBERS("blocked")}, .width = 9},
    {.form = "mean_ns", .head = {MD("#mean")}},
    {.form = "p95_ns", .head = {MD("#p95")}},
    {.form = "max_ns", .head = {MD("#max")}},
    {.form = "bytes", .head = {HTML("#bytes")}},
};
SECTION(shares, OPEN, TEXT("Where the time goes"), HTML("Shares"));

static const struct pp_section_column workers[] = {
    {.form = "name", .head = {EVERYWHERE("worker")}, .width = -15, .words = worker_name},
    {.form = "samples", .head = {TEXT("samples"), HTML("#samples")}, .width = 10},
    {.form = "samples_per_s", .head = {NUMBERS("samples/s")}, .width = 10},
    {.form = "busy_share", .head = {NUMBERS("busy")}, .width = 7},
    {.form = "wait_share", .head = {NUMBERS("waiting")}, .width = 9},
    {.form = "cpu_share", .head = {TEXT("cpu"), HTML("#on CPU")}, .width = 8},
    {.form = "run_delay_share", .head = {NUMBERS("CPU wait")}, .width = 10},
    {.form = "{errors}/{retries}", .head = {TEXT("err/retry")}, .width = 11},
    {.form = "loader", .head = {TEXT("loader")}, .width = 6, .flags = PP_CELL_BELOW},
    {.form = "errors", .head = {HTML("#errors")}},
    {.form = "retries", .head = {HTML("#retries")}},
};
SECTION(workers, 8, TEXT("Workers (shares of the window's wall time)"), HTML("Workers in the steady state"));

static const struct pp_section_column loaders[] = {
    {.form = "name", .head = {EVERYWHERE("DataLoader")}, .width = -20, .words = loader_name},
    {.form = "place", .head = {EVERYWHERE("made at")}, .width = -16, .words = loader_place},
    {.form = "dataset", .head = {MD("data set"), HTML("data set")}},
    {.form = "num_workers", .head = {NUMBERS("workers")}, .width = 8},
    {.form = "batch_size", .head = {MD("#batch"), HTML("#batch")}},
    {.form = "epochs", .head = {NUMBERS("epochs")}, .width = 7},
    {.form = "batches", .head = {NUMBERS("batches")}, .width = 8},
    {.form = "samples_per_s", .head = {NUMBERS("samples/s")}, .width = 10},
    {.form = "data_wait_s", .head = {NUMBERS("data wait")}, .width = 11},
    {.form = "wait_share", .head = {MD("#of all waits"), HTML("#of all waits")}},
};
SECTION(loaders, OPEN, TEXT("DataLoaders (whole run)"), HTML("DataLoaders, whole run"));

static const struct pp_section_column slow_samples[] = {
    {.form = "total_ns", .head = {NUMBERS("time")}, .width = 9},
    {.form = "times_median", .head = {NUMBERS("x median")}, .width = 9},
    {.form = "read_ns", .head = {NUMBERS("read")}, .width = 8},
    {.form = "decode_ns", .head = {NUMBERS("decode")}, .width = 8},
    {.form = "transform_ns", .head = {NUMBERS("transform")}, .width = 10},
    {.form = "{slow_visits} of {visits}",
     .head = {TEXT("slow"), MD("#slow"), HTML("#slow visits")},
     .width = 9},
    {.form = "worker", .head = {EVERYWHERE("  worker")}, .width = -12, .words = slow_worker},
    {.form = "sample", .head = {NUMBERS("sample")}, .width = 8},
    {.form = "name", .head = {EVERYWHERE("made of")}, .width = 6, .flags = PP_CELL_BELOW},
};
SECTION(slow_samples, OPEN, TEXT("Slowest samples (steady state)"), HTML("Slowest samples, steady state"));

static const struct pp_section_column queues[] = {
    {.form = "name", .head = {TEXT("queue"), MD("queue"), HTML("queue, whole run")}, .width = -17},
    {.form = "capacity", .head = {NUMBERS("capacity")}, .width = 10},
    {.form = "mean_depth", .head = {NUMBERS("mean depth")}, .width = 11},
    {.form = "share_empty", .head = {NUMBERS("empty")}, .width = 8},
    {.form = "share_full", .head = {NUMBERS("full")}, .width = 9},
    {.form = "put_wait_ns", .head = {TEXT("put wait"), HTML("#waited to put")}, .width = 11},
    {.form = "get_wait_ns", .head = {TEXT("get wait"), HTML("#waited to get")}, .width = 11},
};
SECTION(queues, OPEN, TEXT("Queues (whole run)"), HTML("Queues, measured over the whole run"));

static const struct pp_section_column error_examples[] = {
    {.form = "path", .head = {TEXT("")}, .width = 6, .flags = PP_CELL_WRAP, .words = error_example},
};
const struct pp_section pp_section_error_examples = {COLUMNS(error_examples)};

static const struct pp_section_column errors[] = {
    {.form = "kind", .head = {TEXT("")}, .width = 4, .flags = PP_CELL_WRAP, .words = error_words},
    {.form = "count", .head = {MD("#visits")}},
    {.form = "files", .head = {MD("#files")}},
    {.form = "kind", .head = {MD("kind"), HTML("kind")}},
    {.form = "action", .head = {MD("action"), HTML("action")}},
    {.form = "{example_path}: {example_reason}", .head = {MD("example")}},
    {.form = "count", .head = {HTML("#visits")}},
    {.form = "files", .head = {HTML("#files")}},
};
const struct pp_section pp_section_errors = {
    COLUMNS(errors),         .open_up_to = OPEN,         .below = &pp_section_error_examples,
    .below_key = "examples", .title = {HTML("By kind")},
};

static const struct pp_section_column gpu[] = {
    {.form = "name", .head = {TEXT(""), MD("GPU"), HTML("GPU")}, .width = -38},
    {.form = "value", .head = {TEXT(""), MD("#"), HTML("#value")}, .width = 12, .flags = PP_CELL_OF_LINE},
};
SECTION(gpu, OPEN, HTML("Busy time, and idle time by cause"));

static const struct pp_section_column differences[] = {
    {.form = "sampling",
     .head = {TEXT("pixels against libjpeg-turbo's"), MD("sampling"), HTML("sampling")},
     .width = -32},
    {.form = "images", .head = {NUMBERS("images")}, .width = 8},
    {.form = "mean", .head = {TEXT("mean, of 255"), MD("#mean, of 255"), HTML("#mean, of 255")}, .width = 14},
    {.form = "max", .head = {NUMBERS("max")}, .width = 6},
};
SECTION(differences, OPEN, HTML("How far the first images' pixels are off libjpeg-turbo's"));

static const struct pp_section_column error_files[] = {
    {.form = "path", .head = {HTML("file")}, .flags = PP_CELL_PATH},
    {.form = "count", .head = {HTML("#visits")}},
    {.form = "reason", .head = {HTML("reason")}},
};
SECTION(error_files, OPEN, HTML("By file"));

static const struct pp_section_column losses[] = {
    {.form = "what", .head = {HTML("what")}},
    {.form = "count", .head = {HTML("#how many")}},
    {.form = "why", .head = {HTML("why")}},
};
SECTION(losses, OPEN, HTML("Losses and notes"));

static const struct pp_section_column spent[] = {
    {.form = "words", .head = {TEXT(""), HTML("")}, .width = -34, .flags = PP_CELL_ROW_HEAD},
    {.form = "share", .head = {HTML("")}, .flags = PP_CELL_BAR},
    {.form = "share", .head = {TEXT("of the time"), HTML("#of the time")}, .width = 12},
    {.form = "per_sample_ns", .head = {TEXT("per sample"), HTML("#per sample")}, .width = 12},
};
SECTION(spent, FOLDED, TEXT("The time of a sample, which adds up"), HTML("The same as a table"));

/* The pictures' tables. */
#define TIME_COLUMN \
    { \
        .form = "{start_s} to {end_s}", .head = {HTML("time")}, .flags = PP_CELL_ROW_HEAD \
    }

static const struct pp_section_column steps_over_time[] = {
    TIME_COLUMN,
    {.form = "wait_share", .head = {HTML("#waits")}},
    {.form = "sync_share", .head = {HTML("#sync")}},
    {.form = "step_share", .head = {HTML("#step")}},
    {.form = "starved_share", .head = {HTML("#of it for a CPU")}},
    {.form = "apart_share", .head = {HTML("#apart")}},
    {.form = "h2d_share", .head = {HTML("#copying")}},
    {.form = "samples_per_s", .head = {HTML("#samples/s")}},
};
SECTION(steps_over_time, FOLDED, HTML("The same as a table"));

static const struct pp_section_column queues_over_time[] = {
    TIME_COLUMN,
    {.form = "ready_batches", .head = {HTML("#finished batches")}},
    {.form = "device_batches", .head = {HTML("#on the device")}},
};
SECTION(queues_over_time, FOLDED, HTML("The same as a table"));

static const struct pp_section_column errors_over_time[] = {
    TIME_COLUMN,
    {.form = "errors", .head = {HTML("#errors and retries")}},
};
SECTION(errors_over_time, FOLDED, HTML("Over time, as a table"));

static const struct pp_section_column waits[] = {
    {.form = "phase", .head = {HTML("")}, .flags = PP_CELL_ROW_HEAD},
    {.form = "count", .head = {HTML("#count")}},
    {.form = "total_ns", .head = {HTML("#total")}},
    {.form = "mean_ns", .head = {HTML("#mean")}},
    {.form = "p50_ns", .head = {HTML("#p50")}},
    {.form = "p95_ns", .head = {HTML("#p95")}},
    {.form = "p99_ns", .head = {HTML("#p99")}},
    {.form = "max_ns", .head = {HTML("#max")}},
};
SECTION(waits, OPEN, HTML("The same as a table"));

static const struct pp_section_column curve[] = {
    {.form = "value", .head = {HTML("#value")}},
    {.form = "samples_per_s", .head = {HTML("#samples/s")}},
    {.form = "low", .head = {HTML("#low")}},
    {.form = "high", .head = {HTML("#high")}},
};
SECTION(curve, FOLDED, HTML("The same as a table"));

static const struct pp_section_column legs[] = {
    {.form = "what", .head = {HTML("on the critical path")}, .words = leg_name},
    {.form = "thread", .head = {HTML("thread")}},
    {.form = "spans", .head = {HTML("#spans")}},
    {.form = "total_ns", .head = {HTML("#time")}},
    {.form = "in_wait_ns", .head = {HTML("#in the wait")}},
};
SECTION(legs, FOLDED, HTML("The same as a table"));

int pp_section_is_internal(const struct pp_report_pair *pair)
{
    static const char *const keys[] = {"dataloader",
                                       "map",
                                       "map_rows",
                                       "ring_spans",
                                       "other_tool",
                                       "python_hooks",
                                       "python_program",
                                       "compiler",
                                       "sqlite_version",
                                       "zstd_version",
                                       "libjpeg_turbo_version"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(pair->key, keys[i]) == 0)
            return !pair->note;
    return 0;
}
