#include "report/render/html/heat.h"

#include "report/render/html/figure.h"

#include <math.h>

static int shade_of(double v)
{
    return isnan(v) || v <= 0.005 ? 0 : v >= 1 ? PP_HTML_SHADES - 1 : 1 + (int)(v * (PP_HTML_SHADES - 1));
}

static int shade_at(const struct pp_html_heat *h, size_t row, size_t column)
{
    return shade_of(h->value(h->of, row, column));
}

static double x_of(const struct pp_html_heat *h, size_t column)
{
    return PP_HTML_WIDTH * (double)column / (double)h->n_columns;
}

static void put_cells(FILE *out, const struct pp_html_heat *h)
{
    for (int shade = 1; shade < PP_HTML_SHADES; shade++) {
        fprintf(out, "<path class=\"heat%d\" d=\"", shade);
        for (size_t row = 0; row < h->n_rows; row++)
            for (size_t i = 0, n; i < h->n_columns; i += n) {
                for (n = 1; i + n < h->n_columns && shade_at(h, row, i + n) == shade_at(h, row, i); n++)
                    continue;
                if (shade_at(h, row, i) != shade)
                    continue;
                fputc('M', out);
                pp_svg_num(out, x_of(h, i));
                fprintf(out, " %zuH", row * h->row_height + 1);
                pp_svg_num(out, x_of(h, i + n));
                fprintf(out, "v%zuH", h->row_height - 2);
                pp_svg_num(out, x_of(h, i));
                fputc('z', out);
            }
        fputs("\"/>", out);
    }
}

void pp_html_heat(FILE *out, const struct pp_html_heat *h)
{
    char class[16];
    fprintf(out, "<div class=\"h\" style=\"height:%zupx\">", h->n_rows * h->row_height);
    pp_svg_begin(out, "full", PP_HTML_WIDTH, (double)(h->n_rows * h->row_height), h->title);
    pp_svg_rect(out, "heat0", 0, 0, PP_HTML_WIDTH, (double)(h->n_rows * h->row_height));
    put_cells(out, h);
    pp_svg_end(out);
    fputs("</div></div>\n", out);
    fputs("<div class=\"axis rows\">", out);
    pp_html_time_axis(out, h->end_s);
    fputs("</div><p class=\"legend\">", out);
    for (int shade = 1; shade < PP_HTML_SHADES; shade++) {
        snprintf(class, sizeof(class), "heat%d", shade);
        pp_html_key(out, class, h->shade_names[shade]);
    }
    fputs("</p>\n", out);
}
