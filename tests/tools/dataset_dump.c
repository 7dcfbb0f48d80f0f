/* dataset_dump SPEC [--stream] [--window N] [--feature NAME]: the samples of a data set in their order, for
 * comparison with other readers. Per sample on stdout: i64 label, u64 size, the bytes. A failure ends it with
 * its sentence.
 */
#include "probe/dataset/dataset.h"
#include "probe/dataset/options.h"

#include <pipeprobe/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(const struct pp_sample *s)
{
    uint64_t size = s->size;
    fwrite(&s->label, sizeof(s->label), 1, stdout);
    fwrite(&size, sizeof(size), 1, stdout);
    fwrite(s->data, 1, s->size, stdout);
}

static pp_status dump_stream(const struct pp_dataset *d, struct pp_sample *s, struct pp_err *err)
{
    struct pp_stream *st;
    pp_status status = pp_stream_open(d, &(struct pp_stream_opts){0}, &st, err);
    if (status != PP_OK)
        return status;
    while ((status = pp_stream_next(st, s, NULL, 0, err)) == PP_OK)
        put(s);
    pp_stream_close(st);
    return status == PP_END ? PP_OK : status;
}

static pp_status dump_all(const struct pp_dataset *d, struct pp_sample *s, struct pp_err *err)
{
    pp_status status = PP_OK;
    for (uint64_t i = 0; status == PP_OK && i < pp_dataset_len(d); i++) {
        status = pp_dataset_read(d, i, s, err);
        if (status == PP_OK)
            put(s);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct pp_dataset_options o = {0};
    struct pp_dataset *d = NULL;
    struct pp_sample s = {0};
    struct pp_err err = {0};
    int stream = 0;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--stream") == 0)
            stream = o.shards.stream = 1;
        else if (strcmp(argv[i], "--window") == 0 && i + 1 < argc)
            o.tokens.window = atoll(argv[++i]);
        else if (strcmp(argv[i], "--feature") == 0 && i + 1 < argc)
            o.feature = argv[++i];
    }
    pp_status st = pp_dataset_open(&(struct pp_dataset_opts){.spec = argc > 1 ? argv[1] : "", .options = &o},
                                   &d, &err);
    if (st == PP_OK)
        st = stream ? dump_stream(d, &s, &err) : dump_all(d, &s, &err);
    if (st != PP_OK)
        fprintf(stderr, "dataset_dump: %s\n", err.text);
    pp_sample_free(&s);
    pp_dataset_close(d);
    return st != PP_OK || fflush(stdout) != 0;
}
