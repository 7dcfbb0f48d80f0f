#include "report/verdict/remote_signals.h"

#include "report/replay/requests.h"
#include "report/replay/shards.h"
#include "report/replay/whatif_impl.h"
#include "report/verdict/metrics.h"

#include <math.h>

/* Little's law: what is in flight is what a request takes, times how many there are in a second. A trainer
 * that never waits takes samples at the pace of its own steps. */
static double needed_in_flight(const struct pp_costs *c)
{
    struct pp_knobs none = pp_knobs_none();
    double most = pp_whatif_trainer_most(c, &none, 0), samples = c->samples_per_s * c->window_ns / 1e9;
    return isfinite(most) && samples > 0 ? c->requests.busy_ns / samples * most / 1e9 : NAN;
}

void pp_remote_signals(const struct pp_costs *c, double *m)
{
    const struct pp_requests *q = &c->requests;
    if (q->n < PP_LEAST_REQUESTS || !(q->busy_ns > 0) || !(c->window_ns > 0))
        return;
    m[PP_METRIC_REMOTE_FLIGHT] = q->busy_ns / c->window_ns;
    m[PP_METRIC_REMOTE_NEEDED] = needed_in_flight(c);
    m[PP_METRIC_REMOTE_TIME] = q->busy_ns / q->n;
    m[PP_METRIC_REMOTE_FIRST] = q->first_byte_ns / q->n;
    m[PP_METRIC_REMOTE_FIRST_PART] = q->first_byte_ns / q->busy_ns;
    m[PP_METRIC_REMOTE_TRANSFER_PART] = q->transfer_ns / q->busy_ns;
    m[PP_METRIC_REMOTE_DNS_PART] = q->resolve_ns / q->busy_ns;
    m[PP_METRIC_REMOTE_SETUP_PART] = (q->resolve_ns + q->connect_ns) / q->busy_ns;
    m[PP_METRIC_REMOTE_STREAM] = q->transfer_ns > 0 ? q->bytes / q->transfer_ns * 1e9 : NAN;
    m[PP_METRIC_REMOTE_BYTES] = q->bytes / q->n;
    m[PP_METRIC_REMOTE_REFUSED] = q->refused / q->n;
    m[PP_METRIC_REMOTE_CONNECTS] = q->connections / q->n;
    m[PP_METRIC_REMOTE_EMPTY] = q->answers ? q->empty / (double)q->answers : NAN;
    m[PP_METRIC_REMOTE_TAIL] = pp_requests_first_byte(q, 0.99) / fmax(pp_requests_first_byte(q, 0.5), 1e5);
    m[PP_METRIC_REMOTE_SHARD] = pp_shards_bytes(c);
    m[PP_METRIC_SHARD_REQUESTS] = pp_shards_requests(c);
    if (!pp_shards_unknown(c))
        m[PP_METRIC_SMALL_SHARDS] = fmax(1 - pp_shards_factor(c, PP_SHARDS_ADVISED), 0) *
                                    m[PP_METRIC_REMOTE_FIRST_PART];
    m[PP_METRIC_SLOW_HOST] = q->slow_host;
    m[PP_METRIC_SLOW_HOST_PART] = isnan(q->slow_host) ? NAN : q->slow_host_part;
    m[PP_METRIC_HOT_PREFIX] = q->hot_prefix;
    m[PP_METRIC_HOT_PREFIX_PART] = q->hot_prefix_part;
}
