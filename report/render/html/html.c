#include "report/render/html/html.h"

#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

static const char *entity(uint32_t c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void pp_html_text(FILE *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; s && *s;) {
        int n = pp_utf8_length(s);
        uint32_t c = n ? pp_utf8_point(s, n) : 0;
        int unfit = pp_text_is_deceptive(c) && c != '\t' && c != '\n';
        const char *instead = unfit ? REPLACEMENT : entity(c);
        if (instead)
            fputs(instead, out);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n ? n : 1;
    }
}

static void put_exact(FILE *out, double value)
{
    struct pp_json j;
    pp_json_begin(&j, out, 0);
    pp_json_num(&j, value);
}

void pp_html_num(FILE *out, enum pp_html_form form, double value, const char *key, ...)
{
    va_list ap;
    char buf[64], path[160];
    if (isnan(value)) {
        fputs("<span class=\"na\" title=\"not known\">-</span>", out);
        return;
    }
    switch (form) {
    case PP_HTML_COUNT: pp_text_count(buf, sizeof(buf), value); break;
    case PP_HTML_TIME: pp_text_duration(buf, sizeof(buf), value); break;
    case PP_HTML_SHARE: pp_text_percent(buf, sizeof(buf), value); break;
    case PP_HTML_RATE: pp_text_rate(buf, sizeof(buf), value); break;
    case PP_HTML_BYTES: pp_text_bytes(buf, sizeof(buf), value); break;
    case PP_HTML_SECONDS: pp_text_duration(buf, sizeof(buf), value * 1e9); break;
    }
    va_start(ap, key);
    vsnprintf(path, sizeof(path), key, ap);
    va_end(ap);
    fputs("<span data-v=\"", out);
    put_exact(out, value);
    fputs("\" data-k=\"", out);
    pp_html_text(out, path); /* the environment's keys come from the file */
    fputs("\">", out);
    pp_html_text(out, buf);
    fputs("</span>", out);
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
    fputs("\"><title>", out);
    pp_html_text(out, title);
    fputs("</title>", out);
}

void pp_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

int pp_svg_time_ticks(double end_s, double at[8])
{
    static const double clock[] = {1,   2,   5,    10,   15,   30,    60,    120,  300,
                                   600, 900, 1800, 3600, 7200, 14400, 43200, 86400};
    double step = 0;
    int n = 0;
    for (double decade = 1e-9; decade < 1 && step == 0; decade *= 10)
        for (int i = 0; i < 3 && step == 0; i++)
            if (end_s / (clock[i] * decade) <= 7)
                step = clock[i] * decade;
    for (size_t i = 0; i < sizeof(clock) / sizeof(*clock) && step == 0; i++)
        if (end_s / clock[i] <= 7)
            step = clock[i];
    if (step == 0)
        step = ceil(end_s / 7 / 86400) * 86400;
    for (; n < 8 && n * step <= end_s * (1 + 1e-9); n++)
        at[n] = n * step;
    return n;
}
