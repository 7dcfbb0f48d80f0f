/* Image folders: torchvision's order and rules, what is refused and how, reading, memory, faults, threads. */
#include "tests/support/dataset_tree.h"

#include <errno.h>
#include <pthread.h>

/* The tree and, in order, what torchvision 0.14 makes of it. Content of a file is its own path, so that
 * reading shows which one it was. */
static const char *const files[] = {
    "b/2.jpg",
    "b/10.JPG",
    "b/1.jpeg",
    "b/notes.txt",
    "b/x.jpg.txt",
    "b/.jpg",
    "b/.hidden.PNG",
    "b/sub/deep/z.png",
    "b/sub/a.webp",
    "b/sub-1/y.bmp",
    "b/sub/deep.tiff",
    "a/Z.ppm",
    "a/a.pgm",
    "a/A.tif",
    "\xc3\xa9t\xc3\xa9/\xc3\xb1.jpg",
    "\xc3\xa9t\xc3\xa9/n.jpg",
    "\xf0\x9f\x98\x80/1.jpg",
    "\xef\xbf\xbd/1.jpg",
    "B/only.gif",
    "B/one.png",
    ".dot/q.jpg",
    "direct.jpg",
};
static const struct {
    const char *path;
    int64_t label;
} golden[] = {
    {".dot/q.jpg", 0},
    {"B/one.png", 1},
    {"a/A.tif", 2},
    {"a/Z.ppm", 2},
    {"a/a.pgm", 2},
    {"b/.hidden.PNG", 3},
    {"b/.jpg", 3},
    {"b/1.jpeg", 3},
    {"b/10.JPG", 3},
    {"b/2.jpg", 3},
    {"b/broken.jpg", 3},
    {"b/file.png", 3},
    {"b/linked/A.tif", 3},
    {"b/linked/Z.ppm", 3},
    {"b/linked/a.pgm", 3},
    {"b/sub/a.webp", 3},
    {"b/sub/deep.tiff", 3},
    {"b/sub-1/y.bmp", 3},
    {"b/sub/deep/z.png", 3},
    {"link/A.tif", 4},
    {"link/Z.ppm", 4},
    {"link/a.pgm", 4},
    {"\xc3\xa9t\xc3\xa9/n.jpg", 5},
    {"\xc3\xa9t\xc3\xa9/\xc3\xb1.jpg", 5},
    {"\xef\xbf\xbd/1.jpg", 6},
    {"\xf0\x9f\x98\x80/1.jpg", 7},
};
enum { GOLDEN = sizeof(golden) / sizeof(*golden) };

static void make_tree(void)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        tree_put_text(files[i], files[i]);
    assert_int_equal(symlink("a", tree_path("link")), 0);
    assert_int_equal(symlink("../a", tree_path("b/linked")), 0);
    assert_int_equal(symlink("../a/A.tif", tree_path("b/file.png")), 0);
    assert_int_equal(symlink("nowhere", tree_path("b/broken.jpg")), 0);
}

static void order_is_that_of_torchvision(void **state)
{
    char path[512];
    make_tree();
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    struct pp_sample s = {0};
    struct pp_err err;
    assert_string_equal(pp_dataset_format_name(d), "image-folder");
    pp_dataset_describe(d, path, sizeof(path));
    assert_string_equal(path, "image folder, 26 files in 8 classes");
    assert_int_equal(pp_dataset_len(d), GOLDEN);
    for (uint64_t i = 0; i < GOLDEN; i++) {
        assert_string_equal(pp_dataset_path(d, i, path, sizeof(path)), tree_path(golden[i].path));
        pp_status st = pp_dataset_read(d, i, &s, &err);
        assert_int_equal(st, strcmp(golden[i].path, "b/broken.jpg") == 0 ? PP_E_NOT_FOUND : PP_OK);
        assert_int_equal(s.label, golden[i].label);
        assert_int_equal(s.index, i);
        if (st == PP_OK && !strstr(golden[i].path, "link") && !strstr(golden[i].path, "file.png")) {
            assert_int_equal(s.size, strlen(golden[i].path));
            assert_memory_equal(s.data, golden[i].path, s.size);
        }
    }
    assert_int_equal(pp_dataset_read(d, GOLDEN, &s, &err), PP_E_USAGE);
    assert_true(tree_warns(d, "1 image directly in"));
    pp_sample_free(&s);
    pp_dataset_close(d);
}

/* The same against the real thing, so that the list above is not just what we believe. */
static void torchvision_agrees(void **state)
{
    char command[1024], line[512], path[512];
    if (system("/usr/bin/python3 -c 'import torchvision' 2>/dev/null") != 0) {
        puts("# skip: /usr/bin/python3 has no torchvision");
        skip();
    }
    make_tree();
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    snprintf(
        command, sizeof(command),
        "PYTHONUTF8=1 /usr/bin/python3 -c \"import torchvision.datasets as t\nfor p, c in t.ImageFolder('%s').samples: print(c, p)\"",
        tree_root);
    FILE *python = popen(command, "r");
    assert_non_null(python);
    uint64_t i = 0;
    for (; fgets(line, sizeof(line), python); i++) {
        struct pp_sample s = {0};
        line[strcspn(line, "\n")] = '\0';
        pp_dataset_read(d, i, &s, NULL);
        char ours[600];
        snprintf(ours, sizeof(ours), "%lld %s", (long long)s.label,
                 pp_dataset_path(d, i, path, sizeof(path)));
        assert_string_equal(ours, line);
        pp_sample_free(&s);
    }
    assert_int_equal(pclose(python), 0);
    assert_int_equal(i, pp_dataset_len(d));
    pp_dataset_close(d);
}

static void a_link_to_a_parent_is_left_out(void **state)
{
    tree_put_text("a/1.jpg", "1");
    tree_put_text("a/in/2.jpg", "2");
    assert_int_equal(symlink("../../a", tree_path("a/in/up")), 0);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    assert_int_equal(pp_dataset_len(d), 2);
    assert_true(tree_warns(d, "a/in/up is a link to a parent directory"));
    pp_dataset_close(d);
}

static void images_without_classes_have_no_label(void **state)
{
    char text[256];
    struct pp_sample s = {0};
    tree_put_text("2.jpg", "2");
    tree_put_text("1.png", "1");
    assert_int_equal(mkdir(tree_path("thumbs"), 0755), 0);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    assert_int_equal(pp_dataset_len(d), 2);
    assert_int_equal(pp_dataset_read(d, 0, &s, NULL), PP_OK);
    assert_int_equal(s.label, -1);
    assert_memory_equal(s.data, "1", 1);
    pp_dataset_describe(d, text, sizeof(text));
    assert_string_equal(text, "image folder, 2 files without class directories (every label is -1)");
    assert_true(tree_warns(d, "/thumbs holds no image and is not used as a class"));
    pp_sample_free(&s);
    pp_dataset_close(d);
}

static void empty_classes_keep_their_number(void **state)
{
    struct pp_sample s = {0};
    char text[256], slashes[128];
    tree_put_text("c/1.jpg", "1");
    tree_put_text("b/readme", "1");
    assert_int_equal(mkdir(tree_path("a"), 0755), 0);
    snprintf(slashes, sizeof(slashes), "%s//", tree_root);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = slashes});
    assert_int_equal(pp_dataset_read(d, 0, &s, NULL), PP_OK);
    assert_int_equal(s.label, 2);
    assert_string_equal(pp_dataset_path(d, 0, text, sizeof(text)), tree_path("c/1.jpg"));
    assert_true(tree_warns(d, "2 of 3 class directories hold no image (the first: a)"));
    pp_dataset_describe(d, text, sizeof(text));
    assert_string_equal(text, "image folder, 1 file in 3 classes");
    pp_sample_free(&s);
    pp_dataset_close(d);
}

/* The root above train/ and val/ opens, as torchvision would have it, and says what was probably meant. */
static void splits_taken_for_classes_are_told(void **state)
{
    tree_put_text("train/a/1.jpg", "1");
    tree_put_text("val/a/1.jpg", "1");
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    assert_int_equal(pp_dataset_len(d), 2);
    assert_true(tree_warns(d, "named like splits, such as train: did you mean"));
    pp_dataset_close(d);
    d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("train")});
    assert_false(tree_warns(d, "splits"));
    pp_dataset_close(d);
    tree_put_text("cat/1.jpg", "1");
    d = tree_open(&(struct pp_dataset_opts){.spec = tree_root}); /* three classes, one of them called cat */
    assert_false(tree_warns(d, "splits"));
    pp_dataset_close(d);
}

static void refusals_say_what_was_found(void **state)
{
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("none")}, PP_E_NOT_FOUND, "none",
                 "No such file");
    tree_refused(&(struct pp_dataset_opts){.spec = ""}, PP_E_USAGE, "no dataset", "");
    tree_refused(&(struct pp_dataset_opts){.spec = "gs://bucket/shard-{000..009}.tar"}, PP_E_USAGE,
                 "gs://bucket", "not from other URLs or pipes");
    tree_refused(&(struct pp_dataset_opts){.spec = "pipe:curl -s http://x/y.tar"}, PP_E_USAGE, "pipe:curl",
                 "not from other URLs or pipes");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_root}, PP_E_EMPTY, tree_root, "is empty");
    assert_int_equal(mkdir(tree_path("a"), 0755), 0);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_root}, PP_E_EMPTY, "no image below", "hold no files");
    tree_put_text("a/readme.md", "x");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_root}, PP_E_EMPTY, "no image below", "readme.md");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("a/readme.md")}, PP_E_UNSUPPORTED,
                 "not a known dataset", "readme.md");
    tree_put_text("a/1.jpg", "x");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("a/1.jpg")}, PP_E_USAGE, "single image",
                 "directory");
    pp_io_fault(PP_IO_FAULT_OPEN, 1, EACCES, 0);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_root}, PP_E_ACCESS, tree_root, "Permission denied");
}

static void unreadable_class_is_a_warning(void **state)
{
    tree_put_text("a/1.jpg", "x");
    tree_put_text("b/1.jpg", "x");
    pp_io_fault(PP_IO_FAULT_OPEN, 2, EACCES,
                0); /* one of the two classes; root would be allowed to read it whatever its mode */
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    assert_int_equal(pp_dataset_len(d), 1);
    assert_true(tree_warns(d, "Permission denied"));
    pp_dataset_close(d);
}

static void bad_files_are_told_apart(void **state)
{
    static const struct {
        unsigned kind;
        int err_no;
        pp_status status;
    } cases[] = {
        {PP_IO_FAULT_OPEN, EACCES, PP_E_ACCESS},    {PP_IO_FAULT_OPEN, ENOENT, PP_E_NOT_FOUND},
        {PP_IO_FAULT_OPEN, ESTALE, PP_E_TRANSIENT}, {PP_IO_FAULT_READ, EIO, PP_E_TRANSIENT},
        {PP_IO_FAULT_READ, ESTALE, PP_E_TRANSIENT},
    };
    struct pp_sample s = {0};
    struct pp_err err;
    tree_put_text("a/empty.jpg", "");
    tree_put_text("a/good.jpg", "good");
    assert_int_equal(mkfifo(tree_path("a/pipe.jpg"), 0644), 0);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    assert_int_equal(pp_dataset_len(d), 3);
    assert_int_equal(pp_dataset_read(d, 0, &s, &err), PP_E_EMPTY);
    assert_non_null(strstr(err.text, "a/empty.jpg"));
    assert_int_equal(pp_dataset_read(d, 2, &s, &err), PP_E_UNSUPPORTED);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        pp_io_fault(cases[i].kind, 1, cases[i].err_no, 0);
        assert_int_equal(pp_dataset_read(d, 1, &s, &err), cases[i].status);
        assert_non_null(strstr(err.text, "a/good.jpg"));
        assert_int_equal(pp_dataset_read(d, 1, &s, &err), PP_OK); /* passes the second time */
    }
    pp_sample_free(&s);
    pp_dataset_close(d);
}

/* Fails the nth call for every n until one run needs fewer: no crash, no leak (the sanitizer looks), always a
 * sentence. */
static void every_failing_call_ends_in_a_sentence(void **state)
{
    static const int errors[] = {EIO, EMFILE, EACCES, ENOMEM};
    for (int i = 0; i < 12; i++) {
        char rel[64];
        snprintf(rel, sizeof(rel), "c%d/d/%d.jpg", i % 4, i);
        tree_put_text(rel, "bytes");
    }
    for (size_t e = 0; e < sizeof(errors) / sizeof(*errors); e++)
        for (uint64_t n = 1;; n++) {
            struct pp_dataset *d;
            struct pp_err err;
            pp_io_fault(PP_IO_FAULT_OPEN | PP_IO_FAULT_READ, n, errors[e], 0);
            pp_status st = pp_dataset_open(&(struct pp_dataset_opts){.spec = tree_root}, &d, &err);
            assert_true(st == PP_OK ? d != NULL : d == NULL && err.text[0] && err.code == st);
            struct pp_sample s = {0};
            int failed = 0;
            for (uint64_t i = 0; d && i < pp_dataset_len(d); i++)
                if (pp_dataset_read(d, i, &s, &err) != PP_OK)
                    failed += err.text[0] != 0;
            assert_true(failed <= 1);
            pp_sample_free(&s);
            pp_dataset_close(d);
            if (pp_io_fault_calls() < n)
                break;
        }
}

static void memory_per_file_is_small(void **state)
{
    char name[64];
    /* ImageNet's names are 20 bytes long; 1,281,167 files must fit in 64 MiB, that is 52 bytes each. */
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 500; i++) {
            snprintf(name, sizeof(name), "n0144076%d", c);
            mkdir(tree_path(name), 0755);
            snprintf(name, sizeof(name), "n0144076%d/n0144076%d_%05d.JPEG", c, c, i);
            int fd = open(tree_path(name), O_WRONLY | O_CREAT, 0644);
            close(fd);
        }
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    assert_int_equal(pp_dataset_len(d), 2000);
    assert_true(pp_dataset_footprint(d) > 2000 * 21);
    assert_true(pp_dataset_footprint(d) < 2000 * 32);
    pp_dataset_close(d);
}

static int stop_at_once(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    (*(int *)ctx)++;
    return 1;
}

static void progress_can_stop_the_open(void **state)
{
    int calls = 0;
    struct pp_dataset *d;
    struct pp_err err;
    /* Images take longer than the 100 ms between two reports. */
    const struct pp_dataset_opts opts = {.spec = "n=3000,unique=3000,size=400x400",
                                         .format = "synthetic",
                                         .progress = stop_at_once,
                                         .progress_ctx = &calls};
    assert_int_equal(pp_dataset_open(&opts, &d, &err), PP_E_INTERRUPTED);
    assert_null(d);
    assert_int_equal(calls, 1);
}

struct reader {
    pthread_t thread;
    const struct pp_dataset *d;
    uint64_t start, good;
};

static void *read_all(void *arg)
{
    struct reader *r = arg;
    struct pp_sample s = {0};
    char path[512];
    uint64_t n = pp_dataset_len(r->d);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t index = (i + r->start) % n;
        pp_dataset_path(r->d, index, path, sizeof(path));
        if (pp_dataset_read(r->d, index, &s, NULL) == PP_OK && s.size == strlen(strrchr(path, '/') + 1) &&
            memcmp(s.data, strrchr(path, '/') + 1, s.size) == 0)
            r->good++;
    }
    pp_sample_free(&s);
    return NULL;
}

static void threads_read_at_once(void **state)
{
    struct reader reader[4];
    for (int i = 0; i < 60; i++) {
        char rel[64];
        snprintf(rel, sizeof(rel), "c%d/%d.jpg", i % 7, i);
        tree_put_text(rel, strrchr(rel, '/') + 1);
    }
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    for (size_t t = 0; t < 4; t++) {
        reader[t] = (struct reader){.d = d, .start = t * 13};
        assert_int_equal(pthread_create(&reader[t].thread, NULL, read_all, &reader[t]), 0);
    }
    for (size_t t = 0; t < 4; t++) {
        pthread_join(reader[t].thread, NULL);
        assert_int_equal(reader[t].good, 60);
    }
    pp_dataset_close(d);
}

static void buffer_grows_by_doubling(void **state)
{
    struct pp_sample s = {0};
    char rel[32];
    uint8_t *bytes = calloc(1, 400000);
    for (int i = 0; i < 400; i++) {
        snprintf(rel, sizeof(rel), "a/%03d.jpg", i);
        tree_put(rel, bytes, 1000 + (size_t)i * 900);
    }
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_root});
    for (uint64_t i = 0; i < 400; i++)
        assert_int_equal(pp_dataset_read(d, i, &s, NULL), PP_OK);
    assert_true(s.grown <= 10); /* log2(360) + 1 */
    assert_true(s.cap < 2 * 361000);
    pp_sample_free(&s);
    pp_dataset_close(d);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(order_is_that_of_torchvision),
        TREE_TEST(torchvision_agrees),
        TREE_TEST(a_link_to_a_parent_is_left_out),
        TREE_TEST(images_without_classes_have_no_label),
        TREE_TEST(empty_classes_keep_their_number),
        TREE_TEST(splits_taken_for_classes_are_told),
        TREE_TEST(refusals_say_what_was_found),
        TREE_TEST(unreadable_class_is_a_warning),
        TREE_TEST(bad_files_are_told_apart),
        TREE_TEST(every_failing_call_ends_in_a_sentence),
        TREE_TEST(memory_per_file_is_small),
        TREE_TEST(progress_can_stop_the_open),
        TREE_TEST(threads_read_at_once),
        TREE_TEST(buffer_grows_by_doubling),
    };
    return cmocka_run_group_tests_name("dataset_folder", tests, NULL, NULL);
}
