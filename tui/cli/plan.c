/* `pipeprobe plan`: which sample comes at which position of one (epoch, rank), before anything is read. */
#include "tui/cli/cli.h"
#include "tui/cli/plan_stream.h"

#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset.h"
#include "probe/dataset/options.h"
#include "probe/sampler/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

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

static int on_open_progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    char a[32], b[32];
    pp_text_count(a, sizeof(a), (double)done);
    if (total)
        pp_progress_line(ctx, "%s: %s of %s", what, a, pp_text_count(b, sizeof(b), (double)total));
    else
        pp_progress_line(ctx, "%s: %s", what, a);
    return 0;
}

static pp_status open_data(struct plan *p, const struct plan_opts *o, const char *path, struct pp_err *err)
{
    struct pp_progress progress;
    struct pp_dataset_opts d = {.spec = path,
                                .options = &o->formats,
                                .progress = on_open_progress,
                                .progress_ctx = &progress};
    const char *warning, *synthetic = o->formats.synthetic;
    pp_status st;

    if ((path != NULL) + (synthetic != NULL) + (o->n > 0) != 1)
        return pp_fail(err, PP_E_USAGE, "give one of DATASET, --synthetic SPEC and --n N; %s",
                       path || synthetic || o->n > 0 ? "not two" : "none is given");
    if (o->n > 0) {
        p->n = (uint64_t)o->n;
        return PP_OK;
    }
    pp_progress_begin(&progress, 0);
    st = pp_dataset_open(&d, &p->dataset, err);
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
    return st;
}

static pp_status choose_range(struct plan *p, const struct plan_opts *o, struct pp_err *err)
{
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

typedef void print_fn(struct plan *p, struct pp_json *json, uint64_t index);

/* printf would cost several times what drawing the index does, which shows in a plan of 1e9 lines. */
static char *put_decimal(char *end, uint64_t value)
{
    do
        *--end = (char)('0' + value % 10);
    while (value /= 10);
    return end;
}

static void print_line(struct plan *p, struct pp_json *json, uint64_t index)
{
    char digits[24], *end = digits + sizeof(digits), *begin;
    *--end = p->dataset ? '\t' : '\n';
    begin = put_decimal(end, index);
    fwrite_unlocked(begin, 1, (size_t)(end + 1 - begin), stdout);
    if (!p->dataset)
        return;
    const char *path = pp_dataset_path(p->dataset, index, p->path, sizeof(p->path));
    char *plain = pp_text_is_plain(path) ? NULL : pp_text_plain(path);
    fputs_unlocked(plain ? plain : path, stdout);
    putc_unlocked('\n', stdout);
    free(plain);
}

static void print_item(struct plan *p, struct pp_json *json, uint64_t index)
{
    pp_json_object(json);
    pp_json_key(json, "index"), pp_json_uint(json, index);
    if (p->dataset)
        pp_json_key(json, "path"),
            pp_json_str(json, pp_dataset_path(p->dataset, index, p->path, sizeof(p->path)));
    pp_json_object_end(json);
}

/* Stops early once stdout has failed; print_status finds out. */
static void print_samples(struct plan *p, struct pp_json *json, print_fn *print)
{
    uint64_t index[BLOCK];
    while (p->at < p->end && !ferror(stdout)) {
        size_t count = p->end - p->at < BLOCK ? (size_t)(p->end - p->at) : BLOCK;
        pp_order_fill(p->order, p->at, index, count);
        for (size_t i = 0; i < count; i++)
            print(p, json, index[i]);
        p->at += count;
    }
}

static void print_json(struct plan *p, const struct plan_opts *o)
{
    struct pp_json j;
    pp_json_begin(&j, stdout, 0);
    pp_json_object(&j);
    pp_json_key(&j, "schema"), pp_json_str(&j, "pipeprobe.plan/1");
    pp_json_key(&j, "sampler"), pp_json_str(&j, pp_sampler_kind_name((enum pp_sampler_kind)o->sampler));
    pp_json_key(&j, "n"), pp_json_uint(&j, p->n);
    pp_json_key(&j, "seed"), pp_json_int(&j, o->seed);
    pp_json_key(&j, "epoch"), pp_json_int(&j, o->epoch);
    pp_json_key(&j, "rank"), pp_json_int(&j, o->rank);
    pp_json_key(&j, "world_size"), pp_json_int(&j, o->world_size);
    pp_json_key(&j, "drop_last"), pp_json_bool(&j, o->drop_last);
    pp_json_key(&j, "rank_samples"), pp_json_uint(&j, pp_sampler_len(p->sampler));
    pp_json_key(&j, "start"), pp_json_uint(&j, p->at);
    pp_json_key(&j, "samples"), pp_json_array(&j);
    print_samples(p, &j, print_item);
    pp_json_array_end(&j);
    pp_json_object_end(&j);
    pp_json_end(&j);
}

/* A reader that has seen enough (`| head`) closes the pipe: that is no failure. */
static pp_status print_plan(struct plan *p, const struct plan_opts *o, struct pp_err *err)
{
    signal(SIGPIPE, SIG_IGN);
    errno = 0;
    if (o->json)
        print_json(p, o);
    else
        print_samples(p, NULL, print_line);
    if ((!ferror(stdout) && fflush(stdout) == 0) || errno == EPIPE)
        return PP_OK;
    return pp_fail_errno(err, errno ? errno : EIO, "the plan is incomplete: writing to stdout failed");
}

static int plan_main(int argc, char **argv)
{
    struct plan_opts o = {.limit = -1};
    struct pp_opt_set set = {.table = plan_opt_table, .fields = &o};
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    struct plan *p = calloc(1, sizeof(*p));
    struct pp_err err;
    int n_operands = 0, code;
    pp_status st = PP_OK;

    pp_err_clear(&err);
    if (!operands || !p) {
        pp_fail(&err, PP_E_NO_MEMORY, "no memory");
        code = pp_cli_fail(&pp_cmd_plan, &err);
        goto out;
    }
    if ((code = pp_cli_parse(&pp_cmd_plan, &set, argc, argv, operands, &n_operands)) >= 0)
        goto out;
    if (n_operands > 1)
        st = pp_fail(&err, PP_E_USAGE, "one dataset at a time: remove \"%s\"", operands[1]);
    int stream = o.formats.shards.stream;
    o.formats.shards.stream = 0; /* what is asked of a stream needs its index */
    if (st == PP_OK)
        st = open_data(p, &o, operands[0], &err);
    if (st == PP_OK && stream)
        st = pp_plan_stream(&(struct pp_plan_stream){.dataset = p->dataset,
                                                     .buffer = (uint64_t)o.formats.shards.shuffle_buffer,
                                                     .batch = (uint64_t)o.batch_size,
                                                     .world_size = (uint64_t)o.world_size,
                                                     .shuffle_shards = o.formats.shards.shuffle_shards,
                                                     .json = o.json},
                            &err);
    if (st == PP_OK && !stream)
        st = open_order(p, &o, &err);
    if (st == PP_OK && !stream)
        st = choose_range(p, &o, &err);
    if (st == PP_OK && !stream)
        st = print_plan(p, &o, &err);
    code = st == PP_OK ? 0 : pp_cli_fail(&pp_cmd_plan, &err);
out:
    if (p) {
        pp_order_destroy(p->order);
        pp_sampler_destroy(p->sampler);
        pp_dataset_close(p->dataset);
    }
    free(p);
    free(operands);
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
