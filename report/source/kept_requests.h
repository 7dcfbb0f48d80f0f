/* report/source/kept_requests.h: the requests of a recording that is still written, for a verdict that is
 * made again and again: a row is read from the file once. What is handed out is what pp_reader_each_request
 * hands out, in that order, with any series of readers of one file: rows that the recorder has removed since,
 * as it keeps the newest alone, are gone here too, and a file that is another one than before, known by the
 * newest row that was read of it, is read from its beginning.
 *
 * Memory: 128 bytes a row. A file with more rows than a recorder keeps is read each time. One thread. */
#ifndef PP_REPORT_SOURCE_KEPT_REQUESTS_H
#define PP_REPORT_SOURCE_KEPT_REQUESTS_H

#include "collectors/store/reader.h"

struct pp_kept_requests;

/* NULL: no memory. */
struct pp_kept_requests *pp_kept_requests_new(void);
void pp_kept_requests_free(struct pp_kept_requests *k);

/* Reads what came since the last call, and hands out all there is. k NULL: reads all. PP_E_NO_MEMORY and the
 * failures of pp_reader_each_request: what was kept is dropped. */
pp_status pp_kept_requests_each(struct pp_kept_requests *k, struct pp_reader *r, pp_request_fn *fn, void *ctx,
                                struct pp_err *err);

/* How many rows were read from files since it was made. */
uint64_t pp_kept_requests_read(const struct pp_kept_requests *k);

#endif
