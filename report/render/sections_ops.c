#include "report/render/sections.h"

#include "probe/base/text.h"

enum { FITS = 23 }; /* of the first column, between its margin and a blank */

/* In text a name that is too long loses what it is in; if it still is, its arguments. */
static const char *op_name(const void *row, enum pp_printer in, char *buf)
{
    const struct pp_report_op *op = row;
    size_t n = strlen(op->name), args = strcspn(op->name, "(");
    if (in != PP_IN_TEXT || pp_page_width(op->name, n) <= FITS)
        return op->name;
    for (const char *at = op->name; (at = strstr(at, " in ")) != NULL; at++)
        n = (size_t)(at - op->name);
    snprintf(buf, PP_CELL_TEXT, "%.*s", (int)(pp_page_width(op->name, n) <= FITS || n < args ? n : args),
             op->name);
    return buf;
}

WORDS_OF(op_place, struct pp_report_op, row->place ? row->place : row->path ? row->path : "")

/* With its interval, but for text, which has no room. */
WORDS_OF(op_gain, struct pp_report_op,
         isnan(row->gain) ? "-"
                          : pp_text_gain(buf, PP_CELL_TEXT, row->gain, in != PP_IN_TEXT ? row->gain_low : NAN,
                                         in != PP_IN_TEXT ? row->gain_high : NAN))

/* "27 (24-30) %" */
WORDS_OF(op_share, struct pp_report_op,
         PRINTED("%.0f (%.0f-%.0f) %%", 100 * row->share, 100 * row->low, 100 * row->high))

/* What else there is to know: whose it is, what it calls, where the data set holds it. */
static const char *op_more(const void *row, enum pp_printer in, char *buf)
{
    const struct pp_report_op *op = row;
    buf[0] = '\0';
    if (!op->judged)
        pp_text_add(buf, PP_CELL_TEXT, "hidden: of %.60s, which is hardly waited for",
                    op->loader ? op->loader : "another loader");
    if (op->callee)
        pp_text_add(buf, PP_CELL_TEXT, "%sin %.80s", buf[0] ? "; " : "", op->callee);
    if (op->path && op->place)
        pp_text_add(buf, PP_CELL_TEXT, "%s%.80s", buf[0] ? "; " : "", op->path);
    return buf;
}

static const struct pp_section_column ops[] = {
    {.form = "name",
     .head = {EVERYWHERE("operation")},
     .width = -26,
     .flags = PP_CELL_ROW_HEAD,
     .words = op_name},
    {.form = "place", .head = {EVERYWHERE("line")}, .width = -19, .words = op_place},
    {.form = "share", .head = {NUMBERS("of stall")}, .width = 12, .words = op_share},
    {.form = "share_all", .head = {TEXT("of work"), MD("#of all work"), HTML("#of all work")}, .width = 8},
    {.form = "cpu_share", .head = {NUMBERS("on CPU")}, .width = 7},
    {.form = "gain",
     .head = {TEXT("half"), MD("#half gains"), HTML("#half gains")},
     .width = 7,
     .words = op_gain},
    {.form = "path", .head = {MD("more"), HTML("more")}, .words = op_more},
};
SECTION(ops, OPEN, TEXT("Operations of the workers (stacks weighted by the wait for their batches)"),
        HTML("Operations, by what half of each gains"));

static const struct pp_section_column step_lines[] = {
    {.form = "name", .head = {EVERYWHERE("function")}, .width = -26, .flags = PP_CELL_ROW_HEAD},
    {.form = "place", .head = {EVERYWHERE("line")}, .width = -18},
    {.form = "share", .head = {NUMBERS("share")}, .width = 14},
    {.form = "cpu_share", .head = {NUMBERS("on CPU")}, .width = 8},
    {.form = "callee", .head = {EVERYWHERE("calls")}, .width = 6, .flags = PP_CELL_BELOW},
};
SECTION(step_lines, FOLDED, TEXT("Lines of the training steps"), HTML("Lines of the training steps"));
/* Where no step is known: a job without a loader. */
const struct pp_section pp_section_loop_lines = {COLUMNS(step_lines), .open_up_to = OPEN,
                                                 .title = {TEXT("Lines of the job's main thread"),
                                                           HTML("Lines of the job's main thread")}};
