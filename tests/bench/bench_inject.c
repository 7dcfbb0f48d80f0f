/* bench_inject [ROUNDS]: what a range costs a program under `pipeprobe exec`: nanoseconds per push and pop,
 * by kind of text. One thread, medians over the rounds; the ring is emptied between rounds, outside the
 * timing. Prints kind<TAB>ns. */
#include "collectors/attach/process_file.h"
#include "probe/base/clock.h"
#include "tests/tools/ring_peek.h"
#include "tests/tools/tiny_nvtx.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define PAIRS 100000
#define ROUNDS_MAX 99

static void *domain, *registered;

static void with_text(int i)
{
    (void)i;
    tiny_push("decode"), tiny_pop();
}

static void with_handle(int i)
{
    struct nvtx_attributes a = tiny_handle(registered);
    a.payload_type = NVTX_PAYLOAD_U64, a.payload.u64 = (uint64_t)i;
    tiny_domain_push(domain, &a);
    tiny_domain_pop(domain);
}

static void with_start_and_end(int i)
{
    (void)i;
    tiny_end(tiny_start("decode"));
}

static void with_new_text(int i)
{
    char text[32];
    snprintf(text, sizeof(text), "iteration %d", i);
    tiny_push(text);
    tiny_pop();
}

static void only_the_text(int i)
{
    char text[32];
    snprintf(text, sizeof(text), "iteration %d", i);
    __asm__ volatile("" : : "r"(text) : "memory");
}

static void with_a_brief_phase(int i)
{
    (void)i;
    tiny_push("mapped"), tiny_pop();
}

static const struct {
    const char *name;
    void (*pair)(int i);
} kinds[] = {
    {"registered string, payload", with_handle},          {"text", with_text},
    {"text that a map names, brief", with_a_brief_phase}, {"start and end", with_start_and_end},
    {"text with a number, ever new", with_new_text},      {"(writing that text)", only_the_text},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void empty(struct pp_session *s)
{
    static struct pp_span piece[4096];
    for (uint32_t t = 0; t < pp_session_threads(s); t++) {
        while (ring_peek(s, t, piece, 4096)) {
        }
        pp_ring_release(s, t);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double one(void (*pair)(int), int round)
{
    uint64_t start = pp_now_ns();
    for (int i = 0; i < PAIRS; i++)
        pair(round * PAIRS + i);
    return (double)(pp_now_ns() - start) / PAIRS;
}

static void write_map(const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, PP_MAP_FILE_NAME);
    FILE *out = fopen(path, "w");
    if (!out)
        return;
    fputs("mapped = decode\n", out);
    fclose(out);
}

static void remove_rest(const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, PP_MAP_FILE_NAME);
    unlink(path);
    snprintf(path, sizeof(path), "%s/" PP_PROCESS_FILE_PREFIX "%d", dir, (int)getpid());
    unlink(path);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 15;
    char library[PATH_MAX + 64];
    static double ns[KINDS + 1][ROUNDS_MAX];
    struct pp_session *s;
    struct pp_err err;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    if (pp_session_open(&(struct pp_session_opts){.ring_spans = 2 * PAIRS}, &s, &err) != PP_OK) {
        fprintf(stderr, "bench_inject: %s\n", err.text);
        return 1;
    }
    for (int r = 0; r < rounds; r++)
        ns[KINDS][r] = one(with_text, r); /* no tool yet: what the annotation alone costs */
    ssize_t n = readlink("/proc/self/exe", library, PATH_MAX);
    library[n > 0 ? n : 0] = '\0';
    strcpy(strrchr(library, '/'), "/../../libpipeprobe_inject.so");
    write_map(pp_session_dir(s));
    setenv("NVTX_INJECTION64_PATH", library, 1);
    setenv("PIPEPROBE_SESSION", pp_session_dir(s), 1);
    int attached = tiny_attach();
    if (attached) {
        domain = tiny_domain("bench");
        registered = tiny_register(domain, "decode");
        for (int r = 0; r < rounds; r++) {
            for (size_t k = 0; k < KINDS; k++) {
                ns[k][r] = one(kinds[k].pair, r);
                empty(s);
            }
        }
        printf("no tool attached\t%.1f\n",
               (qsort(ns[KINDS], (size_t)rounds, sizeof(double), ascending), ns[KINDS][rounds / 2]));
        for (size_t k = 0; k < KINDS; k++) {
            qsort(ns[k], (size_t)rounds, sizeof(double), ascending);
            printf("%s\t%.1f\n", kinds[k].name, ns[k][rounds / 2]);
        }
    } else {
        fprintf(stderr, "bench_inject: %s did not attach\n", library);
    }
    remove_rest(pp_session_dir(s));
    pp_session_close(s, 0);
    return attached ? 0 : 1;
}
