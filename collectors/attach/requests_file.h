/* collectors/attach/requests_file.h: requests that a recorded Python job's samples were made of: one mapped
 * file in the session directory (PP_REQUESTS_FILE_NAME), a ring of rows. The collector (requests.c) makes the
 * file and takes the rows while the job runs; all processes that make samples fill it: a row is claimed by
 * moving head, and is there once its number stands in it. A full ring drops and counts.
 *
 * Whoever reads it from outside trusts nothing in it: numbers are bounded and texts end here. */
#pragma once

#include "collectors/attach/reads/reads.h"

#include <pipeprobe/ring.h>

/* One of the names that go with their session, should this collector be killed. */
#define PP_REQUESTS_FILE_NAME PP_ANSWER_FILE_PREFIX "requests"
#define PP_REQUESTS_MAGIC "PPREQS2"
enum { PP_REQUESTS_ROWS = 1 << 16 }; /* 10 MiB, of which only what is used takes memory */

struct pp_requests_row {
    uint64_t number;        /* from 1 on; released after the row */
    uint64_t sample, epoch; /* UINT64_MAX: not known */
    struct pp_read_request request;
};

struct pp_requests_file {
    char magic[8];
    uint64_t tail; /* rows taken; the collector's */
    uint64_t head; /* rows claimed */
    uint64_t lost;
    struct pp_requests_row row[PP_REQUESTS_ROWS];
};
