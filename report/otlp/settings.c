#include "report/otlp/settings.h"

#include "probe/base/err.h"
#include "probe/base/text.h"

#include <ctype.h>

#define TIMEOUT_MS 10000L /* OpenTelemetry's default */
#define TIMEOUT_MOST_MS 60000L

/* ---- variables ---- */

/* OTEL_EXPORTER_OTLP_METRICS_<what>, else OTEL_EXPORTER_OTLP_<what>; NULL: neither. of_signal: the first. */
static const char *variable(const char *signal, const char *what, int *of_signal)
{
    char name[80] = "OTEL_EXPORTER_OTLP_";
    size_t n = strlen(name);
    for (const char *c = signal; *c; c++)
        name[n++] = (char)toupper((unsigned char)*c);
    snprintf(name + n, sizeof(name) - n, "_%s", what);
    const char *text = getenv(name);
    if (of_signal)
        *of_signal = text && *text;
    if (text && *text)
        return text;
    snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s", what);
    text = getenv(name);
    return text && *text ? text : NULL;
}

/* ---- the URL ---- */

static pp_status no_grpc(const char *why, struct pp_err *err)
{
    return pp_fail(err, PP_E_USAGE,
                   "%s is OTLP over gRPC, which pipeprobe does not speak; give the URL of OTLP over HTTP, "
                   "usually port 4318 of the same server, and http/protobuf or http/json as protocol",
                   why);
}

static pp_status make_url(const char *target, const char *signal, struct pp_otlp_settings *out,
                          struct pp_err *err)
{
    char shown[256], path[32];
    int whole = 0, env = strcmp(target, "env") == 0;
    const char *base = env ? variable(signal, "ENDPOINT", &whole) : target;
    if (!base)
        return pp_fail(
            err, PP_E_USAGE,
            "OTLP as the environment says: OTEL_EXPORTER_OTLP_ENDPOINT is not set; set it, or give "
            "a URL as http://localhost:4318");
    pp_text_no_secrets(shown, sizeof(shown), base);
    if (strncmp(base, "http://", 7) != 0 && strncmp(base, "https://", 8) != 0)
        return pp_fail(err, PP_E_USAGE, "'%s' is no URL of OTLP over HTTP; write it as http://localhost:4318",
                       shown);
    const char *host = strstr(base, "://");
    const char *end = host ? host + 3 + strcspn(host + 3, "/?#") : NULL, *colon = NULL;
    for (const char *c = host; c && c < end; c++)
        colon = *c == ':' ? c : colon;
    if (colon && end - colon == 5 && strncmp(colon, ":4317", 5) == 0)
        return no_grpc("port 4317", err);
    size_t n = strlen(base);
    while (n && base[n - 1] == '/')
        n--;
    snprintf(path, sizeof(path), "/v1/%s", signal);
    size_t k = strlen(path);
    whole |= n > k && strncmp(base + n - k, path, k) == 0;
    if (asprintf(&out->url, "%.*s%s", (int)n, base, whole ? "" : path) < 0) {
        out->url = NULL;
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a URL");
    }
    return PP_OK;
}

int pp_otlp_byte(const char *text, size_t n, size_t *i)
{
    const char *at = text + *i;
    int escaped = *at == '%' && *i + 2 < n && pp_text_hex(at[1]) >= 0 && pp_text_hex(at[2]) >= 0;
    *i += escaped ? 3 : 1;
    return escaped ? pp_text_hex(at[1]) << 4 | pp_text_hex(at[2]) : (unsigned char)*at;
}

/* ---- headers: name=value,name2=value2, percent-encoded ---- */

/* "name: value" of n bytes; NULL: they are none. */
static char *header_of(const char *text, size_t n)
{
    char *line = malloc(n + 3);
    size_t k = 0, i = 0;
    while (line && i < n && (text[i] == ' ' || text[i] == '\t'))
        i++;
    for (; line && i < n && (isalnum((unsigned char)text[i]) || strchr("-_.", text[i])); i++)
        line[k++] = text[i];
    if (!line || !k || i == n || text[i] != '=') {
        free(line);
        return NULL;
    }
    line[k++] = ':';
    line[k++] = ' ';
    for (i++; i < n;) {
        int byte = pp_otlp_byte(text, n, &i);
        if (byte < 0x20 || byte == 0x7f) { /* it would be another header */
            free(line);
            return NULL;
        }
        line[k++] = (char)byte;
    }
    line[k] = '\0';
    return line;
}

/* ---- all of it ---- */

pp_status pp_otlp_settings_read(const char *target, const char *signal, struct pp_otlp_settings *out,
                                struct pp_err *err)
{
    const char *protocol = variable(signal, "PROTOCOL", NULL),
               *compression = variable(signal, "COMPRESSION", NULL), *ms = variable(signal, "TIMEOUT", NULL);
    char *end = NULL;
    *out = (struct pp_otlp_settings){.authorities = variable(signal, "CERTIFICATE", NULL),
                                     .certificate = variable(signal, "CLIENT_CERTIFICATE", NULL),
                                     .key = variable(signal, "CLIENT_KEY", NULL)};
    /* before the URL: it says why a port is wrong */
    if (protocol && strcmp(protocol, "grpc") == 0)
        return no_grpc("OTEL_EXPORTER_OTLP_PROTOCOL=grpc", err);
    out->is_json = protocol && strcmp(protocol, "http/json") == 0;
    if (protocol && !out->is_json && strcmp(protocol, "http/protobuf") != 0)
        return pp_fail(err, PP_E_USAGE,
                       "OTEL_EXPORTER_OTLP_PROTOCOL=%s is unknown; http/protobuf and http/json are spoken",
                       protocol);
    pp_status st = make_url(target, signal, out, err);
    if (st != PP_OK)
        return st;
    long long n = ms ? strtoll(ms, &end, 10) : TIMEOUT_MS;
    if (ms && (*end || n <= 0))
        return pp_fail(err, PP_E_USAGE, "OTEL_EXPORTER_OTLP_TIMEOUT=%s is no number of milliseconds above 0",
                       ms);
    out->timeout_ms = (long)(n < TIMEOUT_MOST_MS ? n : TIMEOUT_MOST_MS);
    out->gzip = !compression || strcmp(compression, "gzip") == 0; /* every server of OTLP takes it */
    if (!out->gzip && strcmp(compression, "none") != 0)
        return pp_fail(err, PP_E_USAGE, "OTEL_EXPORTER_OTLP_COMPRESSION=%s is unknown; write gzip or none",
                       compression);
    const char *text = variable(signal, "HEADERS", NULL);
    for (int i = 1; text && *text; i++) {
        size_t len = strcspn(text, ",");
        int blank = strspn(text, " \t") >= len;
        if (!blank && out->n_headers == PP_OTLP_HEADERS)
            return pp_fail(err, PP_E_USAGE, "OTEL_EXPORTER_OTLP_HEADERS has more than %d headers",
                           PP_OTLP_HEADERS);
        if (!blank && !(out->headers[out->n_headers++] = header_of(text, len))) {
            out->n_headers--;
            return pp_fail(
                err, PP_E_USAGE,
                "entry %d of OTEL_EXPORTER_OTLP_HEADERS is no NAME=VALUE (its text is not shown: it "
                "may be a secret)",
                i);
        }
        text += len + (text[len] == ',');
    }
    return PP_OK;
}

void pp_otlp_settings_free(struct pp_otlp_settings *s)
{
    for (size_t i = 0; i < s->n_headers; i++)
        free(s->headers[i]);
    free(s->url);
    *s = (struct pp_otlp_settings){0};
}
