/* JAX's and TensorFlow's traces (*.xplane.pb): XSpace of tsl/profiler/protobuf/xplane.proto. Planes hold
 * lines (threads, streams), which hold events, whose names are numbers: a plane's table of names follows its
 * lines, so that the file is read twice. Names: tensorflow/core/profiler/utils/xplane_schema.cc (step_num,
 * memcpy_details, IteratorGetNextOp::DoCompute), jax/_src/profiler.py (StepTraceAnnotation; Python functions
 * as "$file.py:12 name"), tensorflow/core/framework/dataset.h (Iterator::Root::Prefetch::Map),
 * grain/_src/python/dataset/stats.py (Class.method, of iterators, sources and the threads that prefetch), and
 * grain/_src/core/profiler.py (_ipl_stage_cat, what a stage of an input pipeline does). */
#include "collectors/import/fields.h"
#include "collectors/import/import.h"

#include "probe/base/err.h"
#include "probe/base/hash.h"

/* attach/namemap.h. A stage of tf.data is the last part of its name; it holds its inputs (assemble.c). A
 * parallel stage waits for threads of its own, which are called tf_data...: there ExecutorState::Process is
 * the function that map() was given, and holds its operators, "name:type". */
static const char known_names[] = "IteratorGetNextOp\\:\\:DoCompute = data_wait\n"
                                  "IteratorGetNextAsOptionalOp\\:\\:DoCompute = data_wait\n"
                                  "$iterator_ops.py\\:* __next__ = data_wait\n"
                                  "$dataloader.py\\:* __next__ = data_wait\n"
                                  "$data_loader.py\\:* __next__ = data_wait\n"
                                  "*DatasetIterator.__next__* = data_wait\n"
                                  "*SourceMapDataset.__getitem__* = read\n"
                                  "Prefetch._getitem* = transform\n"
                                  "Iterator\\:\\:*TFRecord = read\n"
                                  "Iterator\\:\\:*TextLine = read\n"
                                  "Iterator\\:\\:*FixedLengthRecord = read\n"
                                  "*\\:ReadFile = read\n"
                                  "*\\:Decode* = decode\n"
                                  "Iterator\\:\\:Map = transform\n"
                                  "Iterator\\:\\:*\\:\\:Map = transform\n"
                                  "InstantiatedCapturedFunction\\:\\:Run* = transform\n"
                                  "ExecutorState\\:\\:Process = transform\n"
                                  "Iterator\\:\\:Batch* = collate\n"
                                  "Iterator\\:\\:*\\:\\:Batch = collate\n"
                                  "Iterator\\:\\:*\\:\\:BatchV2 = collate\n";

enum { PLANES = 256, MOST_NAMES = 1 << 18, TEXT = 256 };
enum { XSPACE_PLANES = 1, XPLANE_NAME = 2, XPLANE_LINES = 3, XPLANE_EVENT_NAMES = 4, XPLANE_STAT_NAMES = 5 };
enum { XLINE_ID = 1, XLINE_NAME = 2, XLINE_TIMESTAMP_NS = 3, XLINE_EVENTS = 4 };
enum {
    XEVENT_NAME = 1,
    XEVENT_OFFSET_PS = 2,
    XEVENT_DURATION_PS = 3,
    XEVENT_STATS = 4,
    XEVENT_OCCURRENCES = 5
};
enum { XSTAT_NAME = 1, XSTAT_STRING = 5, XSTAT_REF = 7 };
enum { MAP_KEY = 1, MAP_VALUE = 2, METADATA_NAME = 2 };

enum plane_kind { PLANE_OTHER, PLANE_HOST, PLANE_GPU, PLANE_TPU };
struct plane {
    enum plane_kind kind;
    uint16_t device;
    uint64_t step_num, memcpy_details; /* numbers of these names; 0: there are none */
    uint64_t stage_cat, read, preprocessing;
};

/* What a name of a plane means; those that mean nothing are not kept. */
struct meaning {
    uint64_t id;
    uint16_t plane, name;
    uint8_t phase, role, used, copies;
    uint8_t of_stages; /* means that on threads of tf.data alone */
};

struct xplane {
    struct pp_imported *im;
    struct pp_import_facts *facts;
    struct pp_import_names names;
    struct plane planes[PLANES];
    struct meaning *meanings; /* a hash, open (base/hash.h) */
    struct meaning nowhere;   /* stays unused */
    size_t n_meanings;
    uint64_t seed;
    uint64_t lost;
};

static int is_message(const struct pp_fields *f, uint32_t number)
{
    return f->number == number && f->wire == PP_WIRE_BYTES;
}

/* ---- first reading: what the names mean ---- */

/* The place of a plane's name in the hash: its own, or the free one where it belongs; &x->nowhere: there is
 * none. */
static struct meaning *place_of(struct xplane *x, unsigned plane, uint64_t id)
{
    uint64_t at = pp_mix64(pp_mix64(x->seed ^ id) + plane);
    for (unsigned probes = 0; probes < PP_HASH_PROBES; probes++, at++) {
        struct meaning *m = &x->meanings[at % (2 * MOST_NAMES)];
        if (!m->used || (m->id == id && m->plane == plane))
            return m;
    }
    return &x->nowhere;
}

static void learn_event(struct xplane *x, unsigned plane, uint64_t id, const char *name)
{
    struct meaning m = {.id = id, .plane = (uint16_t)plane, .used = 1};
    if (x->planes[plane].kind == PLANE_HOST) {
        enum pp_import_role role;
        pp_phase phase = pp_import_phase(&x->names, "", name, &role);
        m.role = (uint8_t)role;
        if (phase == PP_PHASE_USER && !role && strncmp(name, "Iterator::", 10) != 0)
            return; /* of the runtime */
        m.phase = (uint8_t)phase;
        m.of_stages = strcmp(name, "ExecutorState::Process") == 0;
    }
    m.copies = strncmp(name, "Memcpy", 6) == 0 ? 1 : strncmp(name, "Memset", 6) == 0 ? 2 : 0;
    struct meaning *to = place_of(x, plane, id);
    if (to->used || to == &x->nowhere || x->n_meanings == MOST_NAMES) {
        x->lost += !to->used;
        return;
    }
    x->n_meanings++;
    m.name = pp_imported_name(x->im, name);
    *to = m;
}

/* An entry of a table of names: its number and its name, "" where it has none. */
static uint64_t read_name(struct pp_fields *f, char *name)
{
    uint64_t id = 0;
    name[0] = '\0';
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (f->number == MAP_KEY && f->wire == PP_WIRE_VARINT)
            id = f->value;
        if (!is_message(f, MAP_VALUE))
            continue;
        pp_fields_enter(f);
        while (pp_fields_next(f))
            if (is_message(f, METADATA_NAME))
                pp_fields_text(f, name, TEXT);
    }
    return id;
}

static void learn_names(struct xplane *x, struct pp_fields *f, unsigned plane)
{
    static const struct {
        const char *begins;
        enum plane_kind kind;
    } kinds[] = {{"/host:CPU", PLANE_HOST}, {"/device:GPU:", PLANE_GPU}, {"/device:TPU:", PLANE_TPU}};
    struct plane *p = &x->planes[plane];
    char name[TEXT];
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (is_message(f, XPLANE_NAME)) {
            pp_fields_text(f, name, sizeof(name));
            for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
                size_t n = strlen(kinds[i].begins);
                if (strncmp(name, kinds[i].begins, n) != 0)
                    continue;
                p->kind = kinds[i].kind;
                p->device = (uint16_t)strtoul(name + n, NULL, 10);
            }
        } else if (p->kind && is_message(f, XPLANE_EVENT_NAMES)) {
            uint64_t id = read_name(f, name);
            learn_event(x, plane, id, name);
        } else if (p->kind && is_message(f, XPLANE_STAT_NAMES)) {
            const struct {
                const char *name;
                uint64_t *id;
            } stats[] = {{"step_num", &p->step_num},
                         {"memcpy_details", &p->memcpy_details},
                         {"_ipl_stage_cat", &p->stage_cat},
                         {"read", &p->read},
                         {"preprocessing", &p->preprocessing}};
            uint64_t id = read_name(f, name);
            for (size_t i = 0; i < sizeof(stats) / sizeof(*stats); i++)
                if (strcmp(name, stats[i].name) == 0)
                    *stats[i].id = id;
        }
    }
}

/* ---- second reading: the events ---- */

struct line {
    unsigned plane;
    uint64_t id;
    int64_t timestamp_ns;
    uint32_t thread; /* of pp_imported_thread, once there is a span */
    char name[64];
};

struct event {
    uint64_t id, offset_ps, duration_ps;
    int counts, is_step; /* counts: it stands for many */
    pp_phase stage;      /* what its category says; PP_PHASE_USER: it has none */
    char copy[96];       /* memcpy_details */
};

static struct event read_event(struct pp_fields *f, const struct plane *p)
{
    struct event e = {.stage = PP_PHASE_USER};
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (is_message(f, XEVENT_STATS)) {
            uint64_t id = 0;
            pp_fields_enter(f);
            while (pp_fields_next(f)) {
                if (f->number == XSTAT_NAME && f->wire == PP_WIRE_VARINT)
                    id = f->value;
                else if (id && id == p->stage_cat && f->number == XSTAT_REF && f->wire == PP_WIRE_VARINT)
                    e.stage = !f->value                      ? PP_PHASE_USER
                              : f->value == p->read          ? PP_PHASE_READ
                              : f->value == p->preprocessing ? PP_PHASE_TRANSFORM
                                                             : PP_PHASE_USER;
                else if (id && id == p->memcpy_details && is_message(f, XSTAT_STRING))
                    pp_fields_text(f, e.copy, sizeof(e.copy));
            }
            e.is_step |= id && id == p->step_num;
            continue;
        }
        if (f->wire != PP_WIRE_VARINT)
            continue;
        if (f->number == XEVENT_NAME)
            e.id = f->value;
        else if (f->number == XEVENT_OFFSET_PS)
            e.offset_ps = f->value;
        else if (f->number == XEVENT_DURATION_PS)
            e.duration_ps = f->value;
        else if (f->number == XEVENT_OCCURRENCES)
            e.counts = 1;
    }
    return e;
}

/* 1: in *start_ns it began, as a time of the recording. */
static int time_of(struct xplane *x, const struct line *l, const struct event *e, uint64_t *start_ns)
{
    int64_t ns;
    if (e->offset_ps / 1000 > PP_IMPORT_LONGEST_NS || e->duration_ps / 1000 > PP_IMPORT_LONGEST_NS ||
        __builtin_add_overflow(l->timestamp_ns, (int64_t)(e->offset_ps / 1000), &ns)) {
        x->facts->odd_times++;
        return 0;
    }
    return pp_imported_time(x->im, ns, start_ns);
}

static void take_gpu(struct xplane *x, const struct line *l, const struct event *e)
{
    static const uint8_t kinds[] = {PP_IMPORT_KERNEL, PP_IMPORT_MEMCPY, PP_IMPORT_MEMSET};
    const struct meaning *m = place_of(x, l->plane, e->id);
    /* "kind_src:pageable kind_dst:device size:602112 dest:0 async:1" */
    const char *size = strstr(e->copy, "size:"), *async = strstr(e->copy, "async:"),
               *source = strstr(e->copy, "kind_src:"), *target = strstr(e->copy, "kind_dst:");
    struct pp_import_gpu g = {.kind = kinds[m->used ? m->copies : 0],
                              .dur_ns = e->duration_ps / 1000,
                              .bytes = size ? strtoull(size + 5, NULL, 10) : 0,
                              .correlation = UINT32_MAX,
                              .stream = (uint32_t)l->id,
                              .device = x->planes[l->plane].device,
                              .thread = UINT32_MAX,
                              .name = m->used ? m->name : 0,
                              .source = source ? (uint8_t)pp_import_memory(source + 9) : PP_MEMORY_NONE,
                              .target = target ? (uint8_t)pp_import_memory(target + 9) : PP_MEMORY_NONE,
                              .asynchronous = async ? (int8_t)(async[6] == '1') : -1};
    if (time_of(x, l, e, &g.start_ns))
        pp_imported_gpu(x->im, &g);
}

static void take_line(struct xplane *x, struct pp_fields *f, unsigned plane)
{
    struct line l = {.plane = plane, .thread = PP_IMPORT_NO_THREAD};
    const struct plane *p = &x->planes[plane];
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (f->number == XLINE_ID && f->wire == PP_WIRE_VARINT)
            l.id = f->value;
        else if (f->number == XLINE_TIMESTAMP_NS && f->wire == PP_WIRE_VARINT)
            l.timestamp_ns = (int64_t)f->value;
        else if (is_message(f, XLINE_NAME))
            pp_fields_text(f, l.name, sizeof(l.name));
        if (!is_message(f, XLINE_EVENTS))
            continue;
        x->facts->events++;
        /* Of a GPU the streams, of a TPU the modules: other lines show the same work by other names. */
        if ((p->kind == PLANE_GPU && strncmp(l.name, "Stream #", 8) != 0) ||
            (p->kind == PLANE_TPU && strcmp(l.name, "XLA Modules") != 0))
            continue;
        struct event e = read_event(f, p);
        if (!e.counts && p->kind == PLANE_HOST) {
            const struct meaning *m = place_of(x, l.plane, e.id);
            struct pp_span s = {.dur_ns = e.duration_ps / 1000, .sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
            int named = m->used && m->phase != PP_PHASE_USER;
            if ((m->used || e.is_step || e.stage != PP_PHASE_USER) &&
                !(m->of_stages && strncmp(l.name, "tf_data", 7) != 0) && time_of(x, &l, &e, &s.start_ns)) {
                s.phase = (uint8_t)(e.is_step ? PP_PHASE_STEP : named ? m->phase : e.stage);
                s.name = e.is_step || !m->used ? 0 : m->name;
                if (l.thread == PP_IMPORT_NO_THREAD) {
                    char tid[24];
                    snprintf(tid, sizeof(tid), "%llu", (unsigned long long)l.id);
                    l.thread = pp_imported_thread(x->im, "host", tid);
                    l.name[strcspn(l.name, "/")] = '\0'; /* "tf_data_private_threadpool/-28..." */
                    pp_imported_thread_name(x->im, l.thread, l.name);
                }
                pp_imported_span(x->im, l.thread, &s,
                                 e.is_step ? PP_ROLE_NONE : (enum pp_import_role)m->role);
            }
        } else if (!e.counts && !f->ended) {
            take_gpu(x, &l, &e);
        }
    }
}

/* ---- the file ---- */

/* The first time for the names, the second time, when they are known, for the events. */
static pp_status read_planes(struct xplane *x, const char *path, int for_events, struct pp_err *err)
{
    struct pp_bytes *bytes;
    unsigned plane = 0;
    pp_status status = pp_bytes_open(path, &bytes, err);
    if (status != PP_OK)
        return status;
    struct pp_fields f = {.bytes = bytes, .ends = {UINT64_MAX}};
    while (pp_fields_next(&f)) {
        if (!is_message(&f, XSPACE_PLANES) || plane == PLANES)
            continue;
        unsigned this = plane++;
        if (!for_events)
            learn_names(x, &f, this);
        if (!for_events || !x->planes[this].kind)
            continue;
        pp_fields_enter(&f);
        while (pp_fields_next(&f))
            if (is_message(&f, XPLANE_LINES))
                take_line(x, &f, this);
    }
    x->facts->ended = f.ended;
    x->facts->ended_at = pp_fields_at(&f);
    pp_bytes_close(bytes);
    return PP_OK;
}

static pp_status read_trace(const char *path, const struct pp_namemap *map, struct pp_imported *im,
                            struct pp_err *err)
{
    struct xplane *x = calloc(1, sizeof(*x));
    pp_status status;
    if (!x)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    x->im = im;
    x->seed = pp_hash_seed();
    x->facts = pp_imported_facts(im);
    x->meanings = calloc(2 * MOST_NAMES, sizeof(*x->meanings));
    x->facts->stages = 1;
    x->facts->steps_are = "jax.profiler.StepTraceAnnotation, or tf.profiler.experimental.Trace with step_num";
    x->facts->waits_are =
        "tf.data's IteratorGetNext, __next__ of a DataLoader, or an annotation such as data_wait";
    x->facts->instead = "profile the training loop with them";
    x->facts->no_workers =
        "not recorded: a profiler of one process sees no worker process; pipeprobe exec -- python "
        "train.py records those of PyTorch's DataLoader";
    status = pp_import_names_open(&x->names, map, known_names, 1, path, err);
    if (status == PP_OK && !x->meanings)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    if (status == PP_OK)
        status = read_planes(x, path, 0, err);
    if (status == PP_OK)
        status = read_planes(x, path, 1, err);
    if (status == PP_OK && x->facts->ended && !x->facts->steps && !x->facts->fetches)
        status = pp_fail(err, PP_E_CORRUPT,
                         "%s cannot be read: %s (byte %llu), and the names of a plane's events follow them",
                         path, x->facts->ended, (unsigned long long)x->facts->ended_at);
    x->facts->lost_meanings = x->lost;
    pp_import_names_close(&x->names);
    free(x->meanings);
    free(x);
    return status;
}

static size_t behind_varint(const struct pp_import_head *head, size_t at)
{
    while (at < head->size && head->data[at] & 0x80)
        at++;
    return at + 1;
}

/* It begins with a plane, that with its number, which may lack, and its name. */
static int probe(const struct pp_import_head *head)
{
    static const char *const names[] = {"/host:", "/device:", "Task Environment"};
    size_t at = behind_varint(head, 1);
    int found = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        found |= memmem(head->data, head->size, names[i], strlen(names[i])) != NULL;
    if (!found || head->data[0] != (XSPACE_PLANES << 3 | PP_WIRE_BYTES) || at >= head->size)
        return 0;
    if (head->data[at] == (1 << 3 | PP_WIRE_VARINT))
        at = behind_varint(head, at + 1);
    return at < head->size && head->data[at] == (XPLANE_NAME << 3 | PP_WIRE_BYTES);
}

const struct pp_importer pp_importer_xplane = {
    .name = "xplane",
    .what = "JAX and TensorFlow, .xplane.pb",
    .probe = probe,
    .read = read_trace,
};
