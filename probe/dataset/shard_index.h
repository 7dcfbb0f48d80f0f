/* dataset/shard_index.h: which samples a shard holds and where: built by one walk, kept as a file, read
 * back in one piece.
 *
 * In a tar shard a sample is a run of members with the same key (see pp_tar_split) of which one is an image;
 * its label is that of its .cls member. The index is held as the bytes of its file: a header, an entry per
 * sample in the shard's order, then the keys. It belongs to a shard of one size and modification time and is
 * made anew when these differ. Immutable once made: any thread may read it. */
#pragma once

#include "probe/storage/storage.h"

enum pp_shard_defect {
    PP_SHARD_SOUND,
    PP_SHARD_TRUNCATED, /* a member's bytes go beyond the end of the file */
    PP_SHARD_DAMAGED,   /* a header does not check out: nothing behind it can be found */
    PP_SHARD_NO_END,    /* ends between two members, without the end-of-archive blocks */
    PP_SHARD_NO_BYTES,  /* 0 bytes */
    PP_SHARD_DEFECTS
};

struct pp_shard_entry {
    uint64_t offset; /* of the image's bytes in the shard, or of the record's that holds it */
    uint32_t size;
    uint32_t key;  /* offset of the zero-terminated key in keys */
    int64_t label; /* -1: none, or not a number */
};

/* The file, in the byte order of the machine that wrote it. */
struct pp_shard_header {
    char magic[8];     /* "ppshard" and the version, see shard_index.c */
    uint64_t checksum; /* XXH3 of all that follows this field */
    uint64_t shard_size;
    int64_t shard_mtime_ns;
    uint64_t entries, key_bytes;
    uint64_t defect_at; /* byte offset in the shard */
    uint32_t defect;    /* enum pp_shard_defect */
    uint32_t left_out;  /* keys without an image, or with one of 4 GiB and more */
    char example[48]; /* name of a member that is neither image nor label, for the sentence when no sample is
                         found */
};

struct pp_shard_index {
    uint8_t *bytes; /* owned */
    size_t size;
    const struct pp_shard_header *header; /* these three point into bytes */
    const struct pp_shard_entry *entry;
    const char *keys;
    int kept; /* as a file; these two are set by pp_shard_index_get alone */
    int made; /* and the file is new */
};

/* The index of these rows: header gives all but its magic and its checksum. PP_E_NO_MEMORY. */
pp_status pp_shard_index_make(const struct pp_shard_header *header, const struct pp_shard_entry *entry,
                              const char *keys, struct pp_shard_index *out, struct pp_err *err);

/* Makes the index of one kind of shard. id: its size and version. */
typedef pp_status pp_shard_index_builder(const struct pp_object *shard, const char *path,
                                         const struct pp_place_info *id, struct pp_shard_index *out,
                                         struct pp_err *err);

/* Of a tar shard: walks it. Defects are noted in the header, not failures; fails on I/O, lack of memory, and
 * compressed shards. */
pp_shard_index_builder pp_shard_index_build;

/* Takes bytes (malloc'd) over when they are a sound index of that shard: every offset, key and label within
 * bounds. 0, or -1 and bytes stay the caller's. Safe on any bytes. */
int pp_shard_index_adopt(uint8_t *bytes, size_t size, const struct pp_place_info *id,
                         struct pp_shard_index *out);

struct pp_shard_index_how {
    const char *dir; /* --index-dir, or NULL */
    pp_shard_index_builder *build;
};

/* The kept index when there is a sound one, else a new one, which is kept where the last part of this header
 * says. Failing to keep it is no failure; kept of out says whether it was. */
pp_status pp_shard_index_get(const struct pp_object *shard, const char *path, const struct pp_place_info *id,
                             const struct pp_shard_index_how *how, struct pp_shard_index *out,
                             struct pp_err *err);

/* ---- where indexes are kept ----
 *
 * In --index-dir, else in the user's cache directory ($XDG_CACHE_HOME/pipeprobe, ~/.cache/pipeprobe), never
 * beside the shard: data sets are the user's. An index that lies beside its shard (SHARD.ppidx, of an earlier
 * version) is still read.
 *
 * A file in the cache is named after the shard's path and holds its size and modification time, so that
 * another shard of the same name replaces it. The cache directory is for its owner alone and is bounded: the
 * indexes used longest ago go first. Any thread may call; two processes at once do no harm, for files appear
 * whole. */

enum { PP_SHARD_CACHE_READS = 2 };

struct pp_shard_places {
    char read[PP_SHARD_CACHE_READS][PATH_MAX]; /* in this order; "": none */
    char write[PATH_MAX];                      /* "": nowhere */
};

/* is_local: path is one of this machine. dir: --index-dir or NULL. */
void pp_shard_cache_places(const char *path, int is_local, const char *dir, struct pp_shard_places *out);
/* Makes the directory of out->write where it is missing; best effort. */
void pp_shard_cache_prepare(const struct pp_shard_places *out);
/* Removes the indexes used longest ago until the cache directory holds at most so many bytes of them. */
void pp_shard_cache_trim(uint64_t most_bytes);

/* An index takes about 40 bytes per sample: 25 million samples */
#define PP_SHARD_CACHE_BYTES (UINT64_C(1) << 30)
