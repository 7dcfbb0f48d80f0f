/* Tables as text and as Markdown: see report/render/sections.h. */
#include "report/render/sections.h"

#include <math.h>
#include <string.h>

enum { CELL = 64, MOST_COLUMNS = 16, LONGEST = 300 };

/* ---- text ---- */

static void put_bar(char *to, double share)
{
    enum { LENGTH = 16 };
    int full = isnan(share) ? 0 : (int)(share * LENGTH + 0.5);
    memset(to, ' ', 2);
    for (int i = 0; i < LENGTH; i++)
        to[2 + i] = i < full ? '#' : '.';
    to[2 + LENGTH] = '\0';
}

struct cell {
    char *to;
    size_t n, size;
};

static void append(void *ctx, const char *text, int is_stranger)
{
    struct cell *cell = ctx;
    snprintf(cell->to + cell->n, cell->size - cell->n, "%s", text);
    cell->n += strlen(cell->to + cell->n);
}

/* A cell's text; in buf, or as it lies in the report. */
static const char *text_cell(const struct pp_section_rows *rows, const struct pp_section_column *c,
                             const void *row, char buf[PP_CELL_TEXT])
{
    struct cell cell = {.to = buf, .size = PP_CELL_TEXT};
    if (c->words)
        return c->words(row, PP_IN_TEXT, buf);
    buf[0] = '\0';
    if (c->flags & PP_CELL_BAR) {
        struct pp_value v = pp_field_value(pp_fields_key(rows->fields, c->form), row, rows->report);
        put_bar(buf, pp_value_as_number(&v));
    } else {
        pp_section_cell(rows, c, row, append, &cell);
    }
    return buf;
}

static int has_heads(const struct pp_section *s)
{
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].head[PP_IN_TEXT] && s->columns[i].head[PP_IN_TEXT][0])
            return 1;
    return 0;
}

/* One line; row NULL: the heads. The first column stands two to the right. */
static void text_row(const struct pp_page *p, const struct pp_section_rows *rows, const struct pp_section *s,
                     const void *row)
{
    char text[MOST_COLUMNS][CELL + 2], words[PP_CELL_TEXT];
    const char *cell[MOST_COLUMNS];
    const struct pp_section_column *wrapped = NULL;
    int width[MOST_COLUMNS], n = 0;
    for (size_t i = 0; i < s->n_columns; i++) {
        const struct pp_section_column *c = &s->columns[i];
        if (!c->head[PP_IN_TEXT] || c->flags & PP_CELL_BELOW)
            continue;
        if (c->flags & PP_CELL_WRAP) {
            wrapped = c;
            continue;
        }
        snprintf(text[n], sizeof(text[n]), "%s%s", n == 0 ? "  " : "",
                 row ? text_cell(rows, c, row, words) : c->head[PP_IN_TEXT]);
        cell[n] = text[n];
        width[n++] = c->width;
    }
    if (wrapped)
        pp_page_row_text(p, width, cell, n, wrapped->width, text_cell(rows, wrapped, row, words));
    else
        pp_page_row(p, row ? PP_TONE_PLAIN : PP_TONE_STRONG, width, cell, n);
}

static void text_below(const struct pp_page *p, const struct pp_section_rows *rows, const void *row)
{
    const struct pp_section *s = rows->section;
    char words[PP_CELL_TEXT], path[CELL];
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].flags & PP_CELL_BELOW && s->columns[i].head[PP_IN_TEXT]) {
            const char *text = text_cell(rows, &s->columns[i], row, words);
            if (text[0])
                pp_page_text(p, PP_TONE_PLAIN, "", s->columns[i].width, 0, text);
        }
    if (s->below) {
        size_t k = (size_t)((const char *)row - rows->first) / rows->stride;
        struct pp_section_rows below = pp_section_rows_below(s->below, rows->report, rows->path, k,
                                                             s->below_key, path);
        for (size_t i = 1; i < below.n; i++)
            text_row(p, &below, s->below, below.first + i * below.stride);
    }
}

void pp_section_text_heads(const struct pp_page *p, const struct pp_section *s)
{
    if (s->title[PP_IN_TEXT])
        pp_page_heading(p, s->title[PP_IN_TEXT]);
    if (has_heads(s))
        text_row(p, NULL, s, NULL);
}

void pp_section_text_row(const struct pp_page *p, const struct pp_section_rows *rows, const void *row)
{
    text_row(p, rows, rows->section, row);
    text_below(p, rows, row);
}

static void text_joined(const struct pp_page *p, const struct pp_section_rows *rows)
{
    const struct pp_section *s = rows->section;
    char line[PP_CELL_TEXT], words[PP_CELL_TEXT];
    size_t n = 0;
    for (size_t i = PP_NO_ROW; (i = pp_section_next(rows, PP_IN_TEXT, i)) != PP_NO_ROW;) {
        snprintf(line + n, sizeof(line) - n, "%s%s", n ? ", " : "",
                 text_cell(rows, &s->columns[0], rows->first + i * rows->stride, words));
        n += strlen(line + n);
    }
    if (n) {
        pp_section_text_heads(p, s);
        pp_page_text(p, PP_TONE_PLAIN, s->lead, (int)strlen(s->lead), 0, line);
    }
}

void pp_section_text(const struct pp_page *p, const struct pp_section_rows *rows)
{
    int any = 0;
    if (rows->section->layout[PP_IN_TEXT] == PP_JOINED) {
        text_joined(p, rows);
        return;
    }
    for (size_t i = PP_NO_ROW; (i = pp_section_next(rows, PP_IN_TEXT, i)) != PP_NO_ROW;) {
        if (!any++)
            pp_section_text_heads(p, rows->section);
        pp_section_text_row(p, rows, rows->first + i * rows->stride);
    }
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
        pp_section_cell(rows, c, row, md_part, out);
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

static void md_heads(FILE *out, const struct pp_section *s)
{
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
}

size_t pp_section_md(FILE *out, const struct pp_section_rows *rows, size_t most)
{
    const struct pp_section *s = rows->section;
    size_t shown = 0;
    if (s->layout[PP_IN_MD] == PP_LIST)
        return md_list(out, rows, most);
    md_heads(out, s);
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
