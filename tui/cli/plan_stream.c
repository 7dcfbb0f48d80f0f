#include "tui/cli/plan_stream.h"

#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/sampler/shuffle_quality.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { CELL = 32 };

static double sample_bytes(const struct pp_dataset *d)
{
    double bytes = 0;
    struct stat st;
    for (uint64_t i = 0; i < pp_shards_count(d); i++) {
        if (stat(pp_shards_path(d, i), &st) != 0)
            return NAN;
        bytes += (double)st.st_size;
    }
    return bytes / (double)pp_dataset_len(d);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Mean run of one class in the stored order, and the chance that two random samples are of the same; NAN
 * where the shards have no labels. */
static pp_status read_classes(const struct pp_dataset *d, struct pp_shuffle_setup *s, struct pp_err *err)
{
    int64_t *label;
    double n = (double)pp_dataset_len(d), runs = 1, same = 0, count = 0;
    pp_status st = pp_dataset_labels(d, &label, err);
    s->class_run = s->class_same = NAN;
    if (st != PP_OK)
        return st == PP_E_UNSUPPORTED ? PP_OK : st;
    for (uint64_t i = 1; i < pp_dataset_len(d); i++)
        runs += label[i] != label[i - 1];
    qsort(label, pp_dataset_len(d), sizeof(*label), by_value);
    for (uint64_t i = 0; i < pp_dataset_len(d); i++) {
        count++;
        if (i + 1 == pp_dataset_len(d) || label[i] != label[i + 1]) {
            same += count / n * (count / n);
            count = 0;
        }
    }
    free(label);
    s->class_run = n / runs;
    s->class_same = same;
    return PP_OK;
}

static void put_number(struct pp_json *j, const char *key, double v)
{
    pp_json_key(j, key);
    if (isnan(v))
        pp_json_null(j);
    else
        pp_json_num(j, v);
}

static void print_json(const struct pp_shuffle_setup *s, const struct pp_shuffle_quality *q, double bytes)
{
    const struct {
        const char *key;
        double value;
    } rows[] = {{"samples", s->samples},
                {"shards", s->shards},
                {"batch_size", s->batch},
                {"shuffle_buffer", s->buffer},
                {"most_places", q->most_places},
                {"mean_places", q->spread_places},
                {"own_shard_samples", q->own_shard},
                {"own_shard_samples_full", q->full_own_shard},
                {"class_run", q->class_run},
                {"class_run_full", q->full_class_run},
                {"buffer_bytes", fmin(s->buffer, s->samples) * bytes},
                {"enough_buffer", q->enough_buffer},
                {"enough_buffer_bytes", q->enough_buffer * bytes}};
    struct pp_json j;
    pp_json_begin(&j, stdout, 2);
    pp_json_object(&j);
    pp_json_key(&j, "schema"), pp_json_str(&j, "pipeprobe.shuffle/1");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        put_number(&j, rows[i].key, rows[i].value);
    pp_json_object_end(&j);
    pp_json_end(&j);
}

static void print_text(const struct pp_shuffle_setup *s, const struct pp_shuffle_quality *q, double bytes)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    printf("%s in %s per rank, a shuffle buffer of %s, batches of %s\n\n",
           pp_text_counted(a, CELL, s->samples, "sample", "samples"),
           pp_text_counted(b, CELL, s->shards, "shard", "shards"), pp_text_count(c, CELL, s->buffer),
           pp_text_count(d, CELL, s->batch));
    printf("%-42s %12s %14s\n", "", "this stream", "full shuffle");
    printf("%-42s %12s %14s\n", "places from the stored one, at most", pp_text_count(a, CELL, q->most_places),
           pp_text_count(b, CELL, s->samples - 1));
    printf("%-42s %12s %14s\n", "  on average", pp_text_count(a, CELL, q->spread_places),
           pp_text_count(b, CELL, s->samples / 3));
    printf("%-42s %12.1f %14.1f\n", "others of a sample's shard in its batch", q->own_shard,
           q->full_own_shard);
    if (!isnan(q->class_run))
        printf("%-42s %12.2f %14.2f\n", "samples of one class in a row", q->class_run, q->full_class_run);
    printf("%-42s %12s %14s\n", "memory of the buffer, read before batch 0",
           pp_text_bytes(a, CELL, fmin(s->buffer, s->samples) * bytes),
           pp_text_bytes(b, CELL, s->samples * bytes));
    if (q->enough_buffer <= s->buffer)
        printf(
            "\nThe buffer is enough: less than one other sample of the own shard more than a full shuffle.\n");
    else
        printf(
            "\nA buffer of %s samples is enough (%s, read before the first batch): less than one other sample of "
            "the\nown shard more than a full shuffle. Without --stream, the order is a full shuffle.\n",
            pp_text_count(a, CELL, q->enough_buffer), pp_text_bytes(b, CELL, q->enough_buffer * bytes));
}

pp_status pp_plan_stream(const struct pp_plan_stream *p, struct pp_err *err)
{
    struct pp_shuffle_setup s = {.buffer = (double)p->buffer, .batch = (double)p->batch};
    struct pp_shuffle_quality q;
    if (!p->dataset || !pp_dataset_streams(p->dataset) || !pp_dataset_len(p->dataset))
        return pp_fail(err, PP_E_USAGE, "--stream is for tar shards; leave it out");
    double shards = (double)pp_shards_count(p->dataset), world = (double)p->world_size;
    if (shards < world)
        return pp_fail(err, PP_E_USAGE,
                       "%.0f shards are too few for %.0f ranks: use fewer ranks or more shards", shards,
                       world);
    pp_status st = read_classes(p->dataset, &s, err);
    if (st != PP_OK)
        return st;
    s.samples = (double)pp_dataset_len(p->dataset) / world;
    s.shards = shards / world;
    pp_shuffle_quality(&s, &q);
    errno = 0;
    (p->json ? print_json : print_text)(&s, &q, sample_bytes(p->dataset));
    if (!p->json && !p->shuffle_shards)
        printf("The shards come in the same order in every epoch (--no-shuffle-shards).\n");
    return fflush(stdout) == 0 || errno == EPIPE
               ? PP_OK
               : pp_fail_errno(err, errno ? errno : EIO, "writing to stdout failed");
}
