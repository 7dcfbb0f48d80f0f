#include "tui/cli/export_ranks.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/ranks/clock.h"
#include "report/source/joined.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct export_ranks {
    size_t n, opened;
    struct pp_source *source, joined;
    struct pp_clock *clock;
    struct pp_join_part *part;
    char (*label)[32];
};

static uint64_t to_common(const void *clock, uint64_t own_ns)
{
    return pp_clock_to_reference(clock, own_ns);
}

/* "rank 3"; of a recording without a rank, or with one that another has, the file's name. */
static void label_of(const struct export_ranks *r, size_t i, const char *file)
{
    const char *slash = strrchr(file, '/');
    double rank = pp_source_number(&r->source[i], "rank", "rank",
                                   pp_source_number(&r->source[i], "config", "rank", NAN));
    int known = rank >= 0 && rank < 1e9;
    if (known)
        snprintf(r->label[i], sizeof(r->label[i]), "rank %.0f", rank);
    for (size_t k = 0; k < i && known; k++)
        known = strcmp(r->label[k], r->label[i]) != 0;
    if (!known)
        snprintf(r->label[i], sizeof(r->label[i]), "%.28s", slash ? slash + 1 : file);
}

static void say(const struct export_ranks *r)
{
    char steps[40], error[32];
    for (size_t i = 1; i < r->n; i++) {
        const struct pp_clock *c = &r->clock[i];
        if (c->unknown)
            fprintf(stderr, "clock      %s: by the hosts' clocks, error not known: %s\n", r->label[i],
                    c->unknown);
        else
            fprintf(stderr, "clock      %s: aligned with %s by %s, error %s\n", r->label[i], r->label[0],
                    pp_text_counted(steps, sizeof(steps), (double)c->steps, "collective step",
                                    "collective steps"),
                    pp_text_duration(error, sizeof(error), c->error_ns));
    }
}

static pp_status open_all(struct export_ranks *r, const char *const *files, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (size_t i = 0; st == PP_OK && i < r->n; i++) {
        st = pp_source_open_threads(files[i], &r->source[i], err);
        r->opened = i + 1; /* closed also after a failure */
        if (st == PP_OK)
            label_of(r, i, files[i]);
    }
    if (st == PP_OK)
        st = pp_clock_align(r->source, r->n, r->clock, err);
    return st;
}

pp_status export_ranks_open(const char *const *files, size_t n, int quiet, struct export_ranks **out,
                            struct pp_source *source, struct pp_err *err)
{
    struct export_ranks *r = *out = calloc(1, sizeof(*r));
    pp_status st = PP_OK;
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to export %zu recordings", n);
    r->n = n;
    r->source = calloc(n, sizeof(*r->source));
    r->clock = calloc(n, sizeof(*r->clock));
    r->part = calloc(n, sizeof(*r->part));
    r->label = calloc(n, sizeof(*r->label));
    if (!r->source || !r->clock || !r->part || !r->label)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to export %zu recordings", n);
    if (st == PP_OK)
        st = open_all(r, files, err);
    for (size_t i = 0; st == PP_OK && i < n; i++)
        r->part[i] = (struct pp_join_part){.source = &r->source[i],
                                           .label = r->label[i],
                                           .to_common = i ? to_common : NULL,
                                           .clock = &r->clock[i],
                                           .clock_error_ns = i ? r->clock[i].error_ns : 0};
    for (size_t i = 0; st == PP_OK && i < n; i++)
        if (i && r->clock[i].unknown)
            r->part[i].clock_error_ns = NAN;
    if (st == PP_OK)
        st = pp_source_join(r->part, n, &r->joined, err);
    if (st == PP_OK && !quiet)
        say(r);
    *source = r->joined;
    return st;
}

void export_ranks_free(struct export_ranks *r)
{
    if (!r)
        return;
    pp_source_unjoin(&r->joined);
    for (size_t i = 0; i < r->opened; i++) {
        pp_clock_free(&r->clock[i]);
        pp_source_close(&r->source[i]);
    }
    free(r->source);
    free(r->clock);
    free(r->part);
    free(r->label);
    free(r);
}
