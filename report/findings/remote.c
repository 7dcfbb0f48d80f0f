#include "report/findings/remote.h"

#include "report/findings/counters.h"
#include "report/findings/rows.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/verdict/verdict_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 40 };

#define LEAST_REQUESTS 20.0   /* fewer say nothing about their mean */
#define MOST_OF 0.5           /* of a request's time, of the workers' time */
#define LEAST_REFUSED 0.01    /* of the requests */
#define LEAST_SETUP 0.1       /* of the requests' time: opening connections */
#define LEAST_CONNECTIONS 0.1 /* per request */
#define NEVER_FULL 0.98       /* a trainer that only waits says nothing about what it could take */

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

static const char *needed(double in_flight, double wait, struct pp_arena *arena, double *out)
{
    *out = NAN;
    if (isnan(wait) || wait > NEVER_FULL)
        return "";
    *out = in_flight / (1 - wait);
    return pp_arena_printf(arena, ", and a trainer that does not wait needs %.*f", *out < 10, *out);
}

static void add_latency(const struct pp_remote_use *u, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "remote-latency";
    char mean[CELL], first[CELL], share[CELL], flight[CELL];
    double in_flight = u->busy_ns / u->watched_ns, first_share = u->first_byte_ns / u->busy_ns, need;
    const char *more = needed(in_flight, r->data_wait_share, arena, &need);
    int found = r->data_wait_share >= PP_LEAST_SHARE && first_share >= MOST_OF &&
                pp_finding_read_share(r) >= MOST_OF;
    snprintf(flight, CELL, "%.*f", in_flight < 10, in_flight);
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena, "%sa request takes %s, of which %s (%s) until its first byte; %s in flight%s",
                        found ? "too few requests in flight for the latency of the storage: " : "",
                        pp_text_duration(mean, CELL, u->busy_ns / u->requests),
                        pp_text_duration(first, CELL, u->first_byte_ns / u->requests),
                        pp_text_percent(share, CELL, first_share), flight, found ? more : ""));
    f->next_step = found ? pp_remedies[PP_REMEDY_REMOTE_IN_FLIGHT].sentence : NULL;
    pp_finding_number(f, "requests", u->requests);
    pp_finding_number(f, "in_flight", in_flight);
    pp_finding_number(f, "needed_in_flight", need);
    pp_finding_number(f, "mean_s", u->busy_ns / u->requests / 1e9);
    pp_finding_number(f, "first_byte_s", u->first_byte_ns / u->requests / 1e9);
    pp_finding_number(f, "transfer_s", u->transfer_ns / u->requests / 1e9);
    pp_finding_number(f, "first_byte_share", first_share);
    pp_finding_number(f, "bytes_per_s", u->bytes / u->watched_ns * 1e9);
}

static void add_throttled(const struct pp_remote_use *u, struct pp_arena *arena, struct pp_report *r)
{
    char count[CELL], of[CELL], share[CELL], again[CELL];
    double part = u->throttled / u->requests;
    int found = part >= LEAST_REFUSED;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "remote-throttled", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena, "%s of %s (%s) were refused with 429 or 503 (slow down); %s made again",
                        pp_text_count(count, CELL, u->throttled),
                        pp_text_counted(of, CELL, u->requests, "request", "requests"),
                        pp_text_percent(share, CELL, part),
                        pp_text_counted(again, CELL, u->retries, "request was", "requests were")));
    f->next_step = found ? pp_remedies[PP_REMEDY_REMOTE_THROTTLED].sentence : NULL;
    pp_finding_number(f, "requests", u->requests);
    pp_finding_number(f, "throttled", u->throttled);
    pp_finding_number(f, "failed", u->failed);
    pp_finding_number(f, "retries", u->retries);
    pp_finding_number(f, "requests_per_s", u->requests / u->watched_ns * 1e9);
}

static void add_connections(const struct pp_remote_use *u, struct pp_arena *arena, struct pp_report *r)
{
    char count[CELL], of[CELL], share[CELL];
    double setup = (u->resolve_ns + u->connect_ns + u->tls_ns) / u->busy_ns,
           each = u->connections / u->requests;
    int found = setup >= LEAST_SETUP && each >= LEAST_CONNECTIONS;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "remote-connections", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena, "%s for %s; opening them (DNS, TCP, TLS) took %s of the requests' time",
                        pp_text_counted(count, CELL, u->connections, "connection", "connections"),
                        pp_text_counted(of, CELL, u->requests, "request", "requests"),
                        pp_text_percent(share, CELL, setup)));
    f->next_step = found ? pp_remedies[PP_REMEDY_REMOTE_CONNECTIONS].sentence : NULL;
    pp_finding_number(f, "requests", u->requests);
    pp_finding_number(f, "connections", u->connections);
    pp_finding_number(f, "setup_share", setup);
    pp_finding_number(f, "resolve_s", u->resolve_ns / u->requests / 1e9);
    pp_finding_number(f, "connect_s", u->connect_ns / u->requests / 1e9);
    pp_finding_number(f, "tls_s", u->tls_ns / u->requests / 1e9);
}

void pp_findings_of_requests(const struct pp_remote_use *u, struct pp_arena *arena, struct pp_report *r)
{
    static const struct {
        const char *kind;
        void (*add)(const struct pp_remote_use *u, struct pp_arena *arena, struct pp_report *r);
    } rows[] = {{"remote-latency", add_latency},
                {"remote-throttled", add_throttled},
                {"remote-connections", add_connections}};
    for (size_t i = 0; u->recorded && i < sizeof(rows) / sizeof(*rows); i++) {
        if (u->unknown)
            pp_finding_add(r, arena, rows[i].kind, PP_FINDING_NOT_MEASURED, u->unknown);
        else
            rows[i].add(u, arena, r);
    }
}
