/* dataset/megatron.h: the index of a Megatron-LM data set (NAME.idx beside NAME.bin), as far as it takes to
 * read the tokens: their type, how many, and that they lie in one piece.
 *
 *   "MMIDIDX\0\0", u64 version 1, u8 type, u64 sequences, u64 documents, i32 size of each sequence in tokens,
 *   i64 offset of each in the .bin, i64 first sequence of each document (megatron/core/datasets/
 *   indexed_dataset.py); all little-endian */
#ifndef PP_DATASET_MEGATRON_H
#define PP_DATASET_MEGATRON_H

#include "probe/storage/storage.h"

struct pp_megatron {
    uint64_t tokens, sequences;
    int token_bytes; /* 2 or 4 */
};

/* bin, idx: their names. PP_E_NOT_FOUND: there is no such index. PP_E_UNSUPPORTED: the file is no index of
 * Megatron, or of a version or type of token that is not read. PP_E_CORRUPT: it does not fit the bin_size
 * bytes of tokens. Of the offsets the first and the last are verified. */
pp_status pp_megatron_read(const struct pp_storage *storage, const char *idx, const char *bin,
                           uint64_t bin_size, struct pp_megatron *out, struct pp_err *err);

/* Whether these are the first bytes of an index. */
int pp_is_megatron_index(const uint8_t *head, size_t size);
enum { PP_MEGATRON_MAGIC = 9 };

#endif
