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

static void text_cell(const struct pp_section_rows *rows, const struct pp_section_column *c, const void *row,
                      char *to)
{
    char part[CELL], number[CELL];
    const struct pp_field *f;
    size_t n = 0;
    if (c->words) {
        snprintf(to, CELL, "%s", c->words(row, PP_IN_TEXT, part));
        return;
    }
    for (size_t at = 0; pp_section_part(c, rows->fields, &at, &f, part, sizeof(part));) {
        const char *words = part;
        struct pp_value v;
        if (f) {
            v = pp_field_value(f, row, rows->report);
            words = pp_field_text(f, &v, number, sizeof(number));
        }
        if (f && c->flags & PP_CELL_BAR)
            put_bar(to, pp_value_as_number(&v));
        else if (n < CELL)
            n += (size_t)snprintf(to + n, CELL - n, "%s", words);
    }
}

/* One line; row NULL: the heads. The first column stands two to the right. */
static void text_row(const struct pp_page *p, const struct pp_section_rows *rows, const struct pp_section *s,
                     const void *row)
{
    char text[MOST_COLUMNS][CELL + 2];
    const char *cell[MOST_COLUMNS];
    int width[MOST_COLUMNS], n = 0;
    for (size_t i = 0; i < s->n_columns; i++) {
        const struct pp_section_column *c = &s->columns[i];
        if (!c->head[PP_IN_TEXT])
            continue;
        char *to = text[n] + (n == 0 ? 2 : 0);
        memset(text[n], ' ', 2);
        if (row)
            text_cell(rows, c, row, to);
        else
            snprintf(to, CELL, "%s", c->head[PP_IN_TEXT]);
        cell[n] = text[n];
        width[n++] = c->width;
    }
    pp_page_row(p, row ? PP_TONE_PLAIN : PP_TONE_STRONG, width, cell, n);
}

void pp_section_text_heads(const struct pp_page *p, const struct pp_section *s)
{
    pp_page_heading(p, s->title[PP_IN_TEXT]);
    text_row(p, NULL, s, NULL);
}

void pp_section_text_row(const struct pp_page *p, const struct pp_section_rows *rows, const void *row)
{
    text_row(p, rows, rows->section, row);
}

void pp_section_text(const struct pp_page *p, const struct pp_section_rows *rows)
{
    if (rows->n)
        pp_section_text_heads(p, rows->section);
    for (size_t i = 0; i < rows->n; i++)
        pp_section_text_row(p, rows, rows->first + i * rows->stride);
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

/* Words between two fields stand only where both are known. */
static void md_cell(FILE *out, const struct pp_section_rows *rows, const struct pp_section_column *c,
                    const void *row)
{
    char part[CELL], words[CELL] = "", number[CELL];
    const struct pp_field *f;
    int known = 1;
    if (c->words) {
        fputs(c->words(row, PP_IN_MD, part), out); /* ours: nothing in them is markup */
        return;
    }
    for (size_t at = 0; pp_section_part(c, rows->fields, &at, &f, part, sizeof(part));) {
        if (!f) {
            memcpy(words, part, sizeof(words));
            continue;
        }
        struct pp_value v = pp_field_value(f, row, rows->report);
        int is_null = v.kind == PP_VALUE_NULL;
        if (known && !is_null)
            fputs(words, out);
        words[0] = '\0';
        known = !is_null;
        if (v.kind == PP_VALUE_TEXT)
            pp_md_text(out, v.text);
        else if (!is_null)
            fputs(pp_field_text(f, &v, number, sizeof(number)), out);
    }
    fputs(words, out);
}

void pp_section_md(FILE *out, const struct pp_section_rows *rows, size_t most)
{
    const struct pp_section *s = rows->section;
    for (int line = 0; line < 2; line++) {
        fputc('|', out);
        for (size_t i = 0; i < s->n_columns; i++) {
            const char *head = s->columns[i].head[PP_IN_MD];
            int number = head && head[0] == '#';
            if (head && line == 0)
                fprintf(out, head[0] ? " %s |" : " |", head + number);
            else if (head)
                fputs(number ? "---:|" : "---|", out);
        }
        fputc('\n', out);
    }
    for (size_t k = 0; k < rows->n && k < most; k++) {
        fputs("| ", out);
        for (size_t i = 0, n = 0; i < s->n_columns; i++) {
            if (!s->columns[i].head[PP_IN_MD])
                continue;
            fputs(n++ ? " | " : "", out);
            md_cell(out, rows, &s->columns[i], rows->first + k * rows->stride);
        }
        fputs(" |\n", out);
    }
}
