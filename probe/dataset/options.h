/* dataset/options.h: the options of all formats, in one struct that a command's own holds. The rows that fill
 * them (name, range, default, help) are the format's: struct pp_dataset_format. Zeroed: the defaults. */
#pragma once

#include "probe/base/opts.h"

struct pp_dataset_format;

struct pp_shards_opts {
    int stream; /* will only be streamed: no index is made at open, and the length is then unknown (0) */
    int shuffle_shards; /* these two are what the stream is asked for (struct pp_stream_opts) */
    int64_t shuffle_buffer;
    const char *index_dir; /* where shard indexes are kept; NULL: in $XDG_CACHE_HOME/pipeprobe or
                            * ~/.cache/pipeprobe, falling back to memory */
};

struct pp_tokens_opts {
    int64_t window;      /* tokens per sample; 0: 1025 (1024 + the next token). Windows begin every window - 1
                          * tokens: neighbours share one, so that each token but the first is a target once; a
                          * tail shorter than a window is left out */
    int64_t token_bytes; /* 2 or 4 for .bin; 0: 2; .npy says its own (uint16, uint32, int32) */
};

struct pp_dataset_options {
    const char *synthetic; /* SPEC of a data set that is made and not found; NULL: it is no such one */
    const char *
        feature; /* of samples with several fields, the one that holds the image; NULL: the first that does */
    struct pp_shards_opts shards;
    struct pp_tokens_opts tokens;
    _Alignas(16) unsigned char registered[128]; /* of formats that are not in the table */
};

/* Where in registered the options of f are. */
void *pp_dataset_options_of(const struct pp_dataset_options *o, const struct pp_dataset_format *f);

/* Appends to a command's table at `to` the formats' rows: those of the formats first to last (by their number
 * in the table), with the rows for streaming when streaming is not 0. offset: of the options in the command's
 * option struct. Returns the end, where the next row goes. */
struct pp_opt *pp_dataset_options_rows(struct pp_opt *to, size_t first, size_t last, int streaming,
                                       size_t offset);

/* What no single row can check. PP_E_USAGE. */
pp_status pp_dataset_options_check(const struct pp_dataset_options *o, struct pp_err *err);
