/* make_dataset: writes a data set to measure loaders with: JPEGs that weigh what real ones weigh (mean
 * 480x400, 100 KB, 4 bits per pixel, the usual mix of kinds), as class folders or WebDataset shards, or a
 * token file. The same seed gives the same bytes. */
#include "probe/base/err.h"
#include "samples/dataset/encode.h"
#include "samples/dataset/extras.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "Usage: make_dataset OUT_DIR [options]\n"
    "       make_dataset --tokens FILE [--n N] [--seed S]\n"
    "\n"
    "  --n N          images (200), or tokens (1,000,000)\n"
    "  --seed S       the same seed gives the same bytes (1)\n"
    "  --classes C    class folders, or labels in shards (10)\n"
    "  --size WxH     mean size in pixels (478x402)\n"
    "  --skewed       every 16th image has 100 times the pixels\n"
    "  --odd          adds one file of every damage seen in real sets, class_000/odd_*.jpg\n"
    "  --tar SHARDS   writes that many WebDataset shards, shard-NNNNNN.tar, instead of folders\n"
    "  --tokens FILE  writes uint16 tokens: .npy, or raw for any other name\n"
    "  --threads T    (one per CPU)\n"
    "\n"
    "Examples:\n"
    "  make_dataset /tmp/images --n 3000 --classes 100\n"
    "  make_dataset /tmp/shards --n 1000 --tar 10 --seed 7\n";

struct options {
    const char *out_dir, *tokens;
    uint64_t n, shards, threads;
    int odd;
    struct plan_opts plan;
};

struct job {
    const struct options *opts;
    const struct picture_field *field;
    atomic_ulong next;  /* image, or shard with --tar */
    atomic_ulong bytes; /* of JPEG written */
    atomic_ulong kinds[KIND_COUNT];
    atomic_int failed;
    pthread_mutex_t lock; /* guards err: the first failure's sentence */
    struct pp_err err;
};

pp_status write_file(const char *path, const void *data, size_t size, struct pp_err *err)
{
    unlink(path); /* a file of mode 0 from an earlier run would refuse to be opened */
    FILE *f = fopen(path, "wb");
    if (!f)
        return pp_fail_errno(err, errno, "cannot create %s", path);
    int ok = fwrite(data, 1, size, f) == size;
    if (fclose(f) != 0 || !ok)
        return pp_fail_errno(err, errno, "cannot write %s", path);
    return PP_OK;
}

pp_status make_sample(const struct picture_field *f, const struct plan_opts *opts, uint64_t index,
                      struct sample_plan *plan, uint8_t **data, size_t *size, struct pp_err *err)
{
    sample_plan(opts, index, plan);
    uint8_t *rgb = malloc((size_t)plan->width * (size_t)plan->height * 3);
    *data = NULL;
    if (rgb) {
        picture_draw(f, opts->seed, index, plan->width, plan->height, rgb);
        *data = encode_jpeg(plan, rgb, size);
    }
    free(rgb);
    return *data ? PP_OK
                 : pp_fail(err, PP_E_NO_MEMORY, "no memory for an image of %dx%d pixels", plan->width,
                           plan->height);
}

static pp_status write_image(struct job *j, uint64_t index, struct pp_err *err)
{
    struct sample_plan plan;
    uint8_t *data;
    size_t size;
    char path[4096];
    pp_status s = make_sample(j->field, &j->opts->plan, index, &plan, &data, &size, err);
    if (s)
        return s;
    snprintf(path, sizeof path, "%s/class_%03llu/img_%06llu.jpg", j->opts->out_dir,
             (unsigned long long)plan.cls, (unsigned long long)index);
    s = write_file(path, data, size, err);
    free(data);
    atomic_fetch_add(&j->bytes, size);
    return s;
}

static pp_status write_shard_number(struct job *j, uint64_t shard, struct pp_err *err)
{
    const struct options *o = j->opts;
    char path[4096];
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "%s/shard-%06llu.tar", o->out_dir, (unsigned long long)shard);
    pp_status s = write_shard(path, j->field, &o->plan, o->n * shard / o->shards,
                              o->n * (shard + 1) / o->shards, &bytes, err);
    atomic_fetch_add(&j->bytes, bytes);
    return s;
}

static void *work(void *arg)
{
    struct job *j = arg;
    uint64_t items = j->opts->shards ? j->opts->shards : j->opts->n;
    for (uint64_t i; !atomic_load(&j->failed) && (i = atomic_fetch_add(&j->next, 1)) < items;) {
        struct pp_err err;
        if (j->opts->shards ? write_shard_number(j, i, &err) : write_image(j, i, &err)) {
            pthread_mutex_lock(&j->lock);
            if (!atomic_exchange(&j->failed, 1))
                j->err = err;
            pthread_mutex_unlock(&j->lock);
        }
    }
    return NULL;
}

static pp_status make_dir(const char *path, struct pp_err *err)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return pp_fail_errno(err, errno, "cannot create the directory %s", path);
    return PP_OK;
}

static pp_status make_dirs(const struct options *o, struct pp_err *err)
{
    char path[4096];
    pp_status s = make_dir(o->out_dir, err);
    for (uint64_t c = 0; !s && !o->shards && c < o->plan.classes; c++) {
        snprintf(path, sizeof path, "%s/class_%03llu", o->out_dir, (unsigned long long)c);
        s = make_dir(path, err);
    }
    return s;
}

static void run_threads(struct job *j)
{
    pthread_t thread[256];
    uint64_t started = 0;
    while (started + 1 < j->opts->threads && pthread_create(&thread[started], NULL, work, j) == 0)
        started++;
    work(j);
    while (started > 0)
        pthread_join(thread[--started], NULL);
}

static void print_summary(const struct job *j)
{
    const struct options *o = j->opts;
    uint64_t count[KIND_COUNT] = {0};
    double pixels = 0, width = 0, height = 0, n = o->n ? (double)o->n : 1;
    for (uint64_t i = 0; i < o->n; i++) {
        struct sample_plan plan;
        sample_plan(&o->plan, i, &plan);
        count[plan.kind]++;
        pixels += (double)plan.width * plan.height;
        width += plan.width;
        height += plan.height;
    }
    printf("%llu images in %s: mean %.0fx%.0f, %.1f KB, %.2f bits per pixel;", (unsigned long long)o->n,
           o->out_dir, width / n, height / n, (double)j->bytes / n / 1e3,
           pixels > 0 ? 8.0 * (double)j->bytes / pixels : 0);
    for (int k = 0; k < KIND_COUNT; k++)
        printf(" %llu %s%s", (unsigned long long)count[k], sample_kind_name(k),
               k + 1 < KIND_COUNT ? "," : "\n");
}

static pp_status make_images(const struct options *o, struct pp_err *err)
{
    char odd_dir[4096];
    struct job j = {.opts = o, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct picture_field *field = picture_field_create(o->plan.seed);
    pp_status s = field ? make_dirs(o, err) : pp_fail(err, PP_E_NO_MEMORY, "no memory for the texture");
    if (s)
        goto out;
    j.field = field;
    run_threads(&j);
    if (atomic_load(&j.failed)) {
        *err = j.err;
        s = j.err.code;
        goto out;
    }
    if (o->odd) {
        snprintf(odd_dir, sizeof odd_dir, "%s/class_000", o->out_dir);
        s = write_odd(odd_dir, field, &o->plan, err);
    }
    if (!s)
        print_summary(&j);
out:
    picture_field_destroy(field);
    return s;
}

static int number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || v < low || v > high)
        return 0;
    *out = v;
    return 1;
}

static int parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"n", 1, 0, 'n'},
        {"seed", 1, 0, 's'},
        {"classes", 1, 0, 'c'},
        {"size", 1, 0, 'S'},
        {"skewed", 0, 0, 'k'},
        {"odd", 0, 0, 'o'},
        {"tar", 1, 0, 't'},
        {"tokens", 1, 0, 'T'},
        {"threads", 1, 0, 'j'},
        {"help", 0, 0, 'h'},
        {0},
    };
    uint64_t w = 478, h = 402;
    char x;
    int ok = 1, n_given = 0;
    for (int c; ok && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
        switch (c) {
        case 'n': ok = n_given = number(optarg, 1, 100000000000u, &o->n); break;
        case 's': ok = number(optarg, 0, UINT64_MAX, &o->plan.seed); break;
        case 'c': ok = number(optarg, 1, 100000, &o->plan.classes); break;
        case 'S':
            ok = sscanf(optarg, "%5lux%5lu%c", &w, &h, &x) == 2 && w > 0 && h > 0 && w <= 6000 && h <= 6000;
            break;
        case 'k': o->plan.skewed = 1; break;
        case 'o': o->odd = 1; break;
        case 't': ok = number(optarg, 1, 1000000, &o->shards); break;
        case 'T': o->tokens = optarg; break;
        case 'j': ok = number(optarg, 1, 256, &o->threads); break;
        case 'h': fputs(help, stdout); exit(0);
        default: ok = 0;
        }
        if (!ok && c != '?')
            fprintf(stderr, "make_dataset: %s makes no sense for this option; see --help\n", optarg);
    }
    o->plan.width = (double)w;
    o->plan.height = (double)h;
    if (o->tokens && !n_given)
        o->n = 1000000;
    if (ok && optind + !o->tokens != argc)
        ok = fprintf(stderr, "make_dataset: give one OUT_DIR, or --tokens FILE; see --help\n") < 0;
    if (ok && o->odd && o->shards)
        ok = fprintf(stderr, "make_dataset: --odd writes into class folders, which --tar does not make\n") <
             0;
    o->out_dir = o->tokens ? NULL : argv[optind];
    return ok;
}

int main(int argc, char **argv)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct options o = {.n = 200,
                        .threads = cpus < 1     ? 1
                                   : cpus > 256 ? 256
                                                : (uint64_t)cpus,
                        .plan = {.seed = 1, .classes = 10}};
    struct pp_err err;
    if (!parse(argc, argv, &o))
        return 2;
    pp_status s = o.tokens ? write_tokens(o.tokens, o.n, o.plan.seed, &err) : make_images(&o, &err);
    if (s)
        fprintf(stderr, "make_dataset: %s\n", err.text);
    return pp_status_exit_code(s);
}
