/* Rows and cells of the tables that sections.c declares, and their printers for text and Markdown. */
#include "report/render/sections.h"

#include "probe/base/text.h"

enum { CELL = 64, MOST_COLUMNS = 16, LONGEST = 300 };

/* ---- rows and cells ---- */

static struct pp_section_rows rows_in(const struct pp_section *s, const struct pp_report *r,
                                      const struct pp_field *rows, const void *in, const char *path)
{
    struct pp_section_rows out = {.section = s, .report = r, .path = path, .fields = rows->fields};
    out.n = pp_field_rows(rows, in, r, &out.first);
    out.stride = rows->stride;
    return out;
}

struct pp_section_rows pp_section_rows(const struct pp_section *s, const struct pp_report *r,
                                       const char *path)
{
    const void *in = r;
    const struct pp_field *rows = pp_fields_find(pp_report_fields, path, &in);
    return rows_in(s, r, rows, in, path);
}

struct pp_section_rows pp_section_rows_below(const struct pp_section *s, const struct pp_report *r,
                                             const char *path, size_t k, const char *key, char buf[64])
{
    struct pp_section_rows above = pp_section_rows(s, r, path);
    snprintf(buf, 64, "%s.%zu.%s", path, k, key);
    return rows_in(s, r, pp_fields_key(above.fields, key), above.first + k * above.stride, buf);
}

size_t pp_section_next(const struct pp_section_rows *rows, enum pp_printer in, size_t at)
{
    const struct pp_section *s = rows->section;
    for (size_t i = at == PP_NO_ROW ? 0 : at + 1; i < rows->n; i++)
        if (!s->shows || s->shows(rows->report, rows->first + i * rows->stride, in))
            return i;
    return PP_NO_ROW;
}

int pp_section_part(const struct pp_section_column *c, const struct pp_field *fields, size_t *at,
                    const struct pp_field **field, char *buf, size_t size)
{
    const char *from = c->form + *at;
    int key_alone = !strchr(c->form, '{'), is_key = key_alone || *from == '{';
    size_t n = key_alone ? strlen(from) : strcspn(from + is_key, is_key ? "}" : "{");
    *field = NULL;
    if (!*from)
        return 0;
    snprintf(buf, size, "%.*s", (int)n, from + (is_key && !key_alone));
    *at += n + (is_key && !key_alone ? 2 : 0);
    if (is_key)
        *field = pp_fields_key(fields, buf);
    return 1;
}

struct pp_value pp_section_value(const struct pp_section_rows *rows, const struct pp_section_column *c,
                                 const void *row, const struct pp_field **field)
{
    if (!(c->flags & PP_CELL_OF_LINE))
        return pp_field_value(*field, row, rows->report);
    const struct pp_gpu_line *line = row;
    *field = line->field;
    return line->value;
}

/* The texts of a cell, one after the other; is_stranger: from the recording. */
static void put_cell(const struct pp_section_rows *rows, const struct pp_section_column *c, const void *row,
                     void (*put)(void *ctx, const char *text, int is_stranger), void *ctx)
{
    char part[CELL], between[CELL] = "", number[CELL];
    const struct pp_field *f;
    int known = 1;
    for (size_t at = 0; pp_section_part(c, rows->fields, &at, &f, part, sizeof(part));) {
        if (!f) {
            memcpy(between, part, sizeof(between));
            continue;
        }
        struct pp_value v = pp_section_value(rows, c, row, &f);
        int is_null = v.kind == PP_VALUE_NULL;
        if (known && !is_null)
            put(ctx, between, 0);
        if (!is_null)
            put(ctx,
                v.kind == PP_VALUE_TEXT ? v.text
                : v.kind == PP_VALUE_BOOL
                    ? (v.integer ? "yes" : "no")
                    : pp_unit_text(f->unit, pp_value_as_number(&v), number, sizeof(number)),
                v.kind == PP_VALUE_TEXT);
        between[0] = '\0';
        known = !is_null;
    }
    put(ctx, between, 0);
}

int pp_section_is_null(const struct pp_section_rows *rows, const struct pp_section_column *c, const void *row)
{
    const struct pp_field *f = pp_fields_key(rows->fields, c->form);
    return pp_section_value(rows, c, row, &f).kind == PP_VALUE_NULL;
}

/* ---- the GPU ---- */

static void add_gpu_lines(const struct pp_report_gpu *g, const struct pp_field *fields, const char *path,
                          struct pp_gpu_line line[PP_GPU_LINES], size_t *n)
{
    for (const struct pp_field *f = fields; f->type != PP_FIELD_END; f++)
        if (f->type == PP_FIELD_OBJECT)
            add_gpu_lines(g, f->fields, "gpu.idle.", line, n);
        else if (f->name && *n < PP_GPU_LINES &&
                 !(strncmp(f->key, "nvml_", 5) == 0 ? g->counters_missing : g->not_measured))
            line[(*n)++] = (struct pp_gpu_line){f, path, pp_field_value(f, g, NULL)};
}

size_t pp_gpu_lines(const struct pp_report_gpu *g, struct pp_gpu_line line[PP_GPU_LINES])
{
    size_t n = 0;
    add_gpu_lines(g, pp_fields_key(pp_report_fields, "gpu")->fields, "gpu.", line, &n);
    return n;
}

PP_VALUE_OF(line_name, struct pp_gpu_line, pp_value_text(r->field->name))
PP_VALUE_OF(line_value, struct pp_gpu_line, r->value)

struct pp_section_rows pp_section_gpu_rows(const struct pp_report *r, struct pp_gpu_line line[PP_GPU_LINES])
{
    static const struct pp_field fields[] = {{.key = "name", .type = PP_FIELD_TEXT, .get = line_name},
                                             {.key = "value", .type = PP_FIELD_NUMBER, .get = line_value},
                                             PP_FIELDS_END};
    return (struct pp_section_rows){.section = &pp_section_gpu,
                                    .report = r,
                                    .fields = fields,
                                    .first = (const char *)line,
                                    .n = pp_gpu_lines(r->gpu, line),
                                    .stride = sizeof(*line),
                                    .path = "gpu"};
}

/* ---- text ---- */

static void append_text(void *buf, const char *text, int is_stranger)
{
    pp_text_add(buf, PP_CELL_TEXT, "%s", text);
}

/* A cell's text; in buf, or as it lies in the report. */
static const char *text_cell(const struct pp_section_rows *rows, const struct pp_section_column *c,
                             const void *row, char buf[PP_CELL_TEXT])
{
    if (c->words)
        return c->words(row, PP_IN_TEXT, buf);
    buf[0] = '\0';
    if (c->flags & PP_CELL_BAR) {
        enum { LENGTH = 16 };
        struct pp_value v = pp_field_value(pp_fields_key(rows->fields, c->form), row, rows->report);
        double share = pp_value_as_number(&v);
        int full = isnan(share) ? 0 : (int)(fmin(fmax(share, 0), 1) * LENGTH + 0.5);
        snprintf(buf, PP_CELL_TEXT, "  %.*s%.*s", full, "################", LENGTH - full,
                 "................");
    } else {
        put_cell(rows, c, row, append_text, buf);
    }
    return buf;
}

/* A cell has no room: a first one would be cut, another would touch the next. */
static int runs_on(const int *width, const char *const *cell, int n)
{
    int does = 0;
    for (int i = 0; i + 1 < n; i++) {
        int over = pp_page_width(cell[i], strlen(cell[i])) + width[i],
            next = pp_page_width(cell[i + 1], strlen(cell[i + 1]));
        does |= width[i] < 0 &&
                ((i == 0 && over > 0) || (over >= 0 && next > 0 &&
                                          (width[i + 1] < 0 ? cell[i + 1][0] != ' ' : next >= width[i + 1])));
    }
    return does;
}

/* One line; row NULL: the heads. The first column stands two to the right. */
static void text_row(const struct pp_page *p, const struct pp_section_rows *rows, const struct pp_section *s,
                     const void *row)
{
    char text[MOST_COLUMNS][CELL + 2], words[PP_CELL_TEXT];
    const char *cell[MOST_COLUMNS];
    const struct pp_section_column *wrapped = NULL;
    int width[MOST_COLUMNS], n = 0, used = 0, all = 0, least = 0;
    for (size_t i = 0; i < s->n_columns; i++) {
        const struct pp_section_column *c = &s->columns[i];
        if (!c->head[PP_IN_TEXT] || c->flags & PP_CELL_BELOW)
            continue;
        if (c->flags & PP_CELL_WRAP) {
            wrapped = c;
            continue;
        }
        /* a last column that begins at the left may be longer than it says, and is often empty */
        least = c->width < 0 && !(c->flags & PP_CELL_BAR) ? all : all + abs(c->width);
        all += abs(c->width);
        snprintf(text[n], sizeof(text[n]), "%s%s", n == 0 ? "  " : "",
                 row ? text_cell(rows, c, row, words) : c->head[PP_IN_TEXT]);
        used += fmax(abs(c->width), pp_page_width(text[n], strlen(text[n])));
        cell[n] = text[n];
        width[n++] = c->width;
    }
    int narrow = (row && !wrapped && (runs_on(width, cell, n) || used > p->columns)) || least > p->columns;
    if (!narrow)
        pp_page_row(p, row ? PP_TONE_PLAIN : PP_TONE_STRONG, width, cell, n, wrapped ? wrapped->width : 0,
                    wrapped ? text_cell(rows, wrapped, row, words) : "");
    if (!narrow || !row)
        return;
    /* On a page too narrow for the columns, where a terminal would break numbers in two: the row as a
     * sentence, each value behind its head. */
    char line[2 * PP_CELL_TEXT] = "", lead[PP_CELL_TEXT + 4] = "  ";
    words[0] = '\0';
    for (size_t i = 0, said = 0; i < s->n_columns; i++) {
        const struct pp_section_column *c = &s->columns[i];
        if (!c->head[PP_IN_TEXT] || c->flags & (PP_CELL_BELOW | PP_CELL_BAR))
            continue;
        const char *value = text_cell(rows, c, row, words), *head = c->head[PP_IN_TEXT];
        value += strspn(words, " ");
        if (said++ == 0 && strlen(value) < (size_t)p->columns / 2)
            snprintf(lead, sizeof(lead), "  %s%s", value, value[0] ? " " : "");
        else if (value[0])
            pp_text_add(line, sizeof(line), "%s%s%s%s", line[0] ? ", " : "", said > 1 ? head : "",
                        said > 1 && head[0] ? " " : "", value);
    }
    pp_page_text(p, PP_TONE_PLAIN, lead, 4, 0, line);
}

void pp_section_text_heads(const struct pp_page *p, const struct pp_section *s)
{
    int any = 0;
    if (s->title[PP_IN_TEXT])
        pp_page_heading(p, s->title[PP_IN_TEXT]);
    for (size_t i = 0; i < s->n_columns; i++)
        any |= s->columns[i].head[PP_IN_TEXT] && s->columns[i].head[PP_IN_TEXT][0];
    if (any)
        text_row(p, NULL, s, NULL);
}

void pp_section_text_row(const struct pp_page *p, const struct pp_section_rows *rows, const void *row)
{
    const struct pp_section *s = rows->section;
    char words[PP_CELL_TEXT], path[CELL], lead[CELL];
    text_row(p, rows, s, row);
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].flags & PP_CELL_BELOW && s->columns[i].head[PP_IN_TEXT]) {
            const char *text = text_cell(rows, &s->columns[i], row, words);
            const char *head = s->columns[i].head[PP_IN_TEXT];
            snprintf(lead, sizeof(lead), "%*s%s%s", s->columns[i].width, "", head, head[0] ? " " : "");
            if (text[0])
                pp_page_text(p, PP_TONE_PLAIN, lead, s->columns[i].width, 0, text);
        }
    if (s->below) {
        size_t k = (size_t)((const char *)row - rows->first) / rows->stride;
        struct pp_section_rows below = pp_section_rows_below(s->below, rows->report, rows->path, k,
                                                             s->below_key, path);
        for (size_t i = 1; i < below.n; i++)
            text_row(p, &below, s->below, below.first + i * below.stride);
    }
}

void pp_section_text(const struct pp_page *p, const struct pp_section_rows *rows)
{
    const struct pp_section *s = rows->section;
    int joined = s->layout[PP_IN_TEXT] == PP_JOINED, any = 0;
    char line[PP_CELL_TEXT], words[PP_CELL_TEXT];
    size_t n = 0;
    for (size_t i = PP_NO_ROW; (i = pp_section_next(rows, PP_IN_TEXT, i)) != PP_NO_ROW;) {
        const void *row = rows->first + i * rows->stride;
        if (!any++)
            pp_section_text_heads(p, s);
        if (joined) {
            snprintf(line + n, sizeof(line) - n, "%s%s", n ? ", " : "",
                     text_cell(rows, &s->columns[0], row, words));
            n += strlen(line + n);
        } else {
            pp_section_text_row(p, rows, row);
        }
    }
    if (joined && any)
        pp_page_text(p, PP_TONE_PLAIN, s->lead, (int)strlen(s->lead), 0, line);
}

/* ---- Markdown ---- */

void pp_md_text(FILE *out, const char *text)
{
    int n = 0;
    for (const unsigned char *s = (const unsigned char *)text; s && *s && n < LONGEST; s++, n++) {
        if (*s < 0x20 || *s == 0x7f)
            fputc(' ', out);
        else if (*s == '<')
            fputs("&lt;", out);
        else if (*s == '>')
            fputs("&gt;", out);
        else if (*s == '&')
            fputs("&amp;", out);
        else if (*s == '@') /* no mention */
            fputs("&#64;", out);
        else {
            if (strchr("\\`*_{}[]#|~$", *s))
                fputc('\\', out);
            fputc(*s, out);
        }
    }
    if (n == LONGEST)
        fputs("...", out);
}

static void md_part(void *ctx, const char *text, int is_stranger)
{
    if (is_stranger)
        pp_md_text(ctx, text);
    else
        fputs(text, ctx);
}

static void md_cell(FILE *out, const struct pp_section_rows *rows, const struct pp_section_column *c,
                    const void *row)
{
    char words[PP_CELL_TEXT];
    if (c->words)
        fputs(c->words(row, PP_IN_MD, words), out); /* ours: nothing in them is markup */
    else
        put_cell(rows, c, row, md_part, out);
}

/* "- **name:** a sentence. What to do" */
static size_t md_list(FILE *out, const struct pp_section_rows *rows, size_t most)
{
    const struct pp_section *s = rows->section;
    size_t n = 0;
    for (size_t k = PP_NO_ROW; n < most && (k = pp_section_next(rows, PP_IN_MD, k)) != PP_NO_ROW; n++) {
        const char *row = rows->first + k * rows->stride;
        if (n == 0 && s->title[PP_IN_MD])
            fprintf(out, "%s\n\n", s->title[PP_IN_MD]);
        fputs("- ", out);
        for (size_t i = 0; i < s->n_columns; i++) {
            const struct pp_section_column *c = &s->columns[i];
            if (!c->head[PP_IN_MD] || (c->flags & PP_CELL_BELOW && pp_section_is_null(rows, c, row)))
                continue;
            fputs(c->flags & PP_CELL_ROW_HEAD ? "**" : c->flags & PP_CELL_BELOW ? ". " : "", out);
            md_cell(out, rows, c, row);
            fputs(c->flags & PP_CELL_ROW_HEAD ? ":** " : "", out);
        }
        fputc('\n', out);
    }
    return n;
}

size_t pp_section_md(FILE *out, const struct pp_section_rows *rows, size_t most)
{
    const struct pp_section *s = rows->section;
    size_t shown = 0;
    if (s->layout[PP_IN_MD] == PP_LIST)
        return md_list(out, rows, most);
    for (int line = 0; line < 2; line++) {
        fputc('|', out);
        for (size_t i = 0; i < s->n_columns; i++) {
            const char *head = s->columns[i].head[PP_IN_MD];
            int number = head && head[0] == '#';
            if (head && line == 0)
                fprintf(out, head[number] ? " %s |" : " |", head + number);
            else if (head)
                fputs(number ? "---:|" : "---|", out);
        }
        fputc('\n', out);
    }
    for (size_t k = PP_NO_ROW; shown < most && (k = pp_section_next(rows, PP_IN_MD, k)) != PP_NO_ROW;
         shown++) {
        fputs("| ", out);
        for (size_t i = 0, n = 0; i < s->n_columns; i++) {
            if (!s->columns[i].head[PP_IN_MD])
                continue;
            fputs(n++ ? " | " : "", out);
            md_cell(out, rows, &s->columns[i], rows->first + k * rows->stride);
        }
        fputs(" |\n", out);
    }
    return shown;
}
