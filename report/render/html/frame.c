#include "report/render/html/frame.h"

#include "report/render/html/html.h"
#include "report/render/html/parts.h"

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
        /* the hatch that marks waiting where colour cannot be seen */
        "<svg class=\"defs\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
        "<rect class=\"wait-bg\" width=\"6\" height=\"6\"/><rect class=\"wait-fg\" width=\"2\" height=\"6\"/></pattern></defs></svg>\n"
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
