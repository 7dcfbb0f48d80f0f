#include "report/render/html/section.h"

#include <math.h>

enum { MOST_HEADS = 16 };

static enum pp_html_form form_of(enum pp_field_unit unit)
{
    switch (unit) {
    case PP_UNIT_NONE:
    case PP_UNIT_COUNT: return PP_HTML_COUNT;
    case PP_UNIT_NS: return PP_HTML_TIME;
    case PP_UNIT_S: return PP_HTML_SECONDS;
    case PP_UNIT_SHARE: return PP_HTML_SHARE;
    case PP_UNIT_BYTES:
    case PP_UNIT_BYTES_PER_S: return PP_HTML_BYTES;
    case PP_UNIT_RATE:
    case PP_UNIT_FACTOR:
    case PP_UNIT_NUMBER: break;
    }
    return PP_HTML_RATE;
}

static void put_bar(FILE *out, double share)
{
    fputs("<td class=\"inbar\"><svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
          out);
    pp_svg_rect(out, "rail", 0, 0, 100, 8);
    pp_svg_rect(out, "step", 0, 0, isnan(share) ? 0 : 100 * fmin(share, 1), 8);
    fputs("</svg></td>", out);
}

/* What is in the cell. */
static void put_parts(FILE *out, const struct pp_section_rows *rows, const struct pp_section_column *c,
                      size_t i, const void *row)
{
    char part[64], words[PP_CELL_TEXT];
    const struct pp_field *f;
    if (c->words) {
        pp_html_text(out, c->words(row, PP_IN_HTML, words));
        return;
    }
    for (size_t at = 0; pp_section_part(c, rows->fields, &at, &f, part, sizeof(part));) {
        struct pp_value v = f ? pp_section_value(rows, c, row, &f) : pp_value_text(part);
        if (v.kind == PP_VALUE_NULL || v.kind == PP_VALUE_TEXT)
            pp_html_text(out, v.text);
        else if (c->flags & PP_CELL_OF_LINE)
            pp_html_num(out, form_of(f->unit), pp_value_as_number(&v), "%s%s",
                        ((const struct pp_gpu_line *)row)->path, f->key);
        else
            pp_html_num(out, form_of(f->unit), pp_value_as_number(&v), "%s.%zu.%s", rows->path,
                        rows->number + i, f->key);
        if (f && f->unit == PP_UNIT_BYTES_PER_S)
            fputs("/s", out);
    }
}

static void put_cell(FILE *out, const struct pp_section_rows *rows, const struct pp_section_column *c,
                     size_t i)
{
    const char *row = rows->first + i * rows->stride;
    if (c->flags & PP_CELL_BAR) {
        struct pp_value v = pp_field_value(pp_fields_key(rows->fields, c->form), row, rows->report);
        put_bar(out, pp_value_as_number(&v));
        return;
    }
    if (c->title) {
        fputs("<th scope=\"row\" title=\"", out);
        pp_html_text(out, c->title(row));
        fputs("\">", out);
    } else if (c->flags & PP_CELL_ROW_HEAD) {
        fputs("<th scope=\"row\">", out);
    } else if (c->flags & PP_CELL_PATH) {
        fputs("<td class=\"path\"><bdi>", out);
    } else {
        int number = c->head[PP_IN_HTML][0] == '#';
        fputs(number ? "<td class=\"n\" data-h=\"" : "<td data-h=\"", out);
        pp_html_text(out, c->head[PP_IN_HTML] + number); /* beside the cell where a screen is too narrow */
        fputs("\">", out);
    }
    put_parts(out, rows, c, i, row);
    fputs(c->flags & PP_CELL_ROW_HEAD ? "</th>" : c->flags & PP_CELL_PATH ? "</bdi></td>" : "</td>", out);
}

static void put_item(FILE *out, const struct pp_section_rows *rows, size_t i, int with_names)
{
    const struct pp_section *s = rows->section;
    const char *row = rows->first + i * rows->stride;
    fputs(with_names ? "<dt>" : "<li>", out);
    for (size_t k = 0; k < s->n_columns; k++) {
        const struct pp_section_column *c = &s->columns[k];
        int below = c->flags & PP_CELL_BELOW;
        if (!c->head[PP_IN_HTML] || (below && pp_section_is_null(rows, c, row)))
            continue;
        fputs(below ? ". <strong>" : "", out);
        put_parts(out, rows, c, i, row);
        fputs(below ? "</strong>" : c->flags & PP_CELL_ROW_HEAD ? "</dt><dd>" : "", out);
    }
    fputs(with_names ? "</dd>\n" : "</li>\n", out);
}

static void put_list(FILE *out, const struct pp_section_rows *rows)
{
    const struct pp_section *s = rows->section;
    int with_names = 0, any = 0;
    for (size_t k = 0; k < s->n_columns; k++)
        with_names |= s->columns[k].head[PP_IN_HTML] && s->columns[k].flags & PP_CELL_ROW_HEAD;
    for (size_t i = PP_NO_ROW; (i = pp_section_next(rows, PP_IN_HTML, i)) != PP_NO_ROW; any = 1) {
        if (!any && s->title[PP_IN_HTML])
            fprintf(out, "<h3>%s</h3>\n", s->title[PP_IN_HTML]);
        if (!any)
            fputs(with_names ? "<dl>" : "<ul>", out);
        put_item(out, rows, i, with_names);
    }
    if (any)
        fputs(with_names ? "</dl>\n" : "</ul>\n", out);
}

void pp_html_section(FILE *out, const struct pp_section_rows *rows)
{
    const struct pp_section *s = rows->section;
    const char *heads[MOST_HEADS + 1] = {NULL};
    size_t n = 0;
    if (s->layout[PP_IN_HTML] == PP_LIST) {
        put_list(out, rows);
        return;
    }
    size_t shown = rows->n;
    if (s->shows) {
        shown = 0;
        for (size_t k = PP_NO_ROW; (k = pp_section_next(rows, PP_IN_HTML, k)) != PP_NO_ROW;)
            shown++;
        if (!shown)
            return;
    }
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].head[PP_IN_HTML] && n < MOST_HEADS)
            heads[n++] = s->columns[i].head[PP_IN_HTML];
    pp_html_table_begin(out, s->title[PP_IN_HTML], shown <= s->open_up_to, heads);
    for (size_t k = PP_NO_ROW; (k = pp_section_next(rows, PP_IN_HTML, k)) != PP_NO_ROW;) {
        fputs("<tr>", out);
        for (size_t i = 0; i < s->n_columns; i++)
            if (s->columns[i].head[PP_IN_HTML])
                put_cell(out, rows, &s->columns[i], k);
        fputs("</tr>\n", out);
    }
    pp_html_table_end(out);
}

void pp_html_section_at(FILE *out, const struct pp_section *s, const struct pp_report *r, const char *path)
{
    struct pp_section_rows rows = pp_section_rows(s, r, path);
    pp_html_section(out, &rows);
}
