/* The seam under the data sets: a storage that only this test knows, mem://, is registered and read through
 * by every format; local files; faults over a storage. */
#include "tests/support/dataset_tree.h"

#include "probe/base/err.h"
#include "probe/dataset/options.h"
#include "probe/storage/fault.h"
#include "probe/storage/storage.h"

/* ---- mem://: objects in memory, directories by prefix; neither borrows nor patterns, and no whole reads
 * ---- */

enum { MAX_OBJECTS = 32 };

static struct memory {
    struct {
        char name[64];
        uint8_t *bytes;
        size_t size;
    } object[MAX_OBJECTS];
    size_t n;
    int sizes_unknown, failures_left, attached, open, reads;
} memory;

static void mem_put(const char *name, const void *bytes, size_t size)
{
    assert_true(memory.n < MAX_OBJECTS);
    snprintf(memory.object[memory.n].name, sizeof(memory.object[0].name), "%s", name);
    memory.object[memory.n].bytes = malloc(size + 1);
    memcpy(memory.object[memory.n].bytes, bytes, size);
    memory.object[memory.n++].size = size;
}

static void mem_put_text(const char *name, const char *text)
{
    mem_put(name, text, strlen(text));
}

static int mem_tear_down(void **state)
{
    for (size_t i = 0; i < memory.n; i++)
        free(memory.object[i].bytes);
    assert_int_equal(memory.attached, 0);
    assert_int_equal(memory.open, 0);
    memory = (struct memory){0};
    return tree_tear_down(state);
}

static int mem_accepts(const char *place)
{
    return strncmp(place, "mem://", 6) == 0 ? 100 : 0;
}

extern const struct pp_storage_ops mem_ops;

static pp_status mem_attach(const char *place, struct pp_storage **out, struct pp_err *err)
{
    *out = malloc(sizeof(**out));
    **out = (struct pp_storage){.ops = &mem_ops, .flags = PP_STORAGE_LISTS};
    memory.attached++;
    return PP_OK;
}

static void mem_detach(struct pp_storage *s)
{
    memory.attached--;
    free(s);
}

static void full_name(const struct pp_object *dir, const char *name, char out[128])
{
    snprintf(out, 128, "%s%s%s", dir ? (const char *)dir->state : "", dir ? "/" : "", name);
}

/* Which object, or -1; *below counts those under name as a directory. */
static int mem_find(const char *name, int *below)
{
    size_t length = strlen(name);
    int found = -1;
    *below = 0;
    for (size_t i = 0; i < memory.n; i++) {
        const char *o = memory.object[i].name;
        if (strcmp(o, name) == 0)
            found = (int)i;
        *below += strncmp(o, name, length) == 0 && o[length] == '/';
    }
    return found;
}

static pp_status mem_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                          const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    char full[128];
    int below;
    full_name(dir, name, full);
    int i = mem_find(full, &below);
    if (i < 0 && !below)
        return pp_fail(err, PP_E_NOT_FOUND, "cannot %s %s: no such object", attempt, name);
    out->kind = i >= 0 ? PP_PLACE_OBJECT : PP_PLACE_DIRECTORY;
    out->size = i < 0 ? 0 : memory.sizes_unknown ? PP_SIZE_UNKNOWN : memory.object[i].size;
    out->version = 1;
    return PP_OK;
}

/* handle: which object; state: the full name */
static pp_status mem_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                          struct pp_err *err)
{
    char full[128];
    int below;
    full_name(o->dir, o->name, full);
    out->handle = mem_find(full, &below);
    if (o->how & PP_OPEN_DIRECTORY ? !below : out->handle < 0)
        return pp_fail(err, PP_E_NOT_FOUND, "cannot %s %s: no such object", o->attempt, o->name);
    out->state = strdup(full);
    __atomic_add_fetch(&memory.open, 1, __ATOMIC_RELAXED);
    return PP_OK;
}

static void mem_close(struct pp_object *o)
{
    free(o->state);
    __atomic_sub_fetch(&memory.open, 1, __ATOMIC_RELAXED);
}

static pp_status mem_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                          struct pp_err *err)
{
    return mem_stat(o->storage, NULL, o->state, "stat", out, err);
}

static pp_status mem_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    __atomic_add_fetch(&memory.reads, 1, __ATOMIC_RELAXED);
    if (memory.failures_left > 0 && memory.failures_left--)
        return pp_fail(err, PP_E_TRANSIENT, "cannot read %s: 503 Slow Down", r->name);
    size_t size = memory.object[o->handle].size, left = r->offset < size ? size - r->offset : 0;
    r->got = r->size < left ? r->size : left;
    memcpy(r->buf, memory.object[o->handle].bytes + (left ? r->offset : 0), r->got);
    r->data = r->buf;
    return PP_OK;
}

static pp_status mem_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                          struct pp_err *err)
{
    const char *prefix = dir->state;
    size_t length = strlen(prefix);
    pp_status st = PP_OK;
    for (size_t i = 0; i < memory.n && st == PP_OK; i++) {
        const char *o = memory.object[i].name;
        char entry[64], earlier[64] = "";
        if (strncmp(o, prefix, length) != 0 || o[length] != '/')
            continue;
        snprintf(entry, sizeof(entry), "%.*s", (int)strcspn(o + length + 1, "/"), o + length + 1);
        for (size_t k = 0; k < i; k++) /* a directory once, whatever lies below */
            if (strncmp(memory.object[k].name, prefix, length) == 0 &&
                strncmp(memory.object[k].name + length + 1, entry, strlen(entry)) == 0 &&
                memory.object[k].name[length + 1 + strlen(entry)] == '/')
                snprintf(earlier, sizeof(earlier), "%s", entry);
        if (!earlier[0])
            st = each(ctx,
                      &(struct pp_entry){.name = entry,
                                         .kind = strchr(o + length + 1, '/') ? PP_ENTRY_DIRECTORY
                                                                             : PP_ENTRY_OBJECT},
                      err);
    }
    return st;
}

const struct pp_storage_ops mem_ops = {
    .name = "mem",
    .help = "objects in the memory of a test",
    .accepts = mem_accepts,
    .attach = mem_attach,
    .detach = mem_detach,
    .stat = mem_stat,
    .open = mem_open,
    .close = mem_close,
    .info = mem_info,
    .read_at = mem_read_at,
    .list = mem_list,
};

/* ---- every format reads through it ---- */

static void expect_sample(const struct pp_dataset *d, uint64_t index, const char *want, int64_t label)
{
    struct pp_sample s = {0};
    struct pp_err err;
    if (pp_dataset_read(d, index, &s, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(s.size, strlen(want));
    assert_memory_equal(s.data, want, s.size);
    assert_int_equal(s.label, label);
    pp_sample_free(&s);
}

static void put_pets(void)
{
    mem_put_text("mem://pets/dog/rex.jpg", "REX");
    mem_put_text("mem://pets/cat/b.jpg", "TOM THE CAT");
    mem_put_text("mem://pets/cat/young/a.png", "KITTEN");
    mem_put_text("mem://pets/readme.txt", "pets");
}

static void an_image_folder_is_read(void **state)
{
    char text[128];
    put_pets();
    for (int unknown = 0; unknown < 2; unknown++) {
        memory.sizes_unknown = unknown;
        struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = "mem://pets"});
        pp_dataset_describe(d, text, sizeof(text));
        assert_string_equal(text, "image folder, 3 files in 2 classes");
        assert_string_equal(pp_dataset_path(d, 1, text, sizeof(text)), "mem://pets/cat/young/a.png");
        expect_sample(d, 0, "TOM THE CAT", 0);
        expect_sample(d, 1, "KITTEN", 0);
        expect_sample(d, 2, "REX", 1);
        pp_dataset_close(d);
    }
    tree_refused(&(struct pp_dataset_opts){.spec = "mem://nothing"}, PP_E_NOT_FOUND,
                 "cannot open the dataset mem://nothing", "no such object");
}

/* Nothing can be borrowed here: the tokens are copied into the sample's buffer, which is then kept. */
static void a_token_file_is_read_by_ranges(void **state)
{
    static struct pp_dataset_options o;
    uint16_t tokens[100];
    for (uint16_t i = 0; i < 100; i++)
        tokens[i] = i;
    mem_put("mem://t.bin", tokens, sizeof(tokens));
    o.tokens.window = 5;
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = "mem://t.bin", .options = &o});
    struct pp_sample s = {0};
    assert_int_equal(pp_dataset_len(d), 24);
    for (uint64_t i = 0; i < 24; i++) {
        uint16_t first;
        assert_int_equal(pp_dataset_read(d, i, &s, NULL), PP_OK);
        assert_int_equal(s.size, 10);
        memcpy(&first, s.data, sizeof(first));
        assert_int_equal(first, 4 * i);
    }
    assert_int_equal(s.grown, 1);
    pp_sample_free(&s);
    pp_dataset_close(d);
}

static void put_shard(const char *name, const char *first, const char *second)
{
    size_t size;
    struct archive *a = tree_tar("x.tar", archive_write_set_format_ustar);
    tree_tar_add(a, "1.jpg", first, strlen(first));
    tree_tar_add(a, "1.cls", "7", 1);
    tree_tar_add(a, "2.jpg", second, strlen(second));
    tree_tar_end(a);
    uint8_t *bytes = tree_get("x.tar", &size);
    mem_put(name, bytes, size);
    free(bytes);
}

/* An index cannot lie beside a shard that is not local: it is kept in the user's cache directory. */
static void shards_are_indexed_and_streamed(void **state)
{
    static struct pp_dataset_options stream;
    struct pp_sample s = {0};
    struct pp_stream *st;
    int reads[2];
    put_shard("mem://s/a-0.tar", "ONE", "TWO");
    put_shard("mem://s/a-1.tar", "THREE", "FOUR");
    for (int again = 0; again < 2; again++) {
        memory.reads = 0;
        struct pp_dataset *d = tree_open(
            &(struct pp_dataset_opts){.spec = again ? "mem://s" : "mem://s/a-{0..1}.tar"});
        reads[again] = memory.reads;
        assert_int_equal(pp_dataset_len(d), 4);
        expect_sample(d, 0, "ONE", 7);
        expect_sample(d, 3, "FOUR", -1);
        pp_dataset_close(d);
    }
    assert_true(reads[0] > 0);
    assert_int_equal(reads[1], 0); /* the index was found */

    stream.shards.stream = 1;
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = "mem://s", .options = &stream});
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){0}, &st, NULL), PP_OK);
    int n = 0;
    while (pp_stream_next(st, &s, NULL, 0, NULL) == PP_OK)
        n++;
    assert_int_equal(n, 4);
    pp_stream_close(st);
    pp_sample_free(&s);
    pp_dataset_close(d);
    tree_refused(&(struct pp_dataset_opts){.spec = "mem://s/b-*.tar"}, PP_E_UNSUPPORTED, "mem://s/b-*.tar",
                 "no patterns");
}

static void a_failure_keeps_its_status_and_sentence(void **state)
{
    struct pp_sample s = {0};
    struct pp_err err;
    put_pets();
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = "mem://pets"});
    memory.failures_left = 1;
    assert_int_equal(pp_dataset_read(d, 0, &s, &err), PP_E_TRANSIENT);
    assert_string_equal(err.text, "cannot read cat/b.jpg: 503 Slow Down");
    assert_int_equal(pp_dataset_read(d, 0, &s, &err), PP_OK);
    pp_sample_free(&s);
    pp_dataset_close(d);
}

static void a_place_of_no_storage_is_refused(void **state)
{
    tree_refused(&(struct pp_dataset_opts){.spec = "ftp://host/x.tar"}, PP_E_USAGE, "ftp://host/x.tar",
                 "mount the bucket");
}

/* ---- faults ---- */

struct log {
    struct pp_read_context last;
    int before, after, fails;
};

static pp_status log_before(void *ctx, const struct pp_read_context *c, struct pp_err *err)
{
    struct log *l = ctx;
    l->last = *c;
    l->before++;
    return l->fails
               ? pp_fail(err, PP_E_TRANSIENT, "sample %llu was made to fail", (unsigned long long)c->sample)
               : PP_OK;
}

static void log_after(void *ctx, const struct pp_read_context *c, struct pp_read *r)
{
    struct log *l = ctx;
    l->after++;
    assert_int_equal(c->sample, l->last.sample);
    assert_true(r->got > 0);
    r->cache_hit_bytes = 1;
}

static void faults_act_on_reads_for_samples_alone(void **state)
{
    uint16_t tokens[2000] = {0};
    put_pets();
    put_shard("mem://s/a-0.tar", "ONE", "TWO");
    mem_put("mem://t.bin", tokens, sizeof(tokens));
    tree_put("t.bin", tokens, sizeof(tokens)); /* borrowed */
    tree_put_text("c/1.jpg", "ONE");
    tree_put_text("c/2.jpg", "TWO");
    char folder[128], file[128];
    snprintf(folder, sizeof(folder), "%s", tree_root);
    snprintf(file, sizeof(file), "%s", tree_path("t.bin"));
    const struct {
        const char *spec, *format;
    } rows[] = {{"mem://pets", NULL}, {"mem://s", NULL}, {"mem://t.bin", NULL},
                {folder, NULL},       {file, NULL},      {"n=2,size=16x16", "synthetic"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct log log = {0};
        struct pp_read_faults faults = {.ctx = &log, .before = log_before, .after = log_after};
        struct pp_sample s = {0};
        struct pp_err err;
        struct pp_dataset *d = tree_open(&(
            struct pp_dataset_opts){.spec = rows[i].spec, .format = rows[i].format, .read_faults = &faults});
        const struct pp_read_context c = {.epoch = 3, .sample = 0, .worker = 5, .attempt = 2};
        assert_int_equal(log.before, 0); /* opening is no sample's */
        assert_int_equal(pp_dataset_read(d, 0, &s, &err), PP_OK);
        assert_int_equal(log.before, 0);
        assert_int_equal(pp_dataset_read_for(d, &c, &s, &err), PP_OK);
        assert_int_equal(log.before, 1);
        assert_int_equal(log.after, 1);
        assert_memory_equal(&log.last, &c, sizeof(c));
        assert_int_equal(s.cache_hit_bytes, 1);
        log.fails = 1;
        memory.reads = 0;
        assert_int_equal(pp_dataset_read_for(d, &c, &s, &err), PP_E_TRANSIENT);
        assert_string_equal(err.text, "sample 0 was made to fail");
        assert_int_equal(log.after, 1);
        assert_int_equal(memory.reads, 0); /* the bytes were not asked for */
        pp_sample_free(&s);
        pp_dataset_close(d);
    }
}

/* ---- local files ---- */

static int names_seen;

static pp_status see_name(void *ctx, const struct pp_entry *e, struct pp_err *err)
{
    names_seen++;
    assert_int_equal(e->kind, strcmp(e->name, "c") == 0 ? PP_ENTRY_DIRECTORY : PP_ENTRY_OBJECT);
    return names_seen == 2 && ctx ? PP_END : PP_OK;
}

static void local_files_are_told_apart_listed_and_read(void **state)
{
    struct pp_storage *s;
    struct pp_object dir, o;
    struct pp_place_info info, same;
    struct pp_err err;
    uint8_t buf[16];
    tree_put_text("a.txt", "0123456789");
    tree_put_text("c/b.txt", "");
    assert_int_equal(pp_storage_attach(tree_root, &s, &err), PP_OK);
    assert_int_equal(pp_storage_stat(s, NULL, tree_path("none"), "stat", &info, &err), PP_E_NOT_FOUND);
    assert_int_equal(info.kind, PP_PLACE_MISSING);
    assert_int_equal(pp_storage_stat(s, NULL, tree_path("c"), "stat", &info, &err), PP_OK);
    assert_int_equal(info.kind, PP_PLACE_DIRECTORY);
    assert_int_equal(mkfifo(tree_path("c/pipe"), 0600), 0);
    assert_int_equal(pp_storage_stat(s, NULL, tree_path("c/pipe"), "stat", &info, &err), PP_OK);
    assert_int_equal(info.kind, PP_PLACE_OTHER);

    assert_int_equal(pp_storage_open(s, &(struct pp_open){.name = tree_root, .how = PP_OPEN_DIRECTORY}, &dir,
                                     &err),
                     PP_OK);
    for (int round = 0; round < 2; round++) { /* each from the start */
        names_seen = 0;
        assert_int_equal(pp_object_list(&dir, tree_root, see_name, NULL, &err), PP_OK);
        assert_int_equal(names_seen, 2);
    }
    names_seen = 0;
    assert_int_equal(pp_object_list(&dir, tree_root, see_name, &names_seen, &err), PP_END);

    const struct pp_open how = {.dir = &dir, .name = "a.txt", .how = PP_OPEN_BORROW, .attempt = "open"};
    assert_int_equal(pp_storage_open(s, &how, &o, &err), PP_OK);
    assert_int_equal(pp_object_info(&o, "a.txt", &info, &err), PP_OK);
    assert_int_equal(pp_storage_stat(s, &dir, "a.txt", "stat", &same, &err), PP_OK);
    assert_memory_equal(&info, &same, sizeof(info));
    assert_int_equal(info.size, 10);
    struct pp_read r = {.name = "a.txt", .offset = 7, .size = 16, .buf = buf, .cap = 16};
    assert_int_equal(pp_object_read_at(&o, &r, &err), PP_OK);
    assert_int_equal(r.got, 3);
    assert_memory_equal(r.data, "789", 3);
    assert_int_equal(pp_object_borrow(&o, &r, &err), PP_OK);
    assert_int_equal(r.got, 3);
    assert_ptr_not_equal(r.data, buf);
    assert_memory_equal(r.data, "789", 3);
    pp_io_fault(PP_IO_FAULT_READ, 1, 5 /* EIO */, 0);
    r.part = "key";
    assert_int_equal(pp_object_read_at(&o, &r, &err), PP_E_TRANSIENT);
    assert_string_equal(err.text, "cannot read key in a.txt at byte 7: Input/output error");
    pp_object_close(&o);
    pp_object_close(&o); /* nothing is open any more */
    assert_int_equal(pp_storage_open(s,
                                     &(struct pp_open){.dir = &dir, .name = "b", .attempt = "open the shard"},
                                     &o, &err),
                     PP_E_NOT_FOUND);
    assert_null(o.storage);
    assert_string_equal(err.text, "cannot open the shard b: No such file or directory");
    pp_object_close(&dir);
    pp_storage_detach(s);
}

int main(void)
{
#define MEM_TEST(f) cmocka_unit_test_setup_teardown(f, tree_set_up, mem_tear_down)
    const struct CMUnitTest tests[] = {
        MEM_TEST(an_image_folder_is_read),
        MEM_TEST(a_token_file_is_read_by_ranges),
        MEM_TEST(shards_are_indexed_and_streamed),
        MEM_TEST(a_failure_keeps_its_status_and_sentence),
        MEM_TEST(a_place_of_no_storage_is_refused),
        MEM_TEST(faults_act_on_reads_for_samples_alone),
        MEM_TEST(local_files_are_told_apart_listed_and_read),
    };
    if (pp_storage_register(&mem_ops) != 0)
        return 1;
    return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
