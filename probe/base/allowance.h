/* base/allowance.h: the work on a stranger's file is bounded by its size. Whoever hands out bytes of it, or
 * rows of them, keeps one rule: bytes touched <= `times` the bytes of the file + `base`, which is for small
 * ones. Beyond it reading ends, with the sentence that stands here. One thread at a time. */
#pragma once

#include "probe/base/err.h"

enum pp_allowed {
    PP_ALLOWED_TRACE,  /* they become 10 to 40 times as large as they are packed */
    PP_ALLOWED_PACKED, /* by what was read of it; masks of large areas become 1,100 times as large, gzip 1,032
                          at most */
    PP_ALLOWED_TABLE,  /* while it is opened; an Arrow stream of single rows is read 4 KiB a message: 20 */
    PP_ALLOWED_STEPS,  /* of SQLite's machine, PP_DB_STEP_BYTES each: one per two bytes of a row */
    PP_ALLOWED_TEXTS,  /* of a recording's rows */
    PP_ALLOWED_SPANS,  /* of a recording, 3 to 8 bytes each; counted as one byte */
    PP_ALLOWED_CPU,    /* of a query, in ns */
    PP_ALLOWED_FOREIGN, /* databases: a row of twenty columns takes about a hundred steps */
};

static const struct {
    uint64_t base, times;
    const char *said; /* "it unpacks to more than 200 times its bytes" */
} pp_allowances[] = {
#define PP_TIMES(times, said) times, said " more than " #times " times its bytes"
    [PP_ALLOWED_TRACE] = {16777216, PP_TIMES(200, "it unpacks to")},
    [PP_ALLOWED_PACKED] = {1073741824, PP_TIMES(2000, "it unpacks to")},
    [PP_ALLOWED_TABLE] = {1048576, PP_TIMES(64, "its own tables ask for")},
    [PP_ALLOWED_STEPS] = {80000000, PP_TIMES(64, "a query of it reads")},
    [PP_ALLOWED_TEXTS] = {268435456, PP_TIMES(16, "the texts of its rows have")},
    [PP_ALLOWED_SPANS] = {67108864, 8, "it says to hold more than 8 spans for each of its bytes"},
    [PP_ALLOWED_CPU] = {10000000000, PP_TIMES(500, "a query of it takes, in ns of CPU time,")},
    [PP_ALLOWED_FOREIGN] = {400000000, PP_TIMES(400, "reading it touches")},
};

struct pp_allowance {
    uint64_t left; /* bytes */
    enum pp_allowed kind;
};

static inline struct pp_allowance pp_allowance_of(enum pp_allowed kind, uint64_t size)
{
    uint64_t times = pp_allowances[kind].times, base = pp_allowances[kind].base;
    return (struct pp_allowance){size < (UINT64_MAX - base) / times ? base + times * size : UINT64_MAX, kind};
}

/* Whether so many bytes are still within it; once they are not, none are. */
static inline int pp_allowance_take(struct pp_allowance *a, uint64_t bytes)
{
    int within = bytes <= a->left;
    a->left = within ? a->left - bytes : 0;
    return within;
}

static inline pp_status pp_allowance_fail(const struct pp_allowance *a, const char *path, struct pp_err *err)
{
    return pp_fail(err, PP_E_CORRUPT, "cannot read %s: %s; it is damaged, or was made to be read without end",
                   path, pp_allowances[a->kind].said);
}
