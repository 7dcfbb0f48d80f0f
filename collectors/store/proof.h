/* store/proof.h: what came of running a prediction for real, kept in the file of the run that it was made
 * from (table proof, docs/reference/file-format.md). */
#ifndef PP_STORE_PROOF_H
#define PP_STORE_PROOF_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

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

#endif
