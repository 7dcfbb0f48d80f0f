#include "report/findings/remote.h"

#include "report/findings/counters.h"
#include "report/findings/measure.h"

#include <math.h>

#define LEAST_REQUESTS 20.0 /* fewer say nothing about their mean */
#define NEVER_FULL 0.98     /* a trainer that only waits says nothing about what it could take */

/* Names as the collector stores them. */
static const struct pp_counter_row counters[] = {
#define ROW(name, member) \
    { \
        "remote_" name "_total", offsetof(struct pp_remote_use, member), 0 \
    }
    ROW("requests", requests),
    ROW("failed", failed),
    ROW("throttled", throttled),
    ROW("retries", retries),
    ROW("connections", connections),
    ROW("bytes", bytes),
    ROW("busy_ns", busy_ns),
    ROW("resolve_ns", resolve_ns),
    ROW("connect_ns", connect_ns),
    ROW("tls_ns", tls_ns),
    ROW("first_byte_ns", first_byte_ns),
    ROW("transfer_ns", transfer_ns),
#undef ROW
};

pp_status pp_remote_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                          struct pp_remote_use *out, struct pp_err *err)
{
    const struct pp_counters_asked asked = {counters, sizeof(counters) / sizeof(*counters), start_ns, end_ns};
    size_t seen;
    *out = (struct pp_remote_use){.recorded = 0};
    pp_status st = pp_counters_between(source, &asked, out, &out->watched_ns, &seen, err);
    out->recorded = seen > 0;
    if (!(out->watched_ns > 0) || out->requests < LEAST_REQUESTS || !(out->busy_ns > 0))
        out->unknown = "fewer than 20 requests were counted in the steady state";
    return st;
}

void pp_measure_remote(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_remote_use *u = &from->checks->remote;
    double *m = f->number, in_flight = u->busy_ns / u->watched_ns, wait = from->report->data_wait_share;
    if (!u->recorded)
        return;
    m[PP_FINDING_REMOTE_RECORDED] = 1;
    f->text[PP_FINDING_REMOTE_UNKNOWN] = u->unknown;
    m[PP_FINDING_REMOTE_REQUESTS] = u->requests;
    m[PP_FINDING_REMOTE_FLIGHT] = in_flight;
    m[PP_FINDING_REMOTE_NEEDED] = wait <= NEVER_FULL ? in_flight / (1 - wait) : NAN;
    m[PP_FINDING_REMOTE_MEAN] = u->busy_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_FIRST] = u->first_byte_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_TRANSFER] = u->transfer_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_FIRST_SHARE] = u->first_byte_ns / u->busy_ns;
    m[PP_FINDING_REMOTE_RATE] = u->bytes / u->watched_ns * 1e9;
    m[PP_FINDING_REMOTE_THROTTLED] = u->throttled;
    m[PP_FINDING_REMOTE_THROTTLED_SHARE] = u->throttled / u->requests;
    m[PP_FINDING_REMOTE_FAILED] = u->failed;
    m[PP_FINDING_REMOTE_RETRIES] = u->retries;
    m[PP_FINDING_REMOTE_REQUEST_RATE] = u->requests / u->watched_ns * 1e9;
    m[PP_FINDING_REMOTE_CONNECTIONS] = u->connections;
    m[PP_FINDING_REMOTE_CONNECTIONS_EACH] = u->connections / u->requests;
    m[PP_FINDING_REMOTE_SETUP_SHARE] = (u->resolve_ns + u->connect_ns + u->tls_ns) / u->busy_ns;
    m[PP_FINDING_REMOTE_RESOLVE] = u->resolve_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_CONNECT] = u->connect_ns / u->requests / 1e9;
    m[PP_FINDING_REMOTE_TLS] = u->tls_ns / u->requests / 1e9;
}
