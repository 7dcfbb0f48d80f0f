#include "tui/cli/topic.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/page.h"
#include "probe/base/text.h"
#include "tui/cli/cli.h"
#include "tui/cli/shipped.h"
#include <fcntl.h>

const char *const pp_topics[] = {"first-run",
                                 "recording-your-own-job",
                                 "other-loaders",
                                 "python",
                                 "reading-a-report",
                                 "fixing-a-stall",
                                 "whatif-and-prove",
                                 "tuning-a-pytorch-job",
                                 "resume",
                                 "lines",
                                 "many-ranks",
                                 "containers",
                                 "dashboard",
                                 "ci-gates",
                                 "gpu",
                                 "guide/metrics",
                                 "exporting",
                                 "other-profilers-traces",
                                 "datasets-and-sampling",
                                 "remote-storage",
                                 "local-cache",
                                 "troubleshooting",
                                 "questions",
                                 NULL};

static const struct pp_shipped_places pages = {{"../share/doc/pipeprobe/docs", "../../docs"}};

/* ---- Markdown as the pages have it, as text ---- */

enum { TEXT = 16384, CELLS = 8 };

struct printing {
    struct pp_page page;
    char text[TEXT]; /* the paragraph, list item or row that is being read */
    const char *lead;
    int indent;
    int in_code, blank; /* a line without text came, and is printed before the next text */
};

static void end_paragraph(struct printing *p)
{
    /* Links are their words, and what is bold has no marks. */
    char *to = p->text;
    for (const char *at = p->text; *at;) {
        const char *end = *at == '[' ? strstr(at, "](") : NULL, *close = end ? strchr(end, ')') : NULL;
        if (close && !memchr(at + 1, '[', (size_t)(end - at - 1))) {
            memmove(to, at + 1, (size_t)(end - at - 1));
            to += end - at - 1;
            at = close + 1;
        } else if (at[0] == '*' && at[1] == '*') {
            at += 2;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
    if (p->text[0])
        pp_page_text(&p->page, PP_TONE_PLAIN, p->lead, p->indent, 0, p->text);
    p->text[0] = '\0';
    p->lead = "";
    p->indent = 0;
}

static void print_line(struct printing *p, char *line)
{
    size_t hashes = strspn(line, "#");
    const char *text = line + strspn(line, " ");
    int is_item = strncmp(text, "- ", 2) == 0;
    if (p->blank && *text && !(hashes && line[hashes] == ' '))
        fputc('\n', p->page.out);
    p->blank = p->blank && !*text;
    if (strncmp(line, "```", 3) == 0) {
        end_paragraph(p);
        p->in_code = !p->in_code;
    } else if (p->in_code || (!p->text[0] && strncmp(line, "    ", 4) == 0)) {
        fprintf(p->page.out, "%s%s\n", p->in_code ? "    " : "", line);
    } else if (!*text || strncmp(text, "![", 2) == 0) { /* a picture is none here */
        end_paragraph(p);
        p->blank = 1;
    } else if (hashes && line[hashes] == ' ') {
        end_paragraph(p);
        pp_page_heading(&p->page, line + hashes + 1);
    } else if (*line == '|') { /* "| a | b | c |": "a: b; c", as a list. The line below a head is none. */
        int n = 0;
        end_paragraph(p);
        if (strspn(line, "|-: ") == strlen(line))
            return;
        p->lead = "  - ";
        p->indent = 4;
        for (char *save, *cell = strtok_r(line + 1, "|", &save); cell; cell = strtok_r(NULL, "|", &save)) {
            cell += strspn(cell, " ");
            size_t length = strlen(cell);
            while (length && cell[length - 1] == ' ')
                cell[--length] = '\0';
            if (*cell)
                pp_text_add(p->text, TEXT, "%s%s", n == 0 ? "" : n == 1 ? ": " : "; ", cell), n++;
        }
        end_paragraph(p);
    } else {
        if (is_item)
            end_paragraph(p), p->lead = "- ", p->indent = 2, text += 2;
        pp_text_add(p->text, TEXT, "%s%s", p->text[0] ? " " : "", text);
    }
}

pp_status pp_topic_print(const char *name, FILE *out, struct pp_err *err)
{
    static const char *const folders[] = {"guide/", "reference/", "results/", "", NULL};
    char path[PATH_MAX], page[256];
    struct pp_io_file file = {.limit = 4 << 20};
    int is_there = 0, is_topic = 0;
    for (int i = 0; folders[i] && !is_there; i++)
        is_there = !strstr(name, "..") &&
                   (size_t)snprintf(page, sizeof(page), "%s%s.md", folders[i], name) < sizeof(page) &&
                   pp_shipped_find("page", NULL, &pages, page, path, err) == PP_OK;
    for (int i = 0; pp_topics[i]; i++)
        is_topic |= strcmp(pp_topics[i], name) == 0;
    if (!is_there)
        return is_topic ? pp_fail(err, PP_E_UNSUPPORTED,
                                  "the guides are not installed with this program (share/doc/pipeprobe)")
                        : pp_fail(err, PP_E_USAGE, "%s is no command and no topic", name);
    struct printing *p = calloc(1, sizeof(*p));
    char *text = NULL;
    pp_status st = p ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for a page");
    if (st == PP_OK)
        st = pp_io_read_file(AT_FDCWD, path, &file, err);
    if (st == PP_OK && !(text = strndup(file.size ? (const char *)file.buf : "", file.size)))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for a page");
    if (st == PP_OK) {
        int columns = pp_cli_columns(out);
        p->page = (struct pp_page){.out = out,
                                   .columns = columns < PP_HELP_COLUMNS ? columns : PP_HELP_COLUMNS,
                                   .color = pp_cli_use_color(PP_COLOR_AUTO, out)};
        p->lead = "";
        for (char *at = text, *next; at && *at; at = next) {
            next = strchr(at, '\n');
            if (next)
                *next++ = '\0';
            print_line(p, at);
        }
        end_paragraph(p);
    }
    free(text);
    free(file.buf);
    free(p);
    return st;
}
