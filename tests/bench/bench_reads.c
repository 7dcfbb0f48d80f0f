/* bench_reads: ways to read samples of a local file at random: threads with pread, as the loader has it, and
 * one thread with io_uring; through the page cache and past it (O_DIRECT). Reads/s, CPU time per read.
 *
 *     bench_reads [FILE]: without FILE, one of 1 GiB is made (build/bench/reads), and removed in the end
 *
 * System calls alone, no liburing. Where io_uring is not permitted, one line says so. */
#include "probe/base/clock.h"
#include "probe/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READ = 112 << 10, FILE_MIB = 1024, MOST_DEPTH = 64, ROUNDS = 5 };
#define SECONDS 0.6

static int fd;
static uint64_t blocks; /* of READ bytes, in the file */

struct result {
    double reads_per_s, cpu_us;
};

static double cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static uint64_t offset_of(struct pp_rng *rng)
{
    return pp_rng_below(rng, blocks) * READ;
}

/* ---- pread ---- */

static atomic_uint_fast64_t done;
static uint64_t until_ns;

static void *preads(void *buffer)
{
    struct pp_rng rng = pp_rng_key((uint64_t)(uintptr_t)buffer, pp_now_ns(), 0, 1);
    while (pp_now_ns() < until_ns)
        if (pread(fd, buffer, READ, (off_t)offset_of(&rng)) == READ)
            atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
    return NULL;
}

static struct result with_pread(int depth, uint8_t *buffers)
{
    pthread_t thread[MOST_DEPTH];
    uint64_t began = pp_now_ns();
    double cpu = cpu_us();
    atomic_store(&done, 0);
    until_ns = began + (uint64_t)(SECONDS * 1e9);
    for (int i = 0; i < depth; i++)
        if (pthread_create(&thread[i], NULL, preads, buffers + (size_t)i * READ))
            exit(1);
    for (int i = 0; i < depth; i++)
        pthread_join(thread[i], NULL);
    double n = (double)atomic_load(&done);
    return (struct result){n * 1e9 / (double)(pp_now_ns() - began), (cpu_us() - cpu) / n};
}

/* ---- io_uring ---- */

struct ring {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
    struct io_uring_sqe *sqe;
    struct io_uring_cqe *cqe;
};

static void *map(int ring, size_t size, off_t what)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
}

/* 0: not permitted, or not there. */
static int ring_open(struct ring *r, int depth)
{
    struct io_uring_params p = {0};
    r->fd = (int)syscall(SYS_io_uring_setup, depth, &p);
    if (r->fd < 0)
        return 0;
    char *sq = map(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    char *cq = map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqe), IORING_OFF_CQ_RING);
    r->sqe = map(r->fd, p.sq_entries * sizeof(*r->sqe), IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || r->sqe == MAP_FAILED)
        return 0;
    r->sq_tail = (unsigned *)(sq + p.sq_off.tail);
    r->sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
    r->sq_array = (unsigned *)(sq + p.sq_off.array);
    r->cq_head = (unsigned *)(cq + p.cq_off.head);
    r->cq_tail = (unsigned *)(cq + p.cq_off.tail);
    r->cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
    r->cqe = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
    return 1;
}

static void ask(struct ring *r, uint8_t *buffers, unsigned which, uint64_t offset)
{
    unsigned tail = *r->sq_tail, at = tail & *r->sq_mask;
    memset(&r->sqe[at], 0, sizeof(r->sqe[at]));
    r->sqe[at].opcode = IORING_OP_READ;
    r->sqe[at].fd = fd;
    r->sqe[at].addr = (uint64_t)(uintptr_t)(buffers + (size_t)which * READ);
    r->sqe[at].len = READ;
    r->sqe[at].off = offset;
    r->sqe[at].user_data = which;
    r->sq_array[at] = at;
    __atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE); /* the kernel reads it */
}

static struct result with_uring(int depth, uint8_t *buffers)
{
    struct ring r;
    struct pp_rng rng = pp_rng_key(1, pp_now_ns(), 0, 1);
    uint64_t n = 0;
    unsigned to_submit = 0;
    if (!ring_open(&r, depth))
        return (struct result){0, 0};
    uint64_t began = pp_now_ns(), until = began + (uint64_t)(SECONDS * 1e9);
    double cpu = cpu_us();
    for (; to_submit < (unsigned)depth; to_submit++)
        ask(&r, buffers, to_submit, offset_of(&rng));
    while (pp_now_ns() < until) {
        if (syscall(SYS_io_uring_enter, r.fd, to_submit, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
            errno != EINTR)
            break;
        to_submit = 0;
        unsigned head = *r.cq_head, tail = __atomic_load_n(r.cq_tail, __ATOMIC_ACQUIRE);
        for (; head != tail; head++, to_submit++) {
            const struct io_uring_cqe *c = &r.cqe[head & *r.cq_mask];
            n += c->res == READ;
            ask(&r, buffers, (unsigned)c->user_data, offset_of(&rng));
        }
        __atomic_store_n(r.cq_head, head, __ATOMIC_RELEASE);
    }
    double s = (double)(pp_now_ns() - began) / 1e9;
    cpu = cpu_us() - cpu;
    close(r.fd); /* its reads end first */
    return (struct result){(double)n / s, n ? cpu / (double)n : 0};
}

/* ---- the file, the table ---- */

static int make_file(const char *path)
{
    static uint8_t piece[1 << 20];
    struct pp_rng rng = pp_rng_key(1, 2, 3, 4);
    int f = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), ok = f >= 0;
    for (int i = 0; ok && i < FILE_MIB; i++) {
        for (size_t k = 0; k < sizeof(piece); k += 4096)
            piece[k] = (uint8_t)pp_rng_below(&rng, 256);
        ok = write(f, piece, sizeof(piece)) == (ssize_t)sizeof(piece);
    }
    ok = ok && fsync(f) == 0;
    if (f >= 0)
        close(f);
    return ok || errno == EEXIST;
}

static int by_rate(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    return (x->reads_per_s > y->reads_per_s) - (x->reads_per_s < y->reads_per_s);
}

static struct result middle(struct result *r)
{
    qsort(r, ROUNDS, sizeof(*r), by_rate);
    return r[ROUNDS / 2];
}

enum cache { WARM, COLD, DIRECT };

static void prepare(const char *path, enum cache c, uint8_t *buffer)
{
    fd = open(path, O_RDONLY | O_CLOEXEC | (c == DIRECT ? O_DIRECT : 0));
    if (fd < 0)
        return;
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    if (c == COLD)
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    for (uint64_t i = 0; c == WARM && i < blocks; i++)
        if (pread(fd, buffer, READ, (off_t)(i * READ)) != READ)
            break;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"page cache, warm", "page cache, cold", "O_DIRECT"};
    static const int depths[] = {1, 4, 16};
    const char *path = argc > 1 ? argv[1] : "build/bench/reads";
    struct ring tried;
    uint8_t *buffers = aligned_alloc(4096, (size_t)MOST_DEPTH * READ);
    if (!buffers || !make_file(path)) {
        fprintf(stderr, "bench_reads: cannot make %s: %s\n", path, strerror(errno));
        return 1;
    }
    memset(buffers, 0, (size_t)MOST_DEPTH * READ);
    blocks = ((uint64_t)FILE_MIB << 20) / READ;
    int permitted = ring_open(&tried, 4);
    printf("Random reads of %d KiB of a file of %d MiB, medians of %d rounds of %.1f s in turns\n\n",
           READ >> 10, FILE_MIB, ROUNDS, SECONDS);
    if (!permitted)
        printf("io_uring is not permitted here (%s).\n\n", strerror(errno));
    printf(
        "| reads | at a time | pread threads | io_uring | io_uring over pread | CPU per read, pread | io_uring |\n");
    printf("|---|---|---|---|---|---|---|\n");
    for (int c = WARM; c <= DIRECT; c++)
        for (size_t d = 0; d < sizeof(depths) / sizeof(*depths); d++) {
            struct result plain[ROUNDS], ring[ROUNDS];
            for (int round = 0; round < ROUNDS; round++)
                for (int turn = 0; turn < 2; turn++) {
                    int uring = (turn + round) % 2;
                    prepare(path, c, buffers);
                    if (fd < 0)
                        break;
                    if (uring)
                        ring[round] = with_uring(depths[d], buffers);
                    else
                        plain[round] = with_pread(depths[d], buffers);
                    close(fd);
                }
            if (fd < 0) {
                printf("| %s | %d | %s | | | | |\n", names[c], depths[d], strerror(errno));
                continue;
            }
            struct result p = middle(plain), u = middle(ring);
            printf("| %s | %d | %.0f/s | %.0f/s | %.2f | %.1f us | %.1f us |\n", names[c], depths[d],
                   p.reads_per_s, u.reads_per_s, u.reads_per_s / p.reads_per_s, p.cpu_us, u.cpu_us);
            fflush(stdout);
        }
    free(buffers);
    if (argc < 2)
        unlink(path);
    return 0;
}
