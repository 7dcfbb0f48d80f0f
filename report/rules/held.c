#include "report/rules/held.h"

#include <string.h>

/* Documentation of the libraries: pandas "Enhancing performance", datasets "Using Datasets with PyTorch",
 * h5py "Chunked storage", sqlite "executemany and SELECT .. IN", PyTorch "Writing custom datasets",
 * multiprocessing "Managers". */
#define PROXY \
    "One process of the Manager answers all workers, and each value is pickled through its pipe: hold the data in arrays that all of them map (tensor.share_memory_(), np.memmap), or in each worker itself."

static const struct pp_held rows[] = {
    {"pandas.",
     "Take the columns out of the DataFrame once, as NumPy arrays or tensors made in __init__: .iloc and .loc make a Series for every row."},
    {"polars.", "Take the columns out of the frame once, as NumPy arrays or tensors made in __init__."},
    {"datasets.",
     "Give the columns fixed shapes (Features with Array2D, Array3D, or Sequence with a length), or with_format(\"numpy\"): nested lists are converted value by value; and let map() do once what does not change between epochs."},
    {"h5py.",
     "Read a batch of the HDF5 file in one slice (__getitems__), open it once in each worker, and store chunks of one sample or batch: a chunk is read and decompressed whole for each sample in it."},
    {"zarr.",
     "Read a batch of the array in one slice (__getitems__), and store chunks of one sample or batch: a chunk is read and decompressed whole for each sample in it."},
    {"pyarrow.",
     "Take a batch of rows in one call (table.take in __getitems__), or columns as NumPy arrays made in __init__."},
    {"sqlite3.", "Read a batch in one query (__getitems__ with WHERE id IN), by an index."},
    {"scipy.", "Take the rows of a batch in one index operation (__getitems__), and make them dense then."},
    {"transformers.",
     "Tokenise once, offline, and keep the numbers; or a batch in one call of the tokenizer, in the collate_fn."},
    {"tokenizers.",
     "Tokenise once, offline, and keep the numbers; or a batch in one call (encode_batch), in the collate_fn."},
    {"multiprocessing.DictProxy", PROXY},
    {"multiprocessing.ListProxy", PROXY},
    {"torchvision.", NULL},
    {"albumentations.", NULL},
    {"kornia.", NULL},
    {"monai.", NULL},
    {"torchaudio.", NULL},
    {"audiomentations.", NULL},
    {"imgaug.", NULL},
};

const struct pp_held *pp_held_find(const char *held, int of_transforms, struct pp_arena *arena,
                                   const char **name)
{
    for (size_t i = 0; held && i < sizeof(rows) / sizeof(*rows); i++)
        for (const char *p = held; *p; p += strspn(p, ", ")) {
            size_t n = strcspn(p, ",");
            if (of_transforms == !rows[i].advice && strncmp(p, rows[i].type, strlen(rows[i].type)) == 0) {
                *name = pp_arena_printf(arena, "%.*s", (int)n, p);
                return &rows[i];
            }
            p += n;
        }
    return NULL;
}
