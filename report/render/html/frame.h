/* report/render/html/frame.h: the frame of a page: head, style, the line with its name, the foot. One file
 * without scripts or external resources, which its policy says to the browser. */
#ifndef PP_REPORT_RENDER_HTML_FRAME_H
#define PP_REPORT_RENDER_HTML_FRAME_H

#include <stdio.h>

/* title: of the window; name: beside pipeprobe's. Both are escaped. */
void pp_html_page_begin(FILE *out, const char *title, const char *name);
/* note: HTML of ours, behind what every page says. 0, or -1 when something could not be written. */
int pp_html_page_end(FILE *out, const char *note);

#endif
