/* TFRecord files: samples, labels and order; features by name and by their bytes; damage, truncation, records
 * without an image; the index in the user's cache. */
#include "tests/support/dataset_tree.h"

#include "probe/base/crc32c.h"
#include "probe/base/rng.h"
#include "probe/dataset/options.h"
#include "probe/dataset/dataset_tfrecord.h"

#define JPEG "\xff\xd8\xff\xe0"

struct text {
    uint8_t at[4096];
    size_t n;
};

static void put(struct text *t, const void *bytes, size_t n)
{
    memcpy(t->at + t->n, bytes, n);
    t->n += n;
}

static void put_varint(struct text *t, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        t->at[t->n++] = (uint8_t)(v | 0x80);
    t->at[t->n++] = (uint8_t)v;
}

/* A field of wire type 2. */
static void put_message(struct text *t, unsigned field, const void *bytes, size_t n)
{
    put_varint(t, field << 3 | 2);
    put_varint(t, n);
    put(t, bytes, n);
}

static void add_feature(struct text *features, const char *name, unsigned kind, const void *list, size_t n)
{
    struct text feature = {.n = 0}, entry = {.n = 0};
    put_message(&feature, kind, list, n);
    put_message(&entry, 1, name, strlen(name));
    put_message(&entry, 2, feature.at, feature.n);
    put_message(features, 1, entry.at, entry.n);
}

static void add_bytes(struct text *features, const char *name, const void *bytes, size_t n)
{
    struct text list = {.n = 0};
    put_message(&list, 1, bytes, n);
    add_feature(features, name, 1, list.at, list.n);
}

static void add_number(struct text *features, const char *name, int64_t v, int packed)
{
    struct text list = {.n = 0}, one = {.n = 0};
    put_varint(&one, (uint64_t)v);
    if (packed)
        put_message(&list, 1, one.at, one.n);
    else
        put(&list, "\x08", 1), put(&list, one.at, one.n);
    add_feature(features, name, 3, list.at, list.n);
}

static void put_masked(struct text *t, const uint8_t *bytes, size_t n)
{
    uint32_t crc = pp_crc32c(bytes, n), masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
    put(t, &masked, 4);
}

static void add_record(struct text *file, const void *bytes, size_t size)
{
    uint64_t n = size;
    put(file, &n, 8);
    put_masked(file, file->at + file->n - 8, 8);
    put(file, bytes, size);
    put_masked(file, file->at + file->n - size, size);
}

/* What ImageNet's records hold: a text, the image, its label. */
static void add_example(struct text *file, int i)
{
    struct text features = {.n = 0}, example = {.n = 0};
    char image[32];
    int n = snprintf(image, sizeof(image), JPEG "image %d", i);
    add_bytes(&features, "image/filename", "n01440764_1.JPEG", 16);
    add_bytes(&features, "image/encoded", image, (size_t)n);
    add_number(&features, "image/class/label", i % 1000, i % 2);
    add_number(&features, "label", 77, 1); /* the first name counts */
    put_message(&example, 1, features.at, features.n);
    add_record(file, example.at, example.n);
}

static void make_file(const char *rel, int first, int n)
{
    struct text file = {.n = 0};
    for (int i = first; i < first + n; i++)
        add_example(&file, i);
    tree_put(rel, file.at, file.n);
}

static struct pp_dataset_opts opts_of(const char *rel, const char *feature)
{
    static struct pp_dataset_options o;
    o.feature = feature;
    o.shards.index_dir = tree_path("index");
    mkdir(tree_path("index"), 0700);
    return (struct pp_dataset_opts){.spec = tree_path(rel), .options = &o};
}

static struct pp_dataset *open_it(const char *rel, const char *feature)
{
    struct pp_dataset_opts o = opts_of(rel, feature);
    return tree_open(&o);
}

static void expect(const struct pp_dataset *d, uint64_t index, int i)
{
    char want[32], path[256];
    struct pp_sample s = {0};
    struct pp_err err = {0};
    if (pp_dataset_read(d, index, &s, &err) != PP_OK)
        fail_msg("sample %llu: %s", (unsigned long long)index, err.text);
    snprintf(want, sizeof(want), JPEG "image %d", i);
    assert_int_equal(s.size, strlen(want));
    assert_memory_equal(s.data, want, s.size);
    assert_int_equal(s.label, i % 1000);
    pp_dataset_path(d, index, path, sizeof(path));
    assert_non_null(strstr(path, "@"));
    pp_sample_free(&s);
}

static void the_checksum_is_that_of_rfc_3720(void **state)
{
    static const uint8_t zeros[32];
    uint8_t ones[32], rising[32];
    memset(ones, 0xff, sizeof(ones));
    for (int i = 0; i < 32; i++)
        rising[i] = (uint8_t)i;
    assert_int_equal(pp_crc32c(zeros, 32), 0x8a9136aau);
    assert_int_equal(pp_crc32c(ones, 32), 0x62a8ab43u);
    assert_int_equal(pp_crc32c(rising, 32), 0x46dd794eu);
    assert_int_equal(pp_crc32c((const uint8_t *)"123456789", 9), 0xe3069283u);
}

static void samples_come_in_the_order_of_the_files(void **state)
{
    char text[128];
    make_file("set/train.tfrecord-00000-of-00002", 0, 5);
    make_file("set/train.tfrecord-00001-of-00002", 5, 3);
    for (int round = 0; round < 2; round++) { /* the second time from the kept index */
        struct pp_dataset *d = open_it("set", NULL);
        assert_string_equal(pp_dataset_format_name(d), "tfrecord");
        assert_int_equal(pp_dataset_len(d), 8);
        for (int i = 7; i >= 0; i--)
            expect(d, (uint64_t)i, i);
        pp_dataset_describe(d, text, sizeof(text));
        assert_string_equal(text, "tfrecord, 8 samples in 2 shards");
        assert_false(pp_dataset_streams(d));
        pp_dataset_close(d);
    }
    assert_int_equal(access(tree_path("set/train.tfrecord-00000-of-00002.ppidx"), F_OK), -1);
    make_file("imagenet/train-00000-of-00001", 0, 2);
    make_file("one", 4, 1);
    static const struct {
        const char *spec;
        uint64_t len;
    } specs[] = {{"imagenet", 2},
                 {"one", 1},
                 {"set/train.tfrecord-*", 8},
                 {"set/train.tfrecord-{00000..00001}-of-00002", 8}};
    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        struct pp_dataset *d = open_it(specs[i].spec, NULL);
        assert_int_equal(pp_dataset_len(d), specs[i].len);
        pp_dataset_close(d);
    }
}

static void the_image_is_found_by_its_bytes_or_its_name(void **state)
{
    struct text file = {.n = 0}, features = {.n = 0}, example = {.n = 0};
    struct pp_sample s = {0};
    add_bytes(&features, "zebra", "\x89PNG\r\n\x1a\nZ", 9);
    add_bytes(&features, "depth", "\x89PNG\r\n\x1a\nD", 9);
    add_bytes(&features, "caption", "a cat", 5);
    add_number(&features, "cls", 3, 1);
    put_message(&example, 1, features.at, features.n);
    add_record(&file, example.at, example.n);
    add_record(&file, JPEG "bare", 8); /* no Example at all */
    tree_put("f.tfrecord", file.at, file.n);
    struct pp_dataset *d = open_it("f.tfrecord", NULL);
    assert_int_equal(pp_dataset_read(d, 0, &s, NULL), PP_OK);
    assert_memory_equal(s.data, "\x89PNG\r\n\x1a\nD", s.size);
    assert_int_equal(s.label, 3);
    assert_int_equal(pp_dataset_read(d, 1, &s, NULL), PP_OK);
    assert_memory_equal(s.data, JPEG "bare", s.size);
    assert_int_equal(s.label, -1);
    pp_dataset_close(d);
    d = open_it("f.tfrecord", "zebra");
    assert_int_equal(pp_dataset_read(d, 0, &s, NULL), PP_OK);
    assert_memory_equal(s.data, "\x89PNG\r\n\x1a\nZ", s.size);
    pp_dataset_close(d);
    struct pp_dataset_opts o = opts_of("f.tfrecord", "imgae");
    tree_refused(&o, PP_E_UNSUPPORTED, "no bytes called imgae", "depth");
    pp_sample_free(&s);
}

static void records_without_an_image_are_said_at_once(void **state)
{
    struct text file = {.n = 0}, features = {.n = 0}, example = {.n = 0};
    add_bytes(&features, "text", "to be or not", 12);
    add_number(&features, "length", 12, 1);
    put_message(&example, 1, features.at, features.n);
    add_record(&file, example.at, example.n);
    tree_put("c4.tfrecord", file.at, file.n);
    struct pp_dataset_opts o = opts_of("c4.tfrecord", NULL);
    tree_refused(&o, PP_E_UNSUPPORTED, "its features are text, length", "--feature");
    tree_put_text("d/x.tfrecord", "");
    o = opts_of("d/x.tfrecord", NULL);
    tree_refused(&o, PP_E_EMPTY, "no sample in", "x.tfrecord has 0 bytes");
}

static void damage_is_that_of_its_record(void **state)
{
    struct text file = {.n = 0};
    struct pp_sample s = {0};
    struct pp_err err = {0};
    size_t start[4];
    for (int i = 0; i < 4; i++) {
        start[i] = file.n;
        add_example(&file, i);
    }
    uint8_t bad[sizeof(file.at)];
    /* a byte of the second record: its checksum; the others stand */
    memcpy(bad, file.at, file.n);
    bad[start[1] + 60] ^= 1;
    tree_put("a.tfrecord", bad, file.n);
    struct pp_dataset *d = open_it("a.tfrecord", NULL);
    assert_int_equal(pp_dataset_len(d), 4);
    assert_int_equal(pp_dataset_read(d, 1, &s, &err), PP_E_CORRUPT);
    assert_non_null(strstr(err.text, "checksum does not match"));
    expect(d, 2, 2);
    pp_dataset_close(d);
    /* a length: nothing behind it can be found */
    memcpy(bad, file.at, file.n);
    bad[start[2]] ^= 1;
    tree_put("b.tfrecord", bad, file.n);
    d = open_it("b.tfrecord", NULL);
    assert_int_equal(pp_dataset_len(d), 2);
    assert_true(tree_warns(d, "is not a TFRecord file from byte"));
    pp_dataset_close(d);
    for (size_t cut = 1; cut < file.n - start[3]; cut++) {
        tree_put("c.tfrecord", file.at, file.n - cut);
        d = open_it("c.tfrecord", NULL);
        assert_int_equal(pp_dataset_len(d), 3);
        assert_true(tree_warns(d, "is truncated in the record at byte"));
        expect(d, 2, 2);
        pp_dataset_close(d);
    }
    /* shorter than when it was indexed */
    tree_put("e.tfrecord", file.at, file.n);
    d = open_it("e.tfrecord", NULL);
    assert_int_equal(truncate(tree_path("e.tfrecord"), (off_t)(start[3] + 40)), 0);
    assert_int_equal(pp_dataset_read(d, 3, &s, &err), PP_E_CORRUPT);
    assert_non_null(strstr(err.text, "truncated"));
    pp_dataset_close(d);
    pp_sample_free(&s);
}

/* Any bytes for an Example: an image within them, or a sentence. */
static void any_bytes_are_searched_safely(void **state)
{
    struct text file = {.n = 0};
    struct pp_rng r = pp_rng_key(8, 0, 0, 0);
    int found = 0, refused = 0;
    add_example(&file, 1);
    size_t n = file.n - PP_TFRECORD_HEAD - PP_TFRECORD_TAIL;
    for (int round = 0; round < 20000; round++) {
        size_t size = pp_rng_below(&r, 4) ? n : pp_rng_below(&r, n + 1);
        uint8_t *bad = malloc(size ? size : 1); /* its own block, so that reading past the end is seen */
        memcpy(bad, file.at + PP_TFRECORD_HEAD, size);
        for (uint64_t k = pp_rng_below(&r, 4); k < 4 && size; k++)
            bad[pp_rng_below(&r, size)] = (uint8_t)pp_rng_next(&r);
        struct pp_tf_image image;
        struct pp_err err = {0};
        pp_status st = pp_tf_example_image(bad, size, round % 2 ? NULL : "image/encoded", &image, &err);
        if (st == PP_OK) {
            assert_true(image.data >= bad && image.data + image.size <= bad + size && image.label >= -1);
            found++;
        } else {
            assert_true(err.text[0]);
            refused++;
        }
        free(bad);
    }
    assert_true(found > 500 && refused > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(the_checksum_is_that_of_rfc_3720),
        TREE_TEST(samples_come_in_the_order_of_the_files),
        TREE_TEST(the_image_is_found_by_its_bytes_or_its_name),
        TREE_TEST(records_without_an_image_are_said_at_once),
        TREE_TEST(damage_is_that_of_its_record),
        TREE_TEST(any_bytes_are_searched_safely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
