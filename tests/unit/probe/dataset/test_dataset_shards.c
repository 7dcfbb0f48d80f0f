/* Tar shards at random: names, offsets against Python's tarfile, the index file, defects, faults, mutations.
 */
#include "tests/support/dataset_tree.h"

#include "probe/base/rng.h"
#include "probe/dataset/options.h"
#include "probe/dataset/shard_index.h"
#include "probe/dataset/shard_names.h"
#include "probe/dataset/shard_tar.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>

/* The result lives until the next call. */
static const struct pp_dataset_options *kept_in(const char *dir)
{
    static struct pp_dataset_options o;
    o.shards.index_dir = dir;
    return &o;
}

/* Where the cache keeps the index of a shard below the root; the result lives until the next call. */
static const char *kept(const char *rel)
{
    static struct pp_shard_places p;
    pp_shard_cache_places(tree_path(rel), 1, NULL, &p);
    return p.write;
}

static uint8_t *get_kept(const char *rel, size_t *size)
{
    struct pp_io_file f = {0};
    assert_int_equal(pp_io_read_file(AT_FDCWD, kept(rel), &f, NULL), PP_OK);
    *size = f.size;
    return f.buf;
}

static void put_kept(const char *rel, const void *bytes, size_t size)
{
    assert_int_equal(pp_io_write_atomic(kept(rel), bytes, size, NULL), PP_OK);
}

/* Names are those of files; detaching this one does nothing. */
static const struct pp_storage *files(void)
{
    struct pp_storage *s;
    assert_int_equal(pp_storage_attach("/", &s, NULL), PP_OK);
    return s;
}

static struct pp_object open_file(const char *path)
{
    struct pp_object o;
    struct pp_err err;
    if (pp_storage_open(files(), &(struct pp_open){.name = path, .attempt = "open"}, &o, &err) != PP_OK)
        fail_msg("%s", err.text);
    return o;
}

static uint64_t size_of(const struct pp_object *o)
{
    struct pp_place_info info;
    assert_int_equal(pp_object_info(o, "it", &info, NULL), PP_OK);
    return info.size;
}

/* n samples "kNNN" with a .jpg of a size that varies and holds its key, a .cls and a .json */
static void make_shard(const char *rel, int first, int n)
{
    char name[64], body[2000];
    struct archive *a = tree_tar(rel, archive_write_set_format_ustar);
    for (int i = first; i < first + n; i++) {
        size_t size = 10 + (size_t)(i * 37 % 1500);
        memset(body, 'a' + i % 26, sizeof(body));
        snprintf(name, sizeof(name), "dir/k%03d.jpg", i);
        memcpy(body, name, 8);
        tree_tar_add(a, name, body, size);
        snprintf(name, sizeof(name), "dir/k%03d.cls", i);
        tree_tar_add(a, name, body, (size_t)snprintf(body, sizeof(body), "%d\n", i % 10));
        snprintf(name, sizeof(name), "dir/k%03d.json", i);
        tree_tar_add(a, name, "{}", 2);
    }
    tree_tar_end(a);
}

static void check_sample(const struct pp_dataset *d, uint64_t index, int number)
{
    struct pp_sample s = {0};
    struct pp_err err;
    char want[16];
    snprintf(want, sizeof(want), "dir/k%03d", number);
    if (pp_dataset_read(d, index, &s, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(s.size, 10 + number * 37 % 1500);
    assert_memory_equal(s.data, want, 8);
    assert_int_equal(s.data[s.size - 1], 'a' + number % 26);
    assert_int_equal(s.label, number % 10);
    pp_sample_free(&s);
}

static void names_expand(void **state)
{
    static const struct {
        const char *spec, *list;
    } cases[] = {
        {"/x/s-{000..002}.tar", "/x/s-000.tar /x/s-001.tar /x/s-002.tar"},
        {"/x/s-{8..10}.tar", "/x/s-8.tar /x/s-9.tar /x/s-10.tar"},
        {"/x/s-{08..10}.tar", "/x/s-08.tar /x/s-09.tar /x/s-10.tar"},
        {"/x/s-{2..0}.tar", "/x/s-2.tar /x/s-1.tar /x/s-0.tar"},
        {"/x/{a,b}-{0..1}.tar", "/x/a-0.tar /x/a-1.tar /x/b-0.tar /x/b-1.tar"},
        {"/x/{a,{b,c}}.tar", "/x/a.tar /x/b.tar /x/c.tar"},
        {"/x/a.tar,/x/{b,c}.tar", "/x/a.tar /x/b.tar /x/c.tar"},
        {"/x/a.tar", "/x/a.tar"},
    };
    struct pp_err err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pp_shard_names names;
        char list[512] = "";
        assert_int_equal(pp_shard_names(files(), cases[i].spec, &pp_tar_files, &names, &err), PP_OK);
        for (size_t k = 0; k < names.n; k++)
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", k ? " " : "", names.path[k]);
        assert_string_equal(list, cases[i].list);
        pp_shard_names_free(&names);
    }
    static const char *const bad[] = {"/x/{0..1.tar",
                                      "/x/{}.tar",
                                      "/x/{a}.tar",
                                      "/x/{0..99999999}.tar",
                                      "/x/{0..9999}{0..9999}.tar",
                                      ",",
                                      "/x/{0..18446744073709551616}.tar"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct pp_shard_names names;
        assert_int_equal(pp_shard_names(files(), bad[i], &pp_tar_files, &names, &err), PP_E_USAGE);
        assert_true(err.text[0]);
        pp_shard_names_free(&names);
    }
}

static void keys_and_labels_are_webdatasets(void **state)
{
    static const struct {
        const char *name, *key, *extension;
    } cases[] = {
        {"a.jpg", "a", "jpg"},
        {"d/a.seg.png", "d/a", "seg.png"},
        {"./d.x/a.JPG", "./d.x/a", "JPG"},
        {"README", NULL, NULL},
        {"d/.hidden", NULL, NULL},
        {"d.x/README", NULL, NULL},
        {"", NULL, NULL},
        {"dir/", NULL, NULL},
    };
    static const struct {
        const char *text;
        int64_t label;
    } labels[] = {{"7", 7},    {" 12\n", 12},
                  {"0", 0},    {"", -1},
                  {"x", -1},   {"7x", -1},
                  {"-3", -1},  {"99999999999999999999", -1},
                  {"1 2", -1}, {"1111111111111111111111111111111111111", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t n;
        const char *extension = pp_tar_split(cases[i].name, &n);
        assert_int_equal(extension != NULL, cases[i].key != NULL);
        if (!extension)
            continue;
        assert_string_equal(extension, cases[i].extension);
        assert_int_equal(n, strlen(cases[i].key));
        assert_memory_equal(cases[i].name, cases[i].key, n);
    }
    for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
        assert_int_equal(pp_tar_parse_label((const uint8_t *)labels[i].text, strlen(labels[i].text)),
                         labels[i].label);
    assert_int_equal(pp_tar_role("Jpeg"), PP_TAR_IMAGE);
    assert_int_equal(pp_tar_role("seg.png"), PP_TAR_OTHER);
}

static const char python_writes[] =
    "import io, sys, tarfile\n"
    "def add(t, name, data, **k):\n"
    "    i = tarfile.TarInfo(name); i.size = len(data)\n"
    "    for a in k: setattr(i, a, k[a])\n"
    "    t.addfile(i, io.BytesIO(data))\n"
    "root = sys.argv[1]\n"
    "for f, n in ((tarfile.USTAR_FORMAT, 'ustar'), (tarfile.GNU_FORMAT, 'gnu'), (tarfile.PAX_FORMAT, 'pax')):\n"
    "    with tarfile.open(root + '/' + n + '.tar', 'w', format=f) as t:\n"
    "        add(t, 'a/1.jpg', b'x' * 1000); add(t, 'a/1.cls', b'7')\n"
    "        if n == 'ustar': add(t, 'd' * 100 + '/' + 'n' * 80 + '.png', b'y' * 512)\n"
    "        else: add(t, 'long/' + 'd' * 120 + '/' + 'n' * 150 + '.jpg', b'y' * 513); add(t, '\\u00fc/\\u00f1.jpg', b'z' * 3)\n"
    "        if n == 'pax': add(t, 'pax.jpg', b'q' * 5, pax_headers={'comment': 'c' * 3000})\n"
    "        d = tarfile.TarInfo('dir.jpg'); d.type = tarfile.DIRTYPE; t.addfile(d)\n"
    "        l = tarfile.TarInfo('link.jpg'); l.type = tarfile.SYMTYPE; l.linkname = 'a/1.jpg'; t.addfile(l)\n"
    "        add(t, 'z/last.jpeg', b'w' * 100000)\n"
    "    with tarfile.open(root + '/' + n + '.tar') as t:\n"
    "        for m in t: print(n, m.offset, m.offset_data, m.size, int(m.isreg()), m.name)\n";

static void offsets_are_those_of_python(void **state)
{
    char command[256], line[1024], format[16], name[512], open_now[16] = "";
    struct pp_tar *tar = NULL;
    struct pp_tar_member m;
    struct pp_err err;
    struct pp_object file = {0};
    int regular, members = 0;
    unsigned long long offset, data, size;
    if (access("/usr/bin/python3", X_OK) != 0) {
        puts("# skip: /usr/bin/python3 is not installed");
        skip();
    }
    tree_put_text("write.py", python_writes);
    snprintf(command, sizeof(command), "PYTHONUTF8=1 /usr/bin/python3 %s %s", tree_path("write.py"),
             tree_root);
    FILE *python = popen(command, "r");
    assert_non_null(python);
    while (fgets(line, sizeof(line), python)) {
        assert_int_equal(sscanf(line, "%15s %llu %llu %llu %d %511[^\n]", format, &offset, &data, &size,
                                &regular, name),
                         6);
        if (strcmp(format, open_now) != 0) {
            char rel[32];
            if (tar)
                assert_int_equal(pp_tar_next(tar, &m, &err), PP_END);
            pp_tar_close(tar);
            pp_object_close(&file);
            strcpy(open_now, format);
            snprintf(rel, sizeof(rel), "%s.tar", format);
            file = open_file(tree_path(rel));
            assert_int_equal(pp_tar_open(&(struct pp_tar_file){&file, rel, size_of(&file), 0}, 0, 8192, &tar,
                                         &err),
                             PP_OK);
        }
        assert_int_equal(pp_tar_next(tar, &m, &err), PP_OK);
        assert_int_equal(m.header_offset, offset);
        assert_int_equal(m.data_offset, data);
        assert_int_equal(m.size, size);
        assert_int_equal(m.regular, regular);
        if (regular)
            assert_string_equal(m.name, name);
        members++;
    }
    assert_int_equal(pclose(python), 0);
    assert_int_equal(pp_tar_next(tar, &m, &err), PP_END);
    assert_int_equal(members, 6 + 7 + 8);
    pp_tar_close(tar);
    pp_object_close(&file);

    /* A walk may start at any member's header, and names do not depend on the locale. */
    for (size_t i = 0; i < 3; i++) {
        static const char *const rels[] = {"ustar.tar", "gnu.tar", "pax.tar"};
        file = open_file(tree_path(rels[i]));
        const struct pp_tar_file whole = {&file, rels[i], size_of(&file), 0};
        assert_int_equal(pp_tar_open(&whole, 0, 1 << 20, &tar, &err), PP_OK);
        while (pp_tar_next(tar, &m, &err) == PP_OK) {
            struct pp_tar *second;
            struct pp_tar_member again;
            assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
            assert_int_equal(pp_tar_open(&whole, m.header_offset, 8192, &second, &err), PP_OK);
            assert_int_equal(pp_tar_next(second, &again, &err), PP_OK);
            assert_string_equal(again.name, m.name);
            assert_int_equal(again.data_offset, m.data_offset);
            pp_tar_close(second);
            setlocale(LC_ALL, "C");
        }
        pp_tar_close(tar);
        pp_object_close(&file);
    }
}

static void samples_are_found_and_read(void **state)
{
    char text[256], spec[128], pattern[128];
    make_shard("s-000.tar", 0, 7);
    make_shard("s-001.tar", 7, 0);
    make_shard("s-002.tar", 7, 5);
    snprintf(spec, sizeof(spec), "%s", tree_path("s-{000..002}.tar"));
    snprintf(pattern, sizeof(pattern), "%s", tree_path("s-*.tar"));
    const char *const specs[] = {spec, tree_root, pattern};
    for (size_t k = 0; k < 3; k++) {
        struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = specs[k]});
        assert_string_equal(pp_dataset_format_name(d), "webdataset");
        assert_int_equal(pp_dataset_len(d), 12);
        assert_true(tree_warns(d, "s-001.tar holds no samples"));
        for (uint64_t i = 0; i < 12; i++)
            check_sample(d, i, (int)i);
        assert_string_equal(pp_dataset_path(d, 8, text, sizeof(text)), tree_path("s-002.tar:dir/k008"));
        pp_dataset_describe(d, text, sizeof(text));
        assert_string_equal(text, "webdataset, 12 samples in 3 shards");
        pp_dataset_close(d);
        /* nothing is written into the data set; the second open reads what the cache has */
        assert_int_equal(access(tree_path("s-002.tar.ppidx"), F_OK), -1);
        assert_int_equal(access(kept("s-002.tar"), R_OK), 0);
    }
}

static void sample_is_a_run_of_one_key_with_an_image(void **state)
{
    char path[256];
    struct pp_sample s = {0};
    struct archive *a = tree_tar("s.tar", archive_write_set_format_gnutar);
    tree_tar_add(a, "one.cls", "3", 1); /* label before the image */
    tree_tar_add(a, "one.png", "ONE", 3);
    tree_tar_add(a, "two.jpg", "TWO", 3);
    tree_tar_add(a, "two.png", "second image", 12);
    tree_tar_add(a, "README", "x", 1);
    tree_tar_add(a, "two.cls", "cat", 3);
    tree_tar_add(a, "no.txt", "text alone", 10);
    tree_tar_add(a, "empty.jpg", "", 0);
    tree_tar_add(a, "one.jpg", "AGAIN", 5); /* the same key later is another sample */
    tree_tar_end(a);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")});
    assert_int_equal(pp_dataset_len(d), 4);
    assert_int_equal(pp_dataset_read(d, 0, &s, NULL), PP_OK);
    assert_memory_equal(s.data, "ONE", 3);
    assert_int_equal(s.label, 3);
    assert_int_equal(pp_dataset_read(d, 1, &s, NULL), PP_OK);
    assert_memory_equal(s.data, "TWO", 3);
    assert_int_equal(s.label, -1);
    assert_int_equal(pp_dataset_read(d, 2, &s, NULL), PP_E_EMPTY);
    assert_int_equal(pp_dataset_read(d, 3, &s, NULL), PP_OK);
    assert_memory_equal(s.data, "AGAIN", 5);
    assert_string_equal(pp_dataset_path(d, 3, path, sizeof(path)), tree_path("s.tar:one"));
    assert_true(tree_warns(d, "1 key has no usable image"));
    pp_sample_free(&s);
    pp_dataset_close(d);
}

static void add_special(struct archive *a, const char *name, const char *hard_link, const char *link,
                        la_int64_t sparse_size)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, link ? AE_IFLNK : AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, sparse_size);
    if (hard_link)
        archive_entry_set_hardlink(e, hard_link);
    if (link)
        archive_entry_set_symlink(e, link);
    if (sparse_size)
        archive_entry_sparse_add_entry(e, 0, 512);
    assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
    char hole[4096] = "some bytes";
    for (la_int64_t left = sparse_size; left > 0; left -= (la_int64_t)sizeof(hole))
        assert_true(archive_write_data(a, hole, sizeof(hole)) > 0);
    archive_entry_free(e);
}

/* A sparse member's size is far beyond the shard's, and it is nevertheless whole. */
static void links_and_sparse_images_are_left_out_aloud(void **state)
{
    struct archive *a = tree_tar("s.tar", archive_write_set_format_pax_restricted);
    tree_tar_add(a, "one.jpg", "ONE", 3);
    add_special(a, "hard.jpg", "one.jpg", NULL, 0);
    add_special(a, "soft.jpg", NULL, "one.jpg", 0);
    add_special(a, "holes.jpg", NULL, NULL, 1 << 20);
    add_special(a, "notes.txt", NULL, "one.jpg", 0);
    tree_tar_add(a, "two.jpg", "TWO", 3);
    tree_tar_end(a);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")});
    struct pp_sample s = {0};
    assert_int_equal(pp_dataset_len(d), 2);
    assert_int_equal(pp_dataset_read(d, 1, &s, NULL), PP_OK);
    assert_memory_equal(s.data, "TWO", 3);
    assert_true(tree_warns(d, "3 keys have no usable image"));
    assert_false(tree_warns(d, "is truncated"));
    pp_sample_free(&s);
    pp_dataset_close(d);
}

static void refusals_name_the_shard(void **state)
{
    make_shard("s-0.tar", 0, 2);
    make_shard("s-2.tar", 0, 2);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("s-{0..2}.tar")}, PP_E_NOT_FOUND,
                 "s-1.tar is missing", "number 2 of the 3");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("none.tar")}, PP_E_NOT_FOUND, "none.tar",
                 "No such file");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("x-*.tar")}, PP_E_NOT_FOUND, "no file matches",
                 "x-*.tar");
    tree_put_text("z.tar.gz", "\x1f\x8b\x08 and so on");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("z.tar.gz")}, PP_E_UNSUPPORTED,
                 "compressed (gzip)", "--stream");
    tree_put_text("z.tar", "\x28\xb5\x2f\xfd and so on");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("z.tar")}, PP_E_UNSUPPORTED, "zstd", "unpack");
    tree_put_text("z.tar", "");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("z.tar")}, PP_E_EMPTY, "z.tar has 0 bytes",
                 "no sample");
    char junk[4096];
    memset(junk, 'j', sizeof(junk));
    tree_put("z.tar", junk, sizeof(junk));
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("z.tar")}, PP_E_EMPTY, "no sample",
                 "not a tar archive");
    struct archive *a = tree_tar("z.tar", archive_write_set_format_ustar);
    tree_tar_add(a, "a.wav", "sound", 5);
    tree_tar_end(a);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("z.tar")}, PP_E_EMPTY, "no sample", "a.wav");
    assert_int_equal(mkdir(tree_path("d.tar"), 0755), 0);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("{d,s-0}.tar")}, PP_E_NOT_FOUND, "d.tar",
                 "no .tar files");
}

/* Cut at every 512th byte and around: every whole sample before the cut stays usable. */
static void a_cut_shard_keeps_its_whole_samples(void **state)
{
    size_t size;
    struct pp_err err;
    make_shard("whole.tar", 0, 4);
    uint8_t *bytes = tree_get("whole.tar", &size);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("whole.tar")});
    assert_null(pp_dataset_warning(d, 0));
    pp_dataset_close(d);
    uint64_t most = 0;
    for (size_t cut = 200; cut < size; cut += 200) {
        tree_put("cut.tar", bytes, cut);
        if (pp_dataset_open(&(struct pp_dataset_opts){.spec = tree_path("cut.tar"),
                                                      .options = kept_in("/nowhere/at/all")},
                            &d, &err) != PP_OK) {
            if (most > 0)
                fail_msg("cut at %zu: %s", cut, err.text);
            assert_true(err.text[0]); /* only before the first image is whole */
            continue;
        }
        assert_true(pp_dataset_len(d) >= most && pp_dataset_len(d) <= 4);
        most = pp_dataset_len(d);
        for (uint64_t i = 0; i + 1 < most; i++)
            check_sample(d, i, (int)i);
        if (cut < 10240 - 1024 && most < 4)
            assert_true(tree_warns(d, "usable"));
        pp_dataset_close(d);
    }
    assert_int_equal(most, 4);
    free(bytes);
}

static void an_index_that_does_not_fit_is_made_anew(void **state)
{
    size_t size;
    make_shard("s.tar", 0, 5);
    pp_dataset_close(tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")}));
    uint8_t *index = get_kept("s.tar", &size);
    /* Another shard under the same name. */
    make_shard("s.tar", 20, 6);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")});
    assert_int_equal(pp_dataset_len(d), 6);
    check_sample(d, 0, 20);
    pp_dataset_close(d);
    /* Damage to the index itself: a byte anywhere. */
    free(index);
    index = get_kept("s.tar", &size);
    for (size_t i = 0; i < size; i += 3) {
        index[i] ^= 0x10;
        put_kept("s.tar", index, size);
        d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")});
        assert_int_equal(pp_dataset_len(d), 6);
        check_sample(d, 5, 25);
        pp_dataset_close(d);
        index[i] ^= 0x10;
    }
    free(index);
}

static void index_goes_where_it_can(void **state)
{
    char list[192], dir[128];
    size_t size;
    make_shard("s.tar", 0, 3);
    pp_dataset_close(tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")}));
    assert_int_equal(access(kept("s.tar"), F_OK), 0);
    pp_io_fault(PP_IO_FAULT_WRITE, 0, 0, 0);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")});
    assert_int_equal(pp_io_fault_calls(), 0); /* nothing was written: it was found there */
    check_sample(d, 2, 2);
    pp_dataset_close(d);
    /* One beside the shard, of an earlier version, is read too. */
    uint8_t *index = get_kept("s.tar", &size);
    tree_put("s.tar.ppidx", index, size);
    free(index);
    assert_int_equal(unlink(kept("s.tar")), 0);
    pp_io_fault(PP_IO_FAULT_WRITE, 0, 0, 0);
    d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")});
    assert_int_equal(pp_io_fault_calls(), 0);
    check_sample(d, 1, 1);
    pp_dataset_close(d);
    assert_int_equal(unlink(tree_path("s.tar.ppidx")), 0);
    /* A directory named for it, made when absent. */
    pp_io_fault(0, 0, 0, 0);
    snprintf(dir, sizeof(dir), "%s", tree_path("indexes"));
    pp_dataset_close(
        tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar"), .options = kept_in(dir)}));
    snprintf(list, sizeof(list), "ls %s/s.tar-*.ppidx >/dev/null", dir);
    assert_int_equal(system(list), 0);
    /* Nowhere: kept in memory, said only when a place was asked for. */
    pp_io_fault(PP_IO_FAULT_WRITE, 1, ENOSPC, 1);
    d = tree_open(
        &(struct pp_dataset_opts){.spec = tree_path("s.tar"), .options = kept_in(tree_path("other"))});
    assert_true(tree_warns(d, "could not be saved"));
    check_sample(d, 1, 1);
    pp_dataset_close(d);
}

/* Names of shards are a stranger's: the cache's own are plain, short and all in one directory. */
static void names_in_the_cache_are_plain(void **state)
{
    static const char *const odd[] = {"a b\n\x1b[31m.tar", ".hidden.tar", "..tar", "\xc3\xa9.tar"};
    char longest[256], cache[96];
    memset(longest, 'x', 250);
    strcpy(longest + 246, ".tar");
    for (size_t i = 0; i <= sizeof(odd) / sizeof(*odd); i++) {
        const char *name = i < sizeof(odd) / sizeof(*odd) ? odd[i] : longest;
        make_shard(name, 0, 2);
        pp_dataset_close(tree_open(&(struct pp_dataset_opts){.spec = tree_path(name)}));
        const char *file = kept(name), *base = strrchr(file, '/') + 1;
        snprintf(cache, sizeof(cache), "%s.cache/pipeprobe/", tree_root);
        assert_int_equal(strncmp(file, cache, strlen(cache)), 0);
        assert_int_equal(strspn(base, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
                         strlen(base));
        assert_int_not_equal(base[0], '.');
        assert_true(strlen(base) < 100);
        assert_int_equal(access(file, F_OK), 0);
    }
}

static void the_cache_is_bounded(void **state)
{
    struct stat s;
    char dir[96];
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}},
                    older[2] = {{.tv_sec = 10}, {.tv_sec = 10}};
    make_shard("a.tar", 0, 3);
    make_shard("b.tar", 0, 3);
    make_shard("c.tar", 0, 3);
    pp_dataset_close(tree_open(&(struct pp_dataset_opts){.spec = tree_root}));
    snprintf(dir, sizeof(dir), "%s.cache/pipeprobe", tree_root);
    assert_int_equal(stat(dir, &s), 0);
    assert_int_equal(s.st_mode & 077, 0); /* names of somebody's data are in it */
    assert_int_equal(stat(kept("a.tar"), &s), 0);
    assert_int_equal(utimensat(AT_FDCWD, kept("a.tar"), older, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, kept("b.tar"), old, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, kept("c.tar"), old, 0), 0);
    pp_dataset_close(
        tree_open(&(struct pp_dataset_opts){.spec = tree_path("a.tar")})); /* used: not the oldest now */
    pp_shard_cache_trim(3 * (uint64_t)s.st_size);
    assert_int_equal(access(kept("b.tar"), F_OK), 0);
    pp_shard_cache_trim((uint64_t)s.st_size);
    assert_int_equal(access(kept("a.tar"), F_OK), 0);
    assert_int_equal(access(kept("b.tar"), F_OK), -1);
    assert_int_equal(access(kept("c.tar"), F_OK), -1);
}

static void a_shard_cut_after_indexing_is_an_error(void **state)
{
    struct pp_sample s = {0};
    struct pp_err err;
    make_shard("s.tar", 0, 3);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")});
    assert_int_equal(truncate(tree_path("s.tar"), 600), 0);
    assert_int_equal(pp_dataset_read(d, 2, &s, &err), PP_E_CORRUPT);
    assert_non_null(strstr(err.text, "shorter than its index"));
    assert_non_null(strstr(err.text, "dir/k002"));
    pp_io_fault(PP_IO_FAULT_READ, 1, ESTALE, 0);
    assert_int_equal(pp_dataset_read(d, 0, &s, &err), PP_E_TRANSIENT);
    check_sample(d, 0, 0);
    pp_sample_free(&s);
    pp_dataset_close(d);
}

static void every_failing_call_ends_in_a_sentence(void **state)
{
    make_shard("s-0.tar", 0, 3);
    make_shard("s-1.tar", 3, 3);
    for (int one_kept = 0; one_kept <= 1; one_kept++)
        for (uint64_t n = 1;; n++) {
            struct pp_dataset *d;
            struct pp_err err;
            unlink(kept("s-0.tar"));
            if (!one_kept)
                unlink(kept("s-1.tar"));
            pp_io_fault(PP_IO_FAULT_OPEN | PP_IO_FAULT_READ | PP_IO_FAULT_WRITE | PP_IO_FAULT_FSYNC, n, EIO,
                        0);
            pp_status st = pp_dataset_open(&(struct pp_dataset_opts){.spec = tree_path("s-{0..1}.tar")}, &d,
                                           &err);
            assert_true(st == PP_OK ? d != NULL : d == NULL && err.code == st && err.text[0]);
            uint64_t calls = pp_io_fault_calls();
            if (d) {
                struct pp_sample s = {0};
                int failed = 0;
                assert_int_equal(pp_dataset_len(d), 6);
                for (uint64_t i = 0; i < 6; i++)
                    failed += pp_dataset_read(d, i, &s, &err) != PP_OK;
                assert_true(failed <= 1);
                calls = pp_io_fault_calls();
                pp_sample_free(&s);
                pp_dataset_close(d);
            }
            pp_io_fault(0, 0, 0, 0);
            if (calls < n)
                break;
        }
}

/* Random damage to a shard: never a crash, never a sample outside of the file. */
static void mutated_shards_never_crash(void **state)
{
    size_t size;
    struct pp_err err;
    struct pp_rng rng = pp_rng_key(1, 2, 3, 4);
    make_shard("s.tar", 0, 3);
    uint8_t *good = tree_get("s.tar", &size), *bytes = malloc(size);
    const char *path = tree_path("m.tar");
    for (int round = 0; round < 2000; round++) {
        memcpy(bytes, good, size);
        size_t length = pp_rng_below(&rng, 4) ? size : pp_rng_below(&rng, size + 1);
        for (uint64_t k = pp_rng_below(&rng, 6) + 1; k > 0; k--) {
            /* mostly in the headers, where it matters */
            size_t at = pp_rng_below(&rng, 3) ? pp_rng_below(&rng, size / 512) * 512 + pp_rng_below(&rng, 160)
                                              : pp_rng_below(&rng, size);
            bytes[at] = pp_rng_below(&rng, 2) ? (uint8_t)pp_rng_next(&rng)
                                              : (uint8_t) "0123457x/Lg\0"[pp_rng_below(&rng, 12)];
        }
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        assert_int_equal(write(fd, bytes, length), (ssize_t)length);
        close(fd);
        struct pp_object file = open_file(path);
        struct pp_place_info id = {.size = length, .version = 1};
        struct pp_shard_index index;
        if (pp_shard_index_build(&file, path, &id, &index, &err) == PP_OK) {
            for (uint64_t i = 0; i < index.header->entries; i++)
                assert_true(index.entry[i].offset + index.entry[i].size <= length);
            uint8_t *copy = malloc(index.size);
            struct pp_shard_index adopted;
            memcpy(copy, index.bytes, index.size);
            assert_int_equal(pp_shard_index_adopt(copy, index.size, &id, &adopted),
                             0); /* what we write we accept */
            free(adopted.bytes);
            free(index.bytes);
        } else {
            assert_true(err.text[0]);
        }
        pp_object_close(&file);
    }
    free(good);
    free(bytes);
}

/* Random damage to an index with a valid checksum is what a hostile file would have; the bounds must hold all
 * the same. */
static void mutated_indexes_never_crash(void **state)
{
    size_t size;
    struct pp_rng rng = pp_rng_key(5, 6, 7, 8);
    make_shard("s.tar", 0, 4);
    pp_dataset_close(tree_open(&(struct pp_dataset_opts){.spec = tree_path("s.tar")}));
    uint8_t *good = get_kept("s.tar", &size);
    struct pp_shard_header h;
    memcpy(&h, good, sizeof(h));
    struct pp_place_info id = {.size = h.shard_size, .version = h.shard_mtime_ns};
    int adopted = 0;
    for (int round = 0; round < 5000; round++) {
        size_t length = pp_rng_below(&rng, 3) ? size : pp_rng_below(&rng, size + 1);
        uint8_t *bytes = malloc(size); /* length may be 0 */
        memcpy(bytes, good, size);
        for (uint64_t k = pp_rng_below(&rng, 4); k > 0; k--)
            bytes[pp_rng_below(&rng, size)] = (uint8_t)pp_rng_next(&rng);
        struct pp_shard_index index;
        if (pp_shard_index_adopt(bytes, length, &id, &index) == 0) {
            assert_memory_equal(bytes, good, size); /* the checksum lets only the original pass */
            adopted++;
            free(index.bytes);
        } else {
            free(bytes);
        }
    }
    assert_true(adopted > 500);
    free(good);
}

static void *read_all(void *arg)
{
    const struct pp_dataset *d = arg;
    struct pp_sample s = {0};
    intptr_t good = 0;
    for (int round = 0; round < 5; round++)
        for (uint64_t i = 0; i < pp_dataset_len(d); i++)
            good += pp_dataset_read(d, i, &s, NULL) == PP_OK && s.size == 10 + i * 37 % 1500;
    pp_sample_free(&s);
    return (void *)good;
}

static void threads_read_at_once(void **state)
{
    pthread_t thread[4];
    for (int i = 0; i < 5; i++) {
        char rel[24];
        snprintf(rel, sizeof(rel), "s-%d.tar", i);
        make_shard(rel, i * 6, 6);
    }
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("s-{0..4}.tar")});
    for (size_t t = 0; t < 4; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, read_all, d), 0);
    for (size_t t = 0; t < 4; t++) {
        void *good;
        pthread_join(thread[t], &good);
        assert_int_equal((intptr_t)good, 150);
    }
    pp_dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_expand),
        cmocka_unit_test(keys_and_labels_are_webdatasets),
        TREE_TEST(offsets_are_those_of_python),
        TREE_TEST(samples_are_found_and_read),
        TREE_TEST(sample_is_a_run_of_one_key_with_an_image),
        TREE_TEST(links_and_sparse_images_are_left_out_aloud),
        TREE_TEST(refusals_name_the_shard),
        TREE_TEST(a_cut_shard_keeps_its_whole_samples),
        TREE_TEST(an_index_that_does_not_fit_is_made_anew),
        TREE_TEST(index_goes_where_it_can),
        TREE_TEST(names_in_the_cache_are_plain),
        TREE_TEST(the_cache_is_bounded),
        TREE_TEST(a_shard_cut_after_indexing_is_an_error),
        TREE_TEST(every_failing_call_ends_in_a_sentence),
        TREE_TEST(mutated_shards_never_crash),
        TREE_TEST(mutated_indexes_never_crash),
        TREE_TEST(threads_read_at_once),
    };
    return cmocka_run_group_tests_name("dataset_shards", tests, NULL, NULL);
}
