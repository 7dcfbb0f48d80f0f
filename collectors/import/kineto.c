/* torch.profiler's Chrome JSON (Kineto), of any version since 2021, and other files of that shape. Names and
 * categories: torch/utils/data/dataloader.py (_profile_name), torch/profiler/profiler.py (ProfilerStep#N),
 * libkineto/include/ActivityType.h. Categories changed from "Operator" and "Kernel" to "cpu_op" and "kernel"
 * in 2022; a name says more than a category, which only tells the twins of the GPU's timeline from the
 * annotations themselves. */
#include "collectors/import/events.h"
#include "collectors/import/import.h"

/* Rows of a map (attach/namemap.h); the first that fits. What no row names is kept as a range of the program
 * if its category says that it is one, and is an operator of PyTorch otherwise. */
static const char known_names[] = "ProfilerStep* = step\n"
                                  "enumerate(DataLoader)#* = data_wait\n"
                                  "enumerate(DataPipe)#* = data_wait\n"
                                  "nccl\\:* = collective\n"
                                  "gloo\\:* = collective\n"
                                  "mpi\\:* = collective\n"
                                  "ucc\\:* = collective\n"
                                  "\"Optimizer.*\" = ignore\n"
                                  "DistributedDataParallel.forward = ignore\n";

enum gpu_role { GPU_NONE, GPU_KERNEL, GPU_COPY, GPU_SET, GPU_CALL, GPU_TWIN, GPU_ANNOTATION };
static const struct {
    const char *cat;
    enum gpu_role role;
} categories[] = {
    {"kernel", GPU_KERNEL},
    {"Kernel", GPU_KERNEL},
    {"gpu_memcpy", GPU_COPY},
    {"Memcpy", GPU_COPY},
    {"gpu_memset", GPU_SET},
    {"Memset", GPU_SET},
    {"cuda_runtime", GPU_CALL},
    {"cuda_driver", GPU_CALL},
    {"Runtime", GPU_CALL},
    {"hip_runtime", GPU_CALL},
    {"gpu_user_annotation", GPU_TWIN},
    {"user_annotation", GPU_ANNOTATION},
};

struct mapper {
    struct pp_imported *im;
    struct pp_import_facts *facts;
    struct pp_import_names names;
};

/* ---- the GPU ---- */

static void take_gpu(struct mapper *m, const struct pp_event *e, enum gpu_role role)
{
    static const uint8_t kinds[] = {[GPU_KERNEL] = PP_IMPORT_KERNEL,
                                    [GPU_COPY] = PP_IMPORT_MEMCPY,
                                    [GPU_SET] = PP_IMPORT_MEMSET,
                                    [GPU_CALL] = PP_IMPORT_CALL};
    struct pp_import_gpu g = {.kind = kinds[role],
                              .dur_ns = (uint64_t)e->dur_ns,
                              .bytes = e->has & PP_HAS_BYTES ? e->bytes : 0,
                              .correlation = e->has & PP_HAS_CORRELATION ? (uint32_t)e->correlation
                                                                         : UINT32_MAX,
                              .stream = e->has & PP_HAS_STREAM ? (uint32_t)e->stream : UINT32_MAX,
                              .device = e->has & PP_HAS_DEVICE ? (uint16_t)e->device : UINT16_MAX,
                              .thread = UINT32_MAX,
                              .asynchronous = -1};
    /* The calls that start something on the GPU, and those that wait for it. */
    const char *sync = NULL;
    if (role == GPU_CALL && strstr(e->name, "StreamSynchronize"))
        sync = "stream synchronize";
    else if (role == GPU_CALL && (strstr(e->name, "DeviceSynchronize") || strstr(e->name, "CtxSynchronize")))
        sync = "context synchronize";
    else if (role == GPU_CALL && !strstr(e->name, "Launch") && !strstr(e->name, "Memcpy") &&
             !strstr(e->name, "Memset"))
        return;
    if (!pp_imported_time(m->im, e->ts_ns, &g.start_ns))
        return;
    /* "Memcpy HtoD (Pageable -> Device)"; AMD says "Host". */
    const char *from = role == GPU_COPY ? strchr(e->name, '(') : NULL,
               *to = from ? strstr(from, "-> ") : NULL;
    if (to) {
        g.source = (uint8_t)pp_import_memory(from + 1);
        g.target = (uint8_t)pp_import_memory(to + 3);
    }
    if (role == GPU_CALL)
        g.thread = pp_imported_thread(m->im, e->pid, e->tid);
    g.name = pp_imported_name(m->im, e->name);
    pp_imported_gpu(m->im, &g);
    if (sync) {
        g.kind = PP_IMPORT_SYNC;
        g.name = pp_imported_name(m->im, sync);
        pp_imported_gpu(m->im, &g);
    }
}

/* ---- events ---- */

static int on_event(void *ctx, const struct pp_event *e)
{
    struct mapper *m = ctx;
    enum gpu_role role = GPU_NONE;
    m->facts->events++;
    if (e->ph[0] == 'M' && strcmp(e->name, "thread_name") == 0) {
        /* torch.profiler calls it "thread 25738 (python)" */
        pp_imported_thread_name(m->im, pp_imported_thread(m->im, e->pid, e->tid), e->label);
        return 0;
    }
    if (e->ph[0] != 'X')
        return 0;
    if (strcmp(e->cat, "task:execute") == 0) /* ray.timeline() */
        m->facts
            ->instead = "Ray's timeline has tasks and no training loop, so use torch.profiler in the trainer";
    for (size_t i = 0; i < sizeof(categories) / sizeof(*categories) && role == GPU_NONE; i++)
        role = strcmp(e->cat, categories[i].cat) == 0 ? categories[i].role : GPU_NONE;
    if (!(e->has & PP_HAS_TS) || !(e->has & PP_HAS_DUR) || e->dur_ns < 0) {
        m->facts->odd_times++;
        return 0;
    }
    if (role == GPU_TWIN)
        m->facts->twins++;
    else if (role != GPU_NONE && role != GPU_ANNOTATION)
        take_gpu(m, e, role);
    if (role != GPU_NONE && role != GPU_ANNOTATION)
        return 0;
    /* A range of the program. */
    enum pp_import_role maybe;
    struct pp_span s = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
    pp_phase phase = pp_import_phase(&m->names, "", e->name, &maybe);
    if (phase == PP_PHASE_USER && strncmp(e->name, "PyTorch Profiler", 16) == 0)
        return 0; /* spans all */
    int named = maybe || strncmp(e->name, "Optimizer.", 10) == 0 || strncmp(e->name, "## ", 3) == 0 ||
                strncmp(e->name, "DistributedDataParallel.", 24) == 0;
    if (phase == PP_PHASE_USER && role != GPU_ANNOTATION && !named)
        return 0; /* an operator */
    if (!pp_imported_time(m->im, e->ts_ns, &s.start_ns))
        return 0;
    s.dur_ns = (uint64_t)e->dur_ns;
    s.phase = (uint8_t)phase;
    s.name = pp_imported_name(m->im, phase == PP_PHASE_STEP ? "" : e->name);
    if (phase == PP_PHASE_DATA_WAIT)
        pp_import_note_loader(m->facts, e->name);
    pp_imported_span(m->im, pp_imported_thread(m->im, e->pid, e->tid), &s, maybe);
    return 0;
}

static int on_value(void *ctx, const char *name, const char *value)
{
    struct mapper *m = ctx;
    struct pp_import_facts *f = m->facts;
    const struct {
        const char *name;
        char *text;
        size_t size;
    } texts[] = {{"host_name", f->host, sizeof(f->host)},
                 {"distributedInfo.backend", f->backend, sizeof(f->backend)},
                 {"deviceProperties.name", f->device, sizeof(f->device)}};
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {{"distributedInfo.rank", &f->rank},
                   {"distributedInfo.world_size", &f->world_size},
                   {"baseTimeNanoseconds", &f->utc_ns}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (strcmp(name, texts[i].name) == 0 && !texts[i].text[0])
            snprintf(texts[i].text, texts[i].size, "%s", value);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (strcmp(name, numbers[i].name) == 0)
            *numbers[i].number = strtoll(value, NULL, 10);
    return 0;
}

static pp_status read_trace(const char *path, const struct pp_namemap *map, struct pp_imported *im,
                            struct pp_err *err)
{
    struct mapper m = {.im = im, .facts = pp_imported_facts(im)};
    struct pp_events_read read = {0};
    pp_status status = pp_import_names_open(&m.names, map, known_names, 1, path, err);
    m.facts->whole_steps = 1;
    if (status == PP_OK)
        status = pp_events_read(path,
                                &(struct pp_event_sink){.event = on_event, .value = on_value, .ctx = &m},
                                &read, err);
    m.facts->ended = read.ended;
    m.facts->ended_at = read.at;
    pp_import_names_close(&m.names);
    return status;
}

/* What no other format of JSON events claims. */
static int probe(const struct pp_import_head *head)
{
    const char *text = (const char *)head->data;
    size_t blank = strspn(text, " \t\r\n");
    if (text[blank] == '{')
        return strstr(text, "\"traceEvents\"") || strstr(text, "\"schemaVersion\"") ||
               strstr(text, "\"deviceProperties\"");
    return text[blank] == '[' && strstr(text, "\"ph\"") && strstr(text, "\"ts\"");
}

const struct pp_importer pp_importer_kineto = {
    .name = "kineto",
    .what = "torch.profiler (Kineto) and other Chrome trace events, .json or .json.gz",
    .probe = probe,
    .read = read_trace,
};
