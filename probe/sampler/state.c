/* The saved state of a run: one small JSON object.
 *
 *   {"schema": "pipeprobe.state/1", "sampler": "random", "seed": "42", "drop_last": false, "epoch": 3,
 *     "consumed": 1280, "n": 50000,
 *    "rank": 0, "world_size": 8, "weights_digest": "0", "stream": {"shard": 4, "offset": 1048576,
 *      "number": 9000,
 *    "shuffle_buffer": 1000, "shards": 100, "shuffle_shards": 1}}
 *
 * "stream" is there for streaming runs alone. seed and weights_digest use all 64 bits, more than a JSON
 * number holds safely, so they are strings of decimal digits. */
#include "probe/sampler/sampler.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/json.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <xxhash.h>

#define SCHEMA "pipeprobe.state/"
#define VERSION "1"

enum field_type { COUNT, DIGITS };

struct field {
    const char *name;
    enum field_type type;
    size_t offset;
};

#define FIELD(name, type) \
    { \
#name, type, offsetof(struct pp_loader_state, name) \
    }

static const struct field run_fields[] = {
    FIELD(seed, DIGITS), FIELD(epoch, COUNT),      FIELD(consumed, COUNT),        FIELD(n, COUNT),
    FIELD(rank, COUNT),  FIELD(world_size, COUNT), FIELD(weights_digest, DIGITS), {NULL, 0, 0},
};

static const struct field stream_fields[] = {
    FIELD(shard, COUNT),  FIELD(offset, COUNT),         FIELD(number, COUNT), FIELD(shuffle_buffer, COUNT),
    FIELD(shards, COUNT), FIELD(shuffle_shards, COUNT), {NULL, 0, 0},
};

void pp_state_init(struct pp_loader_state *st, const struct pp_sampler_opts *opts)
{
    uint64_t digest = 0;
    if (opts->kind == PP_SAMPLER_STRATIFIED && opts->classes)
        digest = XXH3_64bits(opts->classes, opts->n * sizeof(*opts->classes));
    else if (opts->kind == PP_SAMPLER_WEIGHTED && opts->weights)
        digest = XXH3_64bits_withSeed(opts->weights, opts->n * sizeof(*opts->weights),
                                      opts->draws ? opts->draws : opts->n);
    *st = (struct pp_loader_state){
        .kind = opts->kind,
        .n = opts->n,
        .seed = opts->seed,
        .rank = opts->rank,
        .world_size = opts->world_size ? opts->world_size : 1,
        .drop_last = opts->drop_last != 0,
        .weights_digest = digest,
    };
}

/* ---- save ---- */

static void write_fields(struct pp_json *j, struct pp_loader_state *st, const struct field *f)
{
    for (; f->name; f++) {
        uint64_t value = *(uint64_t *)((char *)st + f->offset);
        pp_json_key(j, f->name);
        if (f->type == DIGITS) {
            char digits[24];
            snprintf(digits, sizeof(digits), "%" PRIu64, value);
            pp_json_str(j, digits);
        } else {
            pp_json_uint(j, value);
        }
    }
}

pp_status pp_state_save(const char *path, const struct pp_loader_state *st, struct pp_err *err)
{
    pp_status status = PP_OK;
    struct pp_loader_state copy = *st;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int failed = !out;

    if (out) {
        struct pp_json j;
        pp_json_begin(&j, out, 2);
        pp_json_object(&j);
        pp_json_put_str(&j, "schema", SCHEMA VERSION);
        pp_json_put_str(&j, "sampler", pp_sampler_kind_name(st->kind));
        pp_json_put_bool(&j, "drop_last", st->drop_last);
        write_fields(&j, &copy, run_fields);
        if (st->streaming) {
            pp_json_put_object(&j, "stream");
            write_fields(&j, &copy, stream_fields);
            pp_json_object_end(&j);
        }
        pp_json_object_end(&j);
        failed = pp_json_end(&j) != 0;
        failed |= fclose(out) != 0;
    }
    if (failed)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory to write the state %s", path);
    else
        status = pp_io_write_atomic(path, text, size, err);
    free(text);
    return status;
}

/* ---- load ---- */

static pp_status read_fields(json_t *object, const char *path, const struct field *f,
                             struct pp_loader_state *st, struct pp_err *err)
{
    for (; f->name; f++) {
        json_t *value = json_object_get(object, f->name);
        uint64_t *into = (uint64_t *)((char *)st + f->offset);
        if (!value)
            return pp_fail(err, PP_E_CORRUPT,
                           "the state %s has no \"%s\": it is incomplete; start without --resume", path,
                           f->name);
        const char *digits = f->type == DIGITS ? json_string_value(value) : NULL;
        char *end = NULL;
        errno = 0;
        if (digits && *digits >= '0' && *digits <= '9')
            *into = strtoull(digits, &end, 10);
        if (f->type == DIGITS ? !end || *end || errno
                              : !json_is_integer(value) || json_integer_value(value) < 0)
            return pp_fail(err, PP_E_CORRUPT,
                           "the state %s has a \"%s\" that is not a count; start without --resume", path,
                           f->name);
        if (f->type == COUNT)
            *into = (uint64_t)json_integer_value(value);
    }
    return PP_OK;
}

static pp_status read_state(json_t *root, const char *path, struct pp_loader_state *st, struct pp_err *err)
{
    json_t *stream = json_object_get(root, "stream"), *drop_last = json_object_get(root, "drop_last");
    const char *schema = json_string_value(json_object_get(root, "schema")),
               *name = json_string_value(json_object_get(root, "sampler"));
    int kind = 0;
    if (!schema || strncmp(schema, SCHEMA, strlen(SCHEMA)) != 0)
        return pp_fail(err, PP_E_CORRUPT,
                       "%s is JSON, but not a state saved by pipeprobe (no \"schema\" of \"" SCHEMA "...\")",
                       path);
    if (strcmp(schema + strlen(SCHEMA), VERSION) != 0)
        return pp_fail(err, PP_E_VERSION,
                       "the state %s has schema \"%.60s\" and this pipeprobe reads \"" SCHEMA VERSION
                       "\": resume with the version that wrote it",
                       path, schema);
    while (kind < PP_SAMPLER_KIND_COUNT &&
           (!name || strcmp(name, pp_sampler_kind_name((enum pp_sampler_kind)kind)) != 0))
        kind++;
    if (kind == PP_SAMPLER_KIND_COUNT)
        return pp_fail(err, PP_E_CORRUPT,
                       "the state %s names the sampler \"%.40s\", which is unknown; start without --resume",
                       path, name ? name : "");
    if (!json_is_boolean(drop_last))
        return pp_fail(err, PP_E_CORRUPT,
                       "the state %s has no \"drop_last\" of true or false; start without --resume", path);
    st->kind = (enum pp_sampler_kind)kind;
    st->drop_last = json_is_true(drop_last);
    st->streaming = stream != NULL;
    pp_status status = read_fields(root, path, run_fields, st, err);
    return status == PP_OK && stream ? read_fields(stream, path, stream_fields, st, err) : status;
}

pp_status pp_state_load(const char *path, struct pp_loader_state *st, struct pp_err *err)
{
    struct pp_io_file file = {.limit = 1 << 20}; /* a state is a few hundred bytes */
    json_t *root = NULL;
    json_error_t why;
    struct pp_loader_state loaded = {0};

    pp_status status = pp_io_read_file(AT_FDCWD, path, &file, err);
    if (status != PP_OK)
        goto out;
    if (file.size == 0) {
        status = pp_fail(err, PP_E_CORRUPT, "the state %s is empty; start without --resume", path);
        goto out;
    }
    root = json_loadb((const char *)file.buf, file.size, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        status = pp_fail(err, PP_E_CORRUPT,
                         "the state %s is truncated or is not JSON (line %d: %s); start without --resume",
                         path, why.line, why.text);
        goto out;
    }
    status = read_state(root, path, &loaded, err);
    if (status == PP_OK)
        *st = loaded;
out:
    json_decref(root);
    free(file.buf);
    return status;
}

/* ---- match ---- */

static pp_status differs(struct pp_err *err, const char *what, const char *saved, const char *asked)
{
    return pp_fail(
        err, PP_E_USAGE,
        "the saved run had %s %s and this one has %s, which gives another order: resume with %s, or start without --resume",
        what, saved, asked, saved);
}

pp_status pp_state_matches(const struct pp_loader_state *st, const struct pp_sampler_opts *opts,
                           struct pp_err *err)
{
    struct pp_loader_state now;
    pp_state_init(&now, opts);
    if (st->kind != now.kind)
        return differs(err, "the sampler", pp_sampler_kind_name(st->kind), pp_sampler_kind_name(now.kind));
    if (st->weights_digest && st->weights_digest != now.weights_digest)
        return pp_fail(err, PP_E_USAGE,
                       "the saved run used other %s (digest %016" PRIx64 ", now %016" PRIx64
                       "), which gives another order: resume with the same %s, or start without --resume",
                       now.kind == PP_SAMPLER_STRATIFIED ? "classes" : "weights", st->weights_digest,
                       now.weights_digest,
                       now.kind == PP_SAMPLER_STRATIFIED ? "classes" : "weights and draws");
    if (!st->drop_last != !now.drop_last)
        return differs(err, "drop-last", st->drop_last ? "on" : "off", now.drop_last ? "on" : "off");
    const struct {
        const char *what;
        uint64_t saved, asked;
    } counts[] = {
        {"a dataset length of", st->n, now.n},
        {"seed", st->seed, now.seed},
        {"rank", st->rank, now.rank},
        {"world size", st->world_size ? st->world_size : 1, now.world_size},
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char saved[24], asked[24];
        if (counts[i].saved == counts[i].asked)
            continue;
        snprintf(saved, sizeof(saved), "%" PRIu64, counts[i].saved);
        snprintf(asked, sizeof(asked), "%" PRIu64, counts[i].asked);
        return differs(err, counts[i].what, saved, asked);
    }
    if (!st->streaming && st->consumed > pp_sampler_len_of(opts))
        return pp_fail(err, PP_E_CORRUPT,
                       "the state says that %" PRIu64 " samples of epoch %" PRIu64
                       " were consumed, but an epoch of this rank has %" PRIu64 "; start without --resume",
                       st->consumed, st->epoch, pp_sampler_len_of(opts));
    return PP_OK;
}
