#include "report/send/client.h"

#include "probe/base/err.h"
#include "probe/base/text.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 5000L
#define ANSWER_MOST (256u << 10) /* all that is asked for is short */

struct pp_client {
    struct pp_http *http;
    struct pp_http_answer answer;
    size_t n;
    char body[ANSWER_MOST + 1];
};

pp_status pp_client_open(const struct pp_http_opts *o, struct pp_client **out, struct pp_err *err)
{
    struct pp_http_opts with = *o;
    with.timeout_ms = with.timeout_ms ? with.timeout_ms : TIMEOUT_MS;
    struct pp_client *c = calloc(1, sizeof(*c));
    pp_status st = c ? pp_http_open(&with, &c->http, err)
                     : pp_fail(err, PP_E_NO_MEMORY, "no memory to send anything");
    *out = st == PP_OK ? c : NULL;
    if (st != PP_OK)
        free(c);
    return st;
}

void pp_client_close(struct pp_client *c)
{
    if (c)
        pp_http_close(c->http);
    free(c);
}

static pp_status keep_answer(void *ctx, const struct pp_http_head *head, const uint8_t *bytes, size_t size,
                             struct pp_err *err)
{
    struct pp_client *c = ctx;
    if (size > ANSWER_MOST - c->n)
        return pp_fail(err, PP_E_CORRUPT, "it answers without end");
    memcpy(c->body + c->n, bytes, size);
    c->n += size;
    return PP_OK;
}

static const struct pp_status_words every[] = {
    {300, 399, "it redirects; give the final URL"},
    {401, 401, "it wants a user and a password, or a token"},
    {403, 403, "it does not allow this user to write"},
    {404, 405, "it has no such path; check the URL"},
    {407, 407, PP_HTTP_407},
    {413, 413, "it finds the body too large"},
    {429, 429, "it wants to be asked less often"},
    {500, 599, "its own trouble"},
    {1, 999, "not what such a server answers"},
};

int pp_client_send(struct pp_client *c, const struct pp_client_request *r,
                   const struct pp_status_words *words, struct pp_client_answer *a)
{
    const struct pp_http_head *head = &c->answer.head;
    char shown[200];
    struct pp_err err = {0};
    struct pp_http_request q = {
        .method = r->method, .url = r->url, .any_status = 1, .body = keep_answer, .ctx = c};
    if (strcmp(r->method, "GET") != 0) {
        q.post = r->body ? r->body : "";
        q.post_size = r->n;
    }
    memcpy(q.header, r->headers, sizeof(q.header));
    c->n = 0;
    pp_status st = pp_http_perform(c->http, &q, &c->answer, &err);
    c->body[c->n] = '\0';
    *a = (struct pp_client_answer){.body = c->body, .n = c->n};
    if (st == PP_OK && head->status / 100 == 2) {
        a->code = head->status;
        return 1;
    }
    if (r->shown)
        snprintf(shown, sizeof(shown), "%s", r->shown);
    else
        pp_text_no_secrets(shown, sizeof(shown), r->url);
    if (st != PP_OK) {
        snprintf(a->why, sizeof(a->why), "sending to %s failed: %.280s", shown, err.text);
        return 0;
    }
    a->code = head->status > 0 && head->status <= 999 ? head->status : 999;
    a->retry_s = a->code == 429 || a->code == 503 ? (long)head->retry_after_s : 0;
    const char *said = NULL;
    for (const struct pp_status_words *w = words; !said && w && w->from; w++)
        said = a->code >= w->from && a->code <= w->to ? w->words : NULL;
    for (const struct pp_status_words *w = every; !said; w++)
        said = a->code >= w->from && a->code <= w->to ? w->words : NULL;
    snprintf(a->why, sizeof(a->why), "%s answered %d: %s", shown, a->code, said);
    return 0;
}

pp_status pp_address_parse(const char *text, struct pp_address *out, struct pp_err *err)
{
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    size_t host = colon ? (size_t)(colon - text) : 0;
    char *end;
    if (host >= 2 && text[0] == '[' && text[host - 1] == ']') {
        text++;
        host -= 2;
    } else if (colon && memchr(text, ':', host)) { /* of IPv6 without brackets no part is the port for sure */
        host = sizeof(out->host);
    }
    errno = 0;
    unsigned long n = strtoul(port, &end, 10);
    if (host >= sizeof(out->host) || *port < '0' || *port > '9' || *end || errno || n > 65535)
        return pp_fail(err, PP_E_USAGE,
                       "--metrics %s: write PORT or ADDRESS:PORT, as 9400, 0.0.0.0:9400 or [::1]:9400", text);
    snprintf(out->host, sizeof(out->host), "%.*s", host ? (int)host : 9, host ? text : "127.0.0.1");
    snprintf(out->port, sizeof(out->port), "%lu", n);
    return PP_OK;
}

pp_status pp_address_listen(const struct pp_address *a, int *fd, char *shown, size_t size, struct pp_err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int rc = getaddrinfo(a->host, a->port, &hints, &found), e = 0;
    *fd = -1;
    if (rc != 0)
        return pp_fail(err, PP_E_NOT_FOUND, "the address %s cannot be resolved (%s)", a->host,
                       rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    for (const struct addrinfo *i = found; i && *fd < 0; i = i->ai_next) {
        int on = 1, s = socket(i->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (s >= 0)
            setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (s >= 0 && bind(s, i->ai_addr, i->ai_addrlen) == 0 && listen(s, 16) == 0) {
            *fd = s;
            break;
        }
        e = errno;
        if (s >= 0)
            close(s);
    }
    freeaddrinfo(found);
    if (*fd < 0 && e == EADDRINUSE)
        return pp_fail(err, PP_E_EXISTS, "port %s of %s is taken by another program; choose another port",
                       a->port, a->host);
    if (*fd < 0)
        return pp_fail_errno(err, e, "cannot listen on %s port %s", a->host, a->port);
    struct sockaddr_storage sa;
    socklen_t n = sizeof(sa);
    char host[64] = "?", port[16] = "?";
    if (getsockname(*fd, (struct sockaddr *)&sa, &n) == 0)
        getnameinfo((struct sockaddr *)&sa, n, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(shown, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    return PP_OK;
}
