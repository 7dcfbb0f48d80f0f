#include "report/render/html/figure.h"

#include <math.h>

void pp_html_figure_begin(FILE *out, const char *id, const char *title, const char *caption)
{
    fprintf(out, "<section id=\"%s\"><h2>", id);
    pp_html_text(out, title);
    fputs("</h2>\n<p class=\"cap\">", out);
    pp_html_text(out, caption);
    fputs("</p>\n", out);
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

void pp_html_time_axis(FILE *out, double end_s)
{
    double at[8];
    int n = pp_svg_time_ticks(end_s, at);
    fputs("<div class=\"x\">", out);
    for (int i = 0; i < n; i++) {
        pp_html_tick(out, 100 * at[i] / end_s);
        pp_svg_num(out, at[i] < 120 ? at[i] : at[i] < 7200 ? at[i] / 60 : at[i] / 3600);
        fprintf(out, "%s</span>", at[i] < 120 ? " s" : at[i] < 7200 ? " min" : " h");
    }
    fputs("</div>\n", out);
}

double pp_html_percent(double part, double of)
{
    return of > 0 ? fmin(fmax(100 * part / of, 0), 100) : 0;
}
