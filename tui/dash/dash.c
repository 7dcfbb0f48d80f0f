#include "tui/dash/dash.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "report/build/build.h"
#include "tui/dash/draw.h"
#include "tui/dash/screen.h"
#include "tui/dash/verdict.h"

#define FRAME_NS UINT64_C(250000000)
#define LOOK_NS UINT64_C(500000000) /* at the file: a recorder commits every second */
#define SECOND_NS UINT64_C(1000000000)
#define MOMENT_STALE_NS (60 * SECOND_NS) /* a verdict of so long ago says nothing of now */
/* At least, for the verdict of a moment: it needs ten batches (report/verdict/verdict_rules.c) */
#define MOMENT_S 15
/* A run that goes on and is younger has one verdict: that of its last quarter of a minute would cost as much
 * again and say the same */
#define YOUNG_S 60

/* What a frame is made from, kept up to date. */
struct dash {
    const struct pp_dash_opts *o;
    struct pp_live *live;
    struct pp_live_snapshot snap;
    struct pp_dash_state state;
    struct pp_dash_model model;
    struct pp_err trouble;
    struct pp_predictor *predictor; /* NULL until the what-if view was opened */
    struct pp_predicted predicted;
    struct pp_grid grid;
};

/* The snapshot that the state asks for; what cannot be read is said in the footer; what was there stays. */
static void take_snapshot(struct dash *d)
{
    struct pp_err err = {.code = PP_OK};
    uint64_t at_s = d->state.mode == PP_MODE_FOLLOW ? UINT64_MAX : d->state.at_s;
    if (pp_live_at(d->live, at_s, pp_windows[d->state.window], &d->snap, &err) != PP_OK)
        d->trouble = err;
    d->model.facts = pp_live_facts(d->live, &d->model.n_facts);
    d->model.trouble = d->trouble.code ? d->trouble.text : NULL;
}

/* What the verdict of the moment covers; 0: it is that of the whole run, which is looked at from its end and
 * has ended or is young. */
static int moment_of(const struct dash *d, uint64_t *from_ns, uint64_t *to_ns)
{
    const struct pp_live_snapshot *s = &d->snap;
    uint64_t most = pp_windows[d->state.window] > MOMENT_S ? pp_windows[d->state.window] : MOMENT_S;
    if (s->last_s < s->first_s)
        return 0;
    *to_ns = (s->at_s + 1) * SECOND_NS;
    uint64_t age_ns = *to_ns - s->origin_ns;
    *from_ns = age_ns > most * SECOND_NS ? *to_ns - most * SECOND_NS : s->origin_ns;
    return d->state.mode != PP_MODE_FOLLOW ||
           (s->state == PP_LIVE_RUNNING && age_ns > YOUNG_S * SECOND_NS && age_ns > most * SECOND_NS);
}

static pp_status open_dash(struct dash *d, const struct pp_dash_opts *o, struct pp_err *err)
{
    *d = (struct dash){.o = o, .state = pp_dash_start};
    d->model = (struct pp_dash_model){.path = o->path, .snap = &d->snap};
    d->state.window = o->window;
    d->state.view = d->state.before = (enum pp_view)o->view;
    pp_status status = pp_live_open(o->path, &d->live, err);
    if (status != PP_OK)
        return status;
    take_snapshot(d);
    if (o->at_ns == UINT64_MAX)
        return PP_OK;
    uint64_t at_s = (d->snap.origin_ns + o->at_ns) / 1000000000u;
    d->state.mode = PP_MODE_HOLD;
    d->state.resume = PP_MODE_PLAY;
    d->state.at_s = at_s > d->snap.last_s ? d->snap.last_s : at_s;
    take_snapshot(d);
    return PP_OK;
}

static void close_dash(struct dash *d)
{
    pp_predictor_stop(d->predictor);
    pp_live_close(d->live);
    pp_grid_free(&d->grid);
}

static pp_status draw(struct dash *d, int rows, int cols, struct pp_err *err)
{
    if (!pp_grid_resize(&d->grid, rows, cols))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a screen of %dx%d", cols, rows);
    d->state.page_rows = rows > 12 ? rows - 8 : 4;
    pp_draw(&d->grid, d->o->glyphs, &d->state, &d->model);
    return PP_OK;
}

/* ---- one frame, lines ---- */

static pp_status write_frame(struct dash *d, int json, int color, FILE *out, struct pp_err *err)
{
    pp_status status = json ? PP_OK : draw(d, d->o->rows, d->o->cols, err);
    if (status == PP_OK &&
        (json ? pp_fields_json(pp_dash_fields, &d->model, out) : pp_grid_print(&d->grid, color, out)) != 0)
        status = pp_fail(err, PP_E_IO, "writing the frame of %s failed", d->o->path);
    return status;
}

static void predict(struct dash *d)
{
    char set[sizeof(d->predicted.set)];
    if (d->state.view != PP_VIEW_WHATIF)
        return;
    if (!d->predictor)
        d->predictor = pp_predictor_start(d->o->path);
    pp_knobs_text(&d->state, &d->model, set, sizeof(set));
    d->model.predicted = pp_predictor_ask(d->predictor, set, &d->predicted) ? &d->predicted : NULL;
}

pp_status pp_dash_once(const struct pp_dash_opts *o, int json, FILE *out, struct pp_err *err)
{
    struct dash d;
    struct pp_report *report = NULL, *moment = NULL;
    pp_status status = open_dash(&d, o, err);
    if (status == PP_OK) {
        pp_verdict_of(o->path, NULL, NULL, &report, NULL); /* without one the frame says so */
        d.model.report = report;
        struct pp_verdict_part part = {0, 0};
        if (moment_of(&d, &part.from_ns, &part.to_ns)) {
            d.model.moment_from_ns = part.from_ns;
            d.model.moment_to_ns = part.to_ns;
            if (pp_verdict_of(o->path, &part, NULL, &moment, NULL) == PP_OK)
                d.model.moment = moment;
        }
        /* A frame that is the only one waits for what it is to show. */
        struct timespec pause = {.tv_nsec = 5000000};
        for (predict(&d); d.predictor && !d.model.predicted; predict(&d))
            nanosleep(&pause, NULL);
        status = write_frame(&d, json, o->color, out, err);
    }
    close_dash(&d);
    pp_report_free(report);
    pp_report_free(moment);
    return status;
}

static pp_status write_line(struct dash *d, FILE *out, struct pp_err *err)
{
    char line[1024];
    int bad = 0;
    if (d->o->json) {
        /* The document without its line breaks and the spaces behind them: texts in it have none. */
        char *text = NULL;
        size_t size;
        FILE *all = open_memstream(&text, &size);
        bad = !all || pp_fields_json(pp_dash_fields, &d->model, all) != 0;
        bad |= all && fclose(all) != 0;
        for (char *at = bad ? NULL : text, *next; at; at = next) {
            next = strchr(at, '\n');
            at += strspn(at, " ");
            fprintf(out, "%.*s", next ? (int)(next++ - at) : (int)strlen(at), at);
        }
        free(text);
        bad = bad || fputc('\n', out) == EOF;
    } else {
        pp_line_text(&d->state, &d->model, line, sizeof(line));
        bad = fprintf(out, "%s\n", line) < 0;
    }
    return bad || fflush(out) != 0 ? pp_fail(err, PP_E_IO, "writing a status line failed") : PP_OK;
}

pp_status pp_dash_lines(const struct pp_dash_opts *o, FILE *out, struct pp_err *err)
{
    struct dash d;
    struct pp_verdicts *verdicts = NULL;
    struct pp_report *last = NULL;
    pp_status status = open_dash(&d, o, err);
    if (status != PP_OK)
        goto out;
    verdicts = pp_verdicts_start(o->path, PP_VERDICTS_SHARE, 0);
    while (o->interrupted(NULL) == PP_OK && d.snap.state == PP_LIVE_RUNNING && !d.snap.deleted) {
        struct timespec wait = {.tv_sec = (time_t)(o->interval_ns / 1000000000u),
                                .tv_nsec = (long)(o->interval_ns % 1000000000u)};
        nanosleep(&wait, NULL); /* a signal ends it */
        d.trouble = (struct pp_err){.code = PP_OK};
        pp_live_refresh(d.live, NULL, &d.trouble);
        take_snapshot(&d);
        d.model.report = pp_verdicts_newest(verdicts, NULL);
        if (d.snap.state != PP_LIVE_RUNNING)
            break;
        if ((status = write_line(&d, out, err)) != PP_OK)
            goto out;
    }
    if (d.snap.state != PP_LIVE_RUNNING && pp_verdict_of(o->path, NULL, NULL, &last, NULL) == PP_OK)
        d.model.report = last;
    status = write_line(&d, out, err);
    if (status == PP_OK)
        status = o->interrupted(err);
out:
    pp_verdicts_stop(verdicts);
    pp_report_free(last);
    close_dash(&d);
    return status;
}

/* ---- on the terminal ---- */

/* Beside where the user stands, named by the time. */
static void dump(struct dash *d)
{
    char base[48], name[56];
    struct pp_err err = {.code = PP_OK};
    struct tm tm;
    time_t now = time(NULL);
    strftime(base, sizeof(base), "pipeprobe-top-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
    d->state.message[0] = '\0';
    for (int json = 0; json < 2 && err.code == PP_OK; json++) {
        snprintf(name, sizeof(name), "%s.%s", base, json ? "json" : "txt");
        FILE *out = fopen(name, "w");
        struct dash copy = *d;
        struct pp_dash_opts o = *d->o;
        if (!out) {
            pp_fail_errno(&err, errno, "cannot write %s", name);
            break;
        }
        o.rows = d->grid.rows;
        o.cols = d->grid.cols;
        copy.o = &o;
        copy.grid = (struct pp_grid){0};
        write_frame(&copy, json, 0, out, &err);
        pp_grid_free(&copy.grid);
        if (fclose(out) != 0)
            pp_fail_errno(&err, errno, "cannot write %s", name);
    }
    if (err.code)
        snprintf(d->state.message, sizeof(d->state.message), "%.90s", err.text);
    else
        snprintf(d->state.message, sizeof(d->state.message), "wrote %s.txt and .json", base);
}

/* Until the user quits or a signal comes. A frame is drawn after each key, and four times a second. */
static pp_status live_on(struct dash *d, struct pp_screen *screen, struct pp_verdicts *verdicts,
                         struct pp_verdicts *moments, struct pp_err *err)
{
    uint64_t look_at = 0, ticked = pp_now_ns();
    pp_status status = PP_OK;
    while (status == PP_OK && !d->state.quit && d->o->interrupted(NULL) == PP_OK) {
        enum pp_live_state before = d->snap.state;
        uint64_t now = pp_now_ns();
        d->state = pp_dash_tick(d->state, now - ticked, &d->model);
        ticked = now;
        if (now >= look_at) {
            d->trouble = (struct pp_err){.code = PP_OK};
            pp_live_refresh(d->live, NULL, &d->trouble);
            look_at = now + LOOK_NS;
        }
        take_snapshot(d);
        if (before != d->snap.state)
            pp_verdicts_wake(verdicts);
        d->model.report = pp_verdicts_newest(verdicts, NULL);
        /* Who moves to a moment wants to know at once; while time goes by by itself, what the verdicts may
         * cost decides. A part that was given is shown until the next one is there, unless it is of a time
         * that is not looked at any more. */
        struct pp_dash_model *m = &d->model;
        uint64_t from = 0, to = 0;
        m->moment = NULL;
        if (moment_of(d, &from, &to)) {
            pp_verdicts_ask(moments, from, to, d->state.mode == PP_MODE_HOLD);
            struct pp_verdict_part part;
            m->moment = pp_verdicts_newest(moments, &part);
            m->moment_from_ns = part.from_ns;
            m->moment_to_ns = part.to_ns;
            if (d->state.mode == PP_MODE_HOLD
                    ? m->moment_to_ns != to
                    : m->moment_to_ns > to || m->moment_to_ns + MOMENT_STALE_NS < to)
                m->moment = NULL;
        }
        predict(d);
        int rows, cols;
        pp_screen_size(screen, &rows, &cols);
        status = draw(d, rows, cols, err);
        if (status == PP_OK)
            pp_screen_show(screen, &d->grid);
        struct pp_click at = {0, 0};
        int key = status == PP_OK ? pp_screen_key(screen, (int)(FRAME_NS / 1000000), &at) : PP_KEY_NONE;
        if (key != PP_KEY_NONE && key != PP_KEY_RESIZE) {
            d->state = key == PP_KEY_CLICK ? pp_dash_click(d->state, &d->model, &d->grid, at.row, at.col)
                                           : pp_dash_key(d->state, key, &d->model);
            /* What the key asked of the world around the state. */
            if (d->state.dump)
                dump(d);
            if (d->state.redraw)
                pp_screen_redraw(screen);
            d->state.dump = d->state.redraw = 0;
        }
    }
    return status != PP_OK ? status : d->o->interrupted(err);
}

pp_status pp_dash_screen(const struct pp_dash_opts *o, struct pp_err *err)
{
    struct dash d;
    struct pp_screen *screen = NULL;
    struct pp_verdicts *verdicts = NULL, *moments = NULL;
    pp_status status = open_dash(&d, o, err);
    if (status == PP_OK)
        status = pp_screen_open(o->color, o->mouse, &screen, err);
    if (status == PP_OK) {
        verdicts = pp_verdicts_start(o->path, PP_VERDICTS_SHARE, 0);
        moments = pp_verdicts_start(o->path, PP_VERDICTS_SHARE, 1);
        status = live_on(&d, screen, verdicts, moments, err);
    }
    pp_screen_close(screen);
    pp_verdicts_stop(verdicts);
    pp_verdicts_stop(moments);
    close_dash(&d);
    return status;
}
