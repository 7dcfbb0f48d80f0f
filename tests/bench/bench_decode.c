/* bench_decode DIR [ROUNDS]: what the region decode and the transform cost per image, over the JPEGs under a
 * directory.
 *
 * Rounds run outside and the variants inside, so that a slow phase of the machine hits all alike; times are
 * medians over the rounds, ratios are medians of the rounds' ratios. One thread, files in memory. */
#include "probe/base/clock.h"
#include "probe/decode/decode.h"
#include "probe/transform/transform.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 1000
#define MAX_ROUNDS 99

struct set {
    uint8_t *data[MAX_FILES];
    size_t size[MAX_FILES];
    int count;
    size_t bytes;
    double megapixels;
};

struct bench {
    struct set files;
    struct pp_decoder *decoder;
    struct pp_transform *transform;
    struct pp_buffer scratch;
    void *out;
};

typedef void variant_fn(struct bench *b, int file, uint64_t round);

static pp_status open_file(struct bench *b, int file, struct pp_image_info *info)
{
    return pp_decoder_open(b->decoder,
                           &(struct pp_encoded){.data = b->files.data[file], .size = b->files.size[file]},
                           info, NULL);
}

static void header(struct bench *b, int file, uint64_t round)
{
    struct pp_image_info info;
    open_file(b, file, &info);
}

static void decode_full(struct bench *b, int file, uint64_t round)
{
    struct pp_image_info info;
    struct pp_pixels pixels;
    if (open_file(b, file, &info) == PP_OK)
        pp_decoder_region(b->decoder, (struct pp_rect){0, 0, info.width, info.height}, &pixels, NULL);
}

/* The drawn crop, decoded alone or cut out of the whole image, and transformed or not. */
static void crop(struct bench *b, int file, uint64_t round, int whole, int transform)
{
    struct pp_image_info info;
    struct pp_pixels pixels;
    struct pp_transform_plan plan;
    if (open_file(b, file, &info) != PP_OK)
        return;
    pp_transform_draw(b->transform, info.width, info.height, (struct pp_sample_key){1, round, (uint64_t)file},
                      &plan);
    struct pp_rect region = whole ? (struct pp_rect){0, 0, info.width, info.height} : plan.crop;
    if (pp_decoder_region(b->decoder, region, &pixels, NULL) != PP_OK)
        return;
    if (whole) {
        pixels.data += (size_t)plan.crop.y * pixels.stride + (size_t)plan.crop.x * 4;
        pixels.width = plan.crop.width;
        pixels.height = plan.crop.height;
    }
    if (transform)
        pp_transform_apply(b->transform, &plan, &pixels, &b->scratch, b->out, NULL);
}

static void decode_region(struct bench *b, int file, uint64_t round)
{
    crop(b, file, round, 0, 0);
}

static void full_and_transform(struct bench *b, int file, uint64_t round)
{
    crop(b, file, round, 1, 1);
}

static void region_and_transform(struct bench *b, int file, uint64_t round)
{
    crop(b, file, round, 0, 1);
}

static void region_and_transform_portable(struct bench *b, int file, uint64_t round)
{
    pp_transform_force_portable(1);
    crop(b, file, round, 0, 1);
    pp_transform_force_portable(0);
}

static const struct {
    const char *name;
    variant_fn *run;
    int base; /* the row its ratio refers to */
} variants[] = {
    {"header only", header, 1},
    {"full decode", decode_full, 1},
    {"region decode", decode_region, 1},
    {"full decode + rrc:224 + flip + normalise", full_and_transform, 3},
    {"region decode + rrc:224 + flip + normalise", region_and_transform, 3},
    {"the same, portable resize", region_and_transform_portable, 3},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static void add_file(struct bench *b, const char *path)
{
    struct pp_image_info info;
    struct set *s = &b->files;
    FILE *f = fopen(path, "rb");
    if (!f)
        return;
    if (fseek(f, 0, SEEK_END) == 0) {
        long size = ftell(f);
        uint8_t *data = size > 0 ? malloc((size_t)size) : NULL;
        rewind(f);
        if (data && fread(data, 1, (size_t)size, f) == (size_t)size &&
            pp_decoder_open(b->decoder, &(struct pp_encoded){.data = data, .size = (size_t)size}, &info,
                            NULL) == PP_OK &&
            strcmp(info.format, "JPEG") == 0) {
            s->data[s->count] = data;
            s->size[s->count++] = (size_t)size;
            s->bytes += (size_t)size;
            s->megapixels += info.width * 1e-6 * info.height;
            data = NULL;
        }
        free(data);
    }
    fclose(f);
}

static void add_directory(struct bench *b, const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    while (d && b->files.count < MAX_FILES && (entry = readdir(d)) != NULL) {
        char below[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(below, sizeof(below), "%s/%s", dir, entry->d_name);
        if (entry->d_type == DT_DIR)
            add_directory(b, below);
        else
            add_file(b, below);
    }
    if (d)
        closedir(d);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void measure(struct bench *b, int rounds)
{
    static double ns[N_VARIANTS][MAX_ROUNDS];
    for (int round = -1; round < rounds; round++) { /* round -1 warms up */
        for (int v = 0; v < N_VARIANTS; v++) {
            uint64_t start = pp_thread_cpu_ns();
            for (int i = 0; i < b->files.count; i++)
                variants[v].run(b, i, (uint64_t)(round + 1));
            if (round >= 0)
                ns[v][round] = (double)(pp_thread_cpu_ns() - start) / b->files.count;
        }
    }
    printf("%-44s %10s %8s\n", "", "us/image", "speed");
    double ratio[N_VARIANTS];
    for (int v = 0; v < N_VARIANTS; v++) {
        double each[MAX_ROUNDS];
        for (int r = 0; r < rounds; r++)
            each[r] = ns[variants[v].base][r] / ns[v][r];
        ratio[v] = median(each, rounds);
    }
    double resize[MAX_ROUNDS];
    for (int r = 0; r < rounds; r++)
        resize[r] = ns[4][r] - ns[2][r];
    for (int v = 0; v < N_VARIANTS; v++)
        printf("%-44s %10.1f %7.2fx\n", variants[v].name, median(ns[v], rounds) / 1e3, ratio[v]);
    printf("%-44s %10.1f\n", "resize + flip + normalise (by difference)", median(resize, rounds) / 1e3);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct pp_err err = {0};
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_decode DIR [ROUNDS, 1 to %d]\n", MAX_ROUNDS);
        return 2;
    }
    if (pp_decoder_create(&(struct pp_decoder_opts){.exif_rotate = 0}, &b.decoder, &err) != PP_OK ||
        pp_transform_parse("rrc:224,hflip,normalize=imagenet", PP_DTYPE_F32, &b.transform, &err) != PP_OK ||
        !(b.out = malloc(pp_transform_bytes(b.transform)))) {
        fprintf(stderr, "bench_decode: %s\n", err.text);
        return 4;
    }
    add_directory(&b, argv[1]);
    if (b.files.count == 0) {
        fprintf(stderr, "bench_decode: no JPEG that can be opened in %s\n", argv[1]);
        return 4;
    }
    printf("%d JPEGs, mean %.1f KB and %.3f Mpx; %s; median of %d rounds, CPU time of one thread\n",
           b.files.count, (double)b.files.bytes / 1e3 / b.files.count, b.files.megapixels / b.files.count,
           pp_transform_simd(), rounds);
    measure(&b, rounds);
    for (int i = 0; i < b.files.count; i++)
        free(b.files.data[i]);
    free(b.out);
    pp_transform_destroy(b.transform);
    pp_buffer_free(&b.scratch);
    pp_decoder_destroy(b.decoder);
    return 0;
}
