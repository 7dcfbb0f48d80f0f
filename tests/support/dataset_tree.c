#include "tests/support/dataset_tree.h"

char tree_root[64];

int tree_set_up(void **state)
{
    snprintf(tree_root, sizeof(tree_root), "/tmp/pp-test-data-XXXXXX");
    if (!mkdtemp(tree_root))
        return -1;
    char cache[96];
    snprintf(cache, sizeof(cache), "%s.cache", tree_root);
    return setenv("XDG_CACHE_HOME", cache, 1); /* never the cache of the user who runs the tests */
}

static int tree_remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    return remove(path);
}

int tree_tear_down(void **state)
{
    char cache[96];
    pp_io_fault(0, 0, 0, 0);
    snprintf(cache, sizeof(cache), "%s.cache", tree_root);
    nftw(cache, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return nftw(tree_root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *tree_path(const char *rel)
{
    static char ring[4][512];
    static unsigned next;
    char *buf = ring[next++ % 4];
    snprintf(buf, sizeof(ring[0]), "%s/%s", tree_root, rel);
    return buf;
}

void tree_put(const char *rel, const void *bytes, size_t n)
{
    char path[512];
    snprintf(path, sizeof(path), "%s", tree_path(rel));
    for (char *p = path + strlen(tree_root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(path, 0755);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

void tree_put_text(const char *rel, const char *text)
{
    tree_put(rel, text, strlen(text));
}

uint8_t *tree_get(const char *rel, size_t *size)
{
    struct pp_io_file f = {0};
    assert_int_equal(pp_io_read_file(AT_FDCWD, tree_path(rel), &f, NULL), PP_OK);
    *size = f.size;
    return f.buf;
}

struct archive *tree_tar(const char *rel, int (*format)(struct archive *))
{
    struct archive *a = archive_write_new();
    format(a);
    archive_write_set_bytes_per_block(a, 10240);
    assert_int_equal(archive_write_open_filename(a, tree_path(rel)), ARCHIVE_OK);
    return a;
}

void tree_tar_add(struct archive *a, const char *name, const void *bytes, size_t n)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (la_int64_t)n);
    assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
    if (n > 0)
        assert_int_equal(archive_write_data(a, bytes, n), (la_ssize_t)n);
    archive_entry_free(e);
}

void tree_tar_end(struct archive *a)
{
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

struct pp_dataset *tree_open(const struct pp_dataset_opts *opts)
{
    struct pp_dataset *d = NULL;
    struct pp_err err;
    pp_status st = pp_dataset_open(opts, &d, &err);
    if (st != PP_OK)
        fail_msg("%s", err.text);
    return d;
}

void tree_refused(const struct pp_dataset_opts *opts, pp_status want, const char *word, const char *other)
{
    struct pp_dataset *d = NULL;
    struct pp_err err;
    pp_status st = pp_dataset_open(opts, &d, &err);
    if (st == PP_OK || d)
        fail_msg("%s was opened", opts->spec);
    if (st != want || err.code != want || !strstr(err.text, word) || !strstr(err.text, other))
        fail_msg("%s: wanted %s with \"%s\" and \"%s\", got %s: %s", opts->spec, pp_status_name(want), word,
                 other, pp_status_name(st), err.text);
}

int tree_warns(const struct pp_dataset *d, const char *word)
{
    const char *text;
    for (size_t i = 0; (text = pp_dataset_warning(d, i)); i++)
        if (strstr(text, word))
            return 1;
    return 0;
}
