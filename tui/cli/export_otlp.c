#include "tui/cli/export_otlp.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/rng.h"
#include "probe/base/text.h"
#include "report/export/otlp_traces.h"
#include "report/export/out.h"
#include "report/send/otlp.h"
#include "tui/cli/jobs/interrupt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 5, REFUSED_MOST = 3, PAUSE_MOST_S = 30 };

struct sending {
    const struct export_otlp_opts *o;
    struct pp_otlp_settings settings;
    struct pp_client *client;
    struct pp_export_place place;
    int failed; /* errno of the file */
    /* of a server: */
    uint64_t spans, rejected, lost, wire_bytes;
    int refused, warned, given_up; /* refused: one after the other */
    char why[500];
};

int export_otlp_is_url(const char *out)
{
    return out && (strstr(out, "://") || strcmp(out, "env") == 0);
}

/* ---- to a server ---- */

static int is_interrupted(void *ctx)
{
    (void)ctx;
    return interrupt_asked();
}

static void rest(struct sending *s, long retry_s, int tries)
{
    long pause_s = retry_s > 1L << tries ? retry_s : 1L << tries;
    uint64_t ns = (uint64_t)(pause_s < PAUSE_MOST_S ? pause_s : PAUSE_MOST_S) * UINT64_C(1000000000);
    uint64_t now = pp_now_ns(), until = now + ns + pp_mix64(now) % (ns / 4);
    while (!interrupt_asked() && now < until) {
        uint64_t next = now + UINT64_C(200000000);
        pp_sleep_until_ns(next < until ? next : until);
        now = pp_now_ns();
    }
}

/* The first trouble is said when it happens, the rest counted. */
static void note_trouble(struct sending *s, const char *why)
{
    snprintf(s->why, sizeof(s->why), "%s", why);
    if (!s->warned++ && !s->o->quiet)
        fprintf(stderr, "pipeprobe export: %s\n", why);
}

/* What is lost is counted; a server that takes nothing is not asked for ever. */
static int send_body(void *ctx, const char *body, size_t n, size_t spans)
{
    struct sending *s = ctx;
    enum pp_sent sent = PP_SENT_AGAIN;
    struct pp_otlp_sending x = {.things = spans, .called = "spans"};
    s->spans += spans;
    if (s->given_up) {
        s->lost += spans;
        return interrupt_asked();
    }
    for (int tries = 0; sent == PP_SENT_AGAIN && tries < TRIES && !interrupt_asked(); tries++) {
        if (tries)
            rest(s, x.retry_s, tries - 1);
        sent = pp_otlp_send(s->client, &s->settings, body, n, &x);
    }
    s->wire_bytes += x.wire_bytes;
    s->rejected += sent == PP_SENT_PARTLY ? x.rejected : 0;
    s->lost += sent == PP_SENT_NOT || sent == PP_SENT_AGAIN ? spans : 0;
    s->refused = sent == PP_SENT_NOT ? s->refused + 1 : 0;
    s->given_up = sent == PP_SENT_AGAIN || s->refused == REFUSED_MOST;
    if (sent != PP_SENT && !interrupt_asked())
        note_trouble(s, x.why);
    return interrupt_asked();
}

static pp_status to_server(const struct pp_source *source, struct sending *s, struct pp_otlp_traces_opts *to,
                           struct pp_otlp_traces_result *r, struct pp_err *err)
{
    pp_status st = pp_otlp_settings_read(s->o->out, "traces", &s->settings, err);
    if (st == PP_OK) {
        struct pp_http_opts http = pp_otlp_client_opts(&s->settings);
        http.stop = is_interrupted;
        http.ctx = s;
        st = pp_client_open(&http, &s->client, err);
    }
    to->is_json = s->settings.is_json;
    if (st == PP_OK)
        st = pp_otlp_traces(source, to, send_body, s, r, err);
    if (st == PP_OK && s->lost + s->rejected)
        st = pp_fail(err, PP_E_SYSTEM, "%llu of %llu spans were not taken: %s",
                     (unsigned long long)(s->lost + s->rejected), (unsigned long long)s->spans, s->why);
    return st;
}

/* ---- to a file ---- */

static int write_body(void *ctx, const char *body, size_t n, size_t spans)
{
    struct sending *s = ctx;
    if (pp_io_write_full(s->place.fd, body, n) != 0)
        s->failed = errno;
    return s->failed || interrupt_asked();
}

static pp_status to_file(const struct pp_source *source, struct sending *s, struct pp_otlp_traces_opts *to,
                         struct pp_otlp_traces_result *r, struct pp_err *err)
{
    pp_status st = pp_place_open(&s->place, s->o->out, source->path, s->o->force, 1, err);
    to->is_json = 1;
    if (st == PP_OK)
        st = pp_otlp_traces(source, to, write_body, s, r, err);
    if (s->failed)
        st = pp_fail_errno(err, s->failed, "writing %s failed", s->o->out);
    if (st == PP_OK)
        st = pp_place_commit(&s->place, err);
    pp_place_discard(&s->place);
    return st;
}

/* ---- what the user should know ---- */

static void note_done(const struct sending *s, const struct pp_otlp_traces_result *r, int to_url)
{
    char spans[32], batches[32], left[32], bytes[32], where[256];
    pp_text_no_secrets(where, sizeof(where), to_url ? s->settings.url : s->o->out);
    fprintf(stderr, "%s spans of %s to %s%s%s%s\n", pp_text_count(spans, sizeof(spans), (double)r->spans),
            pp_text_counted(batches, sizeof(batches), (double)r->batches, "batch", "batches"),
            strcmp(s->o->out, "-") == 0 ? "standard output" : where, to_url ? ", " : "",
            to_url ? pp_text_bytes(bytes, sizeof(bytes), (double)s->wire_bytes) : "",
            to_url ? " on the wire" : "");
    if (r->batches_left)
        fprintf(stderr, "note: %s with shorter waits left out: --max-bytes %s\n",
                pp_text_counted(left, sizeof(left), (double)r->batches_left, "batch", "batches"),
                pp_text_bytes(bytes, sizeof(bytes), (double)s->o->max_bytes));
    if (r->spans_alone)
        fprintf(stderr, "note: %s of no batch left out\n",
                pp_text_counted(left, sizeof(left), (double)r->spans_alone, "span", "spans"));
    if (r->damaged_chunks)
        fprintf(stderr, "note: %s damaged (checksum): those spans are missing\n",
                pp_text_counted(left, sizeof(left), (double)r->damaged_chunks, "chunk of the recording is",
                                "chunks of the recording are"));
    if (!r->utc_known)
        fputs("note: the recording does not say when it was made: its times count from 1970\n", stderr);
}

pp_status export_otlp(const char *input, const struct export_otlp_opts *o, struct pp_err *err)
{
    struct pp_source source;
    struct sending s = {.o = o};
    struct pp_otlp_traces_result r;
    struct pp_otlp_traces_opts to = {.max_bytes = o->max_bytes};
    int to_url = export_otlp_is_url(o->out);
    pp_status st = pp_source_open_threads(input, &source, err);
    if (st == PP_OK)
        st = (to_url ? to_server : to_file)(&source, &s, &to, &r, err);
    if (st == PP_OK && !o->quiet)
        note_done(&s, &r, to_url);
    pp_client_close(s.client);
    pp_otlp_settings_free(&s.settings);
    pp_source_close(&source);
    return st;
}
