/* export/request_tracks.h: where a timeline draws the requests to remote storages, and what it says there.
 *
 * A track per address that was connected to. Requests that are under way together lie on tracks beside it,
 * which are as many as there were connections at a time. A request encloses the parts of its time, in their
 * order; parts that took no time are left out. */
#ifndef PP_EXPORT_REQUEST_TRACKS_H
#define PP_EXPORT_REQUEST_TRACKS_H

#include "report/export/export.h"

/* {0}: no request yet. */
struct pp_request_tracks {
    struct pp_request_lane *lane;
    size_t n, cap;
};

enum {
    PP_REQUEST_PARTS = 6, /* queue, resolve, connect, tls, first byte, transfer */
    PP_REQUEST_NOTES = 6,
    PP_REQUEST_STATUSES = 601 /* 0: no answer, or none of HTTP's; up to 599; 600: a storage model answered */
};

/* A row as it is drawn. Its strings are valid as long as the row and this. */
struct pp_request_slice {
    uint64_t start_ns, end_ns;
    char name[32];   /* "GET 206", "no answer" */
    unsigned status; /* below PP_REQUEST_STATUSES: stands for the name */
    int failed;      /* refused, or without an answer, and not because another one was quicker */
    struct {
        unsigned which; /* below PP_REQUEST_PARTS: pp_request_part_name */
        uint64_t start_ns, end_ns;
    } part[PP_REQUEST_PARTS];
    size_t n_parts;
    struct {
        const char *key;
        uint64_t value;
    } note[PP_REQUEST_NOTES]; /* sample, epoch, bytes, cpu_ns, try, hedge */
    size_t n_notes;
    const char *prefix; /* of the object's name; NULL: not known */
    int dropped;        /* another request for the same bytes was quicker */

    unsigned track;      /* its number, which no other track of requests has */
    int new_track;       /* met for the first time */
    char track_name[96]; /* of a new track: "requests to 10.0.0.7:443", "... (overlapping 1)" */
};

extern const char *const pp_request_part_names[PP_REQUEST_PARTS];

void pp_request_tracks_free(struct pp_request_tracks *t);
/* Rows come in the order of their starts. PP_E_NO_MEMORY. */
pp_status pp_request_tracks_place(struct pp_request_tracks *t, const struct pp_request_row *row,
                                  struct pp_request_slice *out);

#endif
