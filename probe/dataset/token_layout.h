/* dataset/token_layout.h: where the tokens lie in a file of them, and of what type they are: the header of a
 * NumPy .npy file (format versions 1 to 3, numpy.lib.format), and the index of a Megatron-LM data set
 * (NAME.idx beside NAME.bin), each as far as it takes to read the tokens. */
#pragma once

#include "probe/storage/storage.h"

struct pp_npy {
    uint64_t items;
    int item_bytes;       /* 2 or 4 */
    uint64_t data_offset; /* of the first item */
};

/* data: the first size bytes of a file of file_size bytes, name: for sentences. Accepts one-dimensional
 * little-endian arrays of uint16, uint32 and int32. PP_E_CORRUPT (no header, cut header, claims more than the
 * file holds), PP_E_UNSUPPORTED (other types, shapes, versions). Reads nothing beyond size, whatever the
 * bytes. */
pp_status pp_npy_parse(const uint8_t *data, size_t size, uint64_t file_size, const char *name,
                       struct pp_npy *out, struct pp_err *err);

/* Bytes of the file that are enough to parse any header numpy writes for such an array. */
#define PP_NPY_HEAD 65536

/* The index: "MMIDIDX\0\0", u64 version 1, u8 type, u64 sequences, u64 documents, i32 size of each sequence
 * in tokens, i64 offset of each in the .bin, i64 first sequence of each document
 * (megatron/core/datasets/indexed_dataset.py); all little-endian. */
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
