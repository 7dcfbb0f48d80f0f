#include "report/send/address.h"

#include "probe/base/err.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

static int listen_at(const struct addrinfo *a)
{
    int on = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 16) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

pp_status pp_address_listen(const struct pp_address *a, int *fd, char *shown, size_t size, struct pp_err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int rc = getaddrinfo(a->host, a->port, &hints, &found);
    *fd = -1;
    if (rc != 0)
        return pp_fail(err, PP_E_NOT_FOUND, "the address %s cannot be resolved (%s)", a->host,
                       rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    for (const struct addrinfo *i = found; i && *fd < 0; i = i->ai_next)
        *fd = listen_at(i);
    int e = errno;
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
