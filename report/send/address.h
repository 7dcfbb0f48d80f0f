/* send/address.h: where to listen, as a user writes it. */
#ifndef PP_REPORT_SEND_ADDRESS_H
#define PP_REPORT_SEND_ADDRESS_H

#include <pipeprobe/status.h>

#include <stddef.h>

struct pp_address {
    char host[256], port[8];
};

/* "9400" and ":9400" (loopback), "HOST:9400", "[::1]:9400". PP_E_USAGE for anything else. */
pp_status pp_address_parse(const char *text, struct pp_address *out, struct pp_err *err);

/* A socket that listens there, not blocking. PP_E_EXISTS: the port is taken. shown: "127.0.0.1:9400", with
 * the port that the system chose for 0. */
pp_status pp_address_listen(const struct pp_address *a, int *fd, char *shown, size_t size,
                            struct pp_err *err);

#endif
