/* The answer of a report for a program: schema pipeprobe.answer/1 (docs/reference/answer.md). What a
 * recording says in words of its own stands under "untrusted" and nowhere else; the rest is ours: codes,
 * numbers, and names of a table. */
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/render/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4000, MOST_ROWS = 8, STRANGE_MAX = 24, STRANGE_TEXT = 160 };

struct answer {
    const struct pp_report *r;
    const char *file; /* as it was named to us */
    struct pp_json j;
    size_t rows; /* of each list, at most */
    const char *strange[STRANGE_MAX];
    size_t n_strange;
};

/* ---- words ---- */

static void write_number(struct answer *a, const char *key, double v)
{
    char text[32];
    pp_json_key(&a->j, key);
    if (isnan(v))
        pp_json_null(&a->j);
    else
        pp_json_num(&a->j, strtod((snprintf(text, sizeof(text), "%.4g", v), text), NULL));
}

/* A reference to what is not ours: "@u3". */
static void write_strange(struct answer *a, const char *key, const char *text)
{
    char ref[24];
    if (text && a->n_strange < STRANGE_MAX)
        a->strange[a->n_strange++] = text;
    snprintf(ref, sizeof(ref), "@u%zu", a->n_strange);
    pp_json_put_str(&a->j, key, text && a->n_strange ? ref : NULL);
}

static void write_untrusted(struct answer *a)
{
    pp_json_put_object(&a->j, "untrusted");
    for (size_t i = 0; i < a->n_strange; i++) {
        char key[24], text[STRANGE_TEXT], *plain = pp_text_plain(a->strange[i]);
        snprintf(key, sizeof(key), "u%zu", i + 1);
        snprintf(text, sizeof(text), "%s", plain ? plain : "");
        pp_json_put_str(&a->j, key, text);
        free(plain);
    }
    pp_json_object_end(&a->j);
}

/* "num_workers=8 pin_memory=True" as an object. */
static void write_set(struct answer *a, const char *set)
{
    char key[64], value[64], *end;
    pp_json_put_object(&a->j, "set");
    for (const char *p = set; p && sscanf(p, "%63[^= ]=%63[^ ]", key, value) == 2; p += *p == ' ') {
        double number = strtod(value, &end);
        pp_json_key(&a->j, key);
        if (strcmp(value, "True") == 0 || strcmp(value, "False") == 0)
            pp_json_bool(&a->j, value[0] == 'T');
        else if (*end == '\0')
            pp_json_num(&a->j, number);
        else
            pp_json_str(&a->j, value);
        p += strcspn(p, " ");
    }
    pp_json_object_end(&a->j);
}

/* ---- parts ---- */

/* A recording may say anything; this is one of four words. */
static const char *outcome_of(const struct pp_report *r)
{
    static const char *const known[] = {"finished", "failed", "interrupted"};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (r->outcome && strcmp(r->outcome, known[i]) == 0)
            return known[i];
    return "unfinished";
}

static void write_recording(struct answer *a)
{
    const struct pp_report *r = a->r;
    pp_json_put_object(&a->j, "recording");
    write_strange(a, "id", r->session);
    write_strange(a, "subject", r->subject);
    pp_json_put_str(&a->j, "outcome", outcome_of(r));
    write_number(a, "steady_s", r->window_s);
    write_number(a, "batches", (double)r->window_batches);
    pp_json_object_end(&a->j);
}

static void write_verdict(struct answer *a)
{
    const struct pp_report *r = a->r;
    const struct pp_report_verdict *v = &r->verdict;
    double best = r->samples_per_s;
    for (size_t i = 0; i < v->n_path; i++)
        best = fmax(best, v->path[i].samples_per_s);
    pp_json_put_str(&a->j, "state", v->l0);
    pp_json_put_str(&a->j, "level", v->level);
    pp_json_put_str(&a->j, "class", v->l1);
    pp_json_put_str(&a->j, "cause", v->l2);
    write_number(a, "confidence", v->confidence);
    write_number(a, "explained", v->explained);
    write_number(a, "stall_share", v->exposed_share);
    pp_json_put_object(&a->j, "samples_per_s");
    write_number(a, "now", r->samples_per_s);
    write_number(a, "without_stalls", r->headroom_samples_per_s);
    write_number(a, "best_by_settings", best);
    pp_json_object_end(&a->j);
}

static void trust(struct answer *a, const char *code, double value, double limit)
{
    pp_json_object(&a->j);
    pp_json_put_str(&a->j, "code", code);
    write_number(a, "value", value);
    write_number(a, "limit", limit);
    pp_json_object_end(&a->j);
}

#define FEW_BATCHES 30      /* an interval of a mean of fewer is wide */
#define MOST_REPLAY_OFF 0.1 /* its predictions are as far off */

/* What makes the answer weaker than its numbers say. */
static void write_trust(struct answer *a)
{
    const struct pp_report *r = a->r;
    double lost = 0;
    size_t used = 0;
    for (size_t i = 0; i < r->n_losses; i++)
        lost += (double)r->losses[i].count;
    for (size_t i = 0; i < r->n_loaders; i++)
        used += r->loaders[i].batches > 0;
    pp_json_put_array(&a->j, "trust");
    if (strcmp(outcome_of(r), "finished") != 0)
        trust(a, "not-finished", r->exit_status, 0);
    if (r->window_batches < FEW_BATCHES)
        trust(a, "few-batches", (double)r->window_batches, FEW_BATCHES);
    if (!r->has_steady_state)
        trust(a, "no-steady-state", 0, 1);
    if (lost > 0)
        trust(a, "lost-spans", lost, 0);
    if (fabs(r->verdict.replay_error) > MOST_REPLAY_OFF)
        trust(a, "replay-off", r->verdict.replay_error, MOST_REPLAY_OFF);
    if (used > 1)
        trust(a, "other-loaders", (double)used - 1, 0);
    pp_json_array_end(&a->j);
    pp_json_put_str(&a->j, "doubt", r->verdict.doubt);
}

/* The loader that the changes are about. */
static const struct pp_report_loader *judged(const struct pp_report *r)
{
    for (size_t i = 0; i < r->n_loaders; i++)
        if (r->loaders[i].judged || r->n_loaders == 1)
            return &r->loaders[i];
    return NULL;
}

static void write_loader(struct answer *a)
{
    const struct pp_report_loader *l = judged(a->r);
    unsigned line, end, column, end_column;
    pp_json_key(&a->j, "loader");
    if (!l) {
        pp_json_null(&a->j);
        return;
    }
    pp_json_object(&a->j);
    write_strange(a, "id", l->row);
    write_strange(a, "place", l->place);
    write_strange(a, "variable", l->name);
    if (l->source && sscanf(l->source, "%u %u %u %u", &line, &end, &column, &end_column) == 4) {
        write_number(a, "line", line);
        write_number(a, "end_line", end);
    }
    pp_json_put_object(&a->j, "as_made");
    write_number(a, "num_workers", l->num_workers);
    write_number(a, "batch_size", l->batch_size);
    write_number(a, "prefetch_factor", l->prefetch_factor);
    write_number(a, "pin_memory", l->pin_memory);
    write_number(a, "persistent_workers", l->persistent_workers);
    write_number(a, "in_order", l->in_order);
    pp_json_object_end(&a->j);
    pp_json_object_end(&a->j);
}

static void write_gain(struct answer *a, double gain, double low, double high, double rate)
{
    write_number(a, "gain", gain);
    write_number(a, "low", low);
    write_number(a, "high", high);
    write_number(a, "samples_per_s", rate);
}

static void write_changes(struct answer *a)
{
    static const char *const advices[] = {"do", "measure", "no"}, *const kinds[] = {"setting", "work",
                                                                                    "amount"};
    const struct pp_report_verdict *v = &a->r->verdict;
    const struct pp_report_loader *l = judged(a->r);
    pp_json_put_array(&a->j, "changes");
    for (size_t i = 0; i < v->n_fixes && i < a->rows; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        char id[24];
        snprintf(id, sizeof(id), "c%zu", i + 1);
        pp_json_object(&a->j);
        pp_json_put_str(&a->j, "id", id);
        pp_json_put_str(&a->j, "kind", kinds[f->effort >= 0 && f->effort <= 2 ? f->effort : 1]);
        write_set(a, f->set);
        write_gain(a, f->gain, f->low, f->high, f->samples_per_s);
        pp_json_put_str(&a->j, "advice", advices[f->advice]);
        pp_json_put_str(&a->j, "assumes", f->assumes);
        pp_json_put_bool(&a->j, "patchable", f->is_argument && f->advice != PP_ADVICE_NO && l && l->source);
        pp_json_object_end(&a->j);
    }
    pp_json_array_end(&a->j);
    write_number(a, "changes_in_all", (double)v->n_fixes);
    pp_json_put_array(&a->j, "path");
    for (size_t i = 0; i < v->n_path; i++) {
        pp_json_object(&a->j);
        write_set(a, v->path[i].set);
        write_gain(a, v->path[i].gain, v->path[i].low, v->path[i].high, v->path[i].samples_per_s);
        pp_json_object_end(&a->j);
    }
    pp_json_array_end(&a->j);
}

/* Why there is nothing to set; NULL: there is. */
static const char *stop_of(const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    if (!v->l0 || (strcmp(v->l0, "inconclusive") == 0 && !v->ceiling))
        return "record-again";
    for (size_t i = 0; i < v->n_fixes; i++)
        if (v->fixes[i].is_argument && v->fixes[i].advice != PP_ADVICE_NO)
            return strcmp(v->l0, "not-input-bound") == 0 ? "not-input-bound" : NULL;
    return strcmp(v->l0, "not-input-bound") == 0 ? "not-input-bound" : "no-setting-helps";
}

static void write_evidence(struct answer *a)
{
    const struct pp_report_verdict *v = &a->r->verdict;
    pp_json_put_array(&a->j, "evidence");
    for (size_t i = 0; i < v->evidences && i < a->rows; i++) {
        const struct pp_report_evidence *e = &v->evidence[i];
        pp_json_object(&a->j);
        pp_json_put_str(&a->j, "code", e->code);
        write_number(a, "value", e->amount);
        if (e->compare) {
            pp_json_put_str(&a->j, "op", e->compare);
            write_number(a, "limit", e->limit);
        }
        write_number(a, "supports", e->supports);
        pp_json_object_end(&a->j);
    }
    pp_json_array_end(&a->j);
}

/* Change c1, where it is advised. */
static const struct pp_report_fix *first_to_do(const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    return v->n_fixes && v->fixes[0].advice == PP_ADVICE_DO ? &v->fixes[0] : NULL;
}

/* What another measurement would have to show for this answer to be wrong. */
static void write_refuted(struct answer *a)
{
    const struct pp_report_verdict *v = &a->r->verdict;
    const struct pp_report_fix *f = first_to_do(a->r);
    pp_json_put_array(&a->j, "refuted_if");
    if (f && f->low > 0) {
        pp_json_object(&a->j);
        pp_json_put_str(&a->j, "by", "verify");
        pp_json_put_str(&a->j, "change", "c1");
        pp_json_put_str(&a->j, "code", "gain");
        pp_json_put_str(&a->j, "op", "<");
        write_number(a, "value", f->low);
        pp_json_object_end(&a->j);
    }
    for (size_t i = 0; i < v->evidences && i < a->rows; i++)
        if (v->evidence[i].supports > 0 && v->evidence[i].compare) {
            const char *was = v->evidence[i].compare;
            pp_json_object(&a->j);
            pp_json_put_str(&a->j, "by", "record");
            pp_json_put_str(&a->j, "code", v->evidence[i].code);
            pp_json_put_str(&a->j, "op", strcmp(was, ">=") == 0 ? "<" : strcmp(was, "<") == 0 ? ">=" : ">");
            write_number(a, "value", v->evidence[i].limit);
            pp_json_object_end(&a->j);
        }
    pp_json_array_end(&a->j);
}

/* A command that runs as it is. */
static void next(struct answer *a, const char *why, const char *const *words)
{
    pp_json_object(&a->j);
    pp_json_put_str(&a->j, "why", why);
    pp_json_put_array(&a->j, "argv");
    for (; *words; words++)
        pp_json_str(&a->j, *words);
    pp_json_array_end(&a->j);
    pp_json_put_bool(&a->j, "starts_job", 0);
    pp_json_put_array(&a->j, "writes");
    pp_json_array_end(&a->j);
    pp_json_object_end(&a->j);
}

static void write_next(struct answer *a)
{
    const struct pp_report_verdict *v = &a->r->verdict;
    const struct pp_report_fix *f = first_to_do(a->r);
    const struct pp_report_loader *l = judged(a->r);
    char code[96];
    pp_json_put_array(&a->j, "next");
    if (f && f->is_argument && l && l->source)
        next(a, "show the change as a diff",
             (const char *const[]){"pipeprobe", "patch", a->file, "--change", "c1", NULL});
    if (v->l1 && v->l2 && strcmp(v->l0 ? v->l0 : "", "inconclusive") != 0) {
        snprintf(code, sizeof(code), "%s/%s", v->l1, v->l2);
        next(a, "what the cause means, and what refutes it",
             (const char *const[]){"pipeprobe", "explain", code, NULL});
    }
    if (v->n_fixes)
        next(a, "what every change gains", (const char *const[]){"pipeprobe", "whatif", a->file, NULL});
    next(a, "all evidence", (const char *const[]){"pipeprobe", "report", a->file, "--json", NULL});
    pp_json_array_end(&a->j);
}

/* ---- the document ---- */

/* With as many rows as fit. */
int pp_render_answer(const struct pp_report *r, const char *file, FILE *out)
{
    struct answer a = {.r = r, .file = file};
    int failed = -1;
    for (a.rows = MOST_ROWS;; a.rows--) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = open_memstream(&text, &size);
        if (!memory)
            return -1;
        a.n_strange = 0;
        pp_json_begin(&a.j, memory, 0);
        pp_json_object(&a.j);
        pp_json_put_str(&a.j, "schema", "pipeprobe.answer/1");
        pp_json_put_str(&a.j, "pipeprobe", PP_VERSION);
        write_recording(&a);
        write_verdict(&a);
        write_trust(&a);
        write_loader(&a);
        write_changes(&a);
        pp_json_put_str(&a.j, "stop", stop_of(a.r));
        write_evidence(&a);
        write_refuted(&a);
        write_next(&a);
        write_untrusted(&a);
        pp_json_object_end(&a.j);
        failed = pp_json_end(&a.j);
        failed |= fclose(memory) != 0;
        if (failed == 0 && (size <= MOST_BYTES || a.rows == 1)) {
            failed = fwrite(text, 1, size, out) == size ? 0 : -1;
            free(text);
            return failed;
        }
        free(text);
        if (failed)
            return -1;
    }
}
