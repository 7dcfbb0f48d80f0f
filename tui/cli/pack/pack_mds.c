/* MDS shards: shard.00000.mds with the columns image and label, and their index.json. The offsets of a shard
 * stand before its samples, so the samples are held until the shard is full. */
#include "tui/cli/pack/pack_writer.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/json.h"

#define MOST_BYTES ((uint64_t)1 << 31) /* offsets are u32 */

struct shard {
    uint64_t bytes;
    uint32_t samples;
};

struct mds {
    struct pack_into into;
    const char *encoding; /* of the images: that of the first one */
    uint8_t *data;        /* of the samples at hand */
    size_t size, cap;
    uint32_t *at; /* where each begins in data */
    uint32_t samples;
    size_t at_cap;
    struct shard *shard; /* written */
    size_t shards, shard_cap;
};

static void put_columns(struct pp_json *j, const struct mds *m)
{
    pp_json_put_array(j, "column_names"), pp_json_str(j, "image"), pp_json_str(j, "label");
    pp_json_array_end(j);
    pp_json_put_array(j, "column_encodings"), pp_json_str(j, m->encoding), pp_json_str(j, "int");
    pp_json_array_end(j);
    pp_json_put_array(j, "column_sizes"), pp_json_null(j), pp_json_uint(j, 8);
    pp_json_array_end(j);
    pp_json_key(j, "compression"), pp_json_null(j);
    pp_json_put_str(j, "format", "mds");
    pp_json_put_array(j, "hashes"), pp_json_array_end(j);
    pp_json_put_uint(j, "size_limit", m->into.shard_bytes);
    pp_json_put_uint(j, "version", 2);
}

/* The file in one piece: head, offsets, the text of its columns, the samples. */
static pp_status write_shard(struct mds *m, struct pp_err *err)
{
    char path[PATH_MAX], *config = NULL;
    size_t config_size = 0, offsets = (size_t)m->samples + 1;
    struct pp_json j;
    FILE *text = open_memstream(&config, &config_size), *out = NULL;
    pp_status st = PP_OK;
    snprintf(path, sizeof(path), "%s/shard.%05zu.mds", m->into.dir, m->shards);
    if (text) {
        pp_json_begin(&j, text, 0);
        pp_json_object(&j);
        put_columns(&j, m);
        pp_json_object_end(&j);
        pp_json_end(&j);
        fclose(text);
    }
    if (!config || !pp_grow(&m->at, &m->at_cap, offsets, sizeof(*m->at)) ||
        !pp_grow(&m->shard, &m->shard_cap, m->shards + 1, sizeof(*m->shard))) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", path);
        goto out;
    }
    uint32_t first = (uint32_t)(4 + 4 * offsets + config_size);
    m->at[m->samples] = (uint32_t)m->size;
    for (size_t i = 0; i < offsets; i++)
        m->at[i] += first;
    out = fopen(path, "wxe");
    if (!out || fwrite(&m->samples, 4, 1, out) != 1 || fwrite(m->at, 4, offsets, out) != offsets ||
        fwrite(config, 1, config_size, out) != config_size || fwrite(m->data, 1, m->size, out) != m->size ||
        fflush(out) != 0)
        st = pp_fail_errno(err, errno, "cannot write %s", path);
    m->shard[m->shards++] = (struct shard){.bytes = first + m->size, .samples = m->samples};
    m->size = 0;
    m->samples = 0;
out:
    if (out && fclose(out) != 0 && st == PP_OK)
        st = pp_fail_errno(err, errno, "cannot write %s", path);
    free(config);
    return st;
}

static pp_status mds_add(void *state, const struct pack_sample *s, struct pp_err *err)
{
    struct mds *m = state;
    uint32_t size = (uint32_t)s->size;
    if (!m->encoding)
        m->encoding = strcmp(s->kind, "jpg") == 0 ? "jpeg" : strcmp(s->kind, "png") == 0 ? "png" : "bytes";
    if (s->size > MOST_BYTES / 2)
        return pp_fail(err, PP_E_UNSUPPORTED, "sample %llu has %zu bytes: a shard takes samples below 1 GiB",
                       (unsigned long long)s->number, s->size);
    if (!pp_grow(&m->data, &m->cap, m->size + s->size + 12, 1) ||
        !pp_grow(&m->at, &m->at_cap, (size_t)m->samples + 1, sizeof(*m->at)))
        return pp_fail(err, PP_E_NO_MEMORY,
                       "no memory for a shard of %zu bytes: choose a smaller --shard-size",
                       m->size + s->size);
    m->at[m->samples++] = (uint32_t)m->size;
    memcpy(m->data + m->size, &size, 4);
    memcpy(m->data + m->size + 4, s->data, s->size);
    memcpy(m->data + m->size + 4 + s->size, &s->label, 8);
    m->size += s->size + 12;
    const uint64_t most = m->into.shard_bytes < MOST_BYTES ? m->into.shard_bytes : MOST_BYTES;
    return m->size >= most ? write_shard(m, err) : PP_OK;
}

static pp_status mds_end(void *state, int failed, uint64_t *shards, struct pp_err *err)
{
    struct mds *m = state;
    pp_status st = PP_OK;
    if (!failed && m->samples > 0)
        st = write_shard(m, err);
    if (!failed && st == PP_OK) {
        char path[PATH_MAX], name[32], *text = NULL;
        size_t size = 0;
        struct pp_json j;
        FILE *out = open_memstream(&text, &size);
        if (!out) {
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory to write the index");
        } else {
            snprintf(path, sizeof(path), "%s/index.json", m->into.dir);
            pp_json_begin(&j, out, 0);
            pp_json_object(&j);
            pp_json_put_uint(&j, "version", 2);
            pp_json_put_array(&j, "shards");
            for (size_t i = 0; i < m->shards; i++) {
                snprintf(name, sizeof(name), "shard.%05zu.mds", i);
                pp_json_object(&j);
                put_columns(&j, m);
                pp_json_put_object(&j, "raw_data");
                pp_json_put_str(&j, "basename", name);
                pp_json_put_uint(&j, "bytes", m->shard[i].bytes);
                pp_json_put_object(&j, "hashes"), pp_json_object_end(&j);
                pp_json_object_end(&j);
                pp_json_put_uint(&j, "samples", m->shard[i].samples);
                pp_json_key(&j, "zip_data"), pp_json_null(&j);
                pp_json_object_end(&j);
            }
            pp_json_array_end(&j);
            pp_json_object_end(&j);
            int bad = pp_json_end(&j);
            bad |= fclose(out);
            st = bad ? pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", path)
                     : pp_io_write_atomic(path, text, size, err);
            free(text);
        }
    }
    *shards = m->shards;
    free(m->data);
    free(m->at);
    free(m->shard);
    return st;
}

const struct pack_format pack_mds = {.state_bytes = sizeof(struct mds), .add = mds_add, .end = mds_end};
