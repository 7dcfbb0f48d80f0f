/* tui/cli/run/run_setup.h: from options to the parts of a run: dataset, sampler, transform, device, and the
 * choices left to us. */
#pragma once

#include "probe/device/device.h"
#include "probe/loader/loader.h"
#include "probe/sampler/sampler.h"
#include "probe/transform/transform.h"
#include "tui/cli/cli.h"
#include "tui/cli/run/run_opts.h"
#include <pipeprobe/status.h>

struct run_parts {
    struct pp_dataset *dataset;
    struct pp_sampler *sampler;     /* NULL when streaming */
    struct pp_transform *transform; /* what workers do; NULL for tokens */
    struct pp_transform *delivered; /* --wire u8: the same with the device's normalisation; else NULL */
    struct pp_device *device;
    const struct pp_storage_model *model; /* --like; NULL: none */
    struct pp_faults *faults;             /* NULL: none injected */
    struct pp_collective *collective;     /* NULL: no other ranks are met */
    struct pp_lease *lease;               /* NULL: shards are divided by rank */
    struct pp_loader_opts loader;         /* filled except session and events */
    struct pp_loader_state state; /* of this order, standing nowhere yet: --save-state fills in where */
    size_t row_bytes;
    double usable_cpus;
    char chosen[3]
               [120]; /* why workers, batch size and prefetch are what they are; "" when the user said so */
    char not_decoding[480]; /* --decode auto: why the CPU decodes; "": it does not, or was asked for */
    uint64_t open_ns;       /* listing and indexing took this long */
};

/* An interrupt stops the opening. parts is to be passed to run_parts_free in any case. */
pp_status run_parts_make(struct run_parts *parts, const struct run_request *asked,
                         struct pp_progress *progress, struct pp_err *err);
void run_parts_free(struct run_parts *parts);

/* --decode: the device's decoder, and what is said and stored of it. */

struct pp_loader_decode;
struct pp_store;
struct run_opts;
struct run_parts;

/* After batch size and workers are known. Under auto a decoder that cannot be had is said in
 * parts->not_decoding; under nvjpeg it is a failure. */
pp_status run_decode_open(struct run_parts *parts, const struct run_opts *o, struct pp_err *err);
/* What decodes, in a line; NULL: the CPU, and nobody asked for more. */
const char *run_decode_text(const struct run_parts *parts, char *buf, size_t size);
/* Lines on stderr after the run. */
void run_decode_note_result(const struct pp_loader_decode *result);
/* Section "decode" of meta, and config.decode. */
void run_decode_store(struct pp_store *s, const struct run_parts *parts);
void run_decode_store_result(struct pp_store *s, const struct pp_loader_decode *result);
