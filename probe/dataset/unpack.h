/* dataset/unpack.h: the bytes of a compressed object from front to back: gzip (zlib) and Zstandard (libzstd),
 * several members or frames in a row included. Checksums are verified. Memory is bounded: one block of the
 * object, and the window of the compression, which is 32 KiB for gzip and at most 128 MiB for Zstandard. One
 * thread at a time. */
#pragma once

#include "probe/storage/storage.h"

enum pp_packed { PP_PACKED_NOT, PP_PACKED_GZIP, PP_PACKED_ZSTD };

enum { PP_UNPACK_HEAD = 4 }; /* bytes that tell */
enum pp_packed pp_packed_kind(const uint8_t *head, size_t size);

struct pp_unpack;

/* object: stays the caller's, open until pp_unpack_close. name: for sentences, copied. block: bytes per read
 * of the object. */
pp_status pp_unpack_open(const struct pp_object *object, const char *name, enum pp_packed kind, size_t block,
                         struct pp_unpack **out, struct pp_err *err);
/* The first block of the object, which the caller has read already, into *buf of as many bytes: it is not
 * read again, and the two change buffers. Before the first pp_unpack_read. */
void pp_unpack_take(struct pp_unpack *u, const struct pp_read *first, uint8_t **buf);
/* The next bytes, *got of at most size: 0 only at the end, with every checksum verified. PP_E_CORRUPT:
 * truncated or damaged; what the storage said else. After a failure of the storage that may pass, the call
 * may be made again. */
pp_status pp_unpack_read(struct pp_unpack *u, uint8_t *buf, size_t size, size_t *got, struct pp_err *err);
/* The last read of the object, for what it says of the page cache. */
const struct pp_read *pp_unpack_last(const struct pp_unpack *u);
void pp_unpack_close(struct pp_unpack *u); /* NULL is fine */
