/* Panels around every view: status bar, footer, help, and what a screen that is too small shows. */
#include "probe/base/text.h"
#include "report/build/parts.h"
#include "tui/dash/draw.h"
#include "tui/dash/panel.h"

#include <ctype.h>

/* ---- status ---- */

const char *pp_state_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf,
                          size_t size)
{
    const struct pp_live_snapshot *snap = m->snap;
    char age[PP_CELL];
    if (s->mode == PP_MODE_HOLD)
        snprintf(buf, size, "PAUSED -%s",
                 pp_clock_text(age, sizeof(age), (double)(snap->last_s - snap->at_s)));
    else if (s->mode == PP_MODE_PLAY)
        snprintf(buf, size, "REPLAY %gx", pp_speeds[s->speed]);
    else if (snap->state != PP_LIVE_RUNNING)
        snprintf(buf, size, "ENDED %s", pp_live_state_names[snap->state]);
    else if (snap->quiet_s >= 3)
        snprintf(buf, size, "STALE %.0f s", snap->quiet_s);
    else
        snprintf(buf, size, "LIVE");
    if (snap->deleted)
        snprintf(buf + strlen(buf), size - strlen(buf), ", file deleted");
    else if (m->trouble)
        snprintf(buf + strlen(buf), size - strlen(buf), ", cannot read");
    return buf;
}

enum { PARTS = 10 };

/* The parts of a status line, the most important first; brief: for the narrowest screens. */
static int status_parts(const struct pp_dash_state *s, const struct pp_dash_model *m, int brief,
                        char part[PARTS][96])
{
    const struct pp_live_snapshot *snap = m->snap;
    char a[PP_CELL], state[64];
    const char *base = strrchr(m->path, '/');
    int n = 0;
    snprintf(part[n++], 96, "%s %s", pp_state_text(s, m, state, sizeof(state)),
             pp_clock_text(a, sizeof(a),
                           snap->last_s < snap->first_s
                               ? 0
                               : (double)(snap->at_s + 1) - (double)snap->origin_ns / 1e9));
    snprintf(part[n++], 96, brief ? "%s/s" : "%s samples/s", pp_text_rate(a, sizeof(a), snap->samples_per_s));
    snprintf(part[n++], 96, "wait %s", pp_short_share(a, sizeof(a), snap->wait_share));
    if (snap->errors)
        snprintf(part[n++], 96, "errors %s", pp_text_count(a, sizeof(a), (double)snap->errors));
    if (m->report && m->report->subject_kind != PP_SUBJECT_UNKNOWN) {
        /* "pipeprobe's loader", "job train.py": whose pipeline this is, in few columns. */
        char *buf = part[n++];
        const char *from = strncmp(m->report->subject, "the ", 4) == 0 ? m->report->subject + 4
                                                                       : m->report->subject,
                   *behind = strstr(from, " (");
        if (m->report->subject_kind == PP_SUBJECT_OWN_LOADER ||
            m->report->subject_kind == PP_SUBJECT_PYTORCH_LOADER)
            snprintf(buf, 96,
                     m->report->subject_kind == PP_SUBJECT_OWN_LOADER ? "pipeprobe's loader"
                                                                      : "PyTorch DataLoader");
        else
            snprintf(buf, 96, "%.*s", behind && behind - from < 40 ? (int)(behind - from) : 40, from);
    }
    if (!snap->errors)
        snprintf(part[n++], 96, "errors 0");
    snprintf(part[n++], 96, "over %u s", pp_windows[s->window]);
    int no_device = m->report && m->report->subject_kind == PP_SUBJECT_JOB && !m->report->gpu;
    if (!isnan(snap->accelerator_utilization) && !brief && !no_device)
        snprintf(part[n++], 96, "AU %s", pp_short_share(a, sizeof(a), snap->accelerator_utilization));
    int has_gpu = 0;
    for (int i = 0; i < PP_LIVE_GPUS; i++)
        has_gpu |= !isnan(snap->gpu[i]);
    if (has_gpu) { /* "GPU 42 %, 3.00 GiB, PCIe 1.91 MiB/s": of what NVML tells */
        char *buf = part[n++];
        size_t at = (size_t)snprintf(buf, 96, "GPU");
        if (!isnan(snap->gpu[PP_LIVE_GPU_UTILIZATION]))
            at += (size_t)snprintf(buf + at, 96 - at, " %.0f %%,", snap->gpu[PP_LIVE_GPU_UTILIZATION]);
        if (!isnan(snap->gpu[PP_LIVE_GPU_MEMORY]))
            at += (size_t)snprintf(buf + at, 96 - at, " %s,",
                                   pp_text_bytes(a, sizeof(a), snap->gpu[PP_LIVE_GPU_MEMORY]));
        if (!isnan(snap->gpu[PP_LIVE_GPU_PCIE_RX]))
            at += (size_t)snprintf(buf + at, 96 - at, " PCIe %s/s,",
                                   pp_text_bytes(a, sizeof(a), snap->gpu[PP_LIVE_GPU_PCIE_RX]));
        buf[at - (buf[at - 1] == ',')] = '\0';
    }
    if (snap->dropped)
        snprintf(part[n++], 96, "spans lost %s", pp_text_count(a, sizeof(a), (double)snap->dropped));
    snprintf(part[n++], 96, "%.80s", base && base[1] ? base + 1 : m->path);
    return n;
}

void pp_panel_status(const struct pp_canvas *c)
{
    char part[PARTS][96];
    int brief = c->box.cols < 60, n = status_parts(c->s, c->m, brief, part), col = 1;
    for (int i = 0; i < n; i++) {
        int width = pp_grid_columns(c->grid, part[i]);
        if (i == 0 || col + width <= c->box.cols - 1)
            col = pp_put(c, 0, col, PP_STYLE_BAR, "%s", part[i]) + (brief ? 2 : 3);
    }
    pp_grid_style(c->grid, &c->box, 0, PP_STYLE_BAR);
}

/* ---- meters ---- */

enum { LEAST_METER = 17 }; /* "disk 1023 KiB/s" and two blanks */

/* What the whole machine does. A rate's bar is of the largest that the run has seen. */
void pp_panel_meters(const struct pp_canvas *c)
{
    const struct pp_live_snapshot *s = c->m->snap;
    char text[4][PP_CELL + 8], t[PP_CELL];
    const struct {
        const char *name;
        double share;
    } meters[] = {{"CPU", s->cpu_busy},
                  {"disk", s->disk_bytes_per_s / s->disk_most_bytes_per_s},
                  {"net", s->net_bytes_per_s / s->net_most_bytes_per_s},
                  {"GPU", s->gpu[PP_LIVE_GPU_UTILIZATION] / 100}};
    snprintf(text[0], sizeof(text[0]), "%s", pp_short_share(t, sizeof(t), s->cpu_busy));
    snprintf(text[1], sizeof(text[1]), "%s/s", pp_text_bytes(t, sizeof(t), s->disk_bytes_per_s));
    snprintf(text[2], sizeof(text[2]), "%s/s", pp_text_bytes(t, sizeof(t), s->net_bytes_per_s));
    snprintf(text[3], sizeof(text[3]), "%s", pp_short_share(t, sizeof(t), meters[3].share));
    const int known[] = {!isnan(s->cpu_busy), !isnan(s->disk_bytes_per_s), !isnan(s->net_bytes_per_s),
                         !isnan(meters[3].share)};
    int n = known[0] + known[1] + known[2] + known[3], at = 0;
    while (n > 1 && c->box.cols / n < LEAST_METER)
        n--;
    int width = n ? c->box.cols / n : c->box.cols;
    for (int i = 0, put = 0; i < 4 && put < n; i++) {
        if (!known[i])
            continue;
        put++;
        int name = (int)strlen(meters[i].name) + 1, number = width > 24 ? 11 : 10,
            bar = width - name - number - 2 < 30 ? width - name - number - 2 : 30;
        double share = meters[i].share >= 0 ? meters[i].share : 0;
        int full = bar > 2 ? (int)(share * bar + 0.5) : 0;
        pp_put(c, 0, at, PP_STYLE_STRONG, "%s", meters[i].name);
        if (bar > 2) {
            pp_bar(c, 0, at + name, bar, PP_STYLE_PLAIN, c->glyphs->empty);
            pp_bar(c, 0, at + name, full > bar ? bar : full, PP_STYLE_CPU, c->glyphs->fill);
        }
        pp_put(c, 0, at + name + (bar > 2 ? bar + 1 : 0), PP_STYLE_PLAIN, "%s", text[i]);
        at += width;
    }
}

/* ---- footer ---- */

void pp_panel_footer(const struct pp_canvas *c)
{
    static const char *const prompts[] = {"", "search: ", "filter: ", "go to: "};
    static const char *const hints[] = {"? help",    "p pause",  "[ ] step",
                                        "{ } stall", "t window", "o g w b c e v i W views",
                                        "/ search",  "s sort",   "q quit"};
    int col = 0, last = (int)(sizeof(hints) / sizeof(*hints)) - 1;
    if (c->s->input != PP_INPUT_NONE) {
        pp_put(c, 0, 0, PP_STYLE_STRONG, "%s%s_", prompts[c->s->input], c->s->line);
        return;
    }
    if (c->s->message[0] || c->m->trouble) {
        pp_put(c, 0, 0, PP_STYLE_STRONG, "%s", c->s->message[0] ? c->s->message : c->m->trouble);
        return;
    }
    col = pp_put(c, 0, 0, PP_STYLE_STRONG, "%s", c->s->help ? "help" : pp_view_names[c->s->view]) + 2;
    if (c->s->filter[0])
        col = pp_put(c, 0, col, PP_STYLE_WARN, "filter '%.20s'", c->s->filter) + 2;
    int end = c->box.cols - (int)strlen(hints[last]);
    for (int i = 0; i < last && col + (int)strlen(hints[i]) + 2 <= end; i++)
        col = pp_put(c, 0, col, PP_STYLE_PLAIN, "%s", hints[i]) + 2;
    pp_put(c, 0, end, PP_STYLE_PLAIN, "%s", hints[last]);
}

/* ---- help, too small ---- */

void pp_panel_help(const struct pp_canvas *c)
{
    enum { GAP = 2 };
    int key = 0;
    int columns = c->box.cols >= 160 ? 2 : 1, width = c->box.cols / columns, rows = c->box.rows - 1;
    int per_column = ((int)pp_keys_n + columns - 1) / columns;
    int top = pp_list_top(c->s->help_row, per_column, rows);
    for (size_t i = 0; i < pp_keys_n; i++) {
        const struct pp_key *k = &pp_keys[i];
        int n = (int)strlen(k->name) + (k->alias_name ? 2 + (int)strlen(k->alias_name) : 0);
        key = n + GAP > key ? n + GAP : key;
    }
    pp_heading(c, per_column > rows ? "Keys (j and k move)" : "Keys");
    for (size_t i = 0; i < pp_keys_n; i++) {
        const struct pp_key *k = &pp_keys[i];
        int col = (int)i / per_column * width, row = (int)i % per_column - top;
        struct pp_canvas half = *c;
        half.box.col += col;
        half.box.cols = width - (columns > 1 ? GAP : 0);
        if (row < 0 || row >= rows)
            continue;
        pp_put(&half, row + 1, 0, PP_STYLE_STRONG, "%s%s%s", k->name, k->alias_name ? ", " : "",
               k->alias_name ? k->alias_name : "");
        pp_put(&half, row + 1, key, PP_STYLE_PLAIN, "%s", k->help);
    }
}

void pp_panel_too_small(const struct pp_canvas *c)
{
    char text[128];
    snprintf(text, sizeof(text), "too small: %dx%d, needs %dx%d; q quits", c->box.cols, c->box.rows,
             PP_COLS_NEEDED, PP_ROWS_NEEDED);
    pp_wrap(c, 0, c->box.rows, c->box.cols, PP_STYLE_PLAIN, text);
}

/* ---- the verdict ----
 *
 * The first lines of every view: what holds the run up at the time that is looked at, with its numbers, and
 * what to do, in the words of the report; two lines, and more where the screen has room. How a run failed, a
 * trainer that stalls, a worker that hangs, and prefetched batches that run out are said
 * instead, as soon as they are seen. The reasons are in `pipeprobe report`. */

#define STALLED_NS 2e9 /* a wait of this length, with no end yet, is told before any share */

enum { LINES = 2, MOST_LINES = 6, NARROW = 60, TEXT = 900 };

struct lines {
    char head[TEXT],
        brief[TEXT]; /* "": none; brief: head without what a screen of 80 columns has no room for */
    char first[TEXT], next[TEXT]; /* first goes on where head ends */
    enum pp_style tone;
};

static void say_stalled(const struct pp_live_snapshot *s, struct lines *out)
{
    char wait[PP_CELL], age[PP_CELL];
    const struct pp_live_worker *w = NULL; /* the one that has had its sample in hand for longest */
    for (size_t i = 0; i < s->n_workers; i++)
        if (!isnan(s->workers[i].sample_age_ns) && (!w || s->workers[i].sample_age_ns > w->sample_age_ns))
            w = &s->workers[i];
    if (w && w->sample_age_ns < STALLED_NS / 2)
        w = NULL;
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

/* "STORAGE-BOUND (latency), waits for data 61 %, likely; num_workers=8: +140 %", the cause in words, and what
 * to do. Without a cause the sentence is all. The number is the advice's, as in the report. r NULL: there is
 * none yet; begun: it has seen batches. */
static void say_verdict(const char *lead, const struct pp_report *r, int begun, struct lines *out)
{
    const struct pp_report_verdict *v = r ? &r->verdict : NULL;
    const struct pp_report_fix *fix = v ? v->action.fix : NULL;
    char gain[64], waits[256], advice[TEXT] = "";
    out->tone = !v || !v->level                   ? PP_STYLE_STRONG
                : strcmp(v->level, "not") == 0    ? PP_STYLE_GOOD
                : strcmp(v->level, "highly") == 0 ? PP_STYLE_BAD
                                                  : PP_STYLE_WARN;
    if (begun && v->next_step) {
        const char *sure = v->headline ? NULL : v->certainty; /* else the headline says it */
        snprintf(out->next, TEXT, "Do: %s%s%s%s", v->next_step, sure ? " (" : "", sure ? sure : "",
                 sure ? ")" : "");
    }
    if (!begun || !v->sentence) {
        snprintf(out->first, TEXT, "No verdict yet: waiting for the first batches");
        return;
    }
    if (!v->headline || !v->cause) {
        snprintf(out->first, TEXT, "%s%s", lead, v->sentence);
        return;
    }
    if (v->outside)
        snprintf(waits, sizeof(waits), "loses %s of the time %s",
                 pp_text_share(gain, sizeof(gain), v->outside_share), v->outside);
    else
        pp_sentence_waits(r, "", waits, sizeof(waits));
    if (fix)
        snprintf(advice, TEXT, "; %s: %s", fix->change ? fix->change : fix->knob,
                 pp_text_gain(gain, sizeof(gain), fix->gain, NAN, fix->high));
    snprintf(out->head, TEXT, "%s%s%s%s%s%s%s", lead, v->headline, waits[0] ? ", " : "", waits,
             v->certainty ? ", " : "", v->certainty ? v->certainty : "", advice);
    snprintf(out->brief, TEXT, "%s%s%s%s%s", lead, v->headline, waits[0] ? ", " : "", waits, advice);
    snprintf(out->first, TEXT, "%c%s", toupper((unsigned char)v->cause[0]), v->cause + 1);
}

static void compose(const struct pp_dash_state *s, const struct pp_dash_model *m, struct lines *out)
{
    *out = (struct lines){.head = ""};
    if (m->snap->stalled_ns >= STALLED_NS) {
        say_stalled(m->snap, out);
    } else if (m->snap->hung_worker >= 0) {
        /* The trainer has batches still: what hangs will hold it up. */
        const struct pp_live_worker *w = &m->snap->workers[m->snap->hung_worker];
        char age[PP_CELL], since[PP_CELL];
        out->tone = PP_STYLE_BAD;
        snprintf(out->first, TEXT, "HANG: %s hangs in %s since %s (%s)%s%s", w->name,
                 pp_phase_info(m->snap->hung_phase)->name,
                 pp_clock_of_run(since, m->snap, m->snap->hung_since_ns),
                 pp_text_duration(age, sizeof(age), m->snap->hung_ns), w->path ? ", with " : "",
                 w->path ? w->path : "");
        snprintf(
            out->next, TEXT,
            "Do: Check that sample and its storage: a mount that does not answer, a very large file, a lock.");
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
        pp_clock_of_run(from, m->snap, m->moment_from_ns);
        pp_clock_of_run(to, m->snap, m->moment_to_ns);
        snprintf(lead, sizeof(lead), "%s to %s: ", from, to);
        say_verdict(lead, m->moment, 1, out);
    } else { /* what is newest, and an ended run's whole, need no word for it */
        say_verdict(s->mode == PP_MODE_FOLLOW           ? ""
                    : m->snap->state == PP_LIVE_RUNNING ? "Whole run so far: "
                                                        : "Whole run: ",
                    m->report, m->report && (m->snap->state != PP_LIVE_RUNNING || m->report->batches), out);
    }
}

void pp_line_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf, size_t size)
{
    char part[PARTS][96];
    struct lines l;
    int n = status_parts(s, m, 0, part);
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? "  " : "", part[i]);
    if (at + 2 < size)
        strcpy(buf + at, "  "), at += 2;
    compose(s, m, &l);
    if (at < size)
        snprintf(buf + at, size - at, "%s%s%s", l.head, l.head[0] ? ": " : "", l.first);
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
