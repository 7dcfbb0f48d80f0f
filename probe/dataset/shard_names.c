#include "probe/dataset/shard_names.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/dataset/dataset_walk.h"

#include <ctype.h>

enum { MAX_SHARDS = 1 << 20 };

/* Read as a shard; refused by a sentence of its own. */
#define READ ".tar .tar.gz .tgz .tar.zst"
#define REFUSED ".tar.xz .tar.bz2"

int pp_shard_files_has(const struct pp_shard_files *files, const char *name)
{
    return (!files->suffixes || pp_has_suffix(name, files->suffixes)) && (!files->is || files->is(name));
}

int pp_is_tfrecord(const char *name)
{
    return pp_has_suffix(name, ".tfrecord .tfrecords .tfrec") || strstr(name, ".tfrecord-") ||
           strstr(name, ".tfrecords-");
}

const struct pp_shard_files pp_tar_files = {.noun = ".tar", .suffixes = READ};

/* Also train-00001-of-01024, as ImageNet's are called: in a directory where one is known to be one. */
static int is_tfrecord_shard(const char *name)
{
    const char *of = strstr(name, "-of-");
    return pp_is_tfrecord(name) || (of && of[4] && of[4 + strspn(of + 4, "0123456789")] == '\0');
}

const struct pp_shard_files pp_tfrecord_files = {.what = "TFRecord",
                                                 .noun = ".tfrecord",
                                                 .is = is_tfrecord_shard,
                                                 .in_pattern = ".tfrec"};

int pp_is_shard_spec(const char *spec)
{
    return pp_has_suffix(spec, READ " " REFUSED) || (strchr(spec, '{') && strstr(spec, ".tar"));
}

void pp_shard_names_free(struct pp_shard_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->path[i]);
    free(names->path);
    *names = (struct pp_shard_names){0};
}

static pp_status add_path(struct pp_shard_names *out, const char *path, struct pp_err *err)
{
    char *copy = NULL;
    if (out->n == MAX_SHARDS)
        return pp_fail(err, PP_E_USAGE, "the shard range names more than %d shards", MAX_SHARDS);
    if (!pp_grow(&out->path, &out->cap, out->n + 1, sizeof(*out->path)) || !(copy = strdup(path)))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shard names", out->n + 1);
    out->path[out->n++] = copy;
    return PP_OK;
}

struct adding {
    struct pp_shard_names *out;
    const char *dir; /* NULL: names are whole */
};

static pp_status add_entry(void *ctx, const struct pp_entry *e, struct pp_err *err)
{
    const struct adding *a = ctx;
    char *full;
    if (!a->dir)
        return add_path(a->out, e->name, err);
    if (e->name[0] == '.' || !pp_shard_files_has(a->out->files, e->name))
        return PP_OK;
    if (asprintf(&full, "%s%s%s", a->dir, a->dir[strlen(a->dir) - 1] == '/' ? "" : "/", e->name) < 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to list %s", a->dir);
    pp_status st = add_path(a->out, full, err);
    free(full);
    return st;
}

/* A name without braces: a shard, a directory of them, or a pattern. */
static pp_status add_expanded(struct pp_shard_names *out, const char *word, struct pp_err *err)
{
    struct pp_place_info info;
    size_t first = out->n;
    int is_pattern = strpbrk(word, "*?[") != NULL;
    /* Where asking is a request of its own, a name that can only be a shard is taken for one. */
    if (pp_storage_request_bytes(out->storage) && pp_shard_files_has(&pp_tar_files, word) && !is_pattern)
        return add_path(out, word, err);
    pp_status st = pp_storage_stat(out->storage, NULL, word, "stat", &info, NULL);
    if (st == PP_OK ? info.kind != PP_PLACE_DIRECTORY : !is_pattern)
        return add_path(out, word, err);
    if (st == PP_OK) {
        struct adding a = {.out = out, .dir = word};
        const struct pp_open how = {.name = word, .how = PP_OPEN_DIRECTORY, .attempt = "list"};
        struct pp_object dir;
        st = pp_storage_open(out->storage, &how, &dir, err);
        if (st == PP_OK)
            st = pp_object_list(&dir, word, add_entry, &a, err);
        pp_object_close(&dir);
        if (st == PP_OK && out->n == first)
            return pp_fail(err, PP_E_NOT_FOUND, "%s holds no %s files", word, out->files->noun);
    } else {
        struct adding a = {.out = out};
        st = pp_storage_match(out->storage, word, add_entry, &a, err);
    }
    if (out->n > first)
        qsort(out->path + first, out->n - first, sizeof(*out->path), pp_by_text);
    return st;
}

/* ---- braces ---- */

/* "000000..000009" */
struct range {
    uint64_t from, to;
    int width; /* that numbers are filled to with 0 (braceexpand: when either end begins with 0); 0: not */
};

static int parse_range(const char *body, size_t n, struct range *out)
{
    char text[48], *end;
    if (n >= sizeof(text) || n == 0)
        return 0;
    memcpy(text, body, n);
    text[n] = '\0';
    char *dots = strstr(text, "..");
    if (!dots || !isdigit((unsigned char)text[0]) || !isdigit((unsigned char)dots[2]))
        return 0;
    *dots = '\0';
    errno = 0;
    out->from = strtoull(text, &end, 10);
    if (*end || errno)
        return 0;
    out->to = strtoull(dots + 2, &end, 10);
    if (*end || errno)
        return 0;
    size_t a = strlen(text), b = strlen(dots + 2);
    int padded = (text[0] == '0' && a > 1) || (dots[2] == '0' && b > 1);
    out->width = padded ? (int)(a > b ? a : b) : 0;
    return 1;
}

/* Expands the first pair of braces; what comes after is expanded by the calls this makes. */
static pp_status expand(struct pp_shard_names *out, const char *word, struct pp_err *err)
{
    const char *open = strchr(word, '{'), *close = NULL;
    if (!open)
        return add_expanded(out, word, err);
    int depth = 0;
    for (const char *p = open; *p && !close; p++) {
        depth += (*p == '{') - (*p == '}');
        close = depth == 0 ? p : NULL;
    }
    if (!close)
        return pp_fail(err, PP_E_USAGE, "the shard name %s has an opening brace without a closing one", word);
    const char *start = open + 1;
    size_t n = (size_t)(close - start);
    struct range r = {0};
    uint64_t count = 0; /* of a range */
    if (parse_range(start, n, &r)) {
        count = (r.from < r.to ? r.to - r.from : r.from - r.to) + 1;
        if (count > MAX_SHARDS || count == 0)
            return pp_fail(err, PP_E_USAGE, "the range in %s names more than %d shards", word, MAX_SHARDS);
    } else if (!memchr(start, ',', n)) {
        return pp_fail(err, PP_E_USAGE,
                       "the braces in %s hold neither a range such as {000..009} nor a list such as {a,b}",
                       word);
    }
    pp_status st = PP_OK;
    for (uint64_t i = 0; st == PP_OK && (count ? i < count : start <= close); i++) {
        char number[32], *expanded;
        const char *piece = count ? number : start, *end = start;
        if (count) {
            n = (size_t)snprintf(number, sizeof(number), "%0*llu", r.width < 20 ? r.width : 20,
                                 (unsigned long long)(r.from < r.to ? r.from + i : r.from - i));
        } else { /* {a,b,{c,d}}: every alternative at the outermost level */
            for (; end < close && (*end != ',' || depth > 0); end++)
                depth += (*end == '{') - (*end == '}');
            n = (size_t)(end - start);
            start = end + 1;
        }
        if (asprintf(&expanded, "%.*s%.*s%s", (int)(open - word), word, (int)n, piece, close + 1) < 0)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for the shard names");
        st = expand(out, expanded, err);
        free(expanded);
    }
    return st;
}

pp_status pp_shard_names(const struct pp_storage *storage, const char *spec,
                         const struct pp_shard_files *files, struct pp_shard_names *out, struct pp_err *err)
{
    struct pp_place_info info;
    pp_status st = PP_OK;
    *out = (struct pp_shard_names){.storage = storage, .files = files};
    if (pp_storage_stat(storage, NULL, spec, "stat", &info, NULL) == PP_OK)
        return add_expanded(out, spec, err);
    /* Commas outside braces separate; those inside belong to the braces. */
    int depth = 0;
    const char *start = spec;
    for (const char *p = spec; st == PP_OK; p++) {
        if (*p == '\0' || (*p == ',' && depth == 0)) {
            char *word = p > start ? strndup(start, (size_t)(p - start)) : NULL;
            if (word)
                st = expand(out, word, err);
            else if (p > start)
                st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the shard names");
            free(word);
            start = p + 1;
        }
        if (*p == '\0')
            break;
        depth += (*p == '{') - (*p == '}');
    }
    if (st == PP_OK && out->n == 0)
        st = pp_fail(err, PP_E_USAGE, "%s names no shard", spec);
    return st;
}
