/* report/build/pytorch.h: what a PyTorch DataLoader would be expected to do with the data that pipeprobe's
 * own loader was recorded on. Our loader is faster by a measured factor, so that "not input-bound" about it
 * says little about a job in Python: the recording is replayed with its CPU work that many times as
 * expensive, with the same workers, prefetch and step. An expectation, with the range of the measured factor;
 * `run --loader pytorch` measures. */
#ifndef PP_REPORT_BUILD_PYTORCH_H
#define PP_REPORT_BUILD_PYTORCH_H

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/replay/whatif.h"

/* Fills r->pytorch where the subject is pipeprobe's own loader; elsewhere it stays NULL. costs: calibrated;
 * NULL: the run cannot be replayed. A verdict that is not input-bound gets the expectation as its next step.
 */
void pp_pytorch_expect(const struct pp_costs *costs, struct pp_arena *arena, struct pp_report *r);

#endif
