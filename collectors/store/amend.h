/* store/amend.h: what is put into a finished recording because it was known only afterwards: notes (table
 * meta) and what came of running a prediction for real (table proof, docs/reference/file-format.md). */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_note {
    const char *key, *value;
};

/* The notes as rows of section, each in place of one of that key. All or nothing. */
pp_status pp_note_write(const char *path, const char *section, const struct pp_note *notes, size_t n,
                        struct pp_err *err);

/* Rates are samples/s; NAN: not known. */
struct pp_proof_row {
    const char *kind;   /* "fix": one knob turned; "headroom": input made free */
    const char *change; /* the knob, or "free-input" */
    const char *value;  /* what it was turned to; "" where the change needs none */
    double base;        /* of the recording the prediction was made from */
    double predicted, predicted_low, predicted_high;
    double measured, measured_low,
        measured_high; /* median, least and most of the rounds; of a single round the spread is not known */
    uint64_t rounds;
    double ballast_cpus;   /* headroom: CPUs taken meanwhile in place of the input's own */
    const char *recording; /* of the last round; NULL: not kept */
};

/* Puts the rows into a finished recording, in place of any it has. All or nothing. */
pp_status pp_proof_write(const char *path, const struct pp_proof_row *rows, size_t n, struct pp_err *err);
