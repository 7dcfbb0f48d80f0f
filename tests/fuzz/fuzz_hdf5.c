/* Fuzz target: HDF5 files. The first byte of the input says which column is the sample, the rest is the file.
 * That libhdf5 crashes is counted and no failure; that anything else does, or a sanitizer's report, is one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "probe/columns/table.h"
#include "probe/dataset/options.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <zlib.h>

static const struct {
    const char *file, *column; /* column NULL: that which is taken of itself */
} inputs[] = {
    {"plain", NULL},     {"plain-latest", "labels"},  {"plain", "deep.er.y"}, {"plain-latest", "images"},
    {"chunks", NULL},    {"chunks-latest", "labels"}, {"chunks", "labels"},   {"chunks-latest", "images"},
    {"lists", NULL},     {"lists-latest", "images"},  {"lists", "text"},      {"lists-latest", "text"},
    {"lists", "tokens"}, {"lists-latest", "tokens"},  {"lists", "labels"},    {"lists-latest", "labels"},
};
enum { INPUTS = sizeof(inputs) / sizeof(*inputs) };

/* Faults of libhdf5 are signals, its own use of memory is its own, and what the child may not have fails. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_abort=0:allocator_may_return_null=1:"
           "max_allocation_size_mb=1024:print_suppressions=0";
}
const char *__asan_default_suppressions(void);
const char *__asan_default_suppressions(void)
{
    return "interceptor_via_lib:libhdf5\n";
}
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

/* The child that opens a file first is left out: three processes for each would take hours. */
pid_t fork(void)
{
    errno = EAGAIN;
    return -1;
}

enum { LONGEST_S = 5 /* of CPU time: libhdf5 has loops without an end, in a damaged heap of texts */ };
enum { OPENING, ROWS, PHASES };
static unsigned long long files, crashes[PHASES]; /* of all */
static long long here;                            /* files of this process */
static int phase;

static void say_crashes(void)
{
    printf(
        "# of %llu files, libhdf5 crashed on %llu or took 5 s while they were opened, which is done in a child, "
        "and on %llu while rows were read\n",
        files, crashes[OPENING], crashes[ROWS]);
}

static int is_of(const void *at, const char *object)
{
    Dl_info in;
    return dladdr(at, &in) && in.dli_fname && strstr(in.dli_fname, object);
}

/* The same arguments, with what is left of the inputs and another seed: it begins again. */
static void begin_again(void)
{
    static char line[4096], left[32], seed[32], counts[96];
    char *argv[64] = {NULL}, *environment[] = {counts, NULL};
    int fd = open("/proc/self/cmdline", O_RDONLY), n = 0;
    ssize_t size = read(fd, line, sizeof(line) - 1);
    for (char *at = line; at < line + size && n < 60; at += strlen(at) + 1) {
        argv[n] = at;
        if (n > 0 && strcmp(argv[n - 1], "--inputs") == 0) {
            snprintf(left, sizeof(left), "%lld", atoll(at) > here - INPUTS ? atoll(at) - (here - INPUTS) : 1);
            argv[n] = left;
        }
        n += strcmp(at, "--seed") != 0;
        at += strcmp(at, "--seed") == 0 ? strlen(at) + 1 : 0;
    }
    snprintf(seed, sizeof(seed), "%llu", files);
    snprintf(counts, sizeof(counts), "FUZZ_HDF5=%llu %llu %llu", files, crashes[OPENING], crashes[ROWS]);
    memmove(argv + 3, argv + 1, sizeof(*argv) * (size_t)n);
    argv[1] = "--seed";
    argv[2] = seed;
    execve("/proc/self/exe", argv, environment);
    _exit(1);
}

/* The topmost frame behind this handler that is neither libc's nor a sanitizer's tells whose fault it is. */
static void on_crash(int number)
{
    void *frame[64];
    int n = backtrace(frame, 64), i = 0;
    while (i < n && !is_of(frame[i], "/libc.so")) /* what called it */
        i++;
    while (i < n && (is_of(frame[i], "/libc.so") || is_of(frame[i], "/libasan")))
        i++;
    if (i == n || !is_of(frame[i], "libhdf5"))
        return; /* it comes again, and ends the program */
    crashes[phase] += number != 0;
    unlink(scratch_path("x.h5"));
    rmdir(scratch_dir());
    begin_again();
}

static void prepare(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGPROF};
    const struct sigaction act = {.sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
    const char *before = getenv("FUZZ_HDF5");
    sigset_t none;
    if (before)
        sscanf(before, "%llu %llu %llu", &files, &crashes[OPENING], &crashes[ROWS]);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &act, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* an exec in a handler keeps what was blocked */
    atexit(say_crashes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pp_dataset_options o = {0};
    struct pp_dataset *d = NULL;
    struct pp_sample s = {.limit = 1 << 20};
    struct pp_err err = {0};
    if (size == 0)
        return 0;
    if (here++ == 0)
        prepare();
    files++;
    scratch_write(scratch_path("x.h5"), data + 1, size - 1);
    o.feature = inputs[data[0] % INPUTS].column;
    phase = OPENING;
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = LONGEST_S}, NULL);
    pp_status st = pp_dataset_open(&(struct pp_dataset_opts){.spec = scratch_path("x.h5"), .options = &o}, &d,
                                   &err);
    phase = ROWS;
    if (st == PP_OK)
        scratch_read_samples(d, &s);
    else if (!err.text[0])
        abort();
    pp_sample_free(&s);
    pp_dataset_close(d);
    return 0;
}

/* What h5py made: tests/recordings/hdf5/make.py. */
int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    enum { ROOM = 16384 };
    char path[128];
    if (i >= INPUTS || !(*data = malloc(ROOM)))
        return 0;
    snprintf(path, sizeof(path), "tests/recordings/hdf5/%s.h5.gz", inputs[i].file);
    gzFile f = gzopen(path, "rb");
    int n = f ? gzread(f, *data + 1, ROOM - 1) : 0;
    if (f)
        gzclose(f);
    (*data)[0] = (uint8_t)i;
    *size = 1 + (size_t)(n > 0 ? n : 0);
    return n > 0;
}
