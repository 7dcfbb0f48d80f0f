/* cli/plan_stream.h: `plan --stream`: how good the shuffle of a streamed epoch will be, before anything is
 * read. */
#ifndef PP_TUI_CLI_PLAN_STREAM_H
#define PP_TUI_CLI_PLAN_STREAM_H

#include <pipeprobe/status.h>

#include <stdint.h>

struct pp_dataset;

struct pp_plan_stream {
    const struct pp_dataset *dataset; /* indexed tar shards */
    uint64_t buffer, batch, world_size;
    int shuffle_shards, json;
};

/* To standard output. PP_E_USAGE: it is not for streams. */
pp_status pp_plan_stream(const struct pp_plan_stream *p, struct pp_err *err);

#endif
