/* The seam of formats: one that only this test knows, a text file whose lines are samples, is registered with
 * its options and opened by what lies at the place. */
#include "tests/support/dataset_tree.h"

#include "probe/base/err.h"
#include "probe/dataset/format.h"
#include "probe/dataset/options.h"

struct lines_opts {
    int64_t skip;
};

static const struct pp_dataset_format lines; /* at the end */

struct lines {
    struct pp_dataset base;
    struct pp_object file;
    char *path;
    uint64_t offset[8];
};

static const struct lines *lines_of(const struct pp_dataset *d)
{
    return (const struct lines *)d;
}

static pp_status lines_read(const struct pp_dataset *d, uint64_t index, const struct pp_read_context *c,
                            struct pp_sample *s, struct pp_err *err)
{
    const struct lines *l = lines_of(d);
    size_t size = l->offset[index + 1] - l->offset[index] - 1;
    pp_status st = pp_sample_reserve(s, size, "a sample", err);
    struct pp_read r = {
        .name = l->path, .offset = l->offset[index], .size = size, .context = c, .buf = s->buf};
    if (st == PP_OK)
        st = pp_object_read_at(&l->file, &r, err);
    s->size = st == PP_OK ? r.got : 0;
    return st;
}

static void lines_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    snprintf(buf, size, "%s:%llu", lines_of(d)->path, (unsigned long long)index + 1);
}

static void lines_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    snprintf(buf, size, "%llu lines", (unsigned long long)d->len);
}

static uint64_t lines_footprint(const struct pp_dataset *d)
{
    return sizeof(struct lines);
}

static void lines_close(struct pp_dataset *d)
{
    struct lines *l = (struct lines *)d;
    pp_object_close(&l->file);
    free(l->path);
}

/* Its stream: the lines of a rank, one after the other. */
struct lines_stream {
    struct pp_stream base;
    const struct pp_dataset *lines;
    uint64_t at, step;
};

static pp_status lines_next(struct pp_stream *st, struct pp_sample *s, char *path, size_t path_size,
                            struct pp_err *err)
{
    struct lines_stream *l = (struct lines_stream *)st;
    if (l->at >= l->lines->len)
        return PP_END;
    pp_dataset_path(l->lines, l->at, path, path_size);
    pp_status status = pp_dataset_read(l->lines, l->at, s, err);
    l->at += l->step;
    return status;
}

static void lines_cursor(const struct pp_stream *st, struct pp_stream_cursor *out)
{
    *out = (struct pp_stream_cursor){.delivered = ((const struct lines_stream *)st)->at};
}

static void lines_stream_close(struct pp_stream *st)
{
    free(st);
}

static const struct pp_stream_ops lines_stream_ops = {.next = lines_next,
                                                      .cursor = lines_cursor,
                                                      .close = lines_stream_close};

static pp_status lines_stream(const struct pp_dataset *d, const struct pp_stream_opts *o,
                              struct pp_stream **out, struct pp_err *err)
{
    struct lines_stream *l = calloc(1, sizeof(*l));
    *l = (struct lines_stream){.base.ops = &lines_stream_ops,
                               .lines = d,
                               .at = o->rank,
                               .step = o->world_size};
    *out = &l->base;
    return PP_OK;
}

static const struct pp_dataset_ops lines_ops = {.read = lines_read,
                                                .path = lines_path,
                                                .describe = lines_describe,
                                                .footprint = lines_footprint,
                                                .stream = lines_stream,
                                                .close = lines_close};

static pp_status lines_open(struct pp_dataset_place *p, struct pp_dataset **out, struct pp_err *err)
{
    const struct lines_opts *o = pp_dataset_options_of(p->options, &lines);
    uint8_t text[256];
    int64_t skipped = 0;
    struct lines *l = calloc(1, sizeof(*l));
    l->base.ops = &lines_ops;
    l->base.content = PP_CONTENT_TOKENS;
    l->path = strdup(p->spec);
    pp_status st = pp_storage_open(p->storage, &(struct pp_open){.name = p->spec, .attempt = "open"},
                                   &l->file, err);
    struct pp_read r = {.name = l->path, .size = sizeof(text), .buf = text};
    if (st == PP_OK)
        st = pp_object_read_at(&l->file, &r, err);
    for (size_t i = 0; st == PP_OK && i < r.got; i++)
        if (text[i] == '\n' && skipped++ < o->skip)
            l->offset[0] = i + 1;
        else if (text[i] == '\n')
            l->offset[++l->base.len] = i + 1;
    if (st == PP_OK && l->base.len == 0)
        st = pp_fail(err, PP_E_EMPTY, "%s has no line", p->spec);
    if (st != PP_OK)
        pp_dataset_close(&l->base);
    else
        *out = &l->base;
    return st;
}

/* Tokens of a .bin that begins like a text are ours, too, so that formats compete. */
static int lines_probe(const struct pp_dataset_place *p, struct pp_err *why)
{
    size_t n = strlen(p->spec);
    if (n > 6 && strcmp(p->spec + n - 6, ".lines") == 0)
        return 100;
    if (n > 9 && strcmp(p->spec + n - 9, ".text.bin") == 0)
        return 90;
    if (n > 7 && strcmp(p->spec + n - 7, ".linesz") == 0)
        pp_fail(why, PP_E_UNSUPPORTED, "%s is compressed: unpack it first", p->spec);
    return 0;
}

static const struct pp_opt lines_rows[] = {{.name = "skip-lines",
                                            .type = PP_OPT_INT,
                                            .offset = offsetof(struct lines_opts, skip),
                                            .min = 0,
                                            .max = 9,
                                            .dflt = "0",
                                            .help = "lines left out at the start"},
                                           {.name = NULL}};

static pp_status lines_check(const struct pp_dataset_options *o, struct pp_err *err)
{
    return ((const struct lines_opts *)pp_dataset_options_of(o, &lines))->skip == 7
               ? pp_fail(err, PP_E_USAGE, "--skip-lines 7: not today")
               : PP_OK;
}

static const struct pp_dataset_format lines = {.name = "lines",
                                               .help = "a .lines file of text",
                                               .noun = "text files",
                                               .probe = lines_probe,
                                               .open = lines_open,
                                               .opts_size = sizeof(struct lines_opts),
                                               .opts = lines_rows,
                                               .check = lines_check};

static void a_registered_format_is_opened_and_read(void **state)
{
    static const char *const want[] = {"alpha", "beta", "gamma"};
    char text[128];
    struct pp_sample s = {0};
    tree_put_text("x.lines", "alpha\nbeta\ngamma\n");
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("x.lines")});
    assert_string_equal(pp_dataset_format_name(d), "lines");
    assert_true(pp_dataset_streams(d));
    assert_int_equal(pp_dataset_len(d), 3);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(pp_dataset_read(d, i, &s, NULL), PP_OK);
        assert_int_equal(s.size, strlen(want[i]));
        assert_memory_equal(s.data, want[i], s.size);
    }
    assert_string_equal(pp_dataset_path(d, 2, text, sizeof(text)), tree_path("x.lines:3"));
    pp_sample_free(&s);
    pp_dataset_close(d);
}

/* The surest wins; when it finds nothing of its own, the next one is asked. */
static void scores_decide_and_empty_passes_on(void **state)
{
    uint16_t tokens[2000] = {0};
    struct pp_dataset *d;
    tree_put_text("x.text.bin", "a\nb\n");
    d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("x.text.bin")});
    assert_string_equal(pp_dataset_format_name(d), "lines");
    pp_dataset_close(d);
    tree_put("y.text.bin", tokens, sizeof(tokens));
    d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("y.text.bin")});
    assert_string_equal(pp_dataset_format_name(d), "tokens");
    pp_dataset_close(d);
    tree_put_text("y.lines", "");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("y.lines")}, PP_E_EMPTY, "y.lines", "no line");
}

static void a_format_can_be_named_or_say_why_not(void **state)
{
    tree_put_text("x.odd", "a\nb\n");
    tree_put_text("x.linesz", "a\nb\n");
    struct pp_dataset *d = tree_open(
        &(struct pp_dataset_opts){.spec = tree_path("x.odd"), .format = "lines"});
    assert_int_equal(pp_dataset_len(d), 2);
    pp_dataset_close(d);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("x.odd"), .format = "rows"}, PP_E_USAGE, "rows",
                 "no dataset format");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("x.linesz")}, PP_E_UNSUPPORTED, "x.linesz",
                 "compressed: unpack");
    tree_refused(
        &(struct pp_dataset_opts){.spec = tree_path("x.odd")}, PP_E_UNSUPPORTED,
        "a directory of images, .tar shards, TFRecord files, a directory of MDS shards, .parquet files, .arrow files, .h5 files, a .bin or .npy file of tokens, "
        "or a .lines file of text",
        "is not a known dataset");
}

/* A command's table holds the rows of all formats, in one option struct of its own, beside its own rows. */
static void options_are_composed_into_a_commands_table(void **state)
{
    struct command {
        int64_t own;
        struct pp_dataset_options formats;
    } c = {0};
    struct pp_opt table[PP_OPTS_MAX + 1] = {
        {.name = "own", .type = PP_OPT_INT, .offset = offsetof(struct command, own), .max = 9}};
    struct pp_opt *end = pp_dataset_options_rows(table + 1, 0, SIZE_MAX, 0,
                                                 offsetof(struct command, formats));
    end->name = NULL;
    assert_string_equal(end[-1].name, "skip-lines");
    for (const struct pp_opt *o = table; o < end; o++)
        assert_string_not_equal(o->name, "stream"); /* not asked for */
    struct pp_opt_set set = {.table = table, .fields = &c, .command = "test"};
    char *argv[] = {"test", "--own", "4", "--skip-lines=2", "--window", "5", "x.lines", NULL};
    const char *operands[8];
    int n;
    struct pp_err err;
    assert_int_equal(pp_opts_parse(&set, 7, argv, operands, &n, &err), PP_OK);
    assert_int_equal(c.own, 4);
    assert_int_equal(((struct lines_opts *)pp_dataset_options_of(&c.formats, &lines))->skip, 2);
    assert_int_equal(c.formats.tokens.window, 5);
    assert_int_equal(c.formats.tokens.token_bytes, 0); /* an index beside the file may say it */
    assert_int_equal(pp_dataset_options_check(&c.formats, &err), PP_OK);

    tree_put_text("x.lines", "alpha\nbeta\ngamma\n");
    struct pp_dataset *d = tree_open(
        &(struct pp_dataset_opts){.spec = tree_path("x.lines"), .options = &c.formats});
    assert_int_equal(pp_dataset_len(d), 1);
    pp_dataset_close(d);

    ((struct lines_opts *)pp_dataset_options_of(&c.formats, &lines))->skip = 7;
    assert_int_equal(pp_dataset_options_check(&c.formats, &err), PP_E_USAGE);
    assert_string_equal(err.text, "--skip-lines 7: not today");
}

/* A format that no code of the stream's callers knows streams by its own row: dealt to two ranks, in order.
 */
static void a_registered_format_streams(void **state)
{
    static const char *const want[] = {"beta", "delta"};
    struct pp_sample s = {0};
    struct pp_err err;
    struct pp_stream *st;
    char path[128];
    tree_put_text("x.lines", "alpha\nbeta\ngamma\ndelta\n");
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("x.lines")});
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){.rank = 1, .world_size = 2}, &st, &err),
                     PP_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pp_stream_next(st, &s, path, sizeof(path), &err), PP_OK);
        assert_int_equal(s.size, strlen(want[i]));
        assert_memory_equal(s.data, want[i], s.size);
    }
    assert_string_equal(path, tree_path("x.lines:4"));
    assert_int_equal(pp_stream_next(st, &s, path, sizeof(path), &err), PP_END);
    pp_stream_close(st);
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){.rank = 2, .world_size = 2}, &st, &err),
                     PP_E_USAGE);
    assert_null(st);
    pp_stream_close(st);
    pp_sample_free(&s);
    pp_dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(a_registered_format_is_opened_and_read),     TREE_TEST(scores_decide_and_empty_passes_on),
        TREE_TEST(a_format_can_be_named_or_say_why_not),       TREE_TEST(a_registered_format_streams),
        TREE_TEST(options_are_composed_into_a_commands_table),
    };
    if (pp_dataset_format_register(&lines) != 0)
        return 1;
    return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
