/* Text for a terminal: the answer in three sentences, on one screen, and with everything that is known. */
#include "report/render/render.h"

#include "probe/base/array.h"
#include "probe/base/text.h"
#include "report/render/answer.h"
#include "report/render/sections.h"
#include "report/source/rows.h"

enum { CELL = 40, MOST_LINES = 20, INDENT = 9, MOST_WORKERS = 16, ENDS = 4 };

static struct pp_page page_of(FILE *out, int color, int columns)
{
    return (struct pp_page){.out = out,
                            .color = color,
                            .columns = columns < 40    ? 40
                                       : columns > 120 ? 120
                                                       : columns};
}

/* ---- the answer ---- */

/* Python may be broken behind a comma; what does not fit goes on below its bracket. */
static void put_code(const struct pp_page *p, const char *code)
{
    const char *bracket = strchr(code, '('), *s = code;
    int narrow = p->columns < 60, at = narrow ? 2 : INDENT,
        below = narrow ? 6 : INDENT + (bracket ? (int)(bracket - code) + 1 : 0);
    fprintf(p->out, "%*s", at, "");
    while (*s) {
        const char *comma = strstr(s, ", ");
        int n = comma ? (int)(comma - s) + 1 : (int)strlen(s);
        if (at > below && at + n > p->columns && strncmp(code, "DataLoader(", 11) == 0) {
            fprintf(p->out, "\n%*s", below, "");
            at = below;
        } else if (s != code) {
            fputc(' ', p->out);
        }
        fprintf(p->out, "%.*s", n, s);
        at += n + 1;
        s += n;
        s += strspn(s, " ");
    }
    fputc('\n', p->out);
}

/* Never cut, but where a stranger's file has a text that none of ours is as long as. */
static void put_sentence(const struct pp_page *p, enum pp_tone tone, const char *lead, const char *text)
{
    enum { OURS = 640 };
    if (text && text[0])
        pp_page_text(p, tone, lead, lead[0] ? INDENT : 0, strlen(text) > OURS ? 4 : 0, text);
}

static enum pp_tone tone_of(const struct pp_report_verdict *v)
{
    return !v->level ? PP_TONE_STRONG : strcmp(v->level, "not") == 0 ? PP_TONE_GOOD : PP_TONE_BAD;
}

/* All of it on a page of text; no sentence is cut. FULL: what the sections below show is left to them. The
 * others end in numbers, errors and where more is, and have each fewer lines than the one before: ROOMY lacks
 * what PyTorch is expected to do, CLOSE the sentences of findings but the first, and blank lines, TIGHT flags
 * and numbers. */
enum room { FULL, WIDE, ROOMY, CLOSE, TIGHT };

/* What was done in the wait, and numbers, each with its threshold, but not with where that comes from. */
static void put_numbers(const struct pp_page *p, const struct pp_report *r, enum room room)
{
    const struct pp_report_evidence *e[PP_ANSWER_EVIDENCE];
    char text[PP_ANSWER_TEXT];
    size_t n = room >= TIGHT ? 0 : pp_answer_evidence(r, e);
    if (r->verdict.parts || r->verdict.ceiling)
        n = n > 2 ? 2 : n;
    put_sentence(p, PP_TONE_PLAIN, "In wait:", r->verdict.parts);
    for (size_t i = 0; i < n; i++) {
        const char *limit = e[i]->threshold ? e[i]->threshold : "";
        snprintf(text, sizeof(text), "%s %s%s%.*s%s", e[i]->name, e[i]->value, limit[0] ? " (" : "",
                 (int)strcspn(limit, ":"), limit, limit[0] ? ")" : "");
        put_sentence(p, PP_TONE_PLAIN, i ? " " : "Because:", text);
    }
}

static void put_answer(const struct pp_page *p, const struct pp_report *r, enum room room)
{
    static const struct {
        enum pp_answer_part part;
        const char *label;
        enum pp_tone tone;
        enum room most; /* it is left out of those after this one */
    } told[] = {
        {PP_ANSWER_OUTCOME, "", PP_TONE_BAD, TIGHT},
        {PP_ANSWER_GPU_GONE, "GPU:", PP_TONE_BAD, TIGHT},
        {PP_ANSWER_HEAD, "", PP_TONE_PLAIN, TIGHT},
        {PP_ANSWER_COST, "Costs:", PP_TONE_PLAIN, TIGHT},
        {PP_ANSWER_FIRST, "First:", PP_TONE_BAD, TIGHT},
        {PP_ANSWER_CAUSE, "Cause:", PP_TONE_PLAIN, TIGHT},
        {PP_ANSWER_DO, "Do:", PP_TONE_STRONG, TIGHT},
        {PP_ANSWER_PREDICTED, "Gain:", PP_TONE_PLAIN, TIGHT},
        {PP_ANSWER_ASSUMES, "Assumes:", PP_TONE_PLAIN, TIGHT},
        {PP_ANSWER_CODE, "", PP_TONE_PLAIN, TIGHT},
        {PP_ANSWER_WORDS, "How:", PP_TONE_PLAIN, TIGHT},
        {PP_ANSWER_COMMAND, "Flags:", PP_TONE_PLAIN, CLOSE},
        {PP_ANSWER_PYTORCH, "PyTorch:", PP_TONE_PLAIN, WIDE},
        {PP_ANSWER_OTHER, "Or:", PP_TONE_PLAIN, TIGHT},
        {PP_ANSWER_THEN, "Then:", PP_TONE_STRONG, TIGHT},
    };
    const struct pp_report_verdict *v = &r->verdict;
    char text[PP_ANSWER_TEXT];
    pp_page_text(p, PP_TONE_PLAIN, "", 0, 2, pp_answer(r, PP_ANSWER_SUBJECT, text));
    for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
        const char *sentence = pp_answer(r, told[i].part, text), *label = told[i].label;
        enum pp_tone tone = told[i].part == PP_ANSWER_HEAD ? tone_of(v) : told[i].tone;
        if (!sentence || room > told[i].most || (told[i].part == PP_ANSWER_ASSUMES && r->n_proofs) ||
            (told[i].part == PP_ANSWER_WORDS && v->action.python))
            continue; /* what was measured needs no assumption; there is a line to paste */
        if (told[i].part == PP_ANSWER_CODE) {
            fputs(room <= ROOMY ? "\n" : "", p->out);
            put_code(p, sentence);
            fputs(room <= ROOMY ? "\n" : "", p->out);
            continue;
        }
        put_sentence(p, tone, told[i].part == PP_ANSWER_WORDS && v->action.dali ? "DALI:" : label, sentence);
    }
    if (room == FULL)
        return;
    for (size_t i = 0; i < r->n_proofs && i < (room == TIGHT ? 1 : 2); i++)
        put_sentence(p, PP_TONE_PLAIN, i ? " " : "Proved:", pp_answer_proof(&r->proofs[i], text));
    put_numbers(p, r, room);
    if (room < TIGHT || !v->other) /* another way is worth more room than another finding */
        put_sentence(p, PP_TONE_PLAIN, "Also:",
                     pp_answer(r, room < CLOSE ? PP_ANSWER_FINDINGS : PP_ANSWER_FIRST_FINDING, text));
    put_sentence(p, PP_TONE_PLAIN, "Errors:", pp_answer(r, PP_ANSWER_ERRORS, text));
    put_sentence(p, PP_TONE_PLAIN, "Lost:", pp_answer(r, PP_ANSWER_LOSSES, text));
    int close = room >= CLOSE;
    const char *file = close ? "FILE" : pp_text_file(r->path);
    int n = snprintf(text, sizeof(text), "pipeprobe report %s --full%s", file,
                     close && v->l1 ? "" : " (or -o page.html)");
    if (v->l1)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "; pipeprobe explain %s%s%s", v->l1,
                      v->l2 ? "/" : "", v->l2 ? v->l2 : "");
    if (r->subject_kind != PP_SUBJECT_TRACE &&
        !(close && v->l1)) /* a trace, which nothing can be replayed of */
        snprintf(text + n, sizeof(text) - (size_t)n, "; pipeprobe whatif %s", file);
    put_sentence(p, PP_TONE_PLAIN, "More:", text);
}

/* The widest arrangement that one screen has room for. */
int pp_render_short(const struct pp_report *r, FILE *out, int color, int columns)
{
    struct pp_page p = page_of(out, color, columns);
    int failed = 0, done = 0;
    for (int room = WIDE; room <= TIGHT && !done && !failed; room++) {
        char *text = NULL;
        size_t size = 0;
        p.out = open_memstream(&text, &size);
        if (!p.out)
            return -1;
        put_answer(&p, r, (enum room)room);
        failed = fclose(p.out) != 0;
        if (!failed) {
            int lines = 0;
            for (const char *s = text; *s; s++)
                lines += *s == '\n';
            done = room == TIGHT || lines <= MOST_LINES;
        }
        if (done)
            failed = fputs(text, out) == EOF;
        free(text);
    }
    return !failed && fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

int pp_render_brief(const struct pp_report *r, FILE *out, int color, int columns)
{
    const struct pp_report_verdict *v = &r->verdict;
    struct pp_page p = page_of(out, color, columns);
    char text[PP_ANSWER_TEXT], more[PP_ANSWER_TEXT];
    const char *advice = v->action.python ? v->action.python : v->next_step;
    const struct pp_report_fix *f = v->action.fix;
    if (f) {
        snprintf(text, sizeof(text), "%s (predicted: %s)", advice,
                 pp_text_gain(more, sizeof(more), f->gain, f->low, f->high));
        advice = text;
    }
    pp_page_text(&p, PP_TONE_PLAIN, "", 0, 2, pp_answer(r, PP_ANSWER_SUBJECT, more));
    put_sentence(&p, PP_TONE_BAD, "", pp_answer(r, PP_ANSWER_OUTCOME, more));
    put_sentence(&p, tone_of(v), "", v->head);
    put_sentence(&p, PP_TONE_PLAIN, "Cause:", v->cause_line);
    put_sentence(&p, PP_TONE_STRONG, "Do:", advice);
    put_sentence(&p, PP_TONE_PLAIN, "Errors:", pp_answer(r, PP_ANSWER_ERRORS, more));
    snprintf(text, sizeof(text), "pipeprobe report %s", pp_text_file(r->path));
    put_sentence(&p, PP_TONE_PLAIN, "More:", text);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* ---- everything ---- */

/* A sentence put together from parts. */
struct line {
    char text[2048];
};

#define add(l, ...) pp_text_add((l)->text, sizeof((l)->text), __VA_ARGS__)

static void put_line(const struct pp_page *p, const char *lead, int indent, const struct line *l)
{
    pp_page_text(p, PP_TONE_PLAIN, lead, indent, 0, l->text);
}

static void put_section(const struct pp_page *p, const struct pp_report *r, const struct pp_section *section,
                        const char *path)
{
    struct pp_section_rows rows = pp_section_rows(section, r, path);
    pp_section_text(p, &rows);
}

static void put_throughput(const struct pp_page *p, const struct pp_report *r)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    struct line rates = {.text = ""}, window = {.text = ""}, whole = {.text = ""};
    pp_page_heading(p, "Throughput");
    if (isnan(r->samples_per_s) && r->batches)
        add(&rates, "%s batches/s; samples were not counted", pp_text_rate(b, CELL, r->batches_per_s));
    else if (isnan(r->samples_per_s))
        add(&rates, "not known: the trainer got no batch");
    else
        add(&rates, "%s samples/s, %s batches/s", pp_text_rate(a, CELL, r->samples_per_s),
            pp_text_rate(b, CELL, r->batches_per_s));
    if (!isnan(r->bytes_per_s))
        add(&rates, ", %s/s read", pp_text_bytes(a, CELL, r->bytes_per_s));
    if (!isnan(r->cache_hit_share))
        add(&rates, ", %s of it from the page cache", pp_text_percent(a, CELL, r->cache_hit_share));
    if (!isnan(r->step_mean_ns))
        add(&rates, ", mean step %s", pp_text_duration(a, CELL, r->step_mean_ns));
    put_line(p, "  ", 2, &rates);

    if (!isnan(r->headroom_samples_per_s)) {
        struct line limit = {.text = ""};
        add(&limit, "%s samples/s (%s) if %s", pp_text_predicted(a, CELL, r->headroom_samples_per_s),
            pp_text_gain(b, CELL, r->headroom_gain, NAN, NAN), r->headroom_if);
        put_line(p, "  ", 2, &limit);
    }
    if (!isnan(r->accelerator_utilization_share)) {
        struct line busy = {.text = ""};
        add(&busy, "accelerator utilisation (AU): %s of all time, as MLPerf Storage counts",
            pp_text_percent(a, CELL, r->accelerator_utilization_share));
        put_line(p, "  ", 2, &busy);
    }
    if (r->window_batches) {
        add(&window, r->has_steady_state
                         ? "steady state: "
                         : "no steady state was reached; numbers of all batches, with warm-up: ");
        add(&window, "%s, %s, %s", pp_text_duration(a, CELL, r->window_s * 1e9),
            pp_text_counted(b, CELL, (double)r->window_batches, "batch", "batches"),
            pp_text_counted(c, CELL, (double)r->window_samples, "sample", "samples"));
        if (r->boundary_s > 0)
            add(&window, ", %s of it at epoch boundaries and checkpoints",
                pp_text_duration(a, CELL, r->boundary_s * 1e9));
        put_line(p, "  ", 2, &window);
    }
    add(&whole, "whole run: %s, %s, %s, %s", pp_text_duration(a, CELL, r->duration_s * 1e9),
        pp_text_counted(b, CELL, (double)r->batches, "batch", "batches"),
        pp_text_counted(c, CELL, (double)r->samples, "sample", "samples"),
        pp_text_counted(d, CELL, (double)r->epochs, "epoch", "epochs"));
    if (r->used_loaders)
        add(&whole, " of %zu loaders", r->used_loaders);
    add(&whole, ", %s", r->outcome);
    if (!isnan(r->startup_s))
        add(&whole, "; start-up %s", pp_text_duration(a, CELL, r->startup_s * 1e9));
    if (!isnan(r->first_batch_s))
        add(&whole, "; first batch after %s", pp_text_duration(a, CELL, r->first_batch_s * 1e9));
    put_line(p, "  ", 2, &whole);
}

static int slowest_first(const void *a, const void *b)
{
    const struct pp_report_worker *x = *(const struct pp_report_worker *const *)a,
                                  *y = *(const struct pp_report_worker *const *)b;
    return x->samples != y->samples ? PP_COMPARE(x->samples, y->samples) : PP_COMPARE(x->thread, y->thread);
}

/* Of many workers the slowest and the fastest, where a straggler would show. */
static void put_workers(const struct pp_page *p, const struct pp_report *r)
{
    struct pp_section_rows rows = pp_section_rows(&pp_section_workers, r, "workers");
    if (rows.n <= MOST_WORKERS) {
        pp_section_text(p, &rows);
        return;
    }
    pp_section_text_heads(p, rows.section);
    const struct pp_report_worker **order = calloc(r->n_workers, sizeof(*order));
    if (!order)
        return;
    for (size_t i = 0; i < r->n_workers; i++)
        order[i] = &r->workers[i];
    qsort(order, r->n_workers, sizeof(*order), slowest_first);
    for (size_t i = 0; i < ENDS; i++)
        pp_section_text_row(p, &rows, order[i]);
    fprintf(p->out, "  ... and %zu more between the slowest and the fastest (--format json has all)\n",
            r->n_workers - 2 * ENDS);
    for (size_t i = r->n_workers - ENDS; i < r->n_workers; i++)
        pp_section_text_row(p, &rows, order[i]);
    free(order);
}

static void put_errors(const struct pp_page *p, const struct pp_report *r)
{
    char n[CELL], head[120];
    if (r->n_error_kinds == 0 && r->errors == 0 && r->retries == 0)
        return;
    int at = snprintf(head, sizeof(head), "Errors: %s", pp_text_count(n, CELL, (double)r->errors));
    if (r->error_files)
        at += snprintf(head + at, sizeof(head) - (size_t)at, " visit%s to %s%s", r->errors == 1 ? "" : "s",
                       r->more_error_files ? "at least " : "",
                       pp_text_counted(n, CELL, (double)r->error_files, "file", "files"));
    if (r->retries)
        snprintf(head + at, sizeof(head) - (size_t)at, " (and %s)",
                 pp_text_counted(n, CELL, (double)r->retries, "retry", "retries"));
    pp_page_heading(p, head);
    put_section(p, r, &pp_section_errors, "errors");
    if (r->error_files > PP_REPORT_ERROR_EXAMPLES)
        pp_page_text(p, PP_TONE_PLAIN, "  ", 4, 0, "All files: view v_error_file of the recording");
}

/* What the GPU did with its time, and what it decoded. Not measured is said as loudly as a number. */
static void put_gpu(const struct pp_page *p, const struct pp_report *r)
{
    struct pp_gpu_line line[PP_GPU_LINES];
    char text[PP_ANSWER_TEXT];
    if (r->gpu) {
        struct pp_section_rows rows = pp_section_gpu_rows(r, line);
        pp_page_heading(p, "GPU (shares of the steady state)");
        if (r->gpu->not_measured)
            pp_page_text(p, PP_TONE_STRONG, "  NOT MEASURED: ", 2, 0, r->gpu->not_measured);
        pp_section_text(p, &rows);
        if (r->gpu->counters_missing)
            pp_page_text(p, PP_TONE_STRONG, "  NVML NOT MEASURED: ", 2, 0, r->gpu->counters_missing);
    }
    if (r->decode) {
        pp_page_heading(p, "Decoded on the GPU (whole run)");
        pp_page_text(p, PP_TONE_PLAIN, "  ", 2, 0, pp_answer(r, PP_ANSWER_DECODE, text));
        put_section(p, r, &pp_section_differences, "decode.differences");
    }
}

static void put_recording(const struct pp_page *p, const struct pp_report *r)
{
    char a[CELL], b[CELL];
    struct line l = {.text = ""};
    int lost = 0;
    pp_page_heading(p, "Recording");
    add(&l, "%s spans", pp_text_count(a, CELL, (double)r->spans));
    for (size_t i = 0; i < r->n_losses; i++) {
        const struct pp_report_loss *loss = &r->losses[i];
        if (loss->count)
            add(&l, "%s %s %s: %s", lost++ ? "," : "; LOST:", pp_text_count(a, CELL, (double)loss->count),
                loss->what ? loss->what : "?", loss->why ? loss->why : "unknown why");
    }
    if (!lost)
        add(&l, ", nothing lost");
    for (size_t i = 0; i < r->n_losses; i++)
        if (r->losses[i].count == 0 && r->losses[i].why)
            add(&l, "; %s", r->losses[i].why);
    if (isnan(r->overhead_cpu_s))
        add(&l, "; its own cost was not recorded");
    else
        add(&l, "; own CPU time %s", pp_text_duration(a, CELL, r->overhead_cpu_s * 1e9));
    if (!isnan(r->overhead_share))
        add(&l, ", %s of the usable CPUs", pp_text_percent(b, CELL, r->overhead_share));
    put_line(p, "  ", 2, &l);
}

static void add_pair(struct line *l, const struct pp_report_pair *pair)
{
    char value[CELL];
    int bytes = pair->numeric && pair->unit && strcmp(pair->unit, "bytes") == 0;
    add(l, "%s%s ", l->text[0] ? ", " : "", pair->key);
    if (bytes)
        add(l, "%s", pp_text_bytes(value, CELL, atof(pair->value)));
    else
        add(l, "%s%s%s", pair->value ? pair->value : "-", pair->unit ? " " : "",
            pair->unit ? pair->unit : "");
    if (pair->note)
        add(l, " (%s)", pair->note);
}

/* What was asked or chosen: the keys people compare runs by, and whatever has a note; and the machine. */
static void put_setup(const struct pp_page *p, const struct pp_report *r)
{
    static const char *const keys[] = {"workers", "batch_size", "prefetch", "sampler", "transform",
                                       "dtype",   "device",     "step",     "step_ms"};
    struct line config = {.text = ""}, machine = {.text = ""};
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
        const struct pp_report_pair *pair = pp_rows_find(r->config, r->n_config, keys[k]);
        if (pair && !pair->note)
            add_pair(&config, pair);
    }
    for (size_t i = 0; i < r->n_config; i++)
        if (r->config[i].note)
            add_pair(&config, &r->config[i]);
    if (config.text[0])
        put_line(p, "Run         ", 12, &config);
    struct line others = {.text = ""}; /* collectors/system/neighbours.c */
    for (size_t i = 0; i < r->n_environment; i++)
        if (strncmp(r->environment[i].key, "other_process_", 14) == 0)
            pp_text_add(others.text, sizeof(others.text), "%s%s", others.text[0] ? "; " : "",
                        r->environment[i].value);
        else if (!pp_section_is_internal(&r->environment[i]))
            add_pair(&machine, &r->environment[i]);
    if (others.text[0])
        pp_page_text(p, PP_TONE_PLAIN, "Beside it   ", 12, 0, others.text);
    if (machine.text[0])
        pp_page_text(p, PP_TONE_PLAIN, "Machine     ", 12, 0, machine.text);
    if (r->made)
        pp_page_text(p, PP_TONE_PLAIN, "Made        ", 12, 0, r->made);
}

int pp_render_text(const struct pp_report *r, FILE *out, int color, int columns)
{
    const struct pp_report_verdict *v = &r->verdict;
    struct pp_page p = page_of(out, color, columns);
    int laws = 0;
    put_answer(&p, r, FULL);
    put_section(&p, r, &pp_section_evidence, "verdict.evidence");
    for (size_t i = 0; i < v->evidences; i++)
        laws |= v->evidence[i].kind == PP_EVIDENCE_LAW && v->evidence[i].supports == 0;
    if (laws) /* rows that check the recording itself are one line while they hold */
        pp_page_text(&p, PP_TONE_PLAIN, "    ", 4, 0, "the measurements agree with each other");
    char share[CELL];
    struct line certainty = {.text = ""};
    if (!isnan(v->confidence))
        add(&certainty, "confidence %s", pp_text_percent(share, CELL, v->confidence));
    if (!isnan(v->explained))
        add(&certainty, "%sthe cause explains %s of the wait", certainty.text[0] ? "; " : "",
            pp_text_percent(share, CELL, v->explained));
    if (!isnan(v->replay_error))
        add(&certainty, "%sthe replay of the unchanged run is off by %s", certainty.text[0] ? "; " : "",
            pp_text_percent(share, CELL, v->replay_error));
    if (certainty.text[0])
        put_line(&p, "    ", 4, &certainty);
    put_section(&p, r, &pp_section_fixes, "verdict.fixes");
    put_section(&p, r, &pp_section_ops, "ops");
    if (r->why_no_ops) {
        pp_page_heading(&p, "Operations of the workers");
        pp_page_text(&p, PP_TONE_PLAIN, "  ", 2, 0, r->why_no_ops);
    }
    put_section(&p, r, &pp_section_ruled_out, "verdict.ruled_out");
    put_section(&p, r, &pp_section_proof_sentences, "proof");
    if (r->n_findings)
        pp_page_heading(&p, "Other findings");
    put_section(&p, r, &pp_section_found, "findings");
    put_section(&p, r, &pp_section_not_found, "findings"); /* by name, and what is not known */
    put_section(&p, r, &pp_section_not_measured, "findings");
    put_throughput(&p, r);
    put_section(&p, r, &pp_section_spent, "spent");
    put_section(&p, r, &pp_section_durations, "phases");
    put_section(&p, r, &pp_section_shares, "phases");
    put_workers(&p, r);
    if (r->n_loaders > 1)
        put_section(&p, r, &pp_section_loaders, "loaders");
    put_section(&p, r, &pp_section_slow_samples, "slow_samples");
    put_section(&p, r, r->has_step ? &pp_section_step_lines : &pp_section_loop_lines, "step_lines");
    put_section(&p, r, &pp_section_queues, "queues");
    put_errors(&p, r);
    put_gpu(&p, r);
    put_recording(&p, r);
    fputc('\n', out);
    put_setup(&p, r);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
