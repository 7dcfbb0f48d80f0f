/* A small mutation driver for machines without libFuzzer: fuzz_NAME [--seconds S] [--inputs N]
 * [--each N] [--seed N] [--from FILE]... [FILE ...].
 *
 * It ends after so many seconds, or inputs, whichever comes first; inputs alone have no limit of time.
 * --each: so many from each input to start with, whose turns come one after the other: of a target that
 * reads several formats, each gets as many.
 * --from: a further input to start from, besides the target's own. Takes a seed input, changes it in a few
 * places (bits, bytes, numbers at their limits, cut, pieces moved or doubled) and hands it over, each in an
 * allocation of its exact size. FILEs are run as they are. Before each input its bytes lie in fuzz-last.bin
 * in $TMPDIR, for when it crashes. At the end it says what the slowest input took: work is bounded by size.
 */
#include "tests/fuzz/fuzz.h"

#include "probe/base/clock.h"
#include "probe/base/rng.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define INPUT_MAX (1u << 20)
#define SEEDS_MAX 32

struct input {
    uint8_t *data;
    size_t size;
};

/* A mapped file: what it holds outlives the process. */
struct last {
    uint64_t size;
    uint8_t data[INPUT_MAX];
};

static struct last *open_last(void)
{
    char path[4096];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/fuzz-last.bin", dir && *dir ? dir : "/tmp");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *p = fd >= 0 && ftruncate(fd, sizeof(struct last)) == 0
                  ? mmap(NULL, sizeof(struct last), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                  : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static void put_number(struct pp_rng *r, uint8_t *at, size_t room)
{
    static const uint64_t odd[] = {0,          1,          2,           0x7f,      0x80,       0xff,
                                   0x100,      0x7fff,     0x8000,      0xffff,    0x10000,    0x7fffffff,
                                   0x80000000, 0xffffffff, 0x100000000, INT64_MAX, 1ull << 63, UINT64_MAX};
    uint64_t v = odd[pp_rng_below(r, sizeof(odd) / sizeof(odd[0]))];
    size_t width = (size_t)1 << pp_rng_below(r, 4);
    memcpy(at, &v, width < room ? width : room);
}

/* Most formats keep what matters in front. */
static size_t place(struct pp_rng *r, size_t size)
{
    size_t near = pp_rng_below(r, 3) ? 256 : size;
    return pp_rng_below(r, near < size ? near : size);
}

static size_t mutate(struct pp_rng *r, uint8_t *d, size_t size)
{
    for (uint64_t n = 1 + pp_rng_below(r, 6); n && size; n--) {
        size_t at = place(r, size), other = pp_rng_below(r, size), len = 1 + pp_rng_below(r, 64);
        switch (pp_rng_below(r, 7)) {
        case 0: d[at] ^= (uint8_t)(1u << pp_rng_below(r, 8)); break;
        case 1: d[at] = (uint8_t)pp_rng_next(r); break;
        case 2:
        case 3: put_number(r, d + at, size - at); break;
        case 4: size = pp_rng_below(r, 4) ? size : pp_rng_below(r, size + 1); break;
        case 5:
            memmove(d + at, d + other,
                    len < size - (at > other ? at : other) ? len : size - (at > other ? at : other));
            break;
        case 6:
            if (size + len <= INPUT_MAX && at + len <= size) {
                memmove(d + at + len, d + at, size - at);
                size += len;
            }
            break;
        }
    }
    return size;
}

static void run_exactly(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return;
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* The first INPUT_MAX bytes of a file. 0: it cannot be read. */
static int read_file(const char *path, struct input *out)
{
    FILE *f = fopen(path, "rb");
    *out = (struct input){.data = malloc(INPUT_MAX)};
    out->size = f && out->data ? fread(out->data, 1, INPUT_MAX, f) : 0;
    return f && fclose(f) == 0 && out->size > 0;
}

int main(int argc, char **argv)
{
    static uint8_t data[INPUT_MAX];
    struct input seed[SEEDS_MAX];
    unsigned seeds = 0;
    double seconds = 0;
    uint64_t rng_seed = pp_now_ns(), runs = 0, most = UINT64_MAX, each = 0, began = pp_now_ns(), slowest = 0;
    for (; argc > 2 && strncmp(argv[1], "--", 2) == 0; argv += 2, argc -= 2) {
        if (strcmp(argv[1], "--seconds") == 0)
            seconds = atof(argv[2]);
        else if (strcmp(argv[1], "--inputs") == 0)
            most = strtoull(argv[2], NULL, 0);
        else if (strcmp(argv[1], "--each") == 0)
            each = strtoull(argv[2], NULL, 0);
        else if (strcmp(argv[1], "--from") == 0)
            seeds += seeds < SEEDS_MAX / 2 && read_file(argv[2], &seed[seeds]);
        else
            rng_seed = strtoull(argv[2], NULL, 0);
    }
    if (seconds <= 0)
        seconds = most == UINT64_MAX && !each ? 3 : 1e6;
    for (int i = 1; i < argc; i++) {
        struct input file;
        if (!read_file(argv[i], &file))
            return 1;
        run_exactly(file.data, file.size);
        free(file.data);
    }
    if (argc > 1)
        return 0;
    for (unsigned i = 0; seeds < SEEDS_MAX && fuzz_seed(i, &seed[seeds].data, &seed[seeds].size); i++)
        seeds++;
    for (unsigned i = 0; i < seeds; i++)
        run_exactly(seed[i].data, seed[i].size);
    most = each ? each * seeds : most;
    struct last *last = open_last();
    struct pp_rng r = pp_rng_key(rng_seed, 0, 0, 0);
    printf("# seed %llu, %u inputs to start from\n", (unsigned long long)rng_seed, seeds);
    fflush(stdout);
    for (uint64_t until = pp_now_ns() + (uint64_t)(seconds * 1e9);
         seeds && runs < most && pp_now_ns() < until; runs++) {
        const struct input *from = &seed[runs % seeds];
        size_t size = from->size < INPUT_MAX ? from->size : INPUT_MAX;
        memcpy(data, from->data, size);
        size = mutate(&r, data, size);
        if (last) {
            last->size = size;
            memcpy(last->data, data, size);
        }
        uint64_t cpu = pp_thread_cpu_ns();
        run_exactly(data, size);
        cpu = pp_thread_cpu_ns() - cpu;
        slowest = cpu > slowest ? cpu : slowest;
    }
    printf("# %llu inputs in %.0f s, no crash; the slowest took %.0f ms of CPU time\n",
           (unsigned long long)runs, (double)(pp_now_ns() - began) * 1e-9, (double)slowest * 1e-6);
    for (unsigned i = 0; i < seeds; i++)
        free(seed[i].data);
    return runs ? 0 : 1;
}
