#include "tui/dash/draw.h"

#include "tui/dash/panel.h"

/* want NULL: as pp_draw_layout says. list: rows above the list that the user moves in; 0: there is none. */
static const struct {
    pp_panel_draw *draw;
    pp_panel_want *want;
    int list;
} panels[PP_PANEL_COUNT] = {
    [PP_PANEL_VERDICT] = {pp_panel_verdict, pp_want_verdict},
    [PP_PANEL_STATUS] = {pp_panel_status, NULL},
    [PP_PANEL_METERS] = {pp_panel_meters, NULL},
    [PP_PANEL_PIPELINE] = {pp_panel_pipeline, pp_want_pipeline},
    [PP_PANEL_WORKERS] = {pp_panel_workers, NULL, 2},
    [PP_PANEL_HISTORY] = {pp_panel_history, NULL},
    [PP_PANEL_EVENTS] = {pp_panel_events, NULL, 1},
    [PP_PANEL_STAGES] = {pp_panel_stages, NULL, 2},
    [PP_PANEL_WORKER] = {pp_panel_worker, NULL},
    [PP_PANEL_BATCH] = {pp_panel_batch, NULL},
    [PP_PANEL_LINES] = {pp_panel_lines, NULL, 2},
    [PP_PANEL_ENVIRONMENT] = {pp_panel_environment, NULL, 1},
    [PP_PANEL_WHATIF] = {pp_panel_whatif, NULL},
    [PP_PANEL_HELP] = {pp_panel_help, NULL},
    [PP_PANEL_FOOTER] = {pp_panel_footer, NULL},
    [PP_PANEL_TOO_SMALL] = {pp_panel_too_small, NULL},
};

size_t pp_draw_layout(int rows, int cols, const struct pp_dash_state *s, const struct pp_dash_model *m,
                      struct pp_placed *out)
{
    /* Meters where one is known; a row for each of up to 8 workers below two of a head; a heading and two
     * rows of each curve; a handful of events; facts about a worker; else one. */
    const struct pp_live_snapshot *snap = m->snap;
    int want[PP_PANEL_COUNT] = {[PP_PANEL_METERS] = isnan(snap->cpu_busy) && isnan(snap->disk_bytes_per_s) &&
                                                            isnan(snap->net_bytes_per_s)
                                                        ? -1
                                                        : 0,
                                [PP_PANEL_WORKERS] = 1 + (snap->n_workers > 8 ? 8 : (int)snap->n_workers),
                                [PP_PANEL_HISTORY] = 4,
                                [PP_PANEL_EVENTS] = 5,
                                [PP_PANEL_WORKER] = 6};
    for (int p = 0; p < PP_PANEL_COUNT; p++)
        want[p] = panels[p].want ? panels[p].want(s, m, cols) : want[p] + 1;
    return pp_layout(rows, cols, s->view, s->help, want, out);
}

void pp_draw(struct pp_grid *g, enum pp_glyph_set glyphs, const struct pp_dash_state *s,
             const struct pp_dash_model *m)
{
    struct pp_placed placed[PP_PANEL_COUNT];
    g->ascii = glyphs == PP_GLYPHS_ASCII;
    size_t n = pp_draw_layout(g->rows, g->cols, s, m, placed);
    for (size_t i = 0; i < n; i++)
        panels[placed[i].panel].draw(&(struct pp_canvas){
            .grid = g, .box = placed[i].box, .glyphs = &pp_glyph_sets[glyphs], .s = s, .m = m});
}

static uint32_t cell(const struct pp_grid *g, int row, int col)
{
    return col >= 0 && col < g->cols ? g->cell[(size_t)row * (size_t)g->cols + (size_t)col].c : ' ';
}

/* A letter that stands alone is the key; of a word, the key its hint begins with: "? help", "{ } stall". Two
 * blanks part the hints. */
static int key_under(const struct pp_grid *g, int row, int col)
{
    if (cell(g, row, col) == ' ')
        return PP_KEY_NONE;
    if (cell(g, row, col - 1) != ' ' || cell(g, row, col + 1) != ' ')
        while (col > 0 && !(cell(g, row, col - 1) == ' ' && cell(g, row, col - 2) == ' '))
            col--;
    int alone = cell(g, row, col + 1) == ' ' && cell(g, row, col) < 0x7f;
    return alone && pp_key_find((int)cell(g, row, col)) ? (int)cell(g, row, col) : PP_KEY_NONE;
}

struct pp_dash_state pp_dash_click(struct pp_dash_state s, const struct pp_dash_model *m,
                                   const struct pp_grid *g, int row, int col)
{
    struct pp_placed placed[PP_PANEL_COUNT];
    size_t n = row >= 0 && row < g->rows && col >= 0 && col < g->cols
                   ? pp_draw_layout(g->rows, g->cols, &s, m, placed)
                   : 0;
    for (size_t i = 0; i < n && s.input == PP_INPUT_NONE; i++) {
        const struct pp_box *b = &placed[i].box;
        int inside = row >= b->row && row < b->row + b->rows && col >= b->col && col < b->col + b->cols,
            list = placed[i].panel == PP_PANEL_WHATIF
                       ? pp_whatif_list(b->rows)
                       : panels[placed[i].panel].list; /* where rows are chosen */
        int events_beside = s.view == PP_VIEW_OVERVIEW &&
                            placed[i].panel == PP_PANEL_EVENTS; /* there it is the workers that are chosen */
        if (inside && placed[i].panel == PP_PANEL_FOOTER && key_under(g, row, col) != PP_KEY_NONE)
            return pp_dash_key(s, key_under(g, row, col), m);
        if (inside && list && !events_beside) {
            struct pp_rows rows;
            pp_rows_of(&s, m, &rows);
            int *selected = &s.selected[s.view],
                at = pp_list_top(*selected, rows.n, b->rows - list) + row - b->row - list;
            if (row >= b->row + list && at < rows.n)
                *selected = at;
        }
    }
    return s;
}

/* A frame's numbers as a document: what is shown, from the snapshot and the reports as they are. */

enum { NEWEST_EVENTS = 50 };

#define F(member, unit, help, ...) PP_FIELD_AT(ROW, #member, member, unit, help, __VA_ARGS__)
#define FK(key, member, unit, help, ...) PP_FIELD_AT(ROW, key, member, unit, help, __VA_ARGS__)
#define MADE PP_FIELD_MADE

/* Seconds since the run began. root: the model of the frame. */
static struct pp_value since_start_s(const void *root, double at_s)
{
    const struct pp_dash_model *m = root;
    return pp_value_number(at_s - (double)m->snap->origin_ns / 1e9);
}

static struct pp_value phase_text(pp_phase phase)
{
    const struct pp_phase_info *info = pp_phase_info(phase);
    return pp_value_text(info ? info->name : NULL);
}

/* ---- verdicts ---- */

#define ROW struct pp_report
static const struct pp_field verdict_fields[] = {
    F(subject, NONE, "whose pipeline was recorded"),
    FK("l0", verdict.l0, NONE, "whether the input holds the training up"),
    FK("l1", verdict.l1, NONE, "what holds it up"),
    FK("l2", verdict.l2, NONE, "the cause within l1"),
    FK("confidence", verdict.confidence, SHARE, "of the verdict"),
    FK("sentence", verdict.sentence, NONE, "the verdict in words"),
    FK("next_step", verdict.next_step, NONE, "what to try next"),
    PP_FIELDS_END,
};
#undef ROW

PP_VALUE_OF(moment_from, void,
            since_start_s(root, (double)((const struct pp_dash_model *)root)->moment_from_ns / 1e9))
PP_VALUE_OF(moment_to, void,
            since_start_s(root, (double)((const struct pp_dash_model *)root)->moment_to_ns / 1e9))

static const struct pp_field moment_fields[] = {
    MADE("from_s", NUMBER, moment_from, "since the run began"),
    MADE("to_s", NUMBER, moment_to, "since the run began"),
    {.type = PP_FIELD_INLINE, .fields = verdict_fields},
    PP_FIELDS_END,
};

/* ---- rows of the snapshot ---- */

#define ROW struct pp_live_stage
PP_VALUE_OF(stage_phase, ROW, phase_text(r->phase))
PP_VALUE_OF(stage_lane, ROW, pp_value_text(pp_lane_name(r->lane)))

static const struct pp_field stage_fields[] = {
    MADE("phase", TEXT, stage_phase, "its name"),
    MADE("lane", TEXT, stage_lane, "of the threads that spend it"),
    F(threads, COUNT, "in the lane"),
    F(per_s, RATE, "spans per second"),
    F(mean_ns, NS, "of a span"),
    F(max_ns, NS, "the longest"),
    F(share, SHARE, "of the lane's thread-time"),
    FK("cpu_share", cpu, SHARE, "of the phase's time on the CPU"),
    FK("run_queue_share", run_queue, SHARE, "runnable, waiting for a CPU"),
    FK("blocked_share", blocked, SHARE, "the rest"),
    F(bytes_per_s, BYTES_PER_S, "moved"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_live_worker
PP_VALUE_OF(worker_state, ROW, phase_text(r->state))
PP_VALUE_OF(worker_sample, ROW, r->sample == PP_NO_SAMPLE ? pp_value_text(NULL) : pp_value_uint(r->sample))

static const struct pp_field worker_fields[] = {
    F(name, NONE, "of the thread"),
    MADE("state", TEXT, worker_state, "the phase it is in"),
    F(samples_per_s, RATE, "finished"),
    FK("busy_share", busy, SHARE, "of wall time in phases of work"),
    FK("waiting_share", waiting, SHARE, "of wall time in phases of waiting"),
    FK("cpu_share", cpu, SHARE, "of wall time on the CPU"),
    FK("run_queue_share", run_queue, SHARE, "of wall time runnable, waiting for a CPU"),
    F(errors, COUNT, "since the start"),
    FK("longest_ns", max_ns, NS, "longest single piece of work"),
    MADE("sample", UINT64, worker_sample, "in hand"),
    F(path, NONE, "of that sample"),
    F(sample_age_ns, NS, "since its first span"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_live_queue
static const struct pp_field queue_fields[] = {
    F(name, NONE, "of the queue"),
    F(depth, RATE, "batches in it, mean over the second looked at"),
    F(capacity, COUNT, "null: not known", .flags = PP_FIELD_EMPTY_UNKNOWN),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_live_event
PP_VALUE_OF(event_at, ROW, since_start_s(root, (double)r->t_ns / 1e9))
PP_VALUE_OF(event_kind, ROW, pp_value_text(pp_live_event_names[r->kind]))

static const struct pp_field event_fields[] = {
    MADE("at_s", NUMBER, event_at, "since the run began"),
    MADE("kind", TEXT, event_kind, "what happened"),
    F(count, COUNT, "how often"),
    F(text, NONE, "in words"),
    PP_FIELDS_END,
};
#undef ROW

/* ---- the frame ---- */

#define ROW struct pp_live_snapshot
PP_VALUE_OF(run_state, ROW, pp_value_text(pp_live_state_names[r->state]))
PP_VALUE_OF(quiet, ROW, pp_value_number(r->state == PP_LIVE_RUNNING ? r->quiet_s : 0))
PP_VALUE_OF(looked_at, ROW,
            r->last_s >= r->first_s ? since_start_s(root, (double)(r->at_s + 1)) : pp_value_number(0))
PP_VALUE_OF(hung_worker, ROW, pp_value_text(r->hung_worker >= 0 ? r->workers[r->hung_worker].name : NULL))
PP_VALUE_OF(hung_phase, ROW, r->hung_worker >= 0 ? phase_text(r->hung_phase) : pp_value_text(NULL))

static const struct pp_field total_fields[] = {
    MADE("state", TEXT, run_state, "of the run"),
    MADE("quiet_s", NUMBER, quiet, "since the file of a running run last changed"),
    MADE("at_s", NUMBER, looked_at, "end of the window, since the run began"),
    F(window_s, S, "that rates and shares are taken over"),
    F(samples_per_s, RATE, "finished by the workers"),
    F(batches_per_s, RATE, "taken by the trainer"),
    FK("data_wait_share", wait_share, SHARE, "of step time"),
    FK("accelerator_utilization_share", accelerator_utilization, SHARE,
       "the steps' share of the window (AU)"),
    FK("step_mean_ns", step_ns, NS, "mean step"),
    F(read_bytes_per_s, BYTES_PER_S, "read"),
    F(errors, COUNT, "since the start"),
    FK("dropped_spans", dropped, COUNT, "since the start"),
    F(stalled_ns, NS, "how long the trainer had been in one wait"),
    F(buffered_batches, RATE, "prefetched batches"),
    F(buffer_drain_per_s, NUMBER, "by how many batches per second they became fewer, over the last 1 to 5 s"),
    F(buffer_lasts_s, S, "at that rate, until the trainer stalls; null: they do not become fewer"),
    FK("machine_cpu_share", cpu_busy, SHARE, "of the machine's CPUs in use"),
    FK("machine_disk_bytes_per_s", disk_bytes_per_s, BYTES_PER_S, "read and written by the machine's disks"),
    FK("machine_net_bytes_per_s", net_bytes_per_s, BYTES_PER_S, "received and sent by the machine"),
    MADE("hung_worker", TEXT, hung_worker, "the worker that has been in one piece of work for too long"),
    MADE("hung_phase", TEXT, hung_phase, "what it is in"),
    F(hung_ns, NS, "for how long; 0: no worker hangs"),
#define GPU_FIELD(sym, key) FK(key, gpu[PP_LIVE_GPU_##sym], NUMBER, "NVML's newest reading"),
    PP_LIVE_GPU_MAP(GPU_FIELD)
#undef GPU_FIELD
        PP_FIELDS_END,
};

static const struct pp_field row_fields[] = {
    {"stages", PP_FIELD_ROWS, PP_ROWS_AT(ROW, stages, n_stages), .fields = stage_fields},
    {"queues", PP_FIELD_ROWS, PP_ROWS_IN(ROW, queues, n_queues), .fields = queue_fields},
    {"workers", PP_FIELD_ROWS, PP_ROWS_AT(ROW, workers, n_workers), .fields = worker_fields},
    {"events", PP_FIELD_ROWS, PP_ROWS_AT(ROW, events, n_events), .newest = NEWEST_EVENTS,
     .fields = event_fields},
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_dash_model
PP_VALUE_OF(schema_name, void, pp_value_text("pipeprobe.top/1"))

const struct pp_field pp_dash_fields[] = {
    MADE("schema", TEXT, schema_name, "of this document"),
    F(path, NONE, "the recording"),
    {.type = PP_FIELD_INLINE, .at = offsetof(ROW, snap), .flags = PP_FIELD_INDIRECT, .fields = total_fields},
    {"moment_verdict", PP_FIELD_OBJECT, .at = offsetof(ROW, moment), .flags = PP_FIELD_INDIRECT,
     .fields = moment_fields, .help = "of the time that is looked at; null where that is the whole run"},
    {"verdict", PP_FIELD_OBJECT, .at = offsetof(ROW, report), .flags = PP_FIELD_INDIRECT,
     .fields = verdict_fields, .help = "of the whole run; null: not there yet"},
    {.type = PP_FIELD_INLINE, .at = offsetof(ROW, snap), .flags = PP_FIELD_INDIRECT, .fields = row_fields},
    PP_FIELDS_END,
};
#undef ROW

/* ---- where the panels go ---- */

enum { VIEW_HELP = PP_VIEW_COUNT };

/* least: rows without which it says little, unless it wants fewer. drop: which goes first, the highest; 0:
 * never. */
struct place {
    int view;
    enum pp_panel panel;
    int least, drop, grows;
};

#define DETAIL(view, panel) \
    {view, PP_PANEL_VERDICT, 1, 0, 0}, {view, PP_PANEL_STATUS, 1, 0, 0}, {view, panel, 3, 0, 1}, \
    { \
        view, PP_PANEL_FOOTER, 1, 0, 0 \
    }

/* clang-format off */
static const struct place places[] = {
    {PP_VIEW_OVERVIEW, PP_PANEL_VERDICT, 2, 0, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_STATUS, 1, 0, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_METERS, 1, 4, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_PIPELINE, 4, 0, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_WORKERS, 4, 1, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_HISTORY, 3, 2, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_EVENTS, 2, 3, 1},
    {PP_VIEW_OVERVIEW, PP_PANEL_FOOTER, 1, 0, 0},
    DETAIL(PP_VIEW_STAGES, PP_PANEL_STAGES),
    DETAIL(PP_VIEW_BATCH, PP_PANEL_BATCH),
    DETAIL(PP_VIEW_LINES, PP_PANEL_LINES),
    DETAIL(PP_VIEW_ERRORS, PP_PANEL_EVENTS),
    DETAIL(PP_VIEW_EVENTS, PP_PANEL_EVENTS),
    DETAIL(PP_VIEW_ENVIRONMENT, PP_PANEL_ENVIRONMENT),
    DETAIL(PP_VIEW_WHATIF, PP_PANEL_WHATIF),
    {PP_VIEW_WORKERS, PP_PANEL_VERDICT, 1, 0, 0},
    {PP_VIEW_WORKERS, PP_PANEL_STATUS, 1, 0, 0},
    {PP_VIEW_WORKERS, PP_PANEL_WORKERS, 3, 0, 1},
    {PP_VIEW_WORKERS, PP_PANEL_WORKER, 4, 1, 0},
    {PP_VIEW_WORKERS, PP_PANEL_FOOTER, 1, 0, 0},
    {VIEW_HELP, PP_PANEL_HELP, 3, 0, 1},
    {VIEW_HELP, PP_PANEL_FOOTER, 1, 0, 0},
};
/* clang-format on */
enum { PLACES = sizeof(places) / sizeof(places[0]) };

struct plan {
    const struct place *place[PP_PANEL_COUNT];
    int rows[PP_PANEL_COUNT];
    int n, beside; /* index of the panel that stands beside the one before it, or -1 */
};

/* Drops panels until the others fit. Returns the rows that are left: a panel beside another takes none of its
 * own. */
static int fit_panels(struct plan *p, int rows, int cols)
{
    for (;;) {
        int left = rows, worst = -1;
        p->beside = -1;
        for (int i = 1; i < p->n && cols >= PP_COLS_WIDE; i++)
            if (p->place[i]->panel == PP_PANEL_EVENTS && p->place[i - 1]->panel == PP_PANEL_HISTORY)
                p->beside = i;
        for (int i = 0; i < p->n; i++) {
            left -= i == p->beside ? 0 : p->rows[i];
            if (p->place[i]->drop && (worst < 0 || p->place[i]->drop > p->place[worst]->drop))
                worst = i;
        }
        if (left >= 0 || worst < 0) /* what never goes fits into PP_ROWS_NEEDED */
            return left;
        p->n--;
        for (int i = worst; i < p->n; i++) {
            p->place[i] = p->place[i + 1];
            p->rows[i] = p->rows[i + 1];
        }
    }
}

size_t pp_layout(int rows, int cols, enum pp_view view, int help, const int want[PP_PANEL_COUNT],
                 struct pp_placed *out)
{
    struct plan p = {.n = 0};
    int shown = help ? VIEW_HELP : (int)view;
    if (rows < 1 || cols < 1)
        return 0;
    if (rows < PP_ROWS_NEEDED || cols < PP_COLS_NEEDED) {
        out[0] = (struct pp_placed){PP_PANEL_TOO_SMALL, {0, 0, rows, cols}};
        return 1;
    }
    for (int i = 0; i < PLACES; i++) {
        if (places[i].view == shown && (places[i].panel != PP_PANEL_METERS || want[PP_PANEL_METERS] > 0)) {
            int least = places[i].least, wish = want[places[i].panel];
            p.rows[p.n] = wish > 0 && wish < least && !places[i].grows ? wish : least;
            p.place[p.n++] = &places[i];
        }
    }
    int left = fit_panels(&p, rows, cols), grows = 0;
    for (int i = 0; i < p.n; i++) {
        int wish = want[p.place[i]->panel];
        if (p.place[i]->panel == PP_PANEL_VERDICT && p.place[i]->view != PP_VIEW_OVERVIEW && wish > rows / 4)
            wish = rows / 4; /* another view was opened for its own panel */
        int more = i == p.beside ? 0 : wish - p.rows[i];
        more = more < 0 ? 0 : more > left ? left : more;
        p.rows[i] += more;
        left -= more;
        if (p.place[i]->grows)
            grows = i;
        else if (!grows && p.place[i]->panel == PP_PANEL_PIPELINE)
            grows = i; /* when the one that grows was dropped */
    }
    if (grows && grows == p.beside)
        grows--;
    p.rows[grows] += left;
    if (p.beside > 0)
        p.rows[p.beside] = p.rows[p.beside - 1];
    int row = 0;
    for (int i = 0; i < p.n; i++) {
        out[i] = (struct pp_placed){p.place[i]->panel, {row, 0, p.rows[i], cols}};
        if (i == p.beside) {
            int half = cols / 2;
            out[i - 1].box.cols = half - 1; /* a blank column between them */
            out[i].box = (struct pp_box){out[i - 1].box.row, half, out[i - 1].box.rows, cols - half};
        } else {
            row += p.rows[i];
        }
    }
    return (size_t)p.n;
}
