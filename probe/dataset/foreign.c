#include "probe/dataset/foreign.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/shard_names.h"
#include "probe/dataset/dataset_tfrecord.h"

#include <strings.h>

#define EXEC "record your own loader with 'pipeprobe exec -- python train.py'"
#define UNPACK "unpack it into a directory of images or of .tar shards"
#define NAME_THEM "name the files, or the directory that holds them"
#define NAME_INDEX "name the directory that holds its index.json"
#define IMAGES \
    "convert the images to JPEG, PNG or WebP, or record your own loader with 'pipeprobe exec -- python train.py'"
#define TOKENS \
    "save the tokens as .npy or .bin (uint16 or uint32), or record your own loader with 'pipeprobe exec -- python train.py'"

/* A row with bytes is asked before any row is asked by its suffix. Where one signature begins another one,
 * the longer stands first; two bytes prove little, so they stand last. */
static const struct pp_foreign table[] = {
    {"Parquet", NAME_THEM, {0, 4, "PAR1"}, ".parquet .pq", PP_FOREIGN_READ},
    {"Arrow", NAME_THEM, {0, 6, "ARROW1"}, ".arrow .feather .ipc", PP_FOREIGN_READ},
    {"Arrow stream", NAME_THEM, {0, 4, "\xff\xff\xff\xff"}, "", PP_FOREIGN_READ},
    {"HDF5", NAME_THEM, {0, 8, "\x89HDF\r\n\x1a\n"}, ".h5 .hdf5 .he5", PP_FOREIGN_READ},
    {"LMDB", EXEC, {16, 4, "\xde\xc0\xef\xbe"}, ".lmdb .mdb", 0},
    {"MP4 video", EXEC, {4, 8, "ftypisom"}, ".mp4 .m4v", 0},
    {"MP4 video", EXEC, {4, 7, "ftypmp4"}, "", 0},
    {"MP4 video", EXEC, {4, 7, "ftypavc"}, "", 0},
    {"MP4 video", EXEC, {4, 7, "ftypiso"}, "", 0},
    {"QuickTime video", EXEC, {4, 6, "ftypqt"}, ".mov", 0},
    {"AVIF", IMAGES, {4, 8, "ftypavif"}, ".avif", 0},
    {"HEIC", IMAGES, {4, 8, "ftypheic"}, ".heic .heif", 0},
    {"HEIF", IMAGES, {4, 8, "ftypmif1"}, "", 0},
    {"Matroska or WebM video", EXEC, {0, 4, "\x1a\x45\xdf\xa3"}, ".mkv .webm", 0},
    {"AVI video", EXEC, {8, 4, "AVI "}, ".avi", 0},
    {"MPEG video", EXEC, {0, 4, "\0\0\1\xba"}, ".mpg .mpeg", 0},
    {"WAV audio", EXEC, {8, 4, "WAVE"}, ".wav", 0},
    {"FLAC audio", EXEC, {0, 4, "fLaC"}, ".flac", 0},
    {"Ogg audio", EXEC, {0, 4, "OggS"}, ".ogg .opus", 0},
    {"MP3 audio", EXEC, {0, 3, "ID3"}, ".mp3", 0},
    {"WebP", IMAGES, {8, 4, "WEBP"}, "", 0},
    {"GIF", IMAGES, {0, 4, "GIF8"}, ".gif", 0},
    {"JPEG XL", IMAGES, {4, 8, "JXL \r\n\x87\n"}, ".jxl", 0},
    {"JPEG 2000", IMAGES, {4, 4, "jP  "}, ".jp2", 0},
    {"TIFF", IMAGES, {0, 4, "II*\0"}, "", 0},
    {"TIFF", IMAGES, {0, 4, "MM\0*"}, "", 0},
    {"7-Zip", UNPACK, {0, 6, "7z\xbc\xaf\x27\x1c"}, ".7z", 0},
    {"RAR", UNPACK, {0, 4, "Rar!"}, ".rar", 0},
    {"xz-compressed",
     UNPACK,
     {0, 6,
      "\xfd"
      "7zXZ\0"},
     ".xz",
     0},
    {"bzip2-compressed", UNPACK, {0, 3, "BZh"}, ".bz2", 0},
    {"Zstandard-compressed", UNPACK, {0, 4, "\x28\xb5\x2f\xfd"}, ".zst", 0},
    {"gzip-compressed", UNPACK, {0, 2, "\x1f\x8b"}, ".gz .tgz", 0},
    {"SQLite", EXEC, {0, 16, "SQLite format 3"}, ".sqlite .db", 0},
    {"Python pickle", EXEC, {0, 2, "\x80\4"}, ".pkl .pickle", 0},
    {"RecordIO", EXEC, {0, 4, "\x0a\x23\xd7\xce"}, ".rec", 0},
    /* told by name alone: no signature of their own, or one that they share */
    {"NumPy .npz", TOKENS, {0}, ".npz", 0},
    {"PyTorch", EXEC, {0}, ".pt .pth .ckpt", 0},
    {"safetensors", EXEC, {0}, ".safetensors", 0},
    {"TFRecord", NAME_THEM, {0}, ".tfrecord .tfrecords .tfrec", PP_FOREIGN_READ},
    {"MosaicML MDS", NAME_INDEX, {0}, ".mds", PP_FOREIGN_READ},
    {"FFCV", EXEC, {0}, ".beton", 0},
    {"JSON Lines", TOKENS, {0}, ".jsonl .ndjson", 0},
    {"JSON", EXEC, {0}, ".json", PP_FOREIGN_BESIDE},
    {"CSV", EXEC, {0}, ".csv .tsv", PP_FOREIGN_BESIDE},
    {"zip", UNPACK, {0, 4, "PK\3\4"}, ".zip", 0},
};
enum { TABLE = sizeof(table) / sizeof(*table) };

static const struct pp_foreign *row_of(const char *noun)
{
    size_t i = 0;
    while (strcmp(table[i].noun, noun) != 0)
        i++;
    return &table[i];
}

/* ---- by content ---- */

const struct pp_foreign *pp_foreign_by_bytes(const uint8_t *head, size_t size)
{
    uint64_t length;
    /* Only by its bytes is a TFRecord told without doubt: the checksum of its first length. */
    if (size >= PP_TFRECORD_HEAD && pp_tfrecord_head(head, &length))
        return row_of("TFRecord");
    const struct pp_foreign *f = table;
    while (f < table + TABLE && !(f->magic.length && size >= (size_t)f->magic.at + f->magic.length &&
                                  memcmp(head + f->magic.at, f->magic.bytes, f->magic.length) == 0))
        f++;
    if (f == table + TABLE)
        return NULL;
    /* A zip archive is what NumPy and PyTorch save, too: the first member's name tells. */
    size_t name = size > 30 ? head[26] | (size_t)head[27] << 8 : 0;
    const char *at = (const char *)head + 30;
    if (strcmp(f->noun, "zip") != 0 || name < 4 || name > size - 30)
        return f;
    if (memcmp(at + name - 4, ".npy", 4) == 0)
        return row_of("NumPy .npz");
    return memmem(at, name, "/data.pkl", 9) || memmem(at, name, "/.format_version", 16) ? row_of("PyTorch")
                                                                                        : f;
}

/* ---- by name ---- */

const struct pp_foreign *pp_foreign_by_name(const char *name)
{
    for (const struct pp_foreign *f = table; f < table + TABLE; f++)
        if (pp_has_suffix(name, f->suffixes))
            return f;
    return pp_is_tfrecord(name) ? row_of("TFRecord") : NULL;
}

const struct pp_foreign *pp_foreign_look(const struct pp_storage *s, const struct pp_object *dir,
                                         const char *name)
{
    uint8_t head[PP_FOREIGN_HEAD];
    struct pp_place_info info;
    const struct pp_foreign *found = NULL;
    if (pp_storage_stat(s, dir, name, "stat", &info, NULL) == PP_OK && info.kind == PP_PLACE_OBJECT)
        found = pp_foreign_by_bytes(head, pp_read_head(s, dir, name, head, sizeof(head)));
    return found ? found : pp_foreign_by_name(name);
}

/* ---- images ---- */

const struct pp_image_kind_info pp_image_kinds[PP_IMAGE_KINDS] = {
    [PP_IMAGE_JPEG] = {"JPEG", ".jpg .jpeg"}, [PP_IMAGE_PNG] = {"PNG", ".png"},
    [PP_IMAGE_WEBP] = {"WebP", ".webp"},      [PP_IMAGE_BMP] = {"BMP", ".bmp"},
    [PP_IMAGE_TIFF] = {"TIFF", ".tif .tiff"}, [PP_IMAGE_NETPBM] = {"Netpbm", ".ppm .pgm"},
};

enum pp_image_kind pp_image_kind_by_name(const char *name)
{
    int kind = 0;
    while (kind < PP_IMAGE_KINDS && !pp_has_suffix(name, pp_image_kinds[kind].suffixes))
        kind++;
    return (enum pp_image_kind)kind;
}
