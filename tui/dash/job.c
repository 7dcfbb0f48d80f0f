#include "tui/dash/job.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "tui/dash/screen.h"

#include <dirent.h>

struct row {
    char *path;
    int64_t rank, world_size;
    char host[64], state[24]; /* "running", "finished", ...; host "": not known */
    double samples_per_s, step_ns, wait_share, others_share; /* over the window; NAN: not known */
    uint64_t errors, dropped;
};

/* A recording of the directory. */
struct file {
    struct row row;
    struct pp_live *live;
    int runs;
};

struct pp_job {
    char *dir;
    struct file file[PP_JOB_RANKS];
    size_t n, not_shown;
    int runs;                      /* any of them */
    struct row rows[PP_JOB_RANKS]; /* in the order of the view; paths are the files' */
};

/* ---- the files ---- */

/* As its launcher said, or the options of `run`; -1: neither. */
static int64_t rank_fact(const struct pp_live *l, const char *key)
{
    size_t n;
    const struct pp_live_fact *all = pp_live_facts(l, &n), *f = pp_live_fact_of(all, n, "rank", key);
    f = f ? f : pp_live_fact_of(all, n, "config", key);
    return f && *f->value >= '0' && *f->value <= '9' ? strtoll(f->value, NULL, 10) : -1;
}

static void look_for_files(struct pp_job *j)
{
    static const char suffix[] = ".sqlite";
    char path[4096];
    size_t others = 0;
    DIR *d = opendir(j->dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name), end = sizeof(suffix) - 1, known = 0;
        if (e->d_name[0] == '.' || n <= end || strcmp(e->d_name + n - end, suffix) != 0 ||
            (size_t)snprintf(path, sizeof(path), "%s/%s", j->dir, e->d_name) >= sizeof(path))
            continue;
        while (known < j->n && strcmp(j->file[known].row.path, path) != 0)
            known++;
        if (known < j->n)
            continue;
        if (j->n < PP_JOB_RANKS) {
            /* One of several ranks; what is none, or cannot be read yet, is looked at again the next time. */
            struct file f = {.row = {.path = strdup(path)}};
            struct pp_err err;
            if (!f.row.path || pp_live_open(path, &f.live, &err) != PP_OK) {
                free(f.row.path);
            } else {
                f.row.rank = rank_fact(f.live, "rank");
                f.row.world_size = rank_fact(f.live, "world_size");
                if (f.row.rank < 0 || f.row.world_size < 2) {
                    pp_live_close(f.live);
                    free(f.row.path);
                } else {
                    const struct pp_live_fact *all = pp_live_facts(f.live, &n),
                                              *host = pp_live_fact_of(all, n, "environment", "hostname");
                    char *plain = pp_text_plain(host ? host->value : "");
                    snprintf(f.row.host, sizeof(f.row.host), "%s", plain ? plain : "");
                    free(plain);
                    j->file[j->n++] = f;
                }
            }
        } else {
            others++;
        }
    }
    if (d)
        closedir(d);
    j->not_shown = others;
}

/* ---- the rows ---- */

/* Waiting for other ranks, of the trainer's step time; NAN: it was not recorded. */
static double others_share(const struct pp_live_snapshot *s)
{
    double all = 0, others = NAN;
    for (size_t i = 0; i < s->n_stages; i++) {
        pp_phase p = s->stages[i].phase;
        if (s->stages[i].lane != PP_LANE_TRAINER)
            continue;
        if (p == PP_PHASE_COLLECTIVE)
            others = s->stages[i].share;
        if (p == PP_PHASE_COLLECTIVE || p == PP_PHASE_DATA_WAIT || p == PP_PHASE_DEVICE_SYNC ||
            p == PP_PHASE_STEP)
            all += s->stages[i].share;
    }
    return all > 0 ? others / all : NAN;
}

/* By the part of its time in which it does not wait for the others. */
static int worst_first(const void *a, const void *b)
{
    const struct row *row[2] = {a, b};
    double own[2];
    for (int i = 0; i < 2; i++) {
        own[i] = isnan(row[i]->others_share) ? row[i]->wait_share : 1 - row[i]->others_share;
        own[i] = isnan(own[i]) ? -1 : own[i];
    }
    return own[0] != own[1] ? PP_COMPARE(own[1], own[0]) : PP_COMPARE(row[0]->rank, row[1]->rank);
}

/* Looks for new files, reads what came, and puts the worst first. */
static void refresh(struct pp_job *j, unsigned window_s)
{
    struct pp_err err;
    struct pp_live_snapshot s;
    look_for_files(j);
    j->runs = 0;
    for (size_t i = 0; i < j->n; i++) {
        struct file *f = &j->file[i];
        struct row *r = &f->row;
        pp_live_refresh(f->live, NULL, &err); /* what cannot be read now stays as it was */
        if (pp_live_at(f->live, UINT64_MAX, window_s, &s, &err) == PP_OK) {
            int any = s.last_s >= s.first_s;
            snprintf(r->state, sizeof(r->state), "%s", pp_live_state_names[s.state]);
            r->samples_per_s = any ? s.samples_per_s : NAN;
            r->step_ns = any && s.batches_per_s > 0 ? 1e9 / s.batches_per_s : NAN;
            r->wait_share = any ? s.wait_share : NAN;
            r->others_share = any ? others_share(&s) : NAN;
            r->errors = s.errors;
            r->dropped = s.dropped;
            f->runs = s.state == PP_LIVE_RUNNING && !s.deleted;
        }
        j->rows[i] = *r;
        j->runs |= f->runs;
    }
    qsort(j->rows, j->n, sizeof(*j->rows), worst_first);
}

/* The recordings of ranks in dir. NULL: no memory. */
static struct pp_job *open_job(const char *dir)
{
    struct pp_job *j = calloc(1, sizeof(*j));
    if (!j || !(j->dir = strdup(dir))) {
        free(j);
        return NULL;
    }
    look_for_files(j);
    return j;
}

/* ---- the rows on a grid, as a document, as lines, and on the terminal ---- */

#define LOOK_NS UINT64_C(500000000)
#define FRAME_MS 250
enum { HEAD_ROWS = 3, BAR_COLS = 20 };

struct view {
    const struct pp_dash_opts *o;
    struct pp_job *job;
    struct pp_grid grid;
    int selected;
    char chosen[4096]; /* the path of the selected row, which may move */
};

static void close_view(struct view *v)
{
    for (size_t i = 0; v->job && i < v->job->n; i++) {
        pp_live_close(v->job->file[i].live);
        free(v->job->file[i].row.path);
    }
    if (v->job)
        free(v->job->dir);
    free(v->job);
    pp_grid_free(&v->grid);
}

int pp_job_is(const char *dir)
{
    struct view v = {.job = open_job(dir)};
    int several = v.job && v.job->n >= 2;
    close_view(&v);
    return several;
}

/* ---- a frame ---- */

static pp_status draw(struct view *v, int rows, int cols, struct pp_err *err)
{
    const struct pp_job *job = v->job;
    if (!pp_grid_resize(&v->grid, rows, cols))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a screen of %dx%d", cols, rows);
    const struct pp_canvas canvas = {.grid = &v->grid,
                                     .box = {0, 0, rows, cols},
                                     .glyphs = &pp_glyph_sets[v->o->glyphs]},
                           *c = &canvas;
    int room = rows - HEAD_ROWS - 1, top = pp_list_top(v->selected, (int)job->n, room);
    v->grid.ascii = v->o->glyphs == PP_GLYPHS_ASCII;
    pp_heading(c, "%s: %zu of %lld ranks", v->o->path, job->n,
               job->n ? (long long)job->rows[0].world_size : 0LL);
    pp_put(c, 1, 0, PP_STYLE_PLAIN, "%s, the last %u s; the rank that the others wait for is on top",
           job->runs ? "LIVE" : "ENDED", pp_windows[v->o->window]);
    pp_put(c, 2, 0, PP_STYLE_TITLE, " rank  %-9s %9s %9s %9s %9s %-20s  %s", "state", "samples/s", "a step",
           "data wait", "others", " data wait", "node");
    for (int i = 0; i < room && top + i < (int)job->n; i++) {
        int at = HEAD_ROWS + i;
        const struct row *r = &job->rows[top + i];
        char rate[PP_CELL], step[PP_CELL], wait[PP_CELL], others[PP_CELL];
        int bar = isnan(r->wait_share) ? 0 : (int)(fmin(r->wait_share, 1) * BAR_COLS + 0.5);
        pp_put(c, at, 0, PP_STYLE_STRONG, "%5lld", (long long)r->rank);
        pp_put(c, at, 7, PP_STYLE_PLAIN, "%-9.9s %9s %9s %9s %9s", r->state,
               pp_text_rate(rate, sizeof(rate), r->samples_per_s),
               pp_text_duration(step, sizeof(step), r->step_ns),
               pp_short_share(wait, sizeof(wait), r->wait_share),
               pp_short_share(others, sizeof(others), r->others_share));
        pp_bar(c, at, 58, bar, PP_STYLE_STARVED, c->glyphs->starved);
        pp_put(c, at, 58 + BAR_COLS + 1, PP_STYLE_PLAIN, "%s%s", r->host, r->dropped ? "  spans lost" : "");
        if (top + i == v->selected)
            pp_grid_style(c->grid, &c->box, at, PP_STYLE_SELECTED);
    }
    if (job->not_shown)
        pp_put(c, rows - 1, 40, PP_STYLE_WARN, "%zu more files are not shown", job->not_shown);
    pp_put(c, rows - 1, 0, PP_STYLE_PLAIN, "Enter: its dashboard   q: quit");
    return PP_OK;
}

static void put_members(struct pp_json *j, const struct row *r)
{
    pp_json_put_num(j, "rank", (double)r->rank);
    pp_json_put_num(j, "world_size", (double)r->world_size);
    pp_json_put_str(j, "host", *r->host ? r->host : NULL);
    pp_json_put_str(j, "file", r->path);
    pp_json_put_str(j, "state", r->state);
    pp_json_put_num(j, "samples_per_s", r->samples_per_s);
    pp_json_put_num(j, "step_ns", r->step_ns);
    pp_json_put_num(j, "data_wait_share", r->wait_share);
    pp_json_put_num(j, "collective_share", r->others_share);
    pp_json_put_num(j, "errors", (double)r->errors);
    pp_json_put_num(j, "dropped_spans", (double)r->dropped);
}

/* ---- one frame, lines ---- */

static pp_status open_view(struct view *v, const struct pp_dash_opts *o, struct pp_err *err)
{
    *v = (struct view){.o = o, .job = open_job(o->path)};
    if (!v->job)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the ranks in %s", o->path);
    refresh(v->job, pp_windows[o->window]);
    return PP_OK;
}

pp_status pp_job_once(const struct pp_dash_opts *o, int json, FILE *out, struct pp_err *err)
{
    struct view v;
    pp_status st = open_view(&v, o, err);
    int bad = 0;
    v.selected = -1;
    if (st == PP_OK && !json) {
        st = draw(&v, o->rows, o->cols, err);
        bad = st == PP_OK && pp_grid_print(&v.grid, o->color, out) != 0;
    } else if (st == PP_OK) {
        struct pp_json j;
        pp_json_begin(&j, out, 1);
        pp_json_object(&j);
        pp_json_put_str(&j, "schema", "pipeprobe.top.ranks/1");
        pp_json_put_num(&j, "window_s", pp_windows[o->window]);
        pp_json_put_num(&j, "not_shown", (double)v.job->not_shown);
        pp_json_put_array(&j, "ranks");
        for (size_t i = 0; i < v.job->n; i++) {
            pp_json_object(&j);
            put_members(&j, &v.job->rows[i]);
            pp_json_object_end(&j);
        }
        pp_json_array_end(&j);
        pp_json_object_end(&j);
        bad = pp_json_end(&j) != 0;
    }
    if (bad)
        st = pp_fail(err, PP_E_IO, "writing the frame of %s failed", o->path);
    close_view(&v);
    return st;
}

/* One of the whole job; of --json one of each rank. */
static int put_lines(const struct view *v, FILE *out)
{
    char rate[PP_CELL], wait[PP_CELL];
    size_t n = v->job->n;
    double sum = 0, now_s = (double)pp_clock_of(CLOCK_REALTIME) / 1e9;
    const struct row *rows = v->job->rows;
    int failed = 0;
    for (size_t i = 0; v->o->json && i < n; i++) {
        struct pp_json j;
        pp_json_begin(&j, out, 0);
        pp_json_object(&j);
        pp_json_put_num(&j, "t_utc_s", now_s);
        put_members(&j, &rows[i]);
        pp_json_object_end(&j);
        failed |= pp_json_end(&j) != 0;
    }
    for (size_t i = 0; i < n; i++)
        sum += rows[i].samples_per_s > 0 ? rows[i].samples_per_s : 0;
    if (!v->o->json && !n)
        return 0;
    if (!v->o->json)
        fprintf(out, "%zu of %lld ranks, %s samples/s; worst: rank %lld, data wait %s\n", n,
                (long long)rows[0].world_size, pp_text_rate(rate, sizeof(rate), sum), (long long)rows[0].rank,
                pp_short_share(wait, sizeof(wait), rows[0].wait_share));
    return !failed && fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* Whenever the interval is over, and once more when all have ended. */
pp_status pp_job_lines(const struct pp_dash_opts *o, FILE *out, struct pp_err *err)
{
    struct view v;
    pp_status st = open_view(&v, o, err);
    while (st == PP_OK && o->interrupted(NULL) == PP_OK && v.job->runs) {
        struct timespec wait = {.tv_sec = (time_t)(o->interval_ns / 1000000000u),
                                .tv_nsec = (long)(o->interval_ns % 1000000000u)};
        nanosleep(&wait, NULL); /* a signal ends it */
        refresh(v.job, pp_windows[o->window]);
        if (v.job->runs && put_lines(&v, out) != 0)
            st = pp_fail(err, PP_E_IO, "writing a status line failed");
    }
    if (st == PP_OK) {
        put_lines(&v, out);
        st = o->interrupted(err);
    }
    close_view(&v);
    return st;
}

/* ---- on the terminal ---- */

static void move(struct view *v, int to)
{
    int n = (int)v->job->n;
    v->selected = to >= n ? n - 1 : to < 0 ? 0 : to;
    if (n)
        snprintf(v->chosen, sizeof(v->chosen), "%s", v->job->rows[v->selected].path);
}

/* Until a key asks for the end, or for the dashboard of the selected rank: 1. */
static int live_on(struct view *v, struct pp_screen *screen, pp_status *st, struct pp_err *err)
{
    uint64_t look_at = 0;
    int rows, cols, key = PP_KEY_NONE, quit = 0;
    do {
        uint64_t now = pp_now_ns();
        if (now >= look_at) {
            refresh(v->job, pp_windows[v->o->window]);
            /* The row that is selected stays so while the order changes. */
            for (size_t i = 0; i < v->job->n; i++)
                if (strcmp(v->job->rows[i].path, v->chosen) == 0)
                    v->selected = (int)i;
            look_at = now + LOOK_NS;
        }
        pp_screen_size(screen, &rows, &cols);
        *st = draw(v, rows, cols, err);
        if (*st == PP_OK) {
            pp_screen_show(screen, &v->grid);
            key = pp_screen_key(screen, FRAME_MS, NULL);
        }
        if (key == PP_KEY_ENTER)
            return 1;
        const struct pp_key *k = pp_key_find(key);
        if (k && k->action == PP_DO_MOVE)
            move(v, v->selected + k->arg);
        else if (k && k->action == PP_DO_ROW)
            move(v, k->arg);
        quit = k && k->action == PP_DO_QUIT;
    } while (*st == PP_OK && v->o->interrupted(NULL) == PP_OK && !quit);
    return 0;
}

pp_status pp_job_screen(const struct pp_dash_opts *o, struct pp_err *err)
{
    struct view v;
    pp_status st = open_view(&v, o, err);
    int opens = st == PP_OK;
    while (opens) {
        struct pp_screen *screen = NULL;
        st = pp_screen_open(o->color, o->mouse, &screen, err);
        opens = st == PP_OK && live_on(&v, screen, &st, err);
        pp_screen_close(screen);
        if (opens && !*v.chosen)
            move(&v, v.selected);
        if (opens && *v.chosen) {
            struct pp_dash_opts one = *o;
            one.path = v.chosen;
            st = pp_dash_screen(&one, err);
            opens = st == PP_OK;
        }
    }
    if (st == PP_OK)
        st = o->interrupted(err);
    close_view(&v);
    return st;
}
