/* What the GPU does for the job, by CUPTI's records, from the first batch on that finds CUDA in use. That is
 * looked for at the 1st, 2nd, 4th, 8th, ... batch, and at every 256th: a job without a GPU pays for some
 * dozen looks.
 *
 * Rows are written by CUPTI's thread, from its callback. The thread that takes batches says which batch is
 * worked on from when; a call is the last batch's that its thread had before it. Threads that take none, such
 * as autograd's, work for the trainer's. */
#include "collectors/attach/python/record/record.h"
#include "collectors/attach/activity_file.h"
#include "collectors/gpu/cupti.h"
#include "collectors/gpu/cupti_abi.h"
#include "probe/base/guard.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MARKS = 8192,     /* batches that a record may lie behind the newest */
    MARKS_SAFE = 256, /* of them may be written over while they are read */
    MARKS_BACK = 64,  /* looked through for the calling thread's own */
    LOOKS = 256,
    SLOTS = 2 * PP_ACTIVITY_NAMES,
    PLACES = 12,
};

struct mark {
    uint64_t t_ns;
    uint32_t batch, thread;
    int trainer;
};

static struct {
    struct pp_activity_file *file; /* NULL: not claimed */
    struct pp_cupti *cupti;        /* NULL: nothing is recorded */
    uint64_t forks;                /* of the process that records: a child has none of it */
    uint32_t session;              /* that was looked at last */
    uint32_t looks;
    int off;         /* of this session */
    char yields[96]; /* the profiler that CUPTI is left to; "": none */
    struct mark mark[MARKS];
    uint64_t marks; /* written so far; released after the mark */
    /* the sink's */
    uint16_t slot[SLOTS]; /* names by their hash; 0: free */
    int8_t kept[PP_ACTIVITY_NAMES];
} gpu;

/* ---- names ---- */

/* The number of a text in the file's table of names. 0: none, or no room. */
static uint16_t number_of(const char *text)
{
    struct pp_activity_file *f = gpu.file;
    size_t n = text ? strnlen(text, PP_ACTIVITY_NAME - 1) : 0;
    if (!n)
        return 0;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    uint32_t at = hash % SLOTS;
    for (; gpu.slot[at]; at = (at + 1) % SLOTS)
        if (strncmp(f->name[gpu.slot[at]], text, n) == 0 && !f->name[gpu.slot[at]][n])
            return gpu.slot[at];
    uint32_t number = f->names + 1;
    if (number >= PP_ACTIVITY_NAMES)
        return 0;
    char *name = f->name[number];
    memcpy(name, text, n);
    name[n] = '\0';
    /* Calls that make the device work, or wait for it: the others are many and tell nothing. */
    gpu.kept[number] = strstr(name, "Launch") || strstr(name, "Memcpy") || strstr(name, "Memset") ||
                       strstr(name, "Synchronize");
    gpu.slot[at] = (uint16_t)number;
    __atomic_store_n(&f->names, number, __ATOMIC_RELEASE); /* pairs with the acquire of the collector */
    return (uint16_t)number;
}

/* ---- the sink: CUPTI's thread, or the one that ends the recording ---- */

/* Whose call it is that the thread made at t_ns. */
static uint32_t batch_at(uint64_t t_ns, uint32_t thread)
{
    uint64_t n = __atomic_load_n(&gpu.marks, __ATOMIC_ACQUIRE);
    uint64_t first = n > MARKS - MARKS_SAFE ? n - (MARKS - MARKS_SAFE) : 0, low = first, high = n;
    uint32_t trainers = PP_NO_BATCH;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (gpu.mark[middle % MARKS].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint64_t i = low; i > first && i + MARKS_BACK > low; i--) {
        const struct mark *m = &gpu.mark[(i - 1) % MARKS];
        if (m->thread == thread)
            return m->batch;
        if (m->trainer && trainers == PP_NO_BATCH)
            trainers = m->batch;
    }
    return trainers;
}

static void put_row(const struct pp_activity_row *row)
{
    struct pp_activity_file *f = gpu.file;
    /* acquire: pairs with the release of the collector, which has read what is written over */
    if (f->head - __atomic_load_n(&f->tail, __ATOMIC_ACQUIRE) >= PP_ACTIVITY_ROWS) {
        f->no_room++;
        return;
    }
    f->row[f->head % PP_ACTIVITY_ROWS] = *row;
    __atomic_store_n(&f->head, f->head + 1, __ATOMIC_RELEASE); /* pairs with the acquire of the collector */
}

static pp_status on_activity(struct pp_store *none, const struct pp_store_gpu *g)
{
    struct pp_activity_row row = {.start_ns = g->start_ns,
                                  .dur_ns = g->dur_ns,
                                  .bytes = g->bytes,
                                  .correlation = g->correlation,
                                  .device = g->device,
                                  .context = g->context,
                                  .stream = g->stream,
                                  .thread = g->thread,
                                  .batch = PP_NO_BATCH,
                                  .result = g->result,
                                  .kind = number_of(g->kind),
                                  .name = number_of(g->name),
                                  .source = number_of(g->source),
                                  .target = number_of(g->target),
                                  .asynchronous = (int8_t)g->asynchronous};
    int is_call = g->thread != PP_GPU_NONE;
    if (!row.kind || (is_call && !gpu.kept[row.name]))
        return PP_OK;
    if (is_call)
        row.batch = batch_at(g->start_ns, g->thread);
    put_row(&row);
    return PP_OK;
}

static pp_status on_clock(struct pp_store *none, uint64_t t_ns, int64_t offset_ns, uint64_t error_ns)
{
    put_row(&(struct pp_activity_row){.start_ns = t_ns, .bytes = (uint64_t)offset_ns, .dur_ns = error_ns});
    return PP_OK;
}

/* None: the program's calls carry no batch. */
static pp_status on_batch(struct pp_store *none, uint32_t correlation, uint64_t batch)
{
    return PP_OK;
}

/* ---- where CUPTI is ---- */

struct places {
    char beside[PATH_MAX]; /* the CUDA runtime of NVIDIA's wheels; "": there is none */
    const char *list[PLACES];
};

/* NVIDIA's wheels lie beside each other: where the runtime was loaded from, CUPTI is not far. */
static int on_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    static const char *const wheels[] = {"cuda_cupti/lib/libcupti.so.12", "cu13/lib/libcupti.so.13"};
    char *path = ctx;
    const char *at = strstr(info->dlpi_name, "/nvidia/");
    for (size_t i = 0; at && i < sizeof(wheels) / sizeof(*wheels); i++) {
        int n = snprintf(path, PATH_MAX, "%.*s/nvidia/%s", (int)(at - info->dlpi_name), info->dlpi_name,
                         wheels[i]);
        if (n > 0 && n < PATH_MAX && access(path, R_OK) == 0)
            return 1;
    }
    *path = '\0';
    return 0;
}

/* ---- the driver, if the program has it ---- */

struct driver {
    int version;
    char device[128];
};

/* What the dynamic linker has loaded so far: a look at it costs some 0.1 us where nothing is new. */
struct loaded {
    unsigned long long adds; /* as of the look before */
    int is_new, has_driver;
};

static int on_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct loaded *l = ctx;
    const char *file = strrchr(info->dlpi_name, '/');
    if (!l->is_new && info->dlpi_adds == l->adds)
        return 1;
    l->is_new = 1;
    l->adds = info->dlpi_adds;
    l->has_driver |= strncmp(file ? file + 1 : info->dlpi_name, "libcuda.so", 10) == 0;
    return 0;
}

/* 0: CUDA is not in use, or not in this thread. Nothing is loaded, and nothing in CUDA changes. */
static int cuda_in_use(struct driver *d)
{
    static struct loaded loaded;
    int (*current)(void **), (*device_of)(int *), (*name_of)(char *, int, int), (*version_of)(int *);
    void *context = NULL;
    int device = 0;
    loaded.is_new = 0;
    dl_iterate_phdr(on_loaded, &loaded);
    void *library = loaded.has_driver ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    if (!library)
        return 0;
    *(void **)&current = dlsym(library, "cuCtxGetCurrent");
    *(void **)&device_of = dlsym(library, "cuCtxGetDevice");
    *(void **)&name_of = dlsym(library, "cuDeviceGetName");
    *(void **)&version_of = dlsym(library, "cuDriverGetVersion");
    int used = current && version_of && current(&context) == 0 && context && version_of(&d->version) == 0;
    if (used && device_of && name_of && device_of(&device) == 0)
        (void)name_of(d->device, sizeof(d->device) - 1, device);
    dlclose(library); /* the program has it open itself */
    return used;
}

/* ---- begin and end ---- */

static void unmap_file(struct pp_activity_file *f)
{
    pp_guard_remove(f);
    munmap(f, sizeof(*f));
}

/* The session's file, claimed for this process. NULL: there is none, it is full, or another has it. */
static struct pp_activity_file *claim_file(void)
{
    char path[PATH_MAX + 32];
    struct pp_activity_file *f = MAP_FAILED;
    int64_t none = 0;
    snprintf(path, sizeof(path), "%s/" PP_ACTIVITY_FILE_NAME, record_dir());
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (lseek(fd, 0, SEEK_END) >= (off_t)sizeof(*f))
        f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (f == MAP_FAILED)
        return NULL;
    pp_guard_add(f, sizeof(*f));
    if (memcmp(f->magic, PP_ACTIVITY_MAGIC, sizeof(f->magic)) == 0 && !f->stop &&
        __atomic_compare_exchange_n(&f->pid, &none, getpid(), 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return f;
    unmap_file(f);
    return NULL;
}

static void begin_recording(const struct driver *d)
{
    static struct places places;
    struct pp_err err = {.code = PP_OK};
    struct pp_activity_file *f = gpu.file = claim_file();
    gpu.off = 1; /* whatever comes, there is no second try */
    if (!f)
        return;
    record_before_leave(record_gpu_end);
    memset(gpu.slot, 0, sizeof(gpu.slot));
    gpu.marks = 0;
    gpu.forks = record_forks();
    memcpy(f->device, d->device, sizeof(d->device));
    size_t n = 0;
    dl_iterate_phdr(on_library, places.beside);
    if (*places.beside)
        places.list[n++] = places.beside;
    for (size_t i = 0; pp_cupti_places[i] && n + 1 < PLACES; i++)
        places.list[n++] = pp_cupti_places[i];
    places.list[n] = NULL;
    struct pp_cupti_opts opts = {.sink = {NULL, on_activity, on_batch, on_clock},
                                 .driver_version = d->version,
                                 .libraries = places.list,
                                 .guest = 1};
    if (*gpu.yields)
        snprintf(err.text, sizeof(err.text), "CUPTI is used by %s", gpu.yields);
    else if (getenv("KINETO_USE_DAEMON"))
        snprintf(
            err.text, sizeof(err.text),
            "PyTorch's profiler may be started from outside (KINETO_USE_DAEMON), and CUPTI is left to it");
    else if (pp_cupti_open(&opts, &gpu.cupti, &err) == PP_OK)
        snprintf(err.text, sizeof(err.text), "%s, in the job", pp_cupti_name(gpu.cupti));
    snprintf(f->text, sizeof(f->text), "%s", err.text);
    /* release: pairs with the acquire of the collector */
    __atomic_store_n(&f->state, gpu.cupti ? PP_ACTIVITY_ON : PP_ACTIVITY_REFUSED, __ATOMIC_RELEASE);
    if (!gpu.cupti) {
        unmap_file(f);
        gpu.file = NULL;
    }
}

static int is_recorded_here(void)
{
    return gpu.cupti && gpu.forks == record_forks();
}

static void end_recording(const char *until)
{
    struct pp_cupti_stats stats = {0};
    if (!is_recorded_here())
        return;
    pp_cupti_close(gpu.cupti, &stats);
    gpu.cupti = NULL;
    gpu.file->dropped = stats.dropped;
    snprintf(gpu.file->until, sizeof(gpu.file->until), "%s", until);
    /* release: pairs with the acquire of the collector */
    __atomic_store_n(&gpu.file->state, PP_ACTIVITY_ENDED, __ATOMIC_RELEASE);
    unmap_file(gpu.file);
    gpu.file = NULL;
}

void record_gpu_end(void)
{
    end_recording("");
}

void record_gpu_yield(const char *to)
{
    char until[128];
    snprintf(gpu.yields, sizeof(gpu.yields), "%s", to);
    snprintf(until, sizeof(until), "CUPTI was needed by %s", to);
    end_recording(until);
}

void record_gpu_batch(uint32_t batch, int by_trainer)
{
    static __thread uint32_t thread;
    struct driver d = {0};
    if (gpu.session != record_session()) {
        gpu.session = record_session();
        gpu.off = 0;
        gpu.looks = 0;
    }
    if (is_recorded_here() && __atomic_load_n(&gpu.file->stop, __ATOMIC_RELAXED))
        end_recording("enough was recorded");
    if (!gpu.cupti && !gpu.off) {
        gpu.looks++;
        if (((gpu.looks & (gpu.looks - 1)) == 0 || gpu.looks % LOOKS == 0) && cuda_in_use(&d))
            begin_recording(&d);
    }
    if (!is_recorded_here())
        return;
    if (!thread)
        thread = (uint32_t)syscall(SYS_gettid);
    gpu.mark[gpu.marks % MARKS] = (struct mark){pp_now_ns(), batch, thread, by_trainer};
    __atomic_store_n(&gpu.marks, gpu.marks + 1, __ATOMIC_RELEASE); /* pairs with the acquire in batch_at */
}
