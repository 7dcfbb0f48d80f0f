#include "tui/cli/resume/resume_run.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/resume/resume_read.h"
#include "tui/cli/rank_files.h"

struct reading {
    struct pp_resume_start *start;
    size_t room;
};

static pp_status add_rank(void *ctx, const char *path, int named, struct pp_err *err)
{
    struct reading *g = ctx;
    struct pp_digest d = {0};
    pp_status st = PP_OK;
    if (pp_digest_is_file(path)) { /* all ranks; they stand in it for recordings that are elsewhere */
        st = pp_digest_load(path, &d, err);
        for (size_t i = 0; i < d.n_rows && st == PP_OK; i++) {
            if (!pp_grow(&g->start->rank, &g->room, g->start->ranks + 1, sizeof(*g->start->rank))) {
                st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %s", path);
                break;
            }
            struct pp_resume_run *of_row = &g->start->rank[g->start->ranks++];
            if (!pp_resume_unpack(d.rows[i].batches, d.rows[i].n_batches, of_row))
                st = pp_fail(
                    err, PP_E_USAGE,
                    "%s has no hashes of the batches of rank %lld: %s. Name the recordings, or merge "
                    "them when the job has ended",
                    path, (long long)d.rows[i].rank,
                    d.rows[i].running ? "its job ran still"
                                      : "its samples are not known, or its batches are too many (some "
                                        "30,000; fewer in a job of over 256 ranks)");
            of_row->path = strdup(path);
        }
        pp_digest_free(&d);
        return st;
    }
    if (!pp_grow(&g->start->rank, &g->room, g->start->ranks + 1, sizeof(*g->start->rank)))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %s", path);
    struct pp_resume_run *run = &g->start->rank[g->start->ranks];
    run->hashing = 0;
    st = pp_resume_read(path, run, err);
    if (st == PP_OK) {
        run->path = strdup(path);
        g->start->ranks++;
        return PP_OK;
    }
    pp_resume_free(run);
    return pp_rank_file_leave_out(st, named, err);
}

PP_BY(by_rank, struct pp_resume_run, rank)

pp_status resume_start_read(const char *path, struct pp_resume_start *out, struct pp_err *err)
{
    struct reading g = {.start = out};
    *out = (struct pp_resume_start){0};
    pp_status st = pp_rank_files_each(&path, 1, add_rank, &g, err);
    if (st == PP_OK && !out->ranks)
        st = pp_fail(err, PP_E_USAGE, "%s holds no recording", path);
    if (st != PP_OK)
        return st;
    qsort(out->rank, out->ranks, sizeof(*out->rank), by_rank);
    for (size_t i = 1; i < out->ranks; i++)
        if (out->rank[i].rank == out->rank[i - 1].rank)
            return pp_fail(err, PP_E_USAGE,
                           "%s and %s are both of rank %lld: name the recordings of one start of the job",
                           out->rank[i - 1].path, out->rank[i].path, (long long)out->rank[i].rank);
    return PP_OK;
}

void resume_start_free(struct pp_resume_start *s)
{
    for (size_t i = 0; i < s->ranks; i++) {
        free((char *)s->rank[i].path);
        pp_resume_free(&s->rank[i]);
    }
    free(s->rank);
    *s = (struct pp_resume_start){0};
}
