/* loader/dataset.h: where samples come from. One interface, a table of functions per back end (folder, shards, tokens,
 * synthetic), told apart by what is found at the path.
 *
 *   open (lists, indexes; start-up, may take seconds, reports progress) -> read(index) from any worker -> close
 *
 * A dataset is immutable after open: every call below except open/close may be made by any thread at once. */
#ifndef PP_LOADER_DATASET_H
#define PP_LOADER_DATASET_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

enum pp_dataset_kind { PP_DATASET_FOLDER, PP_DATASET_SHARDS, PP_DATASET_TOKENS, PP_DATASET_SYNTHETIC, PP_DATASET_KIND_COUNT };
const char *pp_dataset_kind_name(enum pp_dataset_kind kind); /* "image-folder", "webdataset", "tokens", "synthetic" */

/* What a sample's bytes are, so that the loader knows what to do with them. */
enum pp_content { PP_CONTENT_IMAGE, PP_CONTENT_TOKENS };

struct pp_dataset_opts {
    const char *spec;      /* directory, .tar path or brace range, .bin/.npy; for synthetic the SPEC text */
    int synthetic;         /* spec is a synthetic SPEC, not a path */
    /* token files */
    uint64_t window;       /* tokens per sample; 0: 1025 (1024 + the next token) */
    int token_bytes;       /* 2 or 4 for .bin; 0: 2; .npy says its own */
    /* shards */
    const char *index_dir; /* where shard indexes are kept; NULL: beside the shard, falling back to $XDG_CACHE_HOME/pipeprobe */
    int no_index;          /* streaming only: do not build an index at open; length is then unknown (0) */
    /* progress during open: called at most every 100 ms by the opening thread; return non-zero to stop (PP_E_INTERRUPTED) */
    int (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total /* 0: unknown */);
    void *progress_ctx;
};

struct pp_dataset;

/* Clear errors: no such path, empty directory, directory without images (says what was found), unreadable directory, a missing
 * shard of a range (names it), token file of 0 bytes or whose header claims more than the file holds, odd trailing bytes. */
pp_status pp_dataset_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err);
void pp_dataset_close(struct pp_dataset *d); /* NULL is fine */

enum pp_dataset_kind pp_dataset_kind(const struct pp_dataset *d);
enum pp_content pp_dataset_content(const struct pp_dataset *d);
uint64_t pp_dataset_len(const struct pp_dataset *d);        /* samples; 0: unknown (streaming without index) */
uint64_t pp_dataset_classes(const struct pp_dataset *d);    /* 0: none known */
const char *pp_dataset_class_name(const struct pp_dataset *d, uint64_t cls);
/* One line for people: "image folder, 1,281,167 files in 1,000 classes". */
void pp_dataset_describe(const struct pp_dataset *d, char *buf, size_t size);
/* Defects found while opening that did not stop it ("shard-000003.tar ends in the middle: 812 of its samples are usable");
 * i from 0; NULL when there are no more. */
const char *pp_dataset_warning(const struct pp_dataset *d, size_t i);
uint64_t pp_dataset_footprint(const struct pp_dataset *d);  /* bytes of memory held, mappings of files not counted */

/* One sample's bytes. The buffer belongs to the reader (one per worker) and is reused and grown geometrically: zero-initialise, then
 * hand the same struct to every call; free with pp_sample_free. data may instead point into a mapping (tokens): then it is
 * borrowed until the dataset closes. */
struct pp_sample {
    const uint8_t *data;
    size_t size;
    int64_t label;      /* class index, value of .cls, or -1 */
    uint64_t index;     /* dataset index; in streaming mode the running number in stream order before shuffling */
    /* how the bytes came; feeds the read span */
    int cache_known;
    size_t cache_hit_bytes;
    /* owned buffer */
    uint8_t *buf;
    size_t cap;
    uint64_t grown; /* times buf was reallocated (allocations are counted) */
};
void pp_sample_free(struct pp_sample *s);

/* PP_E_TRANSIENT for failures that may pass (EIO, ESTALE): the caller retries. PP_E_CORRUPT/_ACCESS/_NOT_FOUND/_EMPTY else. */
pp_status pp_dataset_read(const struct pp_dataset *d, uint64_t index, struct pp_sample *s, struct pp_err *err);
/* The name a person knows the sample by: path, "shard.tar:key", "file.bin@offset", "synthetic:17". Returns buf. */
const char *pp_dataset_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size);

/* Order of the samples' bytes on the medium, for the access layer: 1 when reading by rising index is sequential. */
int pp_dataset_sequential(const struct pp_dataset *d);

/* ---- streaming (shards only): in shard order, one reader thread, shuffle buffer -------------------------------------------- */

struct pp_stream_opts {
    uint64_t seed, epoch;
    int shuffle_shards;       /* shard order is a permutation keyed by (seed, epoch) */
    uint64_t shuffle_buffer;  /* samples held back; 0: none */
    uint64_t rank, world_size; /* shards are dealt round-robin to ranks after shuffling; world_size 0 counts as 1 */
    uint64_t skip;            /* resume: samples of this (epoch, rank) already delivered; see pp_stream_cursor */
};

struct pp_stream;
struct pp_stream_cursor {
    uint64_t shard;   /* position in this epoch's shard order */
    uint64_t offset;  /* byte offset in that shard where reading goes on */
    uint64_t delivered; /* samples handed out so far in this (epoch, rank) */
};

/* Guarantee: the order is a function of (shards, seed, epoch, rank, world_size, shuffle_buffer) alone. A resume that replays with
 * skip = delivered continues the exact order (exactly once, at the price of reading and discarding from the epoch's start); a resume from
 * (shard, offset) re-reads nothing before it but may repeat up to shuffle_buffer samples that were held back: at least once. */
pp_status pp_stream_open(const struct pp_dataset *d, const struct pp_stream_opts *opts, struct pp_stream **out, struct pp_err *err);
/* Next sample; one thread at a time. PP_END after the epoch's last. s as for pp_dataset_read; key, when not NULL, gets the name. */
pp_status pp_stream_next(struct pp_stream *st, struct pp_sample *s, char *path, size_t path_size, struct pp_err *err);
void pp_stream_cursor(const struct pp_stream *st, struct pp_stream_cursor *out);
void pp_stream_close(struct pp_stream *st);

#endif
