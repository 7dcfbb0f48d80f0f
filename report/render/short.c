/* The short report: what one needs to know and to do, on one screen. */
#include "report/render/answer.h"
#include "report/render/render.h"

#include "probe/base/page.h"
#include "probe/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 20, INDENT = 9 };

/* ---- a line to paste ---- */

/* Python may be broken behind a comma; what does not fit goes on below its bracket. */
static void put_code(const struct pp_page *p, const char *code)
{
    const char *bracket = strchr(code, '('), *s = code;
    int below = INDENT + (bracket ? (int)(bracket - code) + 1 : 0), at = INDENT;
    fprintf(p->out, "%*s", INDENT, "");
    while (*s) {
        const char *comma = strstr(s, ", ");
        int n = comma ? (int)(comma - s) + 1 : (int)strlen(s);
        if (at > below && at + n > p->columns && strncmp(code, "DataLoader(", 11) == 0) {
            fprintf(p->out, "\n%*s", below, "");
            at = below;
        }
        fprintf(p->out, "%.*s", n, s);
        at += n + 1;
        s += n;
        s += strspn(s, " ");
        if (*s && (at + (int)strcspn(s, " ") <= p->columns || strncmp(code, "DataLoader(", 11) != 0))
            fputc(' ', p->out);
    }
    fputc('\n', p->out);
}

/* ---- parts ---- */

static void put(const struct pp_page *p, enum pp_tone tone, const char *lead, int most, const char *text)
{
    if (text && text[0])
        pp_page_text(p, tone, lead, lead[0] ? INDENT : 0, most, text);
}

/* How many a sentence may have that needs `most` where there is room. */
static int lines(enum pp_answer_room room, int most)
{
    return room <= PP_ANSWER_WIDE   ? 0
           : room < PP_ANSWER_SNUG  ? most
           : most <= 2              ? 1
           : room < PP_ANSWER_TIGHT ? most
                                    : 2;
}

static enum pp_tone tone_of(const struct pp_report_verdict *v)
{
    return !v->level ? PP_TONE_STRONG : strcmp(v->level, "not") == 0 ? PP_TONE_GOOD : PP_TONE_BAD;
}

/* A path keeps its end. */
static void put_subject(const struct pp_page *p, const struct pp_report *r)
{
    char text[PP_ANSWER_TEXT];
    size_t n = strlen(pp_answer_subject(r, text)), room = (size_t)p->columns;
    const char *from = text;
    if (n > room) {
        from = text + n - (room - 4);
        while (((unsigned char)*from & 0xc0) == 0x80)
            from++;
    }
    for (char *c = text; *c; c++)
        if (*c == ' ' && c < from) /* no break there */
            *c = '_';
    pp_page_text(p, PP_TONE_PLAIN, from == text ? "" : "...", from == text ? 0 : 3, 1, from);
}

static void put_action(const struct pp_page *p, const struct pp_report *r, enum pp_answer_room room)
{
    const struct pp_report_verdict *v = &r->verdict;
    char text[PP_ANSWER_TEXT], label[16];
    const char *program, *words = pp_answer_words(r, &program);
    const char *gap = room <= PP_ANSWER_ROOMY && v->action.python ? "\n" : "";
    snprintf(label, sizeof(label), "%s:", program);
    put(p, PP_TONE_STRONG, "Do:", lines(room, 3), v->next_step);
    put(p, PP_TONE_PLAIN, "Gain:", lines(room, 2), pp_answer_predicted(r, text));
    if (!r->n_proofs) /* what was measured needs no assumption */
        put(p, PP_TONE_PLAIN, "Assumes:", lines(room, 2), pp_answer_assumes(r));
    fputs(gap, p->out);
    if (v->action.python)
        put_code(p, v->action.python);
    else
        put(p, PP_TONE_PLAIN, label, lines(room, 2), words);
    fputs(gap, p->out);
    put(p, PP_TONE_PLAIN, "Flags:", lines(room, 2), v->action.command);
    if (room < PP_ANSWER_DENSE)
        put(p, PP_TONE_PLAIN, "PyTorch:", lines(room, 3), pp_answer_pytorch(r));
}

/* A threshold without where it comes from. */
static void put_evidence(const struct pp_page *p, const struct pp_report *r, enum pp_answer_room room)
{
    const struct pp_report_evidence *e[PP_ANSWER_EVIDENCE];
    size_t n = pp_answer_evidence(r, e);
    char text[PP_ANSWER_TEXT];
    size_t taken = (pp_answer_assumes(r) != NULL) + (pp_answer_gpu_gone(r, text) != NULL);
    if (room == PP_ANSWER_TIGHT && n + taken > PP_ANSWER_EVIDENCE)
        n = PP_ANSWER_EVIDENCE - taken; /* they have the lines */
    for (size_t i = 0; i < n; i++) {
        const char *limit = e[i]->threshold ? e[i]->threshold : "";
        snprintf(text, sizeof(text), "%s %s%s%.*s%s", e[i]->name, e[i]->value, limit[0] ? " (" : "",
                 (int)strcspn(limit, ":"), limit, limit[0] ? ")" : "");
        put(p, PP_TONE_PLAIN, i ? " " : "Because:", 1, text);
    }
}

/* A name that a shell takes as one word; else FILE. */
static const char *file_of(const struct pp_report *r)
{
    return strlen(r->path) <= 48 && r->path[0] != '-' && pp_text_is_shell_word(r->path) ? r->path : "FILE";
}

static void put_more(const struct pp_page *p, const struct pp_report *r, enum pp_answer_room room)
{
    char text[PP_ANSWER_TEXT];
    const char *file = room >= PP_ANSWER_DENSE ? "FILE" : file_of(r);
    int n = snprintf(text, sizeof(text), "pipeprobe report %s --full (or -o page.html)", file);
    if (r->subject_kind != PP_SUBJECT_TRACE) /* which nothing can be replayed of */
        snprintf(text + n, sizeof(text) - (size_t)n, "; pipeprobe whatif %s", file);
    put(p, PP_TONE_PLAIN, "More:", lines(room, 2), text);
}

void pp_answer_put(const struct pp_page *p, const struct pp_report *r, enum pp_answer_room room)
{
    char text[PP_ANSWER_TEXT];
    put_subject(p, r);
    put(p, PP_TONE_BAD, "", lines(room, 2), pp_answer_outcome(r, text));
    put(p, PP_TONE_BAD, "GPU:", lines(room, 2), pp_answer_gpu_gone(r, text));
    put(p, tone_of(&r->verdict), "", lines(room, 3), r->verdict.head);
    put(p, PP_TONE_PLAIN, "Cause:", lines(room, 4), r->verdict.cause_line);
    put_action(p, r, room);
    if (room == PP_ANSWER_FULL)
        return;
    for (size_t i = 0; i < r->n_proofs && i < (room == PP_ANSWER_TIGHT ? 1 : 2); i++)
        put(p, PP_TONE_PLAIN, i ? " " : "Proved:", 1, pp_answer_proof(&r->proofs[i], text));
    put_evidence(p, r, room);
    put(p, PP_TONE_PLAIN, "Also:", room == PP_ANSWER_TIGHT ? 1 : lines(room, 3), pp_answer_findings(r, text));
    put(p, PP_TONE_PLAIN, "Errors:", lines(room, 2), pp_answer_errors(r, text));
    put(p, PP_TONE_PLAIN, "Lost:", 1, pp_answer_losses(r, text));
    put_more(p, r, room);
}

/* ---- the whole ---- */

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* The widest arrangement that one screen has room for. */
int pp_render_short(const struct pp_report *r, FILE *out, int color, int columns)
{
    struct pp_page p = {.color = color, .columns = columns < 40 ? 40 : columns > 120 ? 120 : columns};
    int failed = 0, done = 0;
    for (int room = PP_ANSWER_WIDE; room <= PP_ANSWER_TIGHT && !done && !failed; room++) {
        char *text = NULL;
        size_t size = 0;
        p.out = open_memstream(&text, &size);
        if (!p.out)
            return -1;
        pp_answer_put(&p, r, (enum pp_answer_room)room);
        failed = fclose(p.out) != 0;
        done = !failed && (room == PP_ANSWER_TIGHT || count_lines(text) <= MOST_LINES);
        if (done)
            failed = fputs(text, out) == EOF;
        free(text);
    }
    return !failed && fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

int pp_render_brief(const struct pp_report *r, FILE *out, int color, int columns)
{
    enum { MOST = 2 }; /* lines of a sentence */
    const struct pp_report_verdict *v = &r->verdict;
    struct pp_page p = {.out = out,
                        .color = color,
                        .columns = columns < 40    ? 40
                                   : columns > 120 ? 120
                                                   : columns};
    char text[PP_ANSWER_TEXT], gain[PP_ANSWER_TEXT];
    const char *advice = v->action.python ? v->action.python : v->next_step;
    if (v->action.fix) {
        snprintf(text, sizeof(text), "%s (predicted: %s)", advice, pp_answer_gain(v->action.fix, gain));
        advice = text;
    }
    put_subject(&p, r);
    put(&p, PP_TONE_BAD, "", MOST, pp_answer_outcome(r, gain));
    put(&p, tone_of(v), "", MOST + 1, v->head);
    put(&p, PP_TONE_PLAIN, "Cause:", MOST, v->cause_line);
    put(&p, PP_TONE_STRONG, "Do:", MOST, advice);
    put(&p, PP_TONE_PLAIN, "Errors:", MOST, pp_answer_errors(r, gain));
    snprintf(text, sizeof(text), "pipeprobe report %s", file_of(r));
    put(&p, PP_TONE_PLAIN, "More:", 1, text);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
