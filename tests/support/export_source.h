/* The made-up run of fake_run.h as a source of the export walker, with names and counters beside; and an
 * export of it into a file. */
#pragma once

#include "tests/support/fake_run.h"
#include "report/export/export.h"

#include <math.h>
#include <unistd.h>

enum { FAKE_NAMES = 300, FAKE_COUNTERS = 8 };

struct fake_export {
    struct fake_run *run;
    const char *name[FAKE_NAMES];
    struct {
        uint64_t t_ns;
        const char *name;
        double value;
    } counter[FAKE_COUNTERS];
    size_t n_counters;
    const struct pp_gpu_row *gpu;
    size_t n_gpu;
    const struct pp_request_row *request; /* by their starts */
    size_t n_requests;
    pp_status (*each_stack)(void *ctx, const struct pp_stack_walk *to, struct pp_err *err);
    uint32_t id_offset; /* of threads in chunks: what the file does not declare */
};

struct pp_source fx_source(struct fake_export *f);

/* ---- a small run with one of everything ---- */

#define FX_T0 UINT64_C(7000000000)
#define FX_US UINT64_C(1000)
#define FX_NO UINT32_MAX

enum { FX_WORKER, FX_COPY, FX_TRAINER };

struct pp_span *fx_span(struct fake_export *f, uint32_t thread, pp_phase phase, uint64_t start_us,
                        uint64_t end_us, uint32_t batch);
void fx_begin(struct fake_export *f);
void fx_batch(struct fake_export *f, uint32_t b);

/* What CUPTI told of two GPUs: copies, a kernel, the calls they were made by, a wait, its own overhead. */
void fx_gpu(struct fake_export *f);

/* Requests to two addresses: one that opens a connection, one beside it that is refused, one that another one
 * was quicker than, and one that got no answer. */
void fx_requests(struct fake_export *f);

/* Where timelines draw them: each request, and after it the parts of its time. */
struct fx_asked {
    const char *track, *name;
    uint64_t start_us, length_us, bytes; /* of a part: bytes 0 */
    int failed, part;
};

enum { FX_ASKED = 15 };

extern const struct fx_asked fx_asked[FX_ASKED];

/* Where timelines draw those rows. */
struct fx_drawn {
    const char *group; /* device, process or thread that the track belongs to; NULL: the first process */
    const char *track, *name, *category;
    uint64_t start_us, length_ns, bytes; /* bytes 0: no note of them */
    uint32_t flow;                       /* the correlation it is joined by; 0: by none */
};

enum { FX_DRAWN = 8 };

extern const struct fx_drawn fx_drawn[FX_DRAWN];

void fx_end(struct fake_export *f);

/* ---- exporting it ---- */

pp_status fx_export(struct fake_export *f, const struct pp_exporter *to, const char *out, int force,
                    struct pp_export_result *r, struct pp_err *err);

/* The whole file, terminated; the caller frees. */
char *fx_slurp(const char *path, size_t *size);

/* A private directory per test program. */
extern char fx_dir[64];

int fx_set_up(void **state);
const char *fx_path(const char *name);
