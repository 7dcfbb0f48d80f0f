#include "tui/dash/job.h"

#include "probe/base/array.h"
#include "probe/base/text.h"
#include "report/live/live.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A recording of the directory. */
struct file {
    struct pp_job_row row;
    struct pp_live *live;
    int runs;
};

struct pp_job {
    char *dir;
    struct file file[PP_JOB_RANKS];
    size_t n, not_shown;
    struct pp_job_row rows[PP_JOB_RANKS]; /* in the order of the view; paths are the files' */
};

/* ---- the files ---- */

static const char *fact(const struct pp_live *l, const char *section, const char *key)
{
    size_t n;
    const struct pp_live_fact *all = pp_live_facts(l, &n), *f = pp_live_fact_of(all, n, section, key);
    return f ? f->value : NULL;
}

/* As its launcher said, or the options of `run`; -1: neither. */
static int64_t rank_fact(const struct pp_live *l, const char *key)
{
    const char *text = fact(l, "rank", key);
    text = text ? text : fact(l, "config", key);
    return text && *text >= '0' && *text <= '9' ? strtoll(text, NULL, 10) : -1;
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
                    const char *host = fact(f.live, "environment", "hostname");
                    char *plain = pp_text_plain(host ? host : "");
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

/* The part of its time in which it does not wait for the others. */
static double badness(const struct pp_job_row *r)
{
    double own = isnan(r->others_share) ? r->wait_share : 1 - r->others_share;
    return isnan(own) ? -1 : own;
}

static int worst_first(const void *a, const void *b)
{
    const struct pp_job_row *x = a, *y = b;
    double p = badness(x), q = badness(y);
    return p != q ? PP_COMPARE(q, p) : PP_COMPARE(x->rank, y->rank);
}

void pp_job_refresh(struct pp_job *j, unsigned window_s)
{
    struct pp_err err;
    struct pp_live_snapshot s;
    look_for_files(j);
    for (size_t i = 0; i < j->n; i++) {
        struct file *f = &j->file[i];
        struct pp_job_row *r = &f->row;
        pp_live_refresh(f->live, NULL, &err); /* what cannot be read now stays as it was */
        if (pp_live_at(f->live, UINT64_MAX, window_s, &s, &err) == PP_OK) {
            int any = s.last_s >= s.first_s;
            snprintf(r->state, sizeof(r->state), "%s", pp_live_state_name(s.state));
            r->samples_per_s = any ? s.samples_per_s : NAN;
            r->step_ns = any && s.batches_per_s > 0 ? 1e9 / s.batches_per_s : NAN;
            r->wait_share = any ? s.wait_share : NAN;
            r->others_share = any ? others_share(&s) : NAN;
            r->errors = s.errors;
            r->dropped = s.dropped;
            f->runs = s.state == PP_LIVE_RUNNING && !s.deleted;
        }
        j->rows[i] = *r;
    }
    qsort(j->rows, j->n, sizeof(*j->rows), worst_first);
}

const struct pp_job_row *pp_job_rows(const struct pp_job *j, size_t *n, size_t *not_shown)
{
    *n = j->n;
    *not_shown = j->not_shown;
    return j->rows;
}

int pp_job_runs(const struct pp_job *j)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->file[i].runs)
            return 1;
    return 0;
}

struct pp_job *pp_job_open(const char *dir)
{
    struct pp_job *j = calloc(1, sizeof(*j));
    char *own = strdup(dir);
    if (!j || !own) {
        free(j);
        free(own);
        return NULL;
    }
    j->dir = own;
    look_for_files(j);
    return j;
}

void pp_job_close(struct pp_job *j)
{
    if (!j)
        return;
    for (size_t i = 0; i < j->n; i++) {
        pp_live_close(j->file[i].live);
        free(j->file[i].row.path);
    }
    free(j->dir);
    free(j);
}
