#include "report/render/html/html.h"

#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <stdarg.h>

#define REPLACEMENT "\xef\xbf\xbd"

void pp_html_text(FILE *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; s && *s;) {
        int n = pp_utf8_length(s);
        uint32_t c = n ? pp_utf8_point(s, n) : 0;
        const char *instead = NULL;
        switch (c) {
        case '&': instead = "&amp;"; break;
        case '<': instead = "&lt;"; break;
        case '>': instead = "&gt;"; break;
        case '"': instead = "&quot;"; break;
        case '\'': instead = "&#39;"; break;
        case '\t':
        case '\n': break;
        default:
            if (pp_text_is_deceptive(c))
                instead = REPLACEMENT;
        }
        if (instead)
            fputs(instead, out);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n ? n : 1;
    }
}

void pp_html_in(FILE *out, const char *before, const char *text, const char *after)
{
    if (!text)
        return;
    fputs(before, out);
    pp_html_text(out, text);
    fputs(after, out);
}

void pp_html_num(FILE *out, enum pp_html_form form, double value, const char *key, ...)
{
    va_list ap;
    char buf[64], path[160];
    struct pp_json exact;
    if (isnan(value)) {
        fputs("<span class=\"na\" title=\"not known\">-</span>", out);
        return;
    }
    switch (form) {
    case PP_HTML_COUNT: pp_text_count(buf, sizeof(buf), value); break;
    case PP_HTML_TIME: pp_text_duration(buf, sizeof(buf), value); break;
    case PP_HTML_SHARE: pp_text_percent(buf, sizeof(buf), value); break;
    case PP_HTML_GAIN: pp_text_gain(buf, sizeof(buf), value, NAN, NAN); break;
    case PP_HTML_RATE: pp_text_rate(buf, sizeof(buf), value); break;
    case PP_HTML_PREDICTED: pp_text_predicted(buf, sizeof(buf), value); break;
    case PP_HTML_BYTES: pp_text_bytes(buf, sizeof(buf), value); break;
    case PP_HTML_SECONDS: pp_text_duration(buf, sizeof(buf), value * 1e9); break;
    }
    va_start(ap, key);
    vsnprintf(path, sizeof(path), key, ap);
    va_end(ap);
    fputs("<span data-v=\"", out);
    pp_json_begin(&exact, out, 0);
    pp_json_num(&exact, value);
    pp_html_in(out, "\" data-k=\"", path, "\">"); /* the environment's keys come from the file */
    pp_html_in(out, "", buf, "</span>");
}

void pp_html_table_begin(FILE *out, const char *summary, int open, const char *const *heads)
{
    fprintf(out, "<details%s><summary>", open ? " open" : "");
    pp_html_text(out, summary);
    fputs("</summary><div class=\"scroll\"><table><thead><tr>", out);
    for (; *heads; heads++) {
        int number = **heads == '#';
        fprintf(out, "<th scope=\"col\"%s>", number ? " class=\"n\"" : "");
        pp_html_text(out, *heads + number);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
}

void pp_html_table_end(FILE *out)
{
    fputs("</tbody></table></div></details>\n", out);
}

/* ---- SVG ---- */

void pp_svg_num(FILE *out, double v)
{
    long long cents = isfinite(v) ? llround(fmax(fmin(v, 1e9), -1e9) * 100) : 0;
    fprintf(out, "%s%lld", cents < 0 ? "-" : "", llabs(cents) / 100);
    if (llabs(cents) % 100)
        fprintf(out, llabs(cents) % 10 ? ".%02lld" : ".%lld",
                llabs(cents) % 10 ? llabs(cents) % 100 : llabs(cents) % 100 / 10);
}

void pp_svg_attr(FILE *out, const char *name, double v)
{
    fprintf(out, " %s=\"", name);
    pp_svg_num(out, v);
    fputc('"', out);
}

void pp_svg_rect(FILE *out, const char *class, double x, double y, double width, double height)
{
    fprintf(out, "<rect class=\"%s\"", class);
    pp_svg_attr(out, "x", x);
    pp_svg_attr(out, "y", y);
    pp_svg_attr(out, "width", width);
    pp_svg_attr(out, "height", height);
    fputs("/>", out);
}

void pp_svg_begin(FILE *out, const char *class, double width, double height, const char *title)
{
    fprintf(out, "<svg class=\"%s\" role=\"img\" preserveAspectRatio=\"none\" viewBox=\"0 0 ", class);
    pp_svg_num(out, width);
    fputc(' ', out);
    pp_svg_num(out, height);
    pp_html_in(out, "\"><title>", title, "</title>");
}

void pp_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

int pp_svg_time_ticks(double start_s, double end_s, double at[8])
{
    static const double clock[] = {1,   2,   5,    10,   15,   30,    60,    120,  300,
                                   600, 900, 1800, 3600, 7200, 14400, 43200, 86400};
    double step = 0, range = end_s - start_s;
    int n = 0;
    for (double decade = 1e-9; decade < 1 && step == 0; decade *= 10)
        for (int i = 0; i < 3 && step == 0; i++)
            if (range / (clock[i] * decade) <= 7)
                step = clock[i] * decade;
    for (size_t i = 0; i < sizeof(clock) / sizeof(*clock) && step == 0; i++)
        if (range / clock[i] <= 7)
            step = clock[i];
    if (step == 0)
        step = ceil(range / 7 / 86400) * 86400;
    for (double first = ceil(start_s / step - 1e-9); n < 8; n++) {
        at[n] = (first + n) * step;
        if (!(at[n] <= end_s + range * 1e-9))
            break;
    }
    return n;
}

/* ---- pages ---- */

void pp_html_page_begin(FILE *out, const char *title, const char *name)
{
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<meta name=\"generator\" content=\"pipeprobe " PP_VERSION "\">\n<title>pipeprobe: ",
        out);
    pp_html_text(out, title);
    fputs("</title>\n<style>\n", out);
    fputs(pp_html_style, out);
    fputs(
        "</style>\n</head>\n<body>\n"
        /* the hatches that mark waiting where colour cannot be seen: for data, and for a CPU the other way */
        "<svg class=\"defs\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
        "<rect class=\"wait-bg\" width=\"6\" height=\"6\"/><rect class=\"wait-fg\" width=\"2\" height=\"6\"/></pattern>"
        "<pattern id=\"lack\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">"
        "<rect class=\"lack-bg\" width=\"6\" height=\"6\"/><rect class=\"lack-fg\" width=\"2.5\" height=\"6\"/></pattern></defs></svg>\n"
        "<header><p class=\"brand\">pipeprobe</p><p class=\"file\"><bdi>",
        out);
    pp_html_text(out, name);
    fputs("</bdi></p></header>\n<main>\n", out);
}

int pp_html_page_end(FILE *out, const char *note)
{
    fprintf(out,
            "</main>\n<footer>Made by pipeprobe " PP_VERSION
            ". One file without scripts or external resources. %s</footer>\n</body>\n</html>\n",
            note);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* ---- figures ---- */

void pp_html_figure_begin(FILE *out, const char *id, const char *title, const char *caption)
{
    fprintf(out, "<section id=\"%s\"><h2>", id);
    pp_html_text(out, title);
    pp_html_in(out, "</h2>\n<p class=\"cap\">", caption, "</p>\n");
}

void pp_html_figure_end(FILE *out)
{
    fputs("</section>\n", out);
}

void pp_html_key(FILE *out, const char *class, const char *text)
{
    fprintf(
        out,
        "<span class=\"key\"><svg class=\"chip\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"%s\" width=\"12\" height=\"12\"/></svg>",
        class);
    pp_html_text(out, text);
    fputs("</span> ", out);
}

void pp_html_tick(FILE *out, double left)
{
    fprintf(out, "<span%s style=\"left:", left > 92 ? " class=\"end\"" : "");
    pp_svg_num(out, left);
    fputs("%\">", out);
}

void pp_html_time_axis(FILE *out, double start_s, double end_s)
{
    double at[8], range = end_s - start_s;
    int n = pp_svg_time_ticks(start_s, end_s, at);
    /* of a short stretch late in the run, as many digits as tell its ticks apart */
    int digits = n > 1 && at[n - 1] < 7200 ? (int)fmax(ceil(-log10(at[1] - at[0]) - 1e-9), 0) : 0;
    fputs("<div class=\"x\">", out);
    for (int i = 0; i < n; i++) {
        pp_html_tick(out, 100 * (at[i] - start_s) / range);
        if (digits)
            fprintf(out, "%.*f s</span>", digits, at[i]);
        else {
            pp_svg_num(out, at[i] < 120 ? at[i] : at[i] < 7200 ? at[i] / 60 : at[i] / 3600);
            fprintf(out, "%s</span>", at[i] < 120 ? " s" : at[i] < 7200 ? " min" : " h");
        }
    }
    fputs("</div>\n", out);
}

double pp_html_percent(double part, double of)
{
    return of > 0 ? fmin(fmax(100 * part / of, 0), 100) : 0;
}

/* ---- shades ---- */

static int shade_at(const struct pp_html_heat *h, size_t row, size_t column)
{
    double v = h->value(h->of, row, column);
    return isnan(v) || v <= 0.005 ? 0 : v >= 1 ? PP_HTML_SHADES - 1 : 1 + (int)(v * (PP_HTML_SHADES - 1));
}

void pp_html_heat(FILE *out, const struct pp_html_heat *h)
{
    char class[16];
    fprintf(out, "<div class=\"h\" style=\"height:%zupx\">", h->n_rows * h->row_height);
    pp_svg_begin(out, "full", PP_HTML_WIDTH, (double)(h->n_rows * h->row_height), h->title);
    pp_svg_rect(out, "heat0", 0, 0, PP_HTML_WIDTH, (double)(h->n_rows * h->row_height));
    /* A path per shade, of runs of cells. */
    double width = PP_HTML_WIDTH / (double)h->n_columns;
    for (int shade = 1; shade < PP_HTML_SHADES; shade++) {
        fprintf(out, "<path class=\"heat%d\" d=\"", shade);
        for (size_t row = 0; row < h->n_rows; row++)
            for (size_t i = 0, n; i < h->n_columns; i += n) {
                for (n = 1; i + n < h->n_columns && shade_at(h, row, i + n) == shade_at(h, row, i); n++)
                    continue;
                if (shade_at(h, row, i) != shade)
                    continue;
                fputc('M', out);
                pp_svg_num(out, width * (double)i);
                fprintf(out, " %zuH", row * h->row_height + 1);
                pp_svg_num(out, width * (double)(i + n));
                fprintf(out, "v%zuH", h->row_height - 2);
                pp_svg_num(out, width * (double)i);
                fputc('z', out);
            }
        fputs("\"/>", out);
    }
    pp_svg_end(out);
    fputs("</div></div>\n", out);
    fputs("<div class=\"axis rows\">", out);
    pp_html_time_axis(out, h->start_s, h->end_s);
    fputs("</div>\n", out);
    if (!h->shade_names)
        return;
    fputs("<p class=\"legend\">", out);
    for (int shade = 1; shade < PP_HTML_SHADES; shade++) {
        snprintf(class, sizeof(class), "heat%d", shade);
        pp_html_key(out, class, h->shade_names[shade]);
    }
    fputs("</p>\n", out);
}
