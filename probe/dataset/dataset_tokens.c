/* Token files: a flat array (.bin, .npy; a .bin with the index of Megatron-LM beside it says its own type) of
 * token ids, borrowed from the storage where it maps them. Sample i is window tokens from position i *
 * (window - 1): windows overlap by one token, so that every token but the first is once a target of
 * next-token prediction. The tail shorter than a window is left out. */
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/token_layout.h"

#include <malloc.h>

enum { DEFAULT_WINDOW = 1025 /* 1024 and the next token */ };

struct tokens {
    struct pp_dataset base;
    char *path;
    struct pp_object file;
    uint64_t file_size;
    int borrows; /* samples point into the storage's memory */
    uint64_t data_offset, count, window, stride;
    int token_bytes;
    uint64_t sequences; /* of a Megatron index; 0: there is none */
};

static uint64_t offset_of(const struct tokens *t, uint64_t index)
{
    return t->data_offset + index * t->stride * (unsigned)t->token_bytes;
}

static pp_status tokens_read(const struct pp_dataset *d, uint64_t index,
                             const struct pp_read_context *context, struct pp_sample *s, struct pp_err *err)
{
    const struct tokens *t = (const struct tokens *)d;
    struct pp_read r = {.name = t->path,
                        .context = context,
                        .offset = offset_of(t, index),
                        .size = t->window * (size_t)t->token_bytes};
    pp_status st = PP_OK;
    if (t->borrows) {
        st = pp_object_borrow(&t->file, &r, err);
    } else {
        st = pp_sample_reserve(s, r.size, t->path, err);
        r.buf = s->buf;
        r.cap = s->cap;
        if (st == PP_OK)
            st = pp_object_read_at(&t->file, &r, err);
    }
    if (st == PP_OK && r.got < r.size)
        st = pp_fail(err, PP_E_IO, "cannot read %s at byte %llu: the file was truncated or its disk failed",
                     t->path, (unsigned long long)r.offset);
    s->cache_known = r.cache_known;
    s->cache_hit_bytes = r.cache_hit_bytes;
    s->data = r.data;
    s->size = st == PP_OK ? r.size : 0;
    return st;
}

static void tokens_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    const struct tokens *t = (const struct tokens *)d;
    snprintf(buf, size, "%s@%llu", t->path, (unsigned long long)offset_of(t, index));
}

static void tokens_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct tokens *t = (const struct tokens *)d;
    char tokens[32], windows[32];
    pp_text_count(tokens, sizeof(tokens), (double)t->count);
    pp_text_count(windows, sizeof(windows), (double)d->len);
    int n = snprintf(buf, size, "token file, %s tokens of %d bytes in %s windows of %llu", tokens,
                     t->token_bytes, windows, (unsigned long long)t->window);
    if (t->sequences && n > 0 && (size_t)n < size)
        snprintf(buf + n, size - (size_t)n, ", Megatron index of %s",
                 pp_text_counted(tokens, sizeof(tokens), (double)t->sequences, "sequence", "sequences"));
}

static uint64_t tokens_footprint(const struct pp_dataset *d)
{
    return sizeof(struct tokens) + malloc_usable_size(((const struct tokens *)d)->path);
}

static void tokens_close(struct pp_dataset *d)
{
    struct tokens *t = (struct tokens *)d;
    pp_object_close(&t->file);
    free(t->path);
}

static const struct pp_dataset_ops tokens_ops = {
    .read = tokens_read,
    .path = tokens_path,
    .describe = tokens_describe,
    .footprint = tokens_footprint,
    .close = tokens_close,
};

/* ---- open ---- */

/* The spec with another ending in place of its .bin or .idx, or behind it; the caller frees. */
static char *with_ending(const char *spec, const char *ending)
{
    char *path;
    size_t n = strlen(spec);
    if (pp_has_suffix(spec, ".bin .idx"))
        n -= 4;
    return asprintf(&path, "%.*s%s", (int)n, spec, ending) < 0 ? NULL : path;
}

/* Where the tokens lie, and how many: by a .npy's header, a .idx, or the file's size. */
static pp_status lay_out(struct tokens *t, const struct pp_storage *storage, int token_bytes,
                         struct pp_err *err)
{
    pp_status st;
    if (pp_has_suffix(t->path, ".npy")) {
        struct pp_npy npy;
        uint8_t *head = malloc(PP_NPY_HEAD);
        if (!head)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", t->path);
        struct pp_read r = {.name = t->path, .size = PP_NPY_HEAD, .buf = head, .cap = PP_NPY_HEAD};
        st = pp_object_read_at(&t->file, &r, err);
        if (st == PP_OK)
            st = pp_npy_parse(head, r.got, t->file_size, t->path, &npy, err);
        free(head);
        if (st != PP_OK)
            return st;
        t->data_offset = npy.data_offset;
        t->count = npy.items;
        t->token_bytes = npy.item_bytes;
        return PP_OK;
    }
    /* NAME.idx beside NAME.bin, unless it is another program's file of that name. */
    uint8_t head[PP_MEGATRON_MAGIC];
    char *idx = with_ending(t->path, ".idx");
    if (!idx)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", t->path);
    if (pp_is_megatron_index(head, pp_read_head(storage, NULL, idx, head, sizeof(head)))) {
        struct pp_megatron m;
        st = pp_megatron_read(storage, idx, t->path, t->file_size, &m, err);
        if (st == PP_OK && token_bytes && token_bytes != m.token_bytes)
            st = pp_fail(err, PP_E_USAGE, "--token-bytes %d: %s says that its tokens have %d bytes",
                         token_bytes, idx, m.token_bytes);
        free(idx);
        t->token_bytes = m.token_bytes;
        t->count = m.tokens;
        t->sequences = m.sequences;
        return st;
    }
    free(idx);
    t->token_bytes = token_bytes ? token_bytes : 2;
    if (t->token_bytes != 2 && t->token_bytes != 4)
        return pp_fail(err, PP_E_USAGE,
                       "tokens of %d bytes are not supported: a token has 2 (uint16) or 4 (uint32) bytes",
                       t->token_bytes);
    t->count = t->file_size / (unsigned)t->token_bytes;
    unsigned left = (unsigned)(t->file_size % (unsigned)t->token_bytes);
    if (left)
        return pp_fail(
            err, PP_E_CORRUPT,
            "%s has %llu bytes, %u more than a whole number of %d-byte tokens: it is truncated, or its tokens have another size",
            t->path, (unsigned long long)t->file_size, left, t->token_bytes);
    return PP_OK;
}

static pp_status tokens_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    const struct pp_tokens_opts *o = &place->options->tokens;
    uint64_t window_bytes;
    struct pp_place_info info = {0};
    struct tokens *t = calloc(1, sizeof(*t));
    /* Megatron-LM's own tools take the name without an ending. */
    if (t)
        t->path = pp_has_suffix(place->spec, ".npy .bin") ? strdup(place->spec)
                                                          : with_ending(place->spec, ".bin");
    if (!t || !t->path) {
        free(t);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    }
    t->base.ops = &tokens_ops;
    t->base.content = PP_CONTENT_TOKENS;
    *out = &t->base;
    t->window = o->window ? (uint64_t)o->window : DEFAULT_WINDOW;
    t->stride = t->window > 1 ? t->window - 1 : 1;
    const struct pp_open how = {.name = t->path, .how = PP_OPEN_BORROW, .attempt = "open the token file"};
    pp_status st = pp_storage_open(place->storage, &how, &t->file, err);
    if (st == PP_OK)
        st = pp_object_info(&t->file, t->path, &info, err);
    if (st == PP_OK && (info.kind != PP_PLACE_OBJECT || info.size == 0))
        st = pp_fail(err, info.size == 0 ? PP_E_EMPTY : PP_E_UNSUPPORTED, "the token file %s %s", t->path,
                     info.kind == PP_PLACE_OBJECT ? "has 0 bytes" : "is not a regular file");
    else if (st == PP_OK && info.size == PP_SIZE_UNKNOWN)
        st = pp_fail(err, PP_E_UNSUPPORTED, "the token file %s does not say its size", t->path);
    t->file_size = info.size;
    t->borrows = (pp_storage_flags(place->storage) & PP_STORAGE_BORROWS) != 0;
    if (st == PP_OK)
        st = lay_out(t, place->storage, (int)o->token_bytes, err);
    if (st == PP_OK &&
        (__builtin_mul_overflow(t->window, (uint64_t)t->token_bytes, &window_bytes) || t->count < t->window))
        st = pp_fail(err, PP_E_EMPTY, "%s holds %llu tokens, fewer than one window of %llu", t->path,
                     (unsigned long long)t->count, (unsigned long long)t->window);
    if (st == PP_OK)
        t->base.len = (t->count - t->window) / t->stride + 1;
    return st;
}

static int tokens_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    struct pp_place_info info;
    if (place->info.kind == PP_PLACE_DIRECTORY)
        return 0;
    if (pp_has_suffix(place->spec, ".bin .npy"))
        return 80;
    /* NAME or NAME.idx for a pair of Megatron-LM's files. */
    char *idx = with_ending(place->spec, ".idx"), *bin = with_ending(place->spec, ".bin");
    int is = idx && bin && (place->info.kind == PP_PLACE_MISSING || pp_has_suffix(place->spec, ".idx")) &&
             pp_storage_stat(place->storage, NULL, idx, "stat", &info, NULL) == PP_OK &&
             pp_storage_stat(place->storage, NULL, bin, "stat", &info, NULL) == PP_OK;
    free(idx);
    free(bin);
    return is ? 80 : 0;
}

/* ---- options ---- */

static pp_status tokens_check(const struct pp_dataset_options *o, struct pp_err *err)
{
    if (o->tokens.token_bytes == 3)
        return pp_fail(err, PP_E_USAGE, "--token-bytes 3: tokens are 2 (uint16) or 4 (uint32) bytes");
    return PP_OK;
}

/* clang-format off */
static const struct pp_opt tokens_opts[] = {
    {.name = "window", .advanced = 1, .type = PP_OPT_INT, .offset = offsetof(struct pp_dataset_options, tokens.window), .min = 2, .max = 1e9,
     .arg = "N", .dflt = "1025", .help = "tokens per sample (token files)"},
    {.name = "token-bytes", .advanced = 1, .type = PP_OPT_INT, .offset = offsetof(struct pp_dataset_options, tokens.token_bytes), .min = 2, .max = 4,
     .arg = "2|4", .help = "bytes of a token in a .bin (default: 2, or its .idx)"},
    {.name = NULL},
};
/* clang-format on */

const struct pp_dataset_format pp_format_tokens = {
    .name = "tokens",
    .help = "a .bin or .npy file of tokens",
    .noun = "token files",
    .probe = tokens_probe,
    .open = tokens_open,
    .opts = tokens_opts,
    .check = tokens_check,
};
