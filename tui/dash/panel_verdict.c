/* The first lines of every view: what holds the run up at the time that is looked at, with its numbers, and
 * what to do, in the words of the report; two lines, and more where the screen has room. How a run failed, a
 * trainer that stalls, a worker that hangs, and prefetched batches that run out are said
 * instead, as soon as they are seen. The reasons are in `pipeprobe report`. */
#include "tui/dash/panel.h"

#include "probe/base/text.h"
#include "report/build/sentence.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define STALLED_NS 2e9 /* a wait of this length, with no end yet, is told before any share */

enum { LINES = 2, MOST_LINES = 6, NARROW = 60, TEXT = 900 };

struct lines {
    char head[TEXT],
        brief[TEXT]; /* "": none; brief: head without what a screen of 80 columns has no room for */
    char first[TEXT], next[TEXT]; /* first goes on where head ends */
    enum pp_style tone;
};

static enum pp_style tone_of(const struct pp_report *r)
{
    const char *level = r ? r->verdict.level : NULL;
    if (!level)
        return PP_STYLE_STRONG;
    return strcmp(level, "not") == 0      ? PP_STYLE_GOOD
           : strcmp(level, "highly") == 0 ? PP_STYLE_BAD
                                          : PP_STYLE_WARN;
}

static void next_of(const struct pp_report *r, char *buf)
{
    if (!r || !r->verdict.next_step)
        return;
    const char *sure = r->verdict.headline ? NULL : r->verdict.certainty; /* else the headline says it */
    snprintf(buf, TEXT, "Do: %s%s%s%s", r->verdict.next_step, sure ? " (" : "", sure ? sure : "",
             sure ? ")" : "");
}

/* The worker that has had its sample in hand for longest. */
static const struct pp_live_worker *stuck_worker(const struct pp_live_snapshot *s)
{
    const struct pp_live_worker *worst = NULL;
    for (size_t i = 0; i < s->n_workers; i++) {
        const struct pp_live_worker *w = &s->workers[i];
        if (!isnan(w->sample_age_ns) && (!worst || w->sample_age_ns > worst->sample_age_ns))
            worst = w;
    }
    return worst && worst->sample_age_ns >= STALLED_NS / 2 ? worst : NULL;
}

static void say_stalled(const struct pp_live_snapshot *s, struct lines *out)
{
    char wait[PP_CELL], age[PP_CELL];
    const struct pp_live_worker *w = stuck_worker(s);
    const struct pp_phase_info *phase = w ? pp_phase_info(w->state) : NULL;
    out->tone = PP_STYLE_BAD;
    pp_text_duration(wait, sizeof(wait), s->stalled_ns);
    if (!w) {
        snprintf(out->first, TEXT,
                 "STALLED: the trainer has waited %s for one batch, and no worker holds a sample", wait);
        return;
    }
    snprintf(out->first, TEXT,
             "STALLED: the trainer has waited %s for one batch; %s has been in %s for %s, with %s%s", wait,
             w->name, phase ? phase->name : "one phase", pp_text_duration(age, sizeof(age), w->sample_age_ns),
             w->path ? "" : "sample ", w->path ? w->path : "");
    if (!w->path)
        snprintf(out->first + strlen(out->first), TEXT - strlen(out->first), "%llu",
                 (unsigned long long)w->sample);
    snprintf(
        out->next, TEXT,
        "Do: Check that sample and its storage: a mount that does not answer, a damaged or very large file, a lock.");
}

static void clock_of(const struct pp_live_snapshot *s, uint64_t t_ns, char *buf)
{
    pp_clock_text(buf, PP_CELL, ((double)t_ns - (double)s->origin_ns) / 1e9);
}

/* The trainer has batches still: what hangs will hold it up. */
static void say_hung(const struct pp_live_snapshot *s, struct lines *out)
{
    const struct pp_live_worker *w = &s->workers[s->hung_worker];
    char age[PP_CELL], since[PP_CELL];
    clock_of(s, s->hung_since_ns, since);
    out->tone = PP_STYLE_BAD;
    snprintf(out->first, TEXT, "HANG: %s hangs in %s since %s (%s)%s%s", w->name,
             pp_phase_info(s->hung_phase)->name, since, pp_text_duration(age, sizeof(age), s->hung_ns),
             w->path ? ", with " : "", w->path ? w->path : "");
    snprintf(
        out->next, TEXT,
        "Do: Check that sample and its storage: a mount that does not answer, a very large file, a lock.");
}

static void add(char *buf, const char *before, const char *what, const char *after)
{
    size_t at = strlen(buf);
    snprintf(buf + at, TEXT - at, "%s%s%s", before, what, after);
}

/* "STORAGE-BOUND (latency), waits for data 61 %, likely; num_workers=8: +140 %", and the cause in words.
 * Without a cause the sentence is all. The number is the advice's, as in the report. */
static void put_verdict_lines(const char *lead, const struct pp_report *r, struct lines *out)
{
    const struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_fix *fix = v->action.fix;
    char gain[64], waits[256];
    if (!v->headline || !v->cause) {
        snprintf(out->first, TEXT, "%s%s", lead, v->sentence);
        return;
    }
    if (v->outside)
        snprintf(waits, sizeof(waits), "loses %s of the time %s",
                 pp_text_share(gain, sizeof(gain), v->outside_share), v->outside);
    else
        pp_sentence_waits(r, "", waits, sizeof(waits));
    snprintf(out->head, TEXT, "%s%s%s%s", lead, v->headline, waits[0] ? ", " : "", waits);
    snprintf(out->brief, TEXT, "%s", out->head);
    if (v->certainty)
        add(out->head, ", ", v->certainty, "");
    if (fix) {
        pp_text_gain(gain, sizeof(gain), fix->gain, NAN, NAN);
        add(out->head, "; ", fix->change ? fix->change : fix->knob, ": ");
        add(out->head, gain, "", "");
        add(out->brief, "; ", fix->change ? fix->change : fix->knob, ": ");
        add(out->brief, gain, "", "");
    }
    snprintf(out->first, TEXT, "%c%s", toupper((unsigned char)v->cause[0]), v->cause + 1);
}

static void compose(const struct pp_dash_state *s, const struct pp_dash_model *m, struct lines *out)
{
    *out = (struct lines){.tone = tone_of(m->report)};
    if (m->snap->stalled_ns >= STALLED_NS) {
        say_stalled(m->snap, out);
    } else if (m->snap->hung_worker >= 0) {
        say_hung(m->snap, out);
    } else if (s->mode == PP_MODE_FOLLOW && m->snap->state != PP_LIVE_RUNNING && m->report &&
               m->report->ended) {
        out->tone = PP_STYLE_BAD;
        snprintf(out->first, TEXT, "%c%s: %s.", toupper((unsigned char)m->report->outcome[0]),
                 m->report->outcome + 1, m->report->ended);
        if (m->report->ended_remedy)
            snprintf(out->next, TEXT, "Do: %s", m->report->ended_remedy);
    } else if (!isnan(m->snap->buffer_lasts_s)) {
        /* Before it happens. */
        char lasts[PP_CELL];
        out->tone = PP_STYLE_WARN;
        snprintf(
            out->first, TEXT,
            "SOON: at this rate the %.0f prefetched batches last %s, then the trainer stalls (%.1f batches/s fewer)",
            m->snap->buffered_batches, pp_text_duration(lasts, sizeof(lasts), m->snap->buffer_lasts_s * 1e9),
            m->snap->buffer_drain_per_s);
        snprintf(out->next, TEXT,
                 "Do: see what became slower in the pipeline below; [ and ] step through the seconds.");
    } else if (m->moment && m->moment->verdict.sentence && m->moment->verdict.l0 &&
               strcmp(m->moment->verdict.l0, "inconclusive") != 0) {
        char from[PP_CELL], to[PP_CELL], lead[2 * PP_CELL + 8];
        clock_of(m->snap, m->moment_from_ns, from);
        clock_of(m->snap, m->moment_to_ns, to);
        snprintf(lead, sizeof(lead), "%s to %s: ", from, to);
        put_verdict_lines(lead, m->moment, out);
        out->tone = tone_of(m->moment);
        next_of(m->moment, out->next);
    }
    if (out->first[0])
        return;
    int begun = m->report && (m->snap->state != PP_LIVE_RUNNING || m->report->batches);
    if (begun && m->report->verdict.sentence)
        put_verdict_lines(s->mode == PP_MODE_FOLLOW           ? ""
                          : m->snap->state == PP_LIVE_RUNNING ? "Whole run so far: "
                                                              : "Whole run: ",
                          m->report, out); /* what is newest, and an ended run's whole, need no word for it */
    else
        snprintf(out->first, TEXT, "No verdict yet: waiting for the first batches");
    if (begun || !m->report)
        next_of(m->report, out->next);
}

void pp_verdict_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf, size_t size)
{
    struct lines l;
    compose(s, m, &l);
    snprintf(buf, size, "%s%s%s", l.head, l.head[0] ? ": " : "", l.first);
}

static int rows_of(const char *text, int cols, int most)
{
    int n = pp_wrap(NULL, 0, 0, cols, PP_STYLE_PLAIN, text);
    return n < most ? n : most;
}

/* What stands first in so many rows. In the least it has one, both on a narrow screen. */
static const char *headline_of(const struct lines *l, int cols, int rows, int *most)
{
    if (!l->head[0]) {
        *most = rows;
        return l->first;
    }
    *most = rows > LINES ? LINES + 1 : cols < NARROW ? LINES : 1;
    return rows_of(l->head, cols, MOST_LINES) > *most ? l->brief : l->head;
}

/* What holds the run up, and what to do: whole, where there is room. */
int pp_want_verdict(const struct pp_dash_state *s, const struct pp_dash_model *m, int cols)
{
    struct lines l;
    int most;
    compose(s, m, &l);
    int n = rows_of(headline_of(&l, cols, MOST_LINES, &most), cols, MOST_LINES);
    n = n < most ? n : most;
    return n + (l.next[0] ? rows_of(l.next, cols, MOST_LINES - n) : 0);
}

void pp_panel_verdict(const struct pp_canvas *c)
{
    struct lines l;
    int most, rows = c->box.rows < MOST_LINES ? c->box.rows : MOST_LINES;
    compose(c->s, c->m, &l);
    const char *first = headline_of(&l, c->box.cols, rows, &most);
    int n = rows_of(first, c->box.cols, rows < most ? rows : most);
    pp_wrap(c, 0, n, c->box.cols, l.tone, first);
    if (n < rows)
        pp_wrap(c, n, rows - n, c->box.cols, PP_STYLE_PLAIN, l.next);
}
