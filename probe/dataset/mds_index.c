#include "probe/dataset/mds_index.h"
#include "probe/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { MOST_SHARDS = 1 << 20 };

struct parsing {
    const char *dir, *name; /* for paths and sentences */
    struct pp_mds_index *out;
    json_t *columns[3]; /* of the first shard: names, encodings, sizes */
};

static const char *const column_keys[] = {"column_names", "column_encodings", "column_sizes"};

static pp_status fail_memory(const struct parsing *p, struct pp_err *err)
{
    return pp_fail(err, PP_E_NO_MEMORY, "no memory for the index %s", p->name);
}

/* ---- columns ---- */

static pp_status read_columns(struct parsing *p, struct pp_err *err)
{
    size_t n = json_array_size(p->columns[0]);
    if (n == 0 || n > PP_MDS_COLUMNS || json_array_size(p->columns[1]) != n ||
        json_array_size(p->columns[2]) != n)
        return pp_fail(
            err, PP_E_CORRUPT,
            "%s is no index of MDS shards: it must have 1 to %d columns, each with an encoding and a size",
            p->name, PP_MDS_COLUMNS);
    p->out->column = calloc(n, sizeof(*p->out->column));
    if (!p->out->column)
        return fail_memory(p, err);
    p->out->columns = n;
    for (size_t i = 0; i < n; i++) {
        struct pp_mds_column *c = &p->out->column[i];
        const char *name = json_string_value(json_array_get(p->columns[0], i)),
                   *encoding = json_string_value(json_array_get(p->columns[1], i));
        json_int_t size = json_integer_value(json_array_get(p->columns[2], i));
        if (!name || !encoding || size < 0 || size > UINT32_MAX)
            return pp_fail(err, PP_E_CORRUPT, "%s: column %zu has no name, no encoding, or no size", p->name,
                           i);
        c->size = (uint32_t)size;
        if (!(c->name = strdup(name)) || !(c->encoding = strdup(encoding)))
            return fail_memory(p, err);
    }
    return PP_OK;
}

static pp_status check_columns(struct parsing *p, const json_t *shard, size_t i, struct pp_err *err)
{
    for (int k = 0; k < 3; k++) {
        json_t *value = json_object_get(shard, column_keys[k]);
        if (i == 0)
            p->columns[k] = value;
        else if (!json_equal(value, p->columns[k]))
            return pp_fail(
                err, PP_E_UNSUPPORTED,
                "%s: shard %zu has other columns than the first one: only shards of one kind are read",
                p->name, i);
    }
    return i == 0 ? read_columns(p, err) : PP_OK;
}

/* ---- shards ---- */

/* A file of the index: below its directory, whatever the index says. *out NULL: there is none. */
static pp_status read_file(const struct parsing *p, const json_t *file, char **out, struct pp_err *err)
{
    const char *name = json_string_value(json_object_get(file, "basename"));
    *out = NULL;
    if (!name)
        return PP_OK;
    if (!name[0] || name[0] == '/' || strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 ||
        strstr(name, "/../") || (strlen(name) >= 3 && strcmp(name + strlen(name) - 3, "/..") == 0))
        return pp_fail(err, PP_E_UNSUPPORTED, "%s names a shard outside of its directory", p->name);
    return asprintf(out, "%s/%s", p->dir, name) < 0 ? (*out = NULL, fail_memory(p, err)) : PP_OK;
}

static pp_status read_shard(struct parsing *p, const json_t *json, size_t i, struct pp_err *err)
{
    struct pp_mds_shard *s = &p->out->shard[i];
    const char *format = json_string_value(json_object_get(json, "format"));
    const json_t *raw = json_object_get(json, "raw_data");
    json_int_t samples = json_integer_value(json_object_get(json, "samples")),
               bytes = json_integer_value(json_object_get(raw, "bytes"));
    if (!format || strcmp(format, "mds") != 0)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s: shard %zu has the format %.20s: \"mds\" is read", p->name,
                       i, format ? format : "of no name");
    pp_status st = read_file(p, raw, &s->raw, err);
    if (st == PP_OK)
        st = read_file(p, json_object_get(json, "zip_data"), &s->packed, err);
    if (st == PP_OK && (!s->raw || samples < 0 || samples > UINT32_MAX / 4 - 2 || bytes < (samples + 2) * 4 ||
                        bytes > UINT32_MAX))
        st = pp_fail(err, PP_E_CORRUPT,
                     "%s: shard %zu has no name, no samples, or no size that could hold them", p->name, i);
    if (st != PP_OK)
        return st;
    s->samples = (uint32_t)samples;
    s->bytes = (uint64_t)bytes;
    s->first = p->out->samples;
    s->begin = p->out->bytes;
    p->out->samples += s->samples;
    p->out->bytes += s->bytes;
    return check_columns(p, json, i, err);
}

static pp_status read_root(struct parsing *p, const json_t *root, struct pp_err *err)
{
    const json_t *shards = json_object_get(root, "shards");
    json_int_t version = json_integer_value(json_object_get(root, "version"));
    size_t n = json_array_size(shards);
    if (!shards)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s is no index of MDS shards", p->name);
    if (version != 2)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s has version %lld: version 2 is read", p->name,
                       (long long)version);
    if (n == 0 || n > MOST_SHARDS)
        return pp_fail(err, n ? PP_E_UNSUPPORTED : PP_E_EMPTY, "%s lists %zu shards, of at most %d", p->name,
                       n, MOST_SHARDS);
    p->out->shard = calloc(n, sizeof(*p->out->shard));
    if (!p->out->shard)
        return fail_memory(p, err);
    p->out->shards = n;
    pp_status st = PP_OK;
    for (size_t i = 0; st == PP_OK && i < n; i++)
        st = read_shard(p, json_array_get(shards, i), i, err);
    return st;
}

pp_status pp_mds_index_parse(const uint8_t *text, size_t size, const char *dir, const char *name,
                             struct pp_mds_index *out, struct pp_err *err)
{
    struct parsing p = {.dir = dir, .name = name, .out = out};
    json_error_t why;
    *out = (struct pp_mds_index){0};
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        return pp_fail(err, PP_E_CORRUPT, "%s is not JSON: line %d: %s", name, why.line, why.text);
    pp_status st = read_root(&p, root, err);
    json_decref(root);
    return st;
}

void pp_mds_index_free(struct pp_mds_index *index)
{
    for (size_t i = 0; index->column && i < index->columns; i++) {
        free(index->column[i].name);
        free(index->column[i].encoding);
    }
    for (size_t i = 0; index->shard && i < index->shards; i++) {
        free(index->shard[i].raw);
        free(index->shard[i].packed);
    }
    free(index->column);
    free(index->shard);
    *index = (struct pp_mds_index){0};
}

/* ---- samples ---- */

static uint32_t little_32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

int pp_mds_split(const struct pp_mds_index *index, const uint8_t *sample, size_t size,
                 struct pp_mds_part *part)
{
    size_t sizes = 0, at;
    for (size_t i = 0; i < index->columns; i++)
        sizes += index->column[i].size == 0 ? 4 : 0;
    if (sizes > size)
        return -1;
    at = sizes;
    sizes = 0;
    for (size_t i = 0; i < index->columns; i++) {
        size_t n = index->column[i].size;
        if (n == 0) {
            n = little_32(sample + sizes);
            sizes += 4;
        }
        if (n > size - at)
            return -1;
        part[i] = (struct pp_mds_part){sample + at, n};
        at += n;
    }
    return 0;
}
