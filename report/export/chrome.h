/* export/chrome.h: what the rooms of the Chrome exporter share. Private to chrome*.c: chrome.c the exporter,
 * chrome_event.c how an event is spelled, chrome_gpu.c what the GPU did,
 * chrome_requests.c requests to storages. */
#ifndef PP_EXPORT_CHROME_H
#define PP_EXPORT_CHROME_H

#include "report/export/export.h"
#include "report/export/gpu_tracks.h"
#include "report/export/request_tracks.h"
#include "report/export/out.h"
#include "report/export/tracks.h"

/* Spans beside their thread's own track get a thread number that no thread has: Linux numbers end at 2^22.
 * Devices are processes beyond the last. */
#define TRACK_STEP (INT64_C(1) << 22)
#define GPU_TRACKS (TRACK_STEP * PP_TRACKS_MAX)
#define REQUEST_TRACKS (GPU_TRACKS + TRACK_STEP)
#define DEVICES TRACK_STEP

struct chrome {
    struct pp_out out;
    const struct pp_export_run *run;
    char *quoted[PP_EXPORT_KEYS]; /* span names as JSON strings, made when first met */
    uint64_t *named;              /* per thread: bit k: track k has its name */
    struct pp_gpu_tracks gpu;
    struct pp_request_tracks requests;
    int comma;
    int out_of_memory;
};

int64_t chrome_pid_of(const struct pp_thread_row *t); /* NULL: 1 */
int64_t chrome_tid_of(const struct pp_thread_row *t);

/* An event begins; what follows is up to the caller, "}" included. */
void chrome_begin_event(struct chrome *c, char ph, int64_t pid, int64_t tid);
void chrome_put_time(struct chrome *c, const char *key, uint64_t ns);
void chrome_put_quoted(struct chrome *c, const char *s);
/* The nth argument; the first opens them, and after the last the caller closes with "}". */
void chrome_put_arg(struct chrome *c, int *n, const char *key, uint64_t v);
void chrome_put_name(struct chrome *c, const char *what, int64_t pid, int64_t tid,
                     const char *name); /* a whole event */
char *chrome_quote(const char *s);      /* s as a JSON string, the caller frees; NULL without memory */
pp_status chrome_check(const struct chrome *c, struct pp_err *err);

pp_status chrome_put_gpu(struct chrome *c, const struct pp_gpu_row *row, struct pp_err *err);
pp_status chrome_put_request(struct chrome *c, const struct pp_request_row *row, struct pp_err *err);

#endif
