/* Which name an address was looked up by, of the last look-ups: a place is said as the job names it. */
#include "collectors/attach/reads/fds.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 32 };

static struct {
    uint8_t address[16]; /* of 4 bytes the rest is 0 */
    char name[48];
    uint64_t took_ns; /* not yet added to a connection */
} names[NAMES];
static unsigned n_names; /* so far */

/* The port in the host's order; 0: neither of the internet's families. */
static unsigned split_address(const struct sockaddr *of, uint8_t address[16])
{
    memset(address, 0, 16);
    if (of->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, of, sizeof(in));
        memcpy(address, &in.sin_addr, 4);
        return ntohs(in.sin_port);
    }
    if (of->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, of, sizeof(in6));
        memcpy(address, &in6.sin6_addr, 16);
        return ntohs(in6.sin6_port);
    }
    return 0;
}

void names_keep(const char *name, const struct addrinfo *found, uint64_t took_ns)
{
    for (const struct addrinfo *a = found; a; a = a->ai_next) {
        uint8_t address[16];
        unsigned at = 0, known = n_names < NAMES ? n_names : NAMES;
        split_address(a->ai_addr, address);
        while (at < known && memcmp(names[at].address, address, sizeof(address)) != 0)
            at++;
        if (at == known)
            at = n_names++ % NAMES;
        memcpy(names[at].address, address, sizeof(address));
        snprintf(names[at].name, sizeof(names[at].name), "%s", name);
        names[at].took_ns = took_ns;
    }
}

int names_find(const struct sockaddr *of, char *out, size_t size, uint64_t *took_ns)
{
    static long meeting = -1; /* port; 0: none */
    uint8_t address[16];
    char text[INET6_ADDRSTRLEN] = "?";
    unsigned port = split_address(of, address), known = n_names < NAMES ? n_names : NAMES, at = 0;
    *took_ns = 0;
    if (meeting < 0) {
        const char *set = getenv("MASTER_PORT");
        meeting = set ? atol(set) : 0;
    }
    if (!port || (long)port == meeting)
        return 0;
    while (at < known && memcmp(names[at].address, address, sizeof(address)) != 0)
        at++;
    if (at == known) {
        inet_ntop(of->sa_family, address, text, sizeof(text));
        snprintf(out, size, of->sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
        return 1;
    }
    *took_ns = names[at].took_ns;
    for (unsigned i = 0; i < NAMES; i++) /* its other addresses were looked up with this one */
        if (strcmp(names[i].name, names[at].name) == 0)
            names[i].took_ns = 0;
    snprintf(out, size, strchr(names[at].name, ':') ? "[%s]:%u" : "%s:%u", names[at].name, port);
    return 1;
}
