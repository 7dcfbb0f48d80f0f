/* dataset/dataset.h: where samples come from. One interface over the formats of formats.c (folder, shards,
 * tokens, synthetic), told apart by what is found at the path, and read through a storage (probe/storage).
 *
 *   open (lists, indexes; start-up, may take seconds, reports progress) -> read(index) from any worker
 *     -> close
 *
 * A dataset is immutable after open: every call below except open/close may be made by any thread at once. */
#pragma once

#include "probe/base/content.h"

#include <pipeprobe/status.h>

/* One sample's bytes. The buffer belongs to the reader (one per worker) and is reused and grown
 * geometrically: zero-initialise, then hand the same struct to every call; free with pp_sample_free. data may
 * instead point into a mapping (tokens): then it is borrowed until the dataset closes. */
struct pp_sample {
    const uint8_t *data;
    size_t size;
    int64_t label;  /* class index, value of .cls, or -1 */
    uint64_t index; /* dataset index; in streaming mode the running number in stream order before shuffling */
    /* how the bytes came; feeds the read span */
    int cache_known;
    size_t cache_hit_bytes;
    /* owned buffer */
    uint8_t *buf;
    size_t cap;
    size_t limit;   /* of cap, the reader's to set; 0: PP_SAMPLE_MEMORY */
    uint64_t grown; /* times buf was reallocated (allocations are counted) */
};
void pp_sample_free(struct pp_sample *s);

size_t pp_sample_limit(const struct pp_sample *s);
/* Gives back a buffer that one huge sample needed: before the next one is read. */
void pp_sample_trim(struct pp_sample *s);
/* Makes room for n bytes in the sample's own buffer (counted in grown) and points data at it.
 * PP_E_UNSUPPORTED, naming `what`, beyond the limit. */
pp_status pp_sample_reserve(struct pp_sample *s, uint64_t n, const char *what, struct pp_err *err);

struct pp_cache_opts;
struct pp_dataset_options;
struct pp_read_context;
struct pp_read_faults;
struct pp_storage_model;

struct pp_dataset_opts {
    /* Directory of class directories with images, or of images (no labels), or of .tar shards; .tar paths:
     * one, a brace range shard-{000000..000009}.tar, a glob, or several with commas; .bin/.npy; or what
     * another format of formats.c takes. NULL: options say what is to be made (--synthetic SPEC). */
    const char *spec;
    /* The format's name; NULL: the one that knows what lies at spec. "synthetic" takes its SPEC text as spec:
     * key=value,... of n=10k,size=500x375 (or
     * 100x100..1000x800),unique=64,quality=90,format=jpeg|png,read=2ms,jitter=0.5,classes=1000,seed=0 */
    const char *format;
    const struct pp_dataset_options *options; /* of the formats, borrowed during open; NULL: defaults */
    /* Names of the image formats that the caller decodes ("JPEG", "PNG"; ends with NULL): files of other
     * formats are a warning, nothing but such files is PP_E_UNSUPPORTED. NULL: not judged. Borrowed during
     * open. */
    const char *const *decoders;
    const struct pp_read_faults
        *read_faults;                  /* done to the reads for samples, borrowed until close; NULL: none */
    const struct pp_cache_opts *cache; /* what is read is kept there (storage/cache); NULL: nowhere */
    const struct pp_storage_model *model; /* whose time reads take, borrowed until close; NULL: their own */
    /* progress during open: called at most every 100 ms by the opening thread; return non-zero to stop
     * (PP_E_INTERRUPTED) */
    int (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total /* 0: unknown */);
    void *progress_ctx;
};

struct pp_dataset;

/* Clear errors: no such path, empty directory, directory without images (says what was found), unreadable
 * directory, a missing shard of a range (names it), token file of 0 bytes or whose header claims more than
 * the file holds, odd trailing bytes. */
pp_status pp_dataset_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err);
void pp_dataset_close(struct pp_dataset *d); /* NULL is fine */

const char *pp_dataset_format_name(const struct pp_dataset *d); /* "image-folder", "webdataset", ... */
int pp_dataset_streams(const struct pp_dataset *d);             /* pp_stream_open takes it */
enum pp_content pp_dataset_content(const struct pp_dataset *d);
uint64_t pp_dataset_len(const struct pp_dataset *d); /* samples; 0: unknown (streaming without index) */
/* One line for people: "image folder, 1,281,167 files in 1,000 classes". */
void pp_dataset_describe(const struct pp_dataset *d, char *buf, size_t size);
/* Defects found while opening that did not stop it ("shard-000003.tar ends in the middle: 812 of its samples
 * are usable"); i from 0; NULL when there are no more. */
const char *pp_dataset_warning(const struct pp_dataset *d, size_t i);
uint64_t pp_dataset_footprint(const struct pp_dataset *d); /* bytes held; mappings of files do not count */

/* PP_E_TRANSIENT for failures that may pass (EIO, ESTALE): the caller retries.
 * PP_E_CORRUPT/_ACCESS/_NOT_FOUND/_EMPTY else. */
pp_status pp_dataset_read(const struct pp_dataset *d, uint64_t index, struct pp_sample *s,
                          struct pp_err *err);
/* The same for the sample c->sample, told to the storage: what injected faults are decided by. c NULL: for
 * s->index, and nothing is told. */
pp_status pp_dataset_read_for(const struct pp_dataset *d, const struct pp_read_context *c,
                              struct pp_sample *s, struct pp_err *err);
/* Bytes of a sample in a batch, where no transform makes its row: those of the first sample that can be read
 * (of 64), or PP_TEXT_ROW. sample_limit: as of a sample; 0: PP_SAMPLE_MEMORY. */
pp_status pp_dataset_row_bytes(const struct pp_dataset *d, size_t sample_limit, size_t *out,
                               struct pp_err *err);
/* The name a person knows the sample by: path, "shard.tar:key", "file.bin@offset", "synthetic:17". Returns
 * buf. */
const char *pp_dataset_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size);

/* The labels of all samples, without reading one: *out has pp_dataset_len of them, to be freed.
 * PP_E_UNSUPPORTED where the format has none or no sample has one. */
pp_status pp_dataset_labels(const struct pp_dataset *d, int64_t **out, struct pp_err *err);

/* ---- streaming: in the order of the places (shards), one reader thread, shuffle buffer ---- */

/* A place in the stream from which to go on: everything not yet handed out lies at or behind it. */
struct pp_stream_cursor {
    uint64_t shard;     /* position in this epoch's shard order (all ranks' shards counted) */
    uint64_t offset;    /* byte offset in that shard where reading goes on */
    uint64_t delivered; /* samples handed out so far in this (epoch, rank) */
    uint64_t number;    /* pp_sample.index of the first sample to be read there; 0 when it was not kept:
                           numbering starts anew */
};

struct pp_stream_opts {
    uint64_t seed, epoch;
    int shuffle_shards;      /* shard order is a permutation keyed by (seed, epoch) */
    uint64_t shuffle_buffer; /* samples held back; 0: none */
    uint64_t rank,
        world_size;      /* shards are dealt round-robin to ranks after shuffling; world_size 0 counts as 1 */
    size_t sample_limit; /* bytes of one sample (sample.h); 0: PP_SAMPLE_MEMORY */
    uint64_t skip; /* resume: samples of this (epoch, rank) already delivered, to be gone through again */
    struct pp_stream_cursor from; /* resume: start here instead of at the epoch's start; all zero: at the
                                     start. Not together with skip */
    int leased; /* shards come one by one, by pp_stream_add: rank and world_size divide nothing. A sample's
                   number is PP_LEASED_SAMPLE(shard, place in it), and so the same whichever rank reads it;
                   a cursor's shard is a position among those that were added */
};

#define PP_LEASED_SAMPLE(shard, place) ((uint64_t)(shard) << 32 | (place))

struct pp_stream;

/* Guarantee: the order is a function of (shards, seed, epoch, rank, world_size, shuffle_buffer) alone. A
 * resume that replays with skip = delivered continues the exact order (exactly once, at the price of reading
 * and discarding from the epoch's start); a resume from the cursor re-reads nothing before it but repeats up
 * to shuffle_buffer samples, those that had overtaken the oldest one held back (none without a buffer): at
 * least once, in an order of its own. */
pp_status pp_stream_open(const struct pp_dataset *d, const struct pp_stream_opts *opts,
                         struct pp_stream **out, struct pp_err *err);
/* Next sample; one thread at a time. PP_END after the epoch's last. s as for pp_dataset_read (its buffer is
 * exchanged for the one the sample was read into: do not keep pointers to it); path, when not NULL, gets the
 * name, or after a failure the shard's. Any other failure is about one place, and the next call goes on:
 * after PP_E_TRANSIENT at the same place (8 times, then the shard is given up with PP_E_IO), after others
 * behind it (the rest of a damaged shard is left out). Page-cache bytes are estimated from the last block
 * read. */
pp_status pp_stream_next(struct pp_stream *st, struct pp_sample *s, char *path, size_t path_size,
                         struct pp_err *err);
void pp_stream_cursor(const struct pp_stream *st, struct pp_stream_cursor *out);

/* The shards that were begun since it was asked last, one by one: which, and the number of its first sample
 * in the order read (from 0, or where a cursor says). 0: no more. */
int pp_stream_begun(struct pp_stream *st, uint64_t *shard, uint64_t *first);

/* ---- a leased stream: after pp_stream_next came back with PP_E_INTERRUPTED, and before each call ---- */

/* The data set's shards in the order of this epoch, the same on all ranks. Lives as long as st. */
const uint64_t *pp_stream_order(const struct pp_stream *st);
/* Whether a shard is to be added before more can be read. */
int pp_stream_wants(const struct pp_stream *st);
pp_status pp_stream_add(struct pp_stream *st, uint64_t shard, struct pp_err *err);
/* 1: there is no shard now; the buffer is emptied, and PP_END then. 0: there is one again. */
void pp_stream_drain(struct pp_stream *st, int on);
/* The shard being read, as a position among those added; UINT64_MAX: none. And leaves the rest of it. */
uint64_t pp_stream_at(const struct pp_stream *st);
void pp_stream_leave(struct pp_stream *st);

void pp_stream_close(struct pp_stream *st);
