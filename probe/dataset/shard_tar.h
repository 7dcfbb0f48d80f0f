/* dataset/shard_tar.h: walks the members of one tar file, through libarchive, and knows where each one's
 * bytes lie. A file that gzip or Zstandard compressed (unpack.h) is walked in order: its offsets are those of
 * the unpacked bytes, and nothing can be read at one of them.
 *
 * libarchive's own count of bytes consumed (archive_filter_bytes) stands exactly at a member's data once its
 * header has been read, long names and pax records included; the tests compare with Python's tarfile. That is
 * what random access needs, so there is no parser of our own. */
#pragma once

#include "probe/storage/storage.h"

struct pp_tar;

struct pp_tar_member {
    const char *name;       /* as stored; valid until the next call */
    uint64_t header_offset; /* where its headers begin: a walk may start here */
    uint64_t data_offset, size;
    uint64_t after; /* where the next header begins, once this one is done with: a walk may start there */
    int regular;    /* a plain file with its bytes in one piece; 0: directory, link, sparse file, ... */
    int truncated;  /* its bytes go beyond the end of the file */
    int lacks_end;  /* with PP_END: without the two zero blocks that end an archive: it was cut off between
                     * two members */
};

struct pp_tar_file {
    const struct pp_object *shard; /* stays the caller's, open until pp_tar_close */
    const char *path;              /* used in sentences; copied */
    uint64_t size;                 /* PP_SIZE_UNKNOWN: asked of the shard, once it has been read from */
    int in_order;                  /* a compressed one will do */
};

/* start: 0, or the header_offset of a member; in a compressed file all before it is unpacked and gone over.
 * block: bytes per read. PP_E_UNSUPPORTED for a compressed file, unless it was compressed by gzip or
 * Zstandard and will be read in order. */
pp_status pp_tar_open(const struct pp_tar_file *file, uint64_t start, size_t block, struct pp_tar **out,
                      struct pp_err *err);
/* PP_END after the last member. PP_E_CORRUPT: a damaged header, or no tar at all; nothing more can be had
 * from the file. */
pp_status pp_tar_next(struct pp_tar *t, struct pp_tar_member *m, struct pp_err *err);
/* The next n bytes of the member at hand, *got below n only at its end. Asking for more than is left of it
 * makes libarchive go over the padding too, which a cut file may lack: ask for what is there. */
pp_status pp_tar_data(struct pp_tar *t, void *buf, size_t n, size_t *got, struct pp_err *err);
/* Share of the bytes of the last read block that came from the page cache; -1: unknown. */
double pp_tar_cached_share(const struct pp_tar *t);
void pp_tar_close(struct pp_tar *t);

/* Splits a name as WebDataset does: the key is the name up to the first dot of its last component,
 * directories included; the extension is the rest. Returns the extension within name and the key's length, or
 * NULL for a name without either ("README", ".hidden", "dir/"). */
const char *pp_tar_split(const char *name, size_t *key_size);

enum pp_tar_role { PP_TAR_OTHER, PP_TAR_IMAGE, PP_TAR_LABEL };
enum pp_tar_role pp_tar_role(const char *extension); /* jpg jpeg png webp; cls; in any case, as WebDataset */

/* Reads the member at hand, a .cls, into *label. */
pp_status pp_tar_label(struct pp_tar *t, const struct pp_tar_member *m, int64_t *label, struct pp_err *err);
/* Its text as a number: decimal, not negative, with space around it; -1 for anything else. */
int64_t pp_tar_parse_label(const uint8_t *text, size_t size);
