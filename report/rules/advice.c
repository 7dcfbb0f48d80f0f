#include "report/rules/advice.h"

/* ---- types that data sets keep ---- */

/* Documentation of the libraries: pandas "Enhancing performance", datasets "Using Datasets with PyTorch",
 * h5py "Chunked storage", sqlite "executemany and SELECT .. IN", PyTorch "Writing custom datasets",
 * multiprocessing "Managers". */
#define PROXY \
    "One process of the Manager answers all workers, and each value is pickled through its pipe: hold the data in arrays that all of them map (tensor.share_memory_(), np.memmap), or in each worker itself."

static const struct pp_held held_rows[] = {
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
    for (size_t i = 0; held && i < sizeof(held_rows) / sizeof(*held_rows); i++)
        for (const char *p = held; *p; p += strspn(p, ", ")) {
            size_t n = strcspn(p, ",");
            if (of_transforms == !held_rows[i].advice &&
                strncmp(p, held_rows[i].type, strlen(held_rows[i].type)) == 0) {
                *name = pp_arena_printf(arena, "%.*s", (int)n, p);
                return &held_rows[i];
            }
            p += n;
        }
    return NULL;
}

/* ---- operations that stacks found ---- */

/* Documentation of the libraries: Pillow "Image.draft", torchvision "Performance considerations" of
 * transforms v2, pandas "Enhancing performance", python-soundfile "Block processing", torchcodec "Performance
 * tips", NumPy "numpy.memmap", h5py "Chunked storage", zarr "Performance", transformers "Batched inputs",
 * datasets "Indexing" (rows before columns), logging "Optimization", re "Search and replace", csv, Pillow
 * "ImageFont", PyTorch "torch.tensor". The first row that holds is said. */
static const struct pp_op_advice op_rows[] = {
    {"PIL/JpegImagePlugin.py PIL/ImageFile.py",
     "Decode at the size that is needed: Image.draft() before load(), or images made smaller offline."},
    {"PIL/Image.py:Image.resize PIL/Image.py:Image.thumbnail torchvision/transforms/_functional_pil.py:resize torchvision/transforms/functional.py:resize torchvision/transforms/v2/functional/_geometry.py:resize",
     "Make the images that size offline, or resize before the other transforms: they then work on fewer pixels."},
    {"torchvision/transforms/functional.py:to_tensor torchvision/transforms/functional.py:normalize torchvision/transforms/_functional_tensor.py:normalize torchvision/transforms/v2/functional/_misc.py:normalize",
     "Keep samples as uint8 until the batch is on the device, and convert and normalise it there."},
    {"torchvision/ albumentations/ kornia/ monai/transforms imgaug/",
     "Run it on whole batches on the device (transforms v2 takes batches), or at a smaller size."},
    {"pandas/io/ pandas/core/groupby/ pandas/core/reshape/",
     "Do it once, offline, and store what comes out as arrays (np.save, Parquet): it is done again for every sample."},
    {"pandas/core/indexing.py: pandas/core/frame.py:DataFrame.__getitem__ pandas/core/frame.py:DataFrame._ixs pandas/core/series.py:Series.__getitem__",
     "Take the columns out of the DataFrame once, as NumPy arrays or tensors made in __init__: .iloc and .loc make a Series for every row."},
    {"pandas/",
     "Do it for all rows at once, in __init__: a call of pandas costs tens of microseconds, however few values it has."},
    {"transformers/tokenization tokenizers/",
     "Tokenise once, offline, or a whole batch in one call of the tokenizer, in the collate_fn."},
    {"h5py/_hl/files.py: zipfile.py:ZipFile.__init__ zipfile.py:ZipFile._Real zipfile/__init__.py:ZipFile.__init__ zipfile/__init__.py:ZipFile._Real pyarrow/parquet/core.py:ParquetFile.__init__ dbm/dumb.py:open dbm/__init__.py:open shelve.py:open",
     "Open the file once in each worker, in its first __getitem__, and keep it: it is opened again for every sample."},
    {"numpy/lib/_npyio_impl.py:NpzFile numpy/lib/npyio.py:NpzFile",
     "Store arrays that are not compressed, and map them (.npy, np.load with mmap_mode): of an .npz the whole array is unpacked for every sample."},
    {"h5py/ zarr/ numcodecs/",
     "Read a batch in one slice (__getitems__), and store chunks of one sample: a chunk is read and decompressed whole."},
    {"datasets/arrow_dataset.py:Column.",
     "Take the row first, then its field (data[i][\"text\"]): data[\"text\"][...] may make the whole column for one sample."},
    {"datasets/",
     "Give the columns fixed shapes (Array2D, Array3D), or with_format(\"numpy\"); and let map() do once what does not change between epochs."},
    {"pyarrow/",
     "Read a batch out of one row group (__getitems__), or store row groups of few rows: each is decoded whole."},
    {"soundfile.py: torchaudio/ librosa/ audioread/",
     "Read the part that is used alone (start and frames), and resample once, offline."},
    {"torchcodec/ decord/ torchvision/io/video.py:",
     "Decode the frames of a clip in order after one seek, and store short clips that begin with a key frame."},
    {"tifffile/ pydicom/ nibabel/ SimpleITK/ imageio/",
     "Decode once, offline, into arrays that are mapped (np.load with mmap_mode), and read the part that is used alone."},
    {"re.py: re/__init__.py: regex/", "Compile the pattern once, and apply it to the text once, offline."},
    {"csv.py: numpy/lib/_npyio_impl.py:loadtxt numpy/lib/npyio.py:loadtxt numpy/lib/_npyio_impl.py:genfromtxt numpy/lib/npyio.py:genfromtxt",
     "Parse the file once, into arrays made in __init__ or a columnar file (Parquet): the text is read again for every sample."},
    {"json/ yaml/ xml/ _strptime.py:",
     "Parse it once, offline, into arrays: the text is parsed again for every sample."},
    {"PIL/ImageFont.py:",
     "If a font is loaded for every sample, load it once for each size, and keep it: a new one has to make each letter again."},
    {"genericpath glob.py: os.py:walk pathlib.py:Path.stat pathlib.py:Path.glob pathlib.py:Path.iterdir pathlib/_local.py:Path.stat pathlib/_local.py:Path.glob pathlib/_local.py:Path.iterdir",
     "List the folder once, in __init__, and look names up in memory: the file system is asked again for every sample."},
    {"gzip.py: zipfile.py: zipfile/ tarfile.py: bz2.py: lzma.py:",
     "Unpack the archive once: what is compressed is read from its start for every sample."},
    {"logging/",
     "Log every so many samples, or at a level that is off (DEBUG): each line is formatted and written in the worker."},
    {"copy.py:deepcopy copy.py:_deepcopy",
     "Copy only what is changed, or make the parts immutable (tuples, arrays)."},
    {"pickle.py: torch/serialization.py:load",
     "Store the samples as arrays that are mapped (np.load with mmap_mode, safetensors)."},
    {"multiprocessing/managers.py:", PROXY},
    {"urllib/ requests/ urllib3/ http/client.py: boto3/ botocore/",
     "Ask less often: keep connections, cache what does not change on a local disk, or read a shard of many samples in one request."},
    {"scipy/sparse/",
     "Take the rows of a batch in one index operation (__getitems__), and make them dense then."},
    {"scipy/ skimage/", "Use OpenCV or the device for it, on whole batches."},
    {"torch/utils/data/dataset.py:TensorDataset.", PP_ADVICE_BY_BATCH},
    {"torch/utils/data/_utils/collate.py:",
     "Give samples as arrays and in fewer bytes (uint8, made float on the device), or write them into one preallocated tensor in a collate_fn of its own."},
};

const char pp_op_advice_any[] = "Do its work once, for a whole batch, or offline.";

/* The name of a module may stand behind its package's or the standard library's folders. */
static int begins_one_of(const char *code, const char *names)
{
    for (const char *p = names; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        for (const char *at = code; *at; at++)
            if ((at == code || at[-1] == ' ' || at[-1] == '/') && strncmp(at, p, n) == 0)
                return 1;
    }
    return 0;
}

const char *pp_op_advice_find(const char *code)
{
    for (size_t i = 0; code && i < sizeof(op_rows) / sizeof(*op_rows); i++)
        if (begins_one_of(code, op_rows[i].code))
            return op_rows[i].advice;
    return NULL;
}
