/* report/replay/whatif_impl.h: one replay of recorded costs with knobs (whatif_replay.c), for the calibration
 * and the predictions (whatif.c). */
#pragma once

#include "report/replay/whatif.h"

/* Replays samples[0..n) of the costs, which may be a resampled copy. PP_E_UNSUPPORTED: too many samples in
 * flight; PP_E_NO_MEMORY. */
pp_status pp_whatif_replay(const struct pp_costs *c, const struct pp_knobs *k,
                           const struct pp_cost_sample *samples, size_t n, struct pp_replay_result *result,
                           struct pp_err *err);

/* samples/s of a trainer that never waits for a batch, and still has to take it: the report's "if data were
 * always available", for these knobs. Where epochs drain, its own time holds the waits for their first
 * batches, which may be longer with the knobs than as recorded; what a GPU takes, no such wait shortens. */
double pp_whatif_trainer_most(const struct pp_costs *c, const struct pp_knobs *k, double first_wait_more_ns);
/* Of its step time what it waits at that rate: what a prediction says of the wait follows from its rate. */
double pp_whatif_wait_share(const struct pp_costs *c, const struct pp_knobs *k, double samples_per_s,
                            double first_wait_more_ns);
