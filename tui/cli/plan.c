/* `pipeprobe plan`: which sample comes at which position of one (epoch, rank), before anything is read. */
#include "tui/cli/cli.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/dataset/options.h"
#include "probe/sampler/sampler.h"
#include "probe/sampler/shuffle_quality.h"
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>

#define BLOCK 1024     /* positions drawn at a time */
#define PATH_SIZE 4352 /* the longest path and a shard's key */
#define MANY 9e15

struct plan_opts {
    struct pp_dataset_options formats;
    const char *weights, *classes;
    int64_t n;
    int sampler, drop_last, json;
    int64_t seed, epoch, rank, world_size, start, limit, batch_size;
};

const struct pp_opt_choice pp_cli_samplers[] = {
    {"sequential", "dataset order"},
    {"random", "a new permutation every epoch, in O(1) memory"},
    {"torch", "exactly the order of PyTorch's DistributedSampler"},
    {"weighted", "with replacement, by --weights"},
    {"stratified", "classes in proportion in every batch"},
    {NULL, NULL},
};

#define AT(field) offsetof(struct plan_opts, field)

/* clang-format off */
static const struct pp_opt count_row = {
    .name = "n", .letter = 'n', .type = PP_OPT_INT, .offset = AT(n), .min = 1, .max = (double)PP_SAMPLER_MAX_N,
    .arg = "N", .help = "no data: N samples, indexes only"};
static const struct pp_opt own_rows[] = {
    {.name = "sampler", .type = PP_OPT_CHOICE, .offset = AT(sampler), .choices = pp_cli_samplers,
     .arg = "KIND", .dflt = "random", .group = "Order", .help = "sequential, random, torch, weighted or stratified"},
    {.name = "weights", .type = PP_OPT_STRING, .offset = AT(weights), .arg = "FILE",
     .help = "one weight per sample, for --sampler weighted"},
    {.name = "classes", .type = PP_OPT_STRING, .offset = AT(classes), .arg = "FILE",
     .help = "one class per sample, for --sampler stratified (default: the labels)"},
    {.name = "seed", .type = PP_OPT_INT, .offset = AT(seed), .min = 0, .max = MANY, .arg = "N", .dflt = "0",
     .help = "seed of the order"},
    {.name = "epoch", .type = PP_OPT_INT, .offset = AT(epoch), .min = 0, .max = MANY, .arg = "E", .dflt = "0",
     .help = "epoch number, from 0"},
    {.name = "rank", .type = PP_OPT_INT, .offset = AT(rank), .min = 0, .max = 1e6, .arg = "R", .dflt = "0",
     .help = "this rank of --world-size"},
    {.name = "world-size", .type = PP_OPT_INT, .offset = AT(world_size), .min = 1, .max = 1e6, .arg = "W",
     .dflt = "1", .help = "ranks that share an epoch"},
    {.name = "drop-last", .type = PP_OPT_FLAG, .offset = AT(drop_last), .dflt = "0",
     .help = "cut the epoch to a multiple of W instead of padding it"},

    {.name = "batch-size", .letter = 'b', .type = PP_OPT_INT, .offset = AT(batch_size), .min = 1, .max = 1e6,
     .arg = "N", .dflt = "64", .help = "samples per batch (--stream)"},

    {.name = "start", .type = PP_OPT_INT, .offset = AT(start), .min = 0, .max = MANY, .arg = "P", .dflt = "0",
     .group = "Output", .help = "start at position P, like a resumed run"},
    {.name = "limit", .type = PP_OPT_INT, .offset = AT(limit), .min = 0, .max = MANY, .arg = "N",
     .help = "print N positions (default: to the end of the epoch)"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .dflt = "0",
     .help = "one JSON document instead of lines"},
    {.name = NULL},
};
/* clang-format on */

static struct pp_opt plan_opt_table[PP_OPTS_MAX + 1];

/* Before main: --help, completion and the manual page read the table too. The first format is the one that
 * makes its data; all rows fit one screen. */
__attribute__((constructor)) static void make_table(void)
{
    struct pp_opt *end = pp_dataset_options_rows(plan_opt_table, 0, 0, 0, AT(formats));
    plan_opt_table[0].help = "generated images instead of DATASET: n=10000,size=500x375";
    *end++ = count_row;
    end = pp_dataset_options_rows(end, 1, SIZE_MAX, 1, AT(formats));
    for (struct pp_opt *o = plan_opt_table; o < end; o++)
        o->advanced = 0;
    memcpy(end, own_rows, sizeof(own_rows));
}

/* What is printed: positions [at, end) of order, with paths where there is a dataset. */
struct plan {
    struct pp_dataset *dataset; /* NULL with --n */
    struct pp_sampler *sampler;
    struct pp_order *order;
    uint64_t n, at, end;
    char path[PATH_SIZE];
};

/* ---- open ---- */

pp_status pp_cli_classes(const char *path, const struct pp_dataset *d, uint64_t n, int64_t **out,
                         struct pp_err *err)
{
    *out = NULL;
    if (path)
        return pp_classes_load(path, n, out, err);
    return d ? pp_dataset_labels(d, out, err)
             : pp_fail(err, PP_E_USAGE, "--sampler stratified without data needs --classes FILE");
}

static pp_status open_data(struct plan *p, const struct plan_opts *o, const char *path, struct pp_err *err)
{
    struct pp_progress progress;
    struct pp_dataset_opts d = {.spec = path,
                                .options = &o->formats,
                                .progress = pp_progress_opening,
                                .progress_ctx = &progress};
    const char *warning, *synthetic = o->formats.synthetic;

    if ((path != NULL) + (synthetic != NULL) + (o->n > 0) != 1)
        return pp_fail(err, PP_E_USAGE, "give one of DATASET, --synthetic SPEC and --n N; %s",
                       path || synthetic || o->n > 0 ? "not two" : "none is given");
    if (o->n > 0) {
        p->n = (uint64_t)o->n;
        return PP_OK;
    }
    pp_progress_begin(&progress, 0);
    pp_status st = pp_dataset_open(&d, &p->dataset, err);
    pp_progress_clear(&progress);
    if (st != PP_OK)
        return st;
    for (size_t i = 0; (warning = pp_dataset_warning(p->dataset, i)); i++)
        pp_cli_note("warning", warning);
    p->n = pp_dataset_len(p->dataset);
    return PP_OK;
}

static pp_status open_order(struct plan *p, const struct plan_opts *o, struct pp_err *err)
{
    struct pp_sampler_opts s = {.kind = (enum pp_sampler_kind)o->sampler,
                                .n = p->n,
                                .seed = (uint64_t)o->seed,
                                .rank = (uint64_t)o->rank,
                                .world_size = (uint64_t)o->world_size,
                                .drop_last = o->drop_last};
    double *weights = NULL;
    int64_t *classes = NULL;
    pp_status st = PP_OK;

    if ((s.kind == PP_SAMPLER_WEIGHTED) != (o->weights != NULL))
        return pp_fail(err, PP_E_USAGE, "--sampler weighted and --weights FILE go together");
    if (o->classes && s.kind != PP_SAMPLER_STRATIFIED)
        return pp_fail(err, PP_E_USAGE, "--classes FILE goes with --sampler stratified");
    if (o->weights)
        st = pp_weights_load(o->weights, p->n, &weights, err);
    if (st == PP_OK && s.kind == PP_SAMPLER_STRATIFIED)
        st = pp_cli_classes(o->classes, p->dataset, p->n, &classes, err);
    s.weights = weights;
    s.classes = classes;
    if (st == PP_OK)
        st = pp_sampler_create(&s, &p->sampler, err);
    if (st == PP_OK)
        st = pp_order_create(p->sampler, (uint64_t)o->epoch, &p->order, err);
    free(weights);
    free(classes);
    if (st != PP_OK)
        return st;
    uint64_t len = pp_sampler_len(p->sampler), left;
    if ((uint64_t)o->start > len)
        return pp_fail(err, PP_E_USAGE,
                       "--start %" PRId64 " is beyond the %" PRIu64 " samples that this rank has in an epoch",
                       o->start, len);
    p->at = (uint64_t)o->start;
    left = len - p->at;
    p->end = p->at + (o->limit >= 0 && (uint64_t)o->limit < left ? (uint64_t)o->limit : left);
    return PP_OK;
}

/* ---- print ---- */

/* As lines, or as a document. Stops early once stdout has failed, which the caller finds out. */
static void print_samples(struct plan *p, const struct plan_opts *o)
{
    uint64_t index[BLOCK];
    char digits[24], *end = digits + sizeof(digits);
    struct pp_json j;
    if (o->json) {
        pp_json_begin(&j, stdout, 0);
        pp_json_object(&j);
        pp_json_put_str(&j, "schema", "pipeprobe.plan/1");
        pp_json_put_str(&j, "sampler", pp_sampler_kind_name((enum pp_sampler_kind)o->sampler));
        pp_json_put_uint(&j, "n", p->n);
        pp_json_put_int(&j, "seed", o->seed);
        pp_json_put_int(&j, "epoch", o->epoch);
        pp_json_put_int(&j, "rank", o->rank);
        pp_json_put_int(&j, "world_size", o->world_size);
        pp_json_put_bool(&j, "drop_last", o->drop_last);
        pp_json_put_uint(&j, "rank_samples", pp_sampler_len(p->sampler));
        pp_json_put_uint(&j, "start", p->at);
        pp_json_put_array(&j, "samples");
    }
    while (p->at < p->end && !ferror(stdout)) {
        size_t count = p->end - p->at < BLOCK ? (size_t)(p->end - p->at) : BLOCK;
        pp_order_fill(p->order, p->at, index, count);
        for (size_t i = 0; i < count; i++) {
            const char *path = p->dataset ? pp_dataset_path(p->dataset, index[i], p->path, sizeof(p->path))
                                          : NULL;
            if (o->json) {
                pp_json_object(&j);
                pp_json_put_uint(&j, "index", index[i]);
                if (path)
                    pp_json_put_str(&j, "path", path);
                pp_json_object_end(&j);
                continue;
            }
            /* printf would cost several times what drawing the index does, which shows in a plan of 1e9
             * lines. */
            char *begin = end - 1, *plain = path && !pp_text_is_plain(path) ? pp_text_plain(path) : NULL;
            *begin = path ? '\t' : '\n';
            for (uint64_t rest = index[i], first = 1; first || rest; rest /= 10, first = 0)
                *--begin = (char)('0' + rest % 10);
            fwrite_unlocked(begin, 1, (size_t)(end - begin), stdout);
            if (path) {
                fputs_unlocked(plain ? plain : path, stdout);
                putc_unlocked('\n', stdout);
            }
            free(plain);
        }
        p->at += count;
    }
    if (o->json) {
        pp_json_array_end(&j);
        pp_json_object_end(&j);
        pp_json_end(&j);
    }
}

/* ---- --stream ---- */

enum { CELL = 32 };

static void print_quality(const struct plan_opts *o, const struct pp_shuffle_setup *s,
                          const struct pp_shuffle_quality *q, double bytes)
{
    char a[CELL], b[CELL], c[CELL], d[CELL];
    struct pp_json j;
    if (o->json) {
        pp_json_begin(&j, stdout, 2);
        pp_json_object(&j);
        pp_json_put_str(&j, "schema", "pipeprobe.shuffle/1");
        pp_json_put_num(&j, "samples", s->samples);
        pp_json_put_num(&j, "shards", s->shards);
        pp_json_put_num(&j, "batch_size", s->batch);
        pp_json_put_num(&j, "shuffle_buffer", s->buffer);
        pp_json_put_num(&j, "most_places", q->most_places);
        pp_json_put_num(&j, "mean_places", q->spread_places);
        pp_json_put_num(&j, "own_shard_samples", q->own_shard);
        pp_json_put_num(&j, "own_shard_samples_full", q->full_own_shard);
        pp_json_put_num(&j, "class_run", q->class_run);
        pp_json_put_num(&j, "class_run_full", q->full_class_run);
        pp_json_put_num(&j, "buffer_bytes", fmin(s->buffer, s->samples) * bytes);
        pp_json_put_num(&j, "enough_buffer", q->enough_buffer);
        pp_json_put_num(&j, "enough_buffer_bytes", q->enough_buffer * bytes);
        pp_json_object_end(&j);
        pp_json_end(&j);
        return;
    }
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
    if (!o->formats.shards.shuffle_shards)
        printf("The shards come in the same order in every epoch (--no-shuffle-shards).\n");
}

/* How good the shuffle of a streamed epoch will be, before anything is read. */
static pp_status print_shuffle(const struct plan *p, const struct plan_opts *o, struct pp_err *err)
{
    const struct pp_dataset *d = p->dataset;
    struct pp_shuffle_setup s = {.buffer = (double)o->formats.shards.shuffle_buffer,
                                 .batch = (double)o->batch_size,
                                 .class_run = NAN,
                                 .class_same = NAN};
    struct pp_shuffle_quality q;
    struct stat info;
    double bytes = 0; /* of all shards; NAN: not of all */
    if (!d || !pp_dataset_streams(d) || !pp_dataset_len(d))
        return pp_fail(err, PP_E_USAGE, "--stream is for tar shards; leave it out");
    double shards = (double)pp_shards_of(d)->n, world = (double)o->world_size;
    if (shards < world)
        return pp_fail(err, PP_E_USAGE,
                       "%.0f shards are too few for %.0f ranks: use fewer ranks or more shards", shards,
                       world);
    /* Mean run of one class in the stored order, and the chance that two random samples are of the same; NAN
     * where the shards have no labels. */
    int64_t *label;
    double n = (double)pp_dataset_len(d), runs = 1, same = 0, count = 0;
    pp_status st = pp_dataset_labels(d, &label, err);
    if (st != PP_OK && st != PP_E_UNSUPPORTED)
        return st;
    if (st == PP_OK) {
        for (uint64_t i = 1; i < pp_dataset_len(d); i++)
            runs += label[i] != label[i - 1];
        qsort(label, pp_dataset_len(d), sizeof(*label), pp_by_i64);
        for (uint64_t i = 0; i < pp_dataset_len(d); i++) {
            count++;
            if (i + 1 == pp_dataset_len(d) || label[i] != label[i + 1]) {
                same += count / n * (count / n);
                count = 0;
            }
        }
        free(label);
        s.class_run = n / runs;
        s.class_same = same;
    }
    s.samples = (double)pp_dataset_len(d) / world;
    s.shards = shards / world;
    pp_shuffle_quality(&s, &q);
    for (uint64_t i = 0; i < pp_shards_of(d)->n; i++)
        bytes += stat(pp_shards_of(d)->path[i], &info) == 0 ? (double)info.st_size : NAN;
    errno = 0;
    print_quality(o, &s, &q, bytes / (double)pp_dataset_len(d));
    return fflush(stdout) == 0 || errno == EPIPE
               ? PP_OK
               : pp_fail_errno(err, errno ? errno : EIO, "writing to stdout failed");
}

static int plan_main(int argc, char **argv)
{
    struct plan_opts o = {.limit = -1};
    struct pp_opt_set set = {.table = plan_opt_table, .fields = &o};
    struct plan *p = calloc(1, sizeof(*p));
    struct pp_err err;
    const char **operands = (const char **)argv;
    int n, code = pp_cli_parse(&pp_cmd_plan, &set, argc, argv, operands, &n);
    pp_status st = p ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory");
    if (code >= 0)
        goto out;
    if (st == PP_OK && n > 1)
        st = pp_fail(&err, PP_E_USAGE, "one dataset at a time: remove \"%s\"", operands[1]);
    int stream = o.formats.shards.stream;
    o.formats.shards.stream = 0; /* what is asked of a stream needs its index */
    if (st == PP_OK)
        st = open_data(p, &o, operands[0], &err);
    if (st == PP_OK && stream)
        st = print_shuffle(p, &o, &err);
    if (st == PP_OK && !stream)
        st = open_order(p, &o, &err);
    if (st == PP_OK && !stream) {
        /* A reader that has seen enough (`| head`) closes the pipe: that is no failure. */
        signal(SIGPIPE, SIG_IGN);
        errno = 0;
        print_samples(p, &o);
        if ((!ferror(stdout) && fflush(stdout) == 0) || errno == EPIPE)
            st = PP_OK;
        else
            st = pp_fail_errno(&err, errno ? errno : EIO, "the plan is incomplete: writing to stdout failed");
    }
    code = st == PP_OK ? 0 : pp_cli_fail(&pp_cmd_plan, &err);
out:
    if (p) {
        pp_order_destroy(p->order);
        pp_sampler_destroy(p->sampler);
        pp_dataset_close(p->dataset);
    }
    free(p);
    return code;
}

const struct pp_command pp_cmd_plan = {
    .name = "plan",
    .summary = "print the sample order of an epoch, or how good a stream shuffles",
    .usage = "plan DATASET [options]   or   plan --n N [options]",
    .opts = plan_opt_table,
    .notes = "One line per position: the sample's index, a tab and its path (the index alone\n"
             "with --n). Control characters of a path are shown as \\n, \\x1b; --json has the\n"
             "exact name. `pipeprobe run` with the same options delivers this order, with any\n"
             "number of workers. With --stream: how good the shuffle will be, in place of the\n"
             "order.",
    .examples = {"pipeprobe plan ~/imagenet/train --sampler torch --rank 2 --world-size 8",
                 "pipeprobe plan --n 1281167 --sampler torch --limit 10"},
    .run = plan_main,
};
