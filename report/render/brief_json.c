/* The answer of a report for a program: schema pipeprobe.answer/1 (docs/reference/answer.md). What a
 * recording says in words of its own stands under "untrusted" and nowhere else; the rest is ours: codes,
 * numbers, and names of a table. */
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/model/fields.h"
#include "report/render/render.h"

enum { MOST_BYTES = 4000, MOST_ROWS = 8, STRANGE_MAX = 24, STRANGE_TEXT = 160 };

struct answer {
    const struct pp_report *r;
    const char *file;                      /* as it was named to us */
    const struct pp_report_loader *loader; /* that the changes are about; NULL: none */
    const struct pp_report_fix *first;     /* change c1, where it is advised */
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

#define FEW_BATCHES 30      /* an interval of a mean of fewer is wide */
#define MOST_REPLAY_OFF 0.1 /* its predictions are as far off */

static void write_verdict(struct answer *a)
{
    const struct pp_report *r = a->r;
    const struct pp_report_verdict *v = &r->verdict;
    static const char *const known[] = {"finished", "failed", "interrupted"};
    const char *outcome = "unfinished"; /* a recording may say anything; this is one of four words */
    double best = r->samples_per_s, lost = 0;
    size_t used = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        outcome = r->outcome && strcmp(r->outcome, known[i]) == 0 ? known[i] : outcome;
    pp_json_put_object(&a->j, "recording");
    write_strange(a, "id", r->session);
    write_strange(a, "subject", r->subject);
    pp_json_put_str(&a->j, "outcome", outcome);
    write_number(a, "steady_s", r->window_s);
    write_number(a, "batches", (double)r->window_batches);
    pp_json_object_end(&a->j);
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
    /* What makes the answer weaker than its numbers say. */
    for (size_t i = 0; i < r->n_losses; i++)
        lost += (double)r->losses[i].count;
    for (size_t i = 0; i < r->n_loaders; i++)
        used += r->loaders[i].batches > 0;
    const struct {
        const char *code;
        int holds;
        double value, limit;
    } trust[] = {
        {"not-finished", strcmp(outcome, "finished") != 0, r->exit_status, 0},
        {"few-batches", r->window_batches < FEW_BATCHES, (double)r->window_batches, FEW_BATCHES},
        {"no-steady-state", !r->has_steady_state, 0, 1},
        {"lost-spans", lost > 0, lost, 0},
        {"replay-off", fabs(v->replay_error) > MOST_REPLAY_OFF, v->replay_error, MOST_REPLAY_OFF},
        {"other-loaders", used > 1, (double)used - 1, 0},
    };
    pp_json_put_array(&a->j, "trust");
    for (size_t i = 0; i < sizeof(trust) / sizeof(*trust); i++)
        if (trust[i].holds) {
            pp_json_object(&a->j);
            pp_json_put_str(&a->j, "code", trust[i].code);
            write_number(a, "value", trust[i].value);
            write_number(a, "limit", trust[i].limit);
            pp_json_object_end(&a->j);
        }
    pp_json_array_end(&a->j);
    pp_json_put_str(&a->j, "doubt", v->doubt);
}

static void write_loader(struct answer *a)
{
    const struct pp_report_loader *l = a->loader;
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
    const struct pp_report_loader *l = a->loader;
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
    int settings = 0;
    for (size_t i = 0; i < v->n_fixes; i++)
        settings |= v->fixes[i].is_argument && v->fixes[i].advice != PP_ADVICE_NO;
    /* Why there is nothing to set; null: there is. */
    pp_json_put_str(&a->j, "stop",
                    !v->l0 || (strcmp(v->l0, "inconclusive") == 0 && !v->ceiling) ? "record-again"
                    : strcmp(v->l0, "not-input-bound") == 0                       ? "not-input-bound"
                    : settings                                                    ? NULL
                                                                                  : "no-setting-helps");
}

/* What the answer rests on, and what another measurement would have to show for it to be wrong. */
static void write_evidence(struct answer *a)
{
    const struct pp_report_verdict *v = &a->r->verdict;
    const struct pp_report_fix *f = a->first;
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
    const struct pp_report_loader *l = a->loader;
    char code[96];
    size_t first = 0; /* argument that is advised, or worth a measurement */
    while (first < v->n_fixes && !(v->fixes[first].is_argument && v->fixes[first].advice != PP_ADVICE_NO))
        first++;
    pp_json_put_array(&a->j, "next");
    if (first < v->n_fixes && l && l->source) {
        snprintf(code, sizeof(code), "c%zu", first + 1);
        next(a, "show the change as a diff; pipeprobe verify then measures it",
             (const char *const[]){"pipeprobe", "patch", a->file, "--change", code, NULL});
    }
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
    const struct pp_report_verdict *v = &r->verdict;
    struct answer a = {.r = r, .file = file};
    int failed = -1;
    a.first = v->n_fixes && v->fixes[0].advice == PP_ADVICE_DO ? &v->fixes[0] : NULL;
    for (size_t i = 0; i < r->n_loaders && !a.loader; i++)
        a.loader = r->loaders[i].judged || r->n_loaders == 1 ? &r->loaders[i] : NULL;
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
        write_verdict(&a);
        write_loader(&a);
        write_changes(&a);
        write_evidence(&a);
        write_next(&a);
        pp_json_put_object(&a.j, "untrusted");
        for (size_t i = 0; i < a.n_strange; i++) {
            char key[24], strange[STRANGE_TEXT], *plain = pp_text_plain(a.strange[i]);
            snprintf(key, sizeof(key), "u%zu", i + 1);
            snprintf(strange, sizeof(strange), "%s", plain ? plain : "");
            pp_json_put_str(&a.j, key, strange);
            free(plain);
        }
        pp_json_object_end(&a.j);
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

/* The document for programs: JSON, and CSV in long form, one number or text per row:
 * section,item,field,value. docs/report.schema.json and docs/reference/report-formats.md describe them; both
 * follow from the table of fields. CSV's quoting is RFC 4180's. A text that a spreadsheet would take for a
 * formula gets an apostrophe before it: file names are not ours. */

int pp_render_json(const struct pp_report *r, FILE *out)
{
    return pp_fields_json(pp_report_fields, r, out);
}

/* Which part of the document is a section, in the order of the file, and how one row of it is called: {key}
 * is the row's field of that key, which then is no row of the file itself; {#} is the row's number. A
 * separator before an empty field is left out. */
static const struct csv_section {
    const char *name, *path, *item;
} sections[] = {
    {"run", "", NULL},
    {"window", "window", NULL},
    {"verdict", "verdict", NULL},
    {"fixes", "verdict.fixes", "{knob}={to}"},
    {"ruled_out", "verdict.ruled_out", ""},
    {"evidence", "verdict.evidence", "{name}"},
    {"findings", "findings", "{kind}"},
    {"proof", "proof", "{kind}/{change}={value}"},
    {"phases", "phases", "{lane}/{phase}"},
    {"workers", "workers", "{name}"},
    {"queues", "queues", "{name}"},
    {"errors", "errors", "{kind}/{action}"},
    {"losses", "losses", NULL},
    {"losses", "losses.items", "{what}"},
    {"overhead", "overhead", NULL},
    {"pytorch", "pytorch", NULL},
    {"gpu", "gpu", NULL},
    {"decode", "decode", NULL},
    {"decode", "decode.differences", "{sampling}"},
    {"slices", "series.slices", "{#}"},
    {"environment", "environment", NULL},
    {"config", "config", NULL},
    {"config_notes", "config_notes", NULL},
};

struct csv {
    FILE *out;
    const struct csv_section *section;
    const struct pp_report *report;
};

static void put_quoted(FILE *out, const char *text)
{
    if (!text)
        return;
    fputs(pp_text_is_formula(text) ? "\"'" : "\"", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* What is not known is an empty value. */
static void put_row(const struct csv *c, const char *item, const char *field, const struct pp_value *v)
{
    struct pp_json j;
    fprintf(c->out, "%s,", c->section->name);
    put_quoted(c->out, item);
    fprintf(c->out, ",%s,", field);
    pp_json_begin(&j, c->out, 0);
    switch (v->kind) {
    case PP_VALUE_NULL: break;
    case PP_VALUE_TEXT: put_quoted(c->out, v->text); break;
    case PP_VALUE_NUMBER:
        if (isfinite(v->number))
            pp_json_num(&j, v->number);
        break;
    case PP_VALUE_UINT: pp_json_uint(&j, v->uint); break;
    case PP_VALUE_INT: pp_json_int(&j, v->integer); break;
    case PP_VALUE_BOOL: pp_json_bool(&j, v->integer); break;
    }
    fputs("\r\n", c->out);
}

/* The name of a row: into buf, or the one text that it is. */
static const char *item_of(const struct csv *c, const struct pp_field *fields, const char *row, size_t i,
                           char *buf, size_t size)
{
    const char *form = c->section->item;
    char key[32], separator[2] = "";
    size_t n = 0;
    buf[0] = '\0';
    while (*form) {
        if (*form != '{') {
            separator[0] = *form++;
            continue;
        }
        size_t length = strcspn(++form, "}");
        snprintf(key, sizeof(key), "%.*s", (int)length, form);
        form += length + 1;
        if (strcmp(key, "#") == 0) {
            snprintf(buf, size, "%zu", i);
            return buf;
        }
        struct pp_value v = pp_field_value(pp_fields_key(fields, key), row, c->report);
        if (!*form && n == 0)
            return v.text;
        const char *text = v.text ? v.text : "?";
        n += (size_t)snprintf(buf + n, size - n, "%s%s", *text ? separator : "", text);
        if (n >= size)
            n = size - 1;
    }
    return buf;
}

static void put_map(const struct csv *c, const char *item, const struct pp_field *f, const void *in)
{
    const char *row;
    size_t n = pp_field_rows(f, in, c->report, &row);
    for (; n-- > 0; row += f->stride) {
        struct pp_value key = pp_field_value(&f->fields[0], row, c->report),
                        v = pp_field_value(&f->fields[1], row, c->report);
        if (v.kind == PP_VALUE_NULL && f->flags & PP_FIELD_SKIP_NULL)
            continue;
        put_row(c, item ? item : key.text, item ? key.text : "value", &v);
    }
}

/* The fields of one object or row. What lies deeper and is no section of its own stands under its key. */
static void put_fields(const struct csv *c, const char *item, const struct pp_field *fields, const void *row)
{
    for (const struct pp_field *f = fields; f->type != PP_FIELD_END; f++) {
        const char *at = c->section->item ? strstr(c->section->item, f->key) : NULL;
        if (pp_field_is_scalar(f) && !(at && at[-1] == '{' && at[strlen(f->key)] == '}')) {
            struct pp_value v = pp_field_value(f, row, c->report);
            put_row(c, item, f->key, &v);
        } else if (f->type == PP_FIELD_OBJECT && c->section->path[0]) {
            put_fields(c, f->key, f->fields, pp_field_object(f, row));
        } else if (f->type == PP_FIELD_MAP && c->section->item) {
            put_map(c, item, f, row);
        }
    }
}

int pp_render_csv(const struct pp_report *r, FILE *out)
{
    static const struct csv_section run = {"run", "", NULL};
    static const struct pp_value null_value = {.kind = PP_VALUE_NULL};
    struct csv c = {.out = out, .report = r};
    const char *row;
    char item[256];
    fputs("section,item,field,value\r\n", out);
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        const void *in = r;
        const struct pp_field *f = pp_fields_find(pp_report_fields, sections[i].path, &in);
        const void *object = in && f && f->type == PP_FIELD_OBJECT ? pp_field_object(f, in) : NULL;
        c.section = &sections[i];
        if (!in) /* rows of an object that the run has none of */
            continue;
        if (!f) {
            put_fields(&c, "", pp_report_fields, in);
        } else if (object) {
            put_fields(&c, "", f->fields, object);
        } else if (f->type == PP_FIELD_OBJECT) { /* the run has none */
            c.section = &run;
            put_row(&c, "", f->key, &null_value);
        } else if (f->type == PP_FIELD_MAP) {
            put_map(&c, NULL, f, in);
        } else {
            size_t n = pp_field_rows(f, in, r, &row);
            for (size_t k = 0; k < n; k++, row += f->stride)
                put_fields(&c, item_of(&c, f->fields, row, k, item, sizeof(item)), f->fields, row);
        }
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
