/* dash/predict.h: predictions of the recording under other knobs (report/replay/whatif.h), computed on a
 * thread of its own: one takes up to tenths of a second. */
#ifndef PP_DASH_PREDICT_H
#define PP_DASH_PREDICT_H

#include "report/replay/whatif.h"

/* The answer to one question. */
struct pp_predicted {
    char set[256]; /* the question: "workers=4 decode=0.8" */
    pp_status status;
    char why[256];   /* when it could not be answered */
    double measured; /* samples/s of the recording */
    struct pp_prediction p;
};

struct pp_predictor;

/* path is copied. NULL: no memory or no thread. */
struct pp_predictor *pp_predictor_start(const char *path);
void pp_predictor_stop(struct pp_predictor *p);
/* Asks, unless that was the question before, and fetches the newest answer there is (perhaps to an earlier
 * question). 0: none yet. */
int pp_predictor_ask(struct pp_predictor *p, const char *set, struct pp_predicted *out);

#endif
