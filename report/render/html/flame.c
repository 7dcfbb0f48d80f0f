/* Which line costs the stall: the table of ops, and the stacks of the workers as a flame graph, by the wait
 * that they caused. */
#include "report/render/html/parts.h"

#include "probe/base/text.h"

#define ROW_PX 18
#define NARROWEST 0.003 /* of the width */
#define ROOT 0.9        /* frames that have so much of the named are the way there, and not drawn */
enum { DEEPEST = 60, COLOURS = 4 };

/* One of the two pictures: of the stall, of all work. */
struct flame {
    int all;
    unsigned from, to; /* depths */
};

static double width_of(const struct flame *f, const struct pp_report_flame *b)
{
    return f->all ? b->width_all : b->width;
}

static void put_flame(FILE *out, const struct pp_report *r, int all)
{
    struct flame f = {all, DEEPEST, 0};
    double whole = 0; /* less than 1 where no stack tells what some of it is of */
    for (size_t i = 0; i < r->n_flame; i++)
        whole += r->flame[i].depth ? 0 : width_of(&f, &r->flame[i]);
    for (size_t i = 0; i < r->n_flame; i++) {
        double width = width_of(&f, &r->flame[i]);
        if (width >= NARROWEST && width < ROOT * whole && r->flame[i].depth < f.from)
            f.from = r->flame[i].depth;
    }
    for (size_t i = 0; i < r->n_flame; i++)
        if (width_of(&f, &r->flame[i]) >= NARROWEST && r->flame[i].depth >= f.from &&
            r->flame[i].depth - f.from < DEEPEST && r->flame[i].depth >= f.to)
            f.to = r->flame[i].depth + 1;
    if (f.to <= f.from)
        return;
    fprintf(out, "<div class=\"flame\" style=\"height:%upx\">", (f.to - f.from) * ROW_PX);
    for (size_t i = 0; i < r->n_flame; i++) {
        const struct pp_report_flame *b = &r->flame[i];
        char share[40];
        double width = width_of(&f, b);
        if (width >= NARROWEST && b->depth >= f.from && b->depth < f.to) {
            unsigned h = 5381;
            for (const char *p = b->place; *p && *p != ':'; p++)
                h = h * 33 + (unsigned char)*p;
            fprintf(out, "<span class=\"fl fl%u\" style=\"left:%.2f%%;width:%.2f%%;top:%upx\" title=\"",
                    h % COLOURS, 100 * (f.all ? b->start_all : b->start), 100 * width,
                    (b->depth - f.from) * ROW_PX);
            pp_html_text(out, b->name);
            fputs(", ", out);
            pp_html_text(out, b->place);
            fprintf(out, ": %s\">", pp_text_share(share, sizeof(share), width));
            pp_html_text(out, width >= 10 * NARROWEST ? b->name : NULL);
            fputs("</span>", out);
        }
    }
    fputs("</div>\n", out);
}

void pp_html_ops(FILE *out, const struct pp_report *r)
{
    int ops = r->n_ops || r->why_no_ops;
    if (!ops && !r->n_step_lines)
        return;
    pp_html_figure_begin(
        out, "ops", ops ? "Lines that cost the stall" : "Lines of the job's own code",
        ops ? "Stacks of the workers, weighted by how long the trainer waited for the batches that they "
              "were made for. Work on batches that were ready in time has no width."
            : "By stacks of the thread that trains.");
    pp_html_in(out, "<p class=\"none\">Not named: ", r->why_no_ops, ".</p>\n");
    if (r->n_ops)
        pp_html_section_at(out, &pp_section_ops, r, "ops");
    put_flame(out, r, 0);
    if (r->n_flame) {
        fputs("<details><summary>All work of the workers, waited for or not</summary>\n", out);
        put_flame(out, r, 1);
        fputs("</details>\n", out);
    }
    if (r->n_step_lines)
        pp_html_section_at(out, r->has_step ? &pp_section_step_lines : &pp_section_loop_lines, r,
                           "step_lines");
    pp_html_figure_end(out);
}
