#include "tui/cli/doctor/doctor_checks.h"

#include "collectors/collector.h"
#include "collectors/gpu/gpu.h"
#include "collectors/nvtx/nvtx.h"
#include "collectors/system/counters.h"
#include "collectors/system/environment.h"
#include "probe/base/io.h"
#include "probe/base/text.h"
#include "probe/columns/codec.h"
#include "probe/columns/table.h"
#include "probe/device/cuda_driver.h"
#include "probe/device/device.h"
#include "probe/net/http.h"
#include "probe/transform/transform.h"
#include "report/send/sink.h"
#include "tui/cli/exec/exec_python.h"

#include <fcntl.h>
#include <jpeglib.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static void found(struct pp_finding *f, enum pp_answer answer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void found(struct pp_finding *f, enum pp_answer answer, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    f->answer = answer;
    vsnprintf(f->value, sizeof(f->value), fmt, ap);
    va_end(ap);
}

/* ---- this build ---- */

#if defined(WITH_SIMD)
#define SIMD "SIMD"
enum { HAS_SIMD = 1 };
#else
#define SIMD "built without SIMD"
enum { HAS_SIMD = 0 };
#endif

static void look_sqlite(struct pp_finding *f)
{
    found(f, sqlite3_libversion_number() >= 3037000 ? PP_YES : PP_NO, "SQLite %s", sqlite3_libversion());
}

static void look_codecs(struct pp_finding *f)
{
    struct pp_err snappy = {0}, lz4 = {0};
    pp_status st = pp_codec_ready(PP_CODEC_SNAPPY, &snappy), other = pp_codec_ready(PP_CODEC_LZ4, &lz4);
    if (st == PP_OK && other == PP_OK)
        found(f, PP_YES, "Snappy, LZ4, gzip, Zstandard");
    else
        found(f, PP_NO, "%s%s%s not installed (Debian: libsnappy1v5, liblz4-1)",
              st == PP_OK ? "" : "libsnappy.so.1", st != PP_OK && other != PP_OK ? ", " : "",
              other == PP_OK ? "" : "liblz4.so.1");
}

/* Where they lie, where they cannot be tried. */
static void look_hooks(struct pp_finding *f)
{
    struct exec_python p;
    exec_python_prepare(&p, "python3", 1);
    exec_python_free(&p); /* the paths are what is asked for */
    if (*p.hooks) {
        pp_look_python(PP_PYTHON_HOOKS, f);
        pp_text_add(f->value, sizeof(f->value), " (in %.150s)", p.hooks);
    } else {
        found(f, PP_NO, "%s",
              PP_HAVE_PYTHON_H
                  ? "python/attach/_pipeprobe.abi3.so is not beside the program; use make install, "
                    "make wheel or the archive of make portable"
                  : "built without Python.h; apt-get install python3-dev and build again");
    }
}

/* ---- CPUs and memory ---- */

static void look_avx2(struct pp_finding *f)
{
#if defined(__x86_64__) || defined(__i386__)
    int yes = __builtin_cpu_supports("avx2");
    found(f, yes ? PP_YES : PP_NO, "%s", yes ? "this CPU has it" : "this CPU does not have it");
#else
    found(f, PP_NO, "not an x86 CPU");
#endif
}

static void look_cpus(struct pp_finding *f)
{
    struct pp_cpus c = {0};
    pp_cpus_read(&c);
    char quota[40] = "no cgroup quota";
    if (c.quota > 0)
        snprintf(quota, sizeof(quota), "cgroup quota %.3g", c.quota);
    found(f, c.usable >= c.online ? PP_YES : PP_NO, "%.3g usable of %d online (affinity %d, %s)", c.usable,
          c.online, c.affinity, quota);
}

#define LOOK_S 0.5 /* how long the others are watched */
#define BUSY 0.1   /* of the CPUs, used by others: less changes no verdict */

static void look_idle(struct pp_finding *f)
{
    char largest[160], share[32];
    double busy = pp_neighbours_now(LOOK_S, largest, sizeof(largest));
    int named = busy >= BUSY && *largest;
    if (isnan(busy))
        found(f, PP_CANNOT_TELL, "/proc/stat cannot be read");
    else
        found(f, busy < BUSY ? PP_YES : PP_NO, "other processes use %s of the CPUs%s%s%s",
              pp_text_percent(share, sizeof(share), busy), named ? " (" : "", named ? largest : "",
              named ? ")" : "");
}

static void look_memory(struct pp_finding *f)
{
    char text[32];
    uint64_t bytes = pp_memory_available();
    if (bytes)
        found(f, PP_YES, "%s available", pp_text_bytes(text, sizeof(text), (double)bytes));
    else
        found(f, PP_CANNOT_TELL, "not in /proc/meminfo and not in a cgroup");
}

static void look_memlock(struct pp_finding *f)
{
    struct rlimit limit;
    char text[32];
    size_t trial = (size_t)64
                   << 20; /* a batch of 64 float32 images is 37 MiB; root locks beyond the limit, so try it */
    void *p = mmap(NULL, trial, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int locks = p != MAP_FAILED && mlock(p, trial) == 0;
    if (p != MAP_FAILED)
        munmap(p, trial);
    if (locks)
        found(f, PP_YES, "64 MiB could be locked");
    else if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        found(f, PP_CANNOT_TELL, "getrlimit: %s", strerror(errno));
    else
        found(f, PP_NO, "ulimit -l is %s", pp_text_bytes(text, sizeof(text), (double)limit.rlim_cur));
}

static void look_tsc(struct pp_finding *f)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d = 0;
    char source[64];
    int invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
    int known = pp_io_line(source, sizeof(source),
                           "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    found(f, invariant ? PP_YES : PP_NO, "%s; the kernel's clock source is %s",
          invariant ? "invariant" : "not declared invariant", known ? source : "unknown");
#else
    found(f, PP_NO, "not an x86 CPU");
#endif
}

/* ---- what the kernel tells ---- */

static void look_schedstat(struct pp_finding *f)
{
    const char *path = "/proc/thread-self/schedstat";
    char line[128];
    errno = 0;
    int ok = pp_io_line(line, sizeof(line), path);
    found(f, ok ? PP_YES : PP_NO, "%s%s%s", path, ok ? " is readable" : ": ",
          ok      ? ""
          : errno ? strerror(errno)
                  : "empty");
}

/* Reads back a page just written, which the cache must hold, in an unnamed file of the current directory. */
static void look_nowait(struct pp_finding *f)
{
    char page[4096] = {0};
    struct iovec v = {page, sizeof(page)};
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || pwrite(fd, page, sizeof(page), 0) != (ssize_t)sizeof(page)) {
        found(f, PP_CANNOT_TELL, "cannot create a scratch file: %s", strerror(errno));
    } else {
        ssize_t n = preadv2(fd, &v, 1, 0, RWF_NOWAIT);
        int told = n >= 0 || errno == EAGAIN;
        found(f, told ? PP_YES : PP_NO, "%s%s",
              told ? "RWF_NOWAIT works in this directory" : "RWF_NOWAIT in this directory: ",
              told ? "" : strerror(errno));
    }
    if (fd >= 0)
        close(fd);
}

/* ---- the GPU ---- */

static void look_cuda(struct pp_finding *f)
{
    struct pp_cuda_driver cu;
    struct pp_err err;
    char name[64] = "";
    int device;
    if (pp_cuda_driver_start(&cu, &err) != PP_OK) {
        found(f, PP_NO, "%s", err.text);
        return;
    }
    if (cu.cuDeviceGet(&device, 0) == 0)
        cu.cuDeviceGetName(name, sizeof(name), device);
    found(f, PP_YES, "%s%s%d device%s, driver for CUDA %d.%d", name, *name ? ", " : "", cu.devices,
          cu.devices == 1 ? "" : "s", cu.version / 1000, cu.version % 1000 / 10);
}

/* Opening the device tries each value that the kernel can be given, and the length of a step. */
static pp_status try_kernels(enum pp_dtype dtype, char *note, size_t size, struct pp_err *err)
{
    struct pp_transform *t = NULL;
    struct pp_device *d = NULL;
    struct pp_device_info info = {0};
    pp_status st = pp_transform_parse("rrc:224,normalize=imagenet", dtype, &t, err);
    if (st == PP_OK)
        st = pp_device_open(
            &(struct pp_device_opts){.kind = "cuda",
                                     .normalize = &(
                                         struct pp_device_normalize){.plane = 224 * 224,
                                                                     .value_bytes = pp_dtype_size(dtype),
                                                                     .table = pp_transform_values(t)}},
            &d, err);
    if (d)
        pp_device_info(d, &info);
    snprintf(note, size, "%s", info.note ? info.note : "");
    pp_device_close(d);
    pp_transform_destroy(t);
    return st;
}

static void look_kernels(struct pp_finding *f)
{
    char note[200];
    struct pp_err err;
    if (try_kernels(PP_DTYPE_F32, note, sizeof(note), &err) != PP_OK ||
        try_kernels(PP_DTYPE_F16, note, sizeof(note), &err) != PP_OK)
        found(f, PP_NO, "%s", err.text);
    else
        found(f, PP_YES, "f32 and f16 as on the CPU%s%s", note[0] ? "; " : "", note);
}

#define CHECK(called, kind, function, yes, no) \
    { \
        .name = called, .kind = function, .with = yes, .without = no \
    }
#define BUILT(called, enough, what, yes, no) \
    { \
        .name = called, .built = what, .has = (enough) ? PP_YES : PP_NO, .with = yes, .without = no \
    }
#define SINK(called, of, needs, yes, no) \
    { \
        .name = called, .sink = of, .library = needs, .with = yes, .without = no \
    }
const struct pp_check pp_checks[] = {
    CHECK("Python", of_python, PP_PYTHON_STARTS, "pipeprobe exec -- python3 train.py starts it",
          "activate the job's environment, or name its Python: pipeprobe doctor PYTHON"),
    CHECK("PyTorch", of_python, PP_PYTHON_TORCH, "imported by this Python",
          "activate the job's environment, or name its Python: pipeprobe doctor PYTHON"),
    CHECK("PyTorch hooks", look, look_hooks, "exec records unmodified PyTorch jobs",
          "this part of a job, or all of it, is not recorded"),
    CHECK("reads timed", of_python, PP_PYTHON_READS, "slow storage and slow decoding are measured separately",
          "reading counts as decoding"),
    CHECK("attach", of_python, PP_PYTHON_ATTACH, "attach PID records a running job",
          "attach PID looks from outside: no gains"),
    CHECK("idle machine", look, look_idle, "what is measured now is about your job",
          "what is measured now is about these processes too"),
    BUILT("JPEG decoding", HAS_SIMD, "libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION) ", " SIMD,
          "decoding runs at full speed", "decoding is several times slower"),
    BUILT("WebP decoding", PP_HAVE_WEBP,
          PP_HAVE_WEBP ? "with libwebp"
                       : "built without libwebp; apt-get install libwebp-dev and build again",
          "WebP images are decoded", "WebP images are errors of their samples"),
    CHECK("recordings", look, look_sqlite, "recordings are read and written",
          "STRICT tables need SQLite 3.37: recordings cannot be written"),
    CHECK("remote data", available, pp_http_available,
          "data sets are read from http://, https:// and s3:// too",
          "data sets are read from file systems alone"),
    CHECK("Parquet codecs", look, look_codecs, "Parquet files are read with any of them",
          "Parquet files are read unless compressed by what is missing"),
    CHECK("HDF5", available, pp_hdf5_available, "HDF5 files are read", "HDF5 files are refused"),
    SINK("metrics endpoint", &pp_sink_http, "libmicrohttpd", "--metrics serves Prometheus",
         "--metrics is not available; --metrics-textfile is"),
    SINK("metrics push", &pp_sink_push, "libcurl", "--metrics-push, --otlp and --mlflow send to servers",
         "--metrics-push, --otlp and --mlflow are not available"),
    CHECK("AVX2", look, look_avx2, "resize and normalise use it",
          "resize and normalise use portable code: same bits, slower"),
    CHECK("all CPUs usable", look, look_cpus, "workers can use every CPU of the machine",
          "--workers auto uses the usable CPUs"),
    CHECK("memory", look, look_memory, "limits the batch slots",
          "batch slots cannot be checked against free memory"),
    CHECK("page-locked batches", look, look_memlock, "batch slots can be locked in memory",
          "batch slots above the limit are pageable memory (raise ulimit -l)"),
    CHECK("waits for a CPU", look, look_schedstat, "how long each span waits for a CPU is recorded",
          "oversubscription and slow work look the same: no cause is named"),
    CHECK("page-cache hits", look, look_nowait, "page-cache hits are recorded per read",
          "reads from storage and from the page cache look the same"),
    {.collector = &pp_collector_pressure},
    CHECK("time stamp counter", look, look_tsc, "a time stamp costs a few ns",
          "time stamps use the kernel's clock"),
    CHECK("CUDA driver", look, look_cuda, "batches are copied to it",
          "copies use the host device: a simulated link of given bandwidth"),
    CHECK("CUDA kernels", look, look_kernels, "--wire u8 normalises on the device, --step cuda keeps it busy",
          "neither --wire u8 nor --step cuda can be used on a device"),
    CHECK("nvJPEG", look, pp_look_nvjpeg, "JPEG can be decoded on the GPU", "JPEG is decoded on the CPU"),
    CHECK("NUMA nodes", look, pp_look_numa,
          "no GPU, network or disk of the data is on another node than this shell's CPUs",
          "copies and reads cross the link between nodes"),
    CHECK("GPU capabilities", look, pp_look_container, "CUDA, NVML and the JPEG engine can be reached",
          "what is named cannot be used; start the container with NVIDIA_DRIVER_CAPABILITIES=all"),
    CHECK(
        "MIG", reach, pp_reach_mig,
        "an instance has a share of memory, JPEG engines and copy bandwidth, and no utilisation of its own in NVML",
        "a program has the whole GPU"),
    CHECK("cuFile", reach, pp_reach_cufile, "programs that use it read files into GPU memory",
          "pipeprobe reads through host memory (no GPUDirect Storage)"),
    {.collector = &pp_collector_cupti},
    {.collector = &pp_collector_nvml},
    {.collector = &pp_collector_nvtx},
    {.collector = &pp_collector_stacks},
};
const size_t pp_checks_n = sizeof(pp_checks) / sizeof(pp_checks[0]);

int pp_check_run(const struct pp_check *c, const char *only, struct pp_finding *f)
{
    const struct pp_collector *row = c->collector;
    const char *name = row ? row->name : c->name;
    size_t n = strlen(name);
    int wanted = !only;
    for (const char *at = only; at && !wanted; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        wanted = strncmp(at, name, n) == 0 && (at[n] == '\0' || at[n] == ',');
    if (!wanted)
        return 0;
    const char *missing = c->sink ? c->sink->missing() : NULL;
    *f = (struct pp_finding){.name = name};
    if (row && !row->available)
        snprintf(f->value, sizeof(f->value), "%s", row->found);
    if (row)
        f->answer = !row->available || row->available(f->value, sizeof(f->value)) ? PP_YES : PP_NO;
    else if (c->of_python != PP_PYTHON_NONE)
        pp_look_python(c->of_python, f);
    else if (c->built)
        found(f, c->has, "%s", c->built);
    else if (c->available)
        f->answer = c->available(f->value, sizeof(f->value)) ? PP_YES : PP_NO;
    else if (c->sink)
        found(f, missing ? PP_NO : PP_YES, "%s", missing ? missing : c->library);
    else if (c->reach) {
        struct pp_reach_root here = pp_reach_here();
        int yes = c->reach(&here, f->value, sizeof(f->value));
        f->answer = yes > 0 ? PP_YES : yes == 0 ? PP_NO : PP_CANNOT_TELL;
    } else
        c->look(f);
    f->meaning = f->answer == PP_YES  ? row ? row->with : c->with
                 : f->answer == PP_NO ? row ? row->without : c->without
                                      : "unknown";
    return 1;
}
