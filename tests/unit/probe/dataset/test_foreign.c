/* What files are that no format reads: by their first bytes, by their names, and what the opener says of
 * them. */
#include "probe/dataset/foreign.h"
#include "tests/support/dataset_tree.h"

/* Each file alone in a class directory; size 0: strlen. The name in the sentence, and a word of the advice.
 */
static const struct {
    const char *file, *bytes;
    size_t size;
    const char *noun, *advice;
} rows[] = {
    {"1.parquet", "x", 0, "Parquet", "name the files"},
    {"train-00000", "PAR1....", 0, "Parquet", "name the files"},
    {"data.arrow", "ARROW1..", 0, "Arrow", "name the files"},
    {"data.arrow", "\xff\xff\xff\xff....", 0, "Arrow stream", "name the files"},
    {"x.h5", "\x89HDF\r\n\x1a\n", 0, "HDF5", "name the files"},
    {"x.hdf5", "", 0, "HDF5", "name the files"},
    {"data.mdb", "................\xde\xc0\xef\xbe", 0, "LMDB", "exec"},
    {"x.mp4",
     "\0\0\0\x20"
     "ftypisom",
     12, "MP4 video", "exec"},
    {"x.dat",
     "\0\0\0\x20"
     "ftypmp42",
     12, "MP4 video", "exec"},
    {"x.mkv", "\x1a\x45\xdf\xa3", 0, "Matroska or WebM video", "exec"},
    {"x.avi", "RIFF....AVI LIST", 0, "AVI video", "exec"},
    {"x.wav", "RIFF....WAVEfmt ", 0, "WAV audio", "exec"},
    {"x.flac", "fLaC", 0, "FLAC audio", "exec"},
    {"x.mds", "", 0, "MosaicML MDS", "index.json"},
    {"x.rec", "\x0a\x23\xd7\xce", 0, "RecordIO", "exec"},
    {"x.beton", "", 0, "FFCV", "exec"},
    {"train.tfrecord-00001-of-00128", "", 0, "TFRecord", "name the files"},
    {"shard.tar.gz", "\x1f\x8b\x08", 0, "gzip-compressed", "unpack"},
    {"a.zip", "PK\3\4", 0, "zip", "unpack"},
    {"a.zip", "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0x.npy", 35, "NumPy .npz", ".npy"},
    {"a.bin2", "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0archive/data.pkl", 46, "PyTorch",
     "exec"},
    {"a.npz", "", 0, "NumPy .npz", ".npy"},
    {"a.pt", "", 0, "PyTorch", "exec"},
    {"a.jsonl", "{}", 0, "JSON Lines", ".npy"},
    {"a.gif", "GIF89a", 0, "GIF", "convert"},
    {"a.avif",
     "\0\0\0\x20"
     "ftypavif",
     12, "AVIF", "convert"},
    {"wrong.csv", "fLaC", 0, "FLAC audio", "exec"},
};

static void each_is_named_as_what_it_is(void **state)
{
    char dir[32], file[96];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t size = rows[i].size ? rows[i].size : strlen(rows[i].bytes);
        snprintf(dir, sizeof(dir), "d%zu", i);
        snprintf(file, sizeof(file), "d%zu/sub/%s", i, rows[i].file);
        tree_put(file, rows[i].bytes, size);
        struct pp_dataset_opts o = {.spec = tree_path(dir)};
        tree_refused(&o, PP_E_EMPTY, rows[i].noun, rows[i].advice);
        /* shards, compressed or empty, have a sentence of their own */
        if (!strstr(rows[i].file, ".tar.") && !strstr(rows[i].file, ".tfrecord") &&
            strcmp(rows[i].advice, "name the files") != 0) {
            o.spec = tree_path(file);
            tree_refused(&o, PP_E_UNSUPPORTED, rows[i].noun, rows[i].advice);
        }
    }
}

/* The checksum of the first length is what tells a TFRecord without a name. */
static void a_tfrecord_is_told_by_its_checksum(void **state)
{
    uint8_t head[16] = {5, 0, 0, 0, 0, 0, 0, 0, 0xea, 0xb2, 0x04, 0x3e, 'h', 'e', 'l', 'l'};
    assert_string_equal(pp_foreign_by_bytes(head, sizeof(head))->noun, "TFRecord");
    for (int bit = 0; bit < 96; bit++) {
        head[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const struct pp_foreign *f = pp_foreign_by_bytes(head, sizeof(head));
        assert_true(!f || strcmp(f->noun, "TFRecord") != 0);
        head[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_null(pp_foreign_by_bytes(head, 11));
}

static void what_tells_most_is_the_example(void **state)
{
    tree_put_text("hf/README.md", "x");
    tree_put_text("hf/dataset_info.json", "{}");
    tree_put_text("hf/data/train-0.parquet", "PAR1");
    tree_put_text("hf/zz/state.json", "{}");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("hf")}, PP_E_EMPTY, "Parquet",
                 "data/train-0.parquet");
}

static void any_bytes_are_safe(void **state)
{
    uint8_t head[PP_FOREIGN_HEAD];
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        size_t n = (size_t)rand_r(&seed) % sizeof(head);
        for (size_t i = 0; i < n; i++)
            head[i] = (uint8_t)rand_r(&seed);
        if (n > 4 && round % 2)
            memcpy(head, "PK\3\4", 4);
        pp_foreign_by_bytes(head, n);
    }
}

static const char *const decoders[] = {"JPEG", "PNG", NULL};

static void images_that_are_not_decoded_are_said(void **state)
{
    tree_put_text("half/a/1.jpg", "x");
    tree_put_text("half/a/2.WEBP", "x");
    tree_put_text("half/b/3.webp", "x");
    tree_put_text("half/b/4.tif", "x");
    struct pp_dataset_opts o = {.spec = tree_path("half"), .decoders = decoders};
    struct pp_dataset *d = tree_open(&o);
    assert_int_equal(pp_dataset_len(d), 4); /* indexes and classes stay torchvision's */
    assert_true(tree_warns(d, "2 of 4 files are WebP, 1 of 4 files is TIFF, which pipeprobe cannot decode"));
    pp_dataset_close(d);
    o.decoders = NULL;
    d = tree_open(&o);
    assert_false(tree_warns(d, "WebP"));
    pp_dataset_close(d);
    o.decoders = (const char *const[]){"JPEG", "WebP", "TIFF", NULL};
    d = tree_open(&o);
    assert_false(tree_warns(d, "WebP"));
    pp_dataset_close(d);
}

static void nothing_but_such_images_is_refused(void **state)
{
    tree_put_text("only/a/1.webp", "x");
    tree_put_text("only/a/2.webp", "x");
    struct pp_dataset_opts o = {.spec = tree_path("only"), .decoders = decoders};
    tree_refused(&o, PP_E_UNSUPPORTED, "2 of 2 files are WebP", "pipeprobe exec");
    tree_put_text("flat/1.bmp", "x");
    o.spec = tree_path("flat");
    tree_refused(&o, PP_E_UNSUPPORTED, "1 of 1 files is BMP", "pipeprobe exec");
}

static void a_file_url_is_a_path(void **state)
{
    char url[200];
    tree_put_text("my images/a/1.jpg", "x");
    for (int i = 0; i < 3; i++) {
        snprintf(url, sizeof(url), "%s%s/my%%20images",
                 i == 0   ? "file://"
                 : i == 1 ? "FILE:"
                          : "file://localhost",
                 tree_root);
        struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = url});
        assert_int_equal(pp_dataset_len(d), 1);
        pp_dataset_close(d);
    }
    tree_refused(&(struct pp_dataset_opts){.spec = "file://host/images"}, PP_E_USAGE, "file://host/images",
                 "another machine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(each_is_named_as_what_it_is),
        TREE_TEST(a_tfrecord_is_told_by_its_checksum),
        TREE_TEST(what_tells_most_is_the_example),
        TREE_TEST(any_bytes_are_safe),
        TREE_TEST(images_that_are_not_decoded_are_said),
        TREE_TEST(nothing_but_such_images_is_refused),
        TREE_TEST(a_file_url_is_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
