/* bench_raw: the raw loop the loader is measured against: decode and transform of the same images by the same
 * code on the same number of threads, from bytes held in memory, with no queues, no order, no device and no
 * recording. Prints one JSON line. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/dataset/dataset.h"
#include "probe/decode/decode.h"
#include "probe/transform/transform.h"

#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 256
/* Outputs go round a buffer of one batch, as a loader's go into a slot: memory traffic is part of the work */
#define BATCH 64

struct image {
    uint8_t *data;
    size_t size;
};

struct bench {
    struct image *images;
    uint64_t n;
    struct pp_transform *transform;
    atomic_uint_fast64_t next, done, failed;
    uint64_t until_ns;
};

static pp_status load(const char *dir, struct bench *b, struct pp_err *err)
{
    struct pp_dataset_opts opts = {.spec = dir};
    struct pp_dataset *d = NULL;
    struct pp_sample sample = {0};
    pp_status s = pp_dataset_open(&opts, &d, err);
    if (s)
        return s;
    b->images = calloc(pp_dataset_len(d), sizeof *b->images);
    for (uint64_t i = 0; !s && b->images && i < pp_dataset_len(d); i++) {
        s = pp_dataset_read(d, i, &sample, err);
        struct image copy = {.data = s ? NULL : malloc(sample.size), .size = sample.size};
        if (copy.data) {
            memcpy(copy.data, sample.data, sample.size);
            b->images[b->n++] = copy;
        }
    }
    pp_sample_free(&sample);
    pp_dataset_close(d);
    if (!s && b->n == 0)
        s = pp_fail(err, PP_E_NO_MEMORY, "no memory to hold the images of %s", dir);
    return s;
}

/* One sample, exactly what a worker of the loader does between read and collate. */
static pp_status one(const struct bench *b, uint64_t at, struct pp_decoder *decoder,
                     struct pp_buffer *scratch, uint8_t *out, struct pp_err *err)
{
    const struct image *image = &b->images[at % b->n];
    struct pp_image_info info;
    struct pp_transform_plan plan;
    struct pp_pixels pixels;
    pp_status s = pp_decoder_open(decoder, &(struct pp_encoded){.data = image->data, .size = image->size},
                                  &info, err);
    if (s)
        return s;
    pp_transform_draw(b->transform, info.width, info.height, (struct pp_sample_key){0, at / b->n, at % b->n},
                      &plan);
    s = pp_decoder_region(decoder, plan.crop, &pixels, err);
    return s ? s : pp_transform_apply(b->transform, &plan, &pixels, scratch, out, err);
}

static void *work(void *arg)
{
    struct bench *b = arg;
    struct pp_decoder *decoder = NULL;
    struct pp_buffer scratch = {0};
    size_t sample_bytes = pp_transform_bytes(b->transform);
    uint8_t *out = malloc(sample_bytes * BATCH);
    struct pp_err err;
    if (!out || pp_decoder_create(&(struct pp_decoder_opts){.exif_rotate = 0}, &decoder, &err)) {
        atomic_fetch_add(&b->failed, 1);
        goto out;
    }
    for (unsigned i = 0; pp_now_ns() < b->until_ns; i++) {
        pp_status s = one(b, atomic_fetch_add(&b->next, 1), decoder, &scratch, out + i % BATCH * sample_bytes,
                          &err);
        atomic_fetch_add(s ? &b->failed : &b->done, 1);
    }
out:
    pp_buffer_free(&scratch);
    pp_decoder_destroy(decoder);
    free(out);
    return NULL;
}

/* Samples per second of wall time over the given seconds. */
static double measure(struct bench *b, int threads, double seconds)
{
    pthread_t thread[MAX_THREADS];
    int started = 0;
    uint64_t begin = pp_now_ns();
    atomic_store(&b->done, 0);
    b->until_ns = begin + (uint64_t)(seconds * 1e9);
    while (started + 1 < threads && pthread_create(&thread[started], NULL, work, b) == 0)
        started++;
    work(b);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    return (double)atomic_load(&b->done) * 1e9 / (double)(pp_now_ns() - begin);
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"threads", 1, 0, 't'},
                                          {"seconds", 1, 0, 's'},
                                          {"transform", 1, 0, 'x'},
                                          {0}};
    const char *spec = "rrc:224,hflip,normalize=imagenet";
    struct bench b = {0};
    struct pp_err err;
    double seconds = 5;
    int threads = 2;
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        switch (c) {
        case 't': threads = atoi(optarg); break;
        case 's': seconds = atof(optarg); break;
        case 'x': spec = optarg; break;
        default: return 2;
        }
    }
    if (optind + 1 != argc || threads < 1 || threads > MAX_THREADS || seconds <= 0) {
        fputs("Usage: bench_raw IMAGE_DIR [--threads N] [--seconds S] [--transform SPEC]\n", stderr);
        return 2;
    }
    pp_status s = load(argv[optind], &b, &err);
    if (!s)
        s = pp_transform_parse(spec, PP_DTYPE_F32, &b.transform, &err);
    if (s) {
        fprintf(stderr, "bench_raw: %s\n", err.text);
        goto out;
    }
    measure(&b, threads, seconds / 5); /* caches, clock frequency, page faults of first use */
    double rate = measure(&b, threads, seconds);
    printf(
        "{\"samples_per_s\": %.1f, \"threads\": %d, \"images\": %llu, \"failed\": %llu, \"simd\": \"%s\"}\n",
        rate, threads, (unsigned long long)b.n, (unsigned long long)atomic_load(&b.failed),
        pp_transform_simd());
out:
    pp_transform_destroy(b.transform);
    for (uint64_t i = 0; i < b.n; i++)
        free(b.images[i].data);
    free(b.images);
    return pp_status_exit_code(s);
}
