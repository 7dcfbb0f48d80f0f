/* The functions that pipeprobe_hooks.py calls. All but join do nothing when recording is off. */
#include "collectors/attach/python/hooks/hooks.h"
#include "collectors/attach/rank_session.h"

#define XXH_INLINE_ALL /* the library is not the job's */
#include <structmember.h>
#include <xxhash.h>

static PyObject *join(PyObject *self, PyObject *args)
{
    PyObject *text;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &text))
        return NULL;
    int on = record_join(PyBytes_AsString(text));
    Py_DECREF(text);
    return PyBool_FromLong(on);
}

static PyObject *rank_session(PyObject *self, PyObject *args)
{
    PyObject *text;
    char own[PATH_MAX];
    int is_rank;
    long long rank = -1, world_size = -1;
    if (!PyArg_ParseTuple(args, "O&|LL", PyUnicode_FSConverter, &text, &rank, &world_size))
        return NULL;
    /* It may wait: other threads of the job go on. */
    Py_BEGIN_ALLOW_THREADS is_rank = pp_rank_session(PyBytes_AsString(text), rank, world_size, own,
                                                     sizeof(own));
    Py_END_ALLOW_THREADS Py_DECREF(text);
    if (is_rank)
        return PyUnicode_DecodeFSDefault(own);
    Py_RETURN_NONE;
}

#define GIVES(name, what) \
    static PyObject *name(PyObject *self, PyObject *nothing) \
    { \
        return what; \
    }
GIVES(has_ranks, PyBool_FromLong(pp_rank_is_one_of_several()))
GIVES(session, PyLong_FromUnsignedLong(record_session()))
GIVES(loops, Py_BuildValue("iII", record_process.has_loader, record_process.taken, record_process.aside))

#define DOES(name, what) \
    static PyObject *name(PyObject *self, PyObject *nothing) \
    { \
        what; \
        Py_RETURN_NONE; \
    }
DOES(leave, record_leave())
DOES(gpu_end, record_gpu_end())
DOES(optimized, record_optimized())
DOES(framework, record_process.has_framework = 1)
DOES(depths, iterator_depths_are_known = 1)

/* Of the calling thread, l. */
#define DOES_HERE(name, what) \
    static PyObject *name(PyObject *self, PyObject *nothing) \
    { \
        struct record_local *l = record_here(); \
        if (l) \
            what; \
        Py_RETURN_NONE; \
    }
DOES_HERE(pin_begin, record_pin_begin(l))
DOES_HERE(pin_end, record_lane_close(&l->pin.lane))
DOES_HERE(worker_end, record_lane_close(&l->worker.lane))
DOES_HERE(stands_in, l->consumer.counts_as_trainer = 1)

/* With one value, or two. */
#define DOES_WITH(name, type, format, what) \
    static PyObject *name(PyObject *self, PyObject *args) \
    { \
        type given[2]; \
        if (!PyArg_ParseTuple(args, format, &given[0], &given[1])) \
            return NULL; \
        what; \
        Py_RETURN_NONE; \
    }
DOES_WITH(gpu_yield, const char *, "s", record_gpu_yield(given[0]))
DOES_WITH(child, long long, "L", record_process.parent_pid = given[0])
DOES_WITH(collectives, int, "p", steps_waits_are_seen = given[0])
DOES_WITH(state_end, unsigned long long, "K", if (record_is_on()) record_state_end(given[0]))
DOES_WITH(off, const char *, "s", if (record_is_on()) record_off(given[0]))
DOES_WITH(note, const char *, "s", if (record_is_on()) record_note(given[0]))
DOES_WITH(made_of, const char *, "ss", if (record_is_on()) record_made_of(given[0], given[1]))
DOES_WITH(ended, const char *, "s", if (record_is_on()) record_ended(given[0]))
DOES_WITH(seen, const char *, "ss", if (record_is_on()) record_seen(given[0], given[1]))
DOES_WITH(pickled, unsigned long long, "K", if (record_is_on()) record_loader_pickled(given[0]))

static PyObject *timed(PyObject *self, PyObject *args)
{
    static const struct {
        const char *name;
        timed_call *call;
        int has_callback;
    } kinds[] = {
        {"decode", samples_decode, 0},    {"read", samples_read, 0},
        {"collate", queues_collate, 0},   {"next", iterator_next, 1},
        {"save", steps_save, 0},          {"index", iterator_index, 0},
        {"before", timed_before, 1},      {"received", iterator_received, 0},
        {"after", timed_after, 1},        {"result", timed_result, 1},
        {"put", handover_put, 0},         {"get", handover_get, 0},
        {"backward", steps_backward, 1},  {"collective", steps_collective, 0},
        {"resolve", handover_resolve, 0}, {"loads", iterator_loads, 0},
        {"fetch", samples_fetch, 0},      {"around", timed_around, 1},
        {"begins", iterator_begins, 0},   {"draws", iterator_draws, 0},
        {"outcome", handover_result, 0},  {"batch", loops_next, 0},
        {"take", loops_get, 0},           {"give", loops_put, 0},
        {"queued", loops_get_queued, 0},  {"task", loops_task, 0},
        {"dispatch", loops_dispatch, 0},  {"wait", loops_wait, 0},
        {"state", steps_state, 1},        {"condition", loops_wait, 1},
        {"stage", loops_stage, 1},        {"unpack", samples_unpack, 0},
    };
    const char *name;
    PyObject *f, *callback = NULL;
    if (!PyArg_ParseTuple(args, "sO|O", &name, &f, &callback))
        return NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0 && kinds[i].has_callback == (callback != NULL)) {
            if (kinds[i].call == iterator_next)
                record_saw_loader();
            record_process.has_backward |= kinds[i].call == steps_backward;
            record_process.has_framework |= kinds[i].call == loops_next;
            return timed_new(f, kinds[i].call, callback);
        }
    }
    PyErr_SetString(PyExc_ValueError, name);
    return NULL;
}

/* A subclass with room for attributes that has its base's name in messages, which one made in Python has not.
 * Python 3.9 and later. */
static PyObject *subclass(PyObject *self, PyObject *args)
{
    static char name[64]; /* the type keeps these two */
    static PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, 0, READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
    PyType_Slot slots[] = {{Py_tp_members, members}, {0, NULL}};
    PyObject *base, *attributes, *key, *value;
    const char *full;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "OsO", &base, &full, &attributes))
        return NULL;
    snprintf(name, sizeof(name), "%s", full);
    PyObject *bytes = PyObject_GetAttrString(base, "__basicsize__");
    Py_ssize_t size = bytes ? PyLong_AsSsize_t(bytes) : -1;
    Py_XDECREF(bytes);
    if (size < 0)
        return NULL;
    members[0].offset = size;
    PyType_Spec spec = {name, (int)(size + (Py_ssize_t)sizeof(PyObject *)), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyObject *bases = PyTuple_Pack(1, base), *type = bases ? PyType_FromSpecWithBases(&spec, bases) : NULL;
    Py_XDECREF(bases);
    while (type && PyDict_Next(attributes, &at, &key, &value))
        if (PyObject_SetAttr(type, key, value) != 0)
            Py_CLEAR(type);
    return type;
}

static PyObject *worker_begin(PyObject *self, PyObject *args)
{
    int worker, joined_late = 0;
    unsigned round = 0;
    long long parent;
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "iLK|pI", &worker, &parent, &seed, &joined_late, &round))
        return NULL;
    struct record_local *l = record_here();
    if (l) {
        record_worker_begin(l, worker, parent, seed);
        l->worker.joined_late = joined_late;
        l->worker.round = round;
    }
    Py_RETURN_NONE;
}

/* loader(workers, batch_size, prefetch, timeout, pin, persistent, in_order, drop_last, samples, batches,
 * start, dataset, sampler, code, held, place, name, source) -> its number */
static PyObject *loader(PyObject *self, PyObject *args)
{
    struct pp_loader_row row = {0};
    int pin, persistent, in_order, drop_last;
    unsigned long long samples, batches;
    const char *start, *dataset, *sampler, *code, *held, *place, *name, *at;
    if (!PyArg_ParseTuple(args, "IIIIppppKKssssssss", &row.workers, &row.batch_size, &row.prefetch,
                          &row.timeout_s, &pin, &persistent, &in_order, &drop_last, &samples, &batches,
                          &start, &dataset, &sampler, &code, &held, &place, &name, &at))
        return NULL;
    row.samples = samples;
    row.batches = batches;
    row.pin_memory = (uint8_t)pin;
    row.persistent_workers = (uint8_t)persistent;
    row.in_order = (uint8_t)in_order;
    row.drop_last = (uint8_t)drop_last;
    snprintf(row.start_method, sizeof(row.start_method), "%s", start);
    snprintf(row.dataset, sizeof(row.dataset), "%s", dataset);
    snprintf(row.sampler, sizeof(row.sampler), "%s", sampler);
    snprintf(row.code, sizeof(row.code), "%s", code);
    snprintf(row.held, sizeof(row.held), "%s", held);
    snprintf(row.place, sizeof(row.place), "%s", place);
    snprintf(row.name, sizeof(row.name), "%s", name);
    snprintf(row.source, sizeof(row.source), "%s", at);
    return PyLong_FromUnsignedLong(record_is_on() ? record_loader_new(&row) : 0);
}

/* arguments(number of the loader, workers, prefetch): those it has from now on. */
static PyObject *arguments(PyObject *self, PyObject *args)
{
    unsigned number, workers, prefetch;
    if (!PyArg_ParseTuple(args, "III", &number, &workers, &prefetch))
        return NULL;
    struct pp_loader_row *row = record_loader_row(number);
    if (row) {
        row->workers = workers;
        row->prefetch = prefetch;
    }
    Py_RETURN_NONE;
}

/* iteration(loader, epoch, round, base_seed, batch_size, batches, samples, in_order, ask lengths, made_again,
 * stream)
 * -> what is set as the iterator's attribute */
static PyObject *iteration(PyObject *self, PyObject *args)
{
    struct record_iteration it = {0};
    unsigned long long seed, batches, samples;
    if (!PyArg_ParseTuple(args, "IIIKIKKp|ppp", &it.loader, &it.epoch, &it.round, &seed, &it.batch_size,
                          &batches, &samples, &it.in_order, &it.ask_lengths, &it.made_again, &it.stream))
        return NULL;
    it.base_seed = seed;
    it.batches = batches;
    it.samples = samples;
    return iteration_new(&it);
}

/* facts(iteration, {key: value}), both texts */
static PyObject *facts(PyObject *self, PyObject *args)
{
    PyObject *held, *known, *key, *value;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "OO", &held, &known))
        return NULL;
    struct record_iteration *it = iteration_held(held);
    while (it && PyDict_Check(known) && PyDict_Next(known, &at, &key, &value)) {
        PyObject *pair = PyTuple_Pack(2, key, value);
        const char *text[2];
        int ok = pair && PyArg_ParseTuple(pair, "ss", &text[0], &text[1]);
        if (ok)
            record_fact(it, text[0], text[1]);
        Py_XDECREF(pair);
        PyErr_Clear();
    }
    Py_RETURN_NONE;
}

/* hash(bytes) -> 16 hex digits */
static PyObject *hash(PyObject *self, PyObject *bytes)
{
    char *at, digits[17];
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(bytes, &at, &n) != 0)
        return NULL;
    snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)XXH3_64bits(at, (size_t)n));
    return PyUnicode_FromString(digits);
}

static PyObject *state_begin(PyObject *self, PyObject *args)
{
    const char *text[5];
    int lasts = 1;
    if (!PyArg_ParseTuple(args, "sssss|p", &text[0], &text[1], &text[2], &text[3], &text[4], &lasts))
        return NULL;
    return PyLong_FromUnsignedLongLong(record_state_begin(text, lasts));
}

/* With an iteration, it, and up to three numbers. */
#define DOES_TO(name, type, format, what) \
    static PyObject *name(PyObject *self, PyObject *args) \
    { \
        PyObject *held; \
        type given[3]; \
        if (!PyArg_ParseTuple(args, format, &held, &given[0], &given[1], &given[2])) \
            return NULL; \
        struct record_iteration *it = iteration_held(held); \
        if (it) \
            what; \
        Py_RETURN_NONE; \
    }
DOES_TO(lengths, unsigned long long, "OKKK", record_iteration_lengths(it, given[0], given[1], given[2]))
DOES_TO(reseed, unsigned long long, "OK", record_iteration_reseed(it, given[0]))
DOES_TO(resume, unsigned, "OII", record_iteration_resume(it, given[0], given[1]))

static PyMethodDef functions[] = {
    {"join", join, METH_VARARGS, "join(session): records into it. False: nothing is recorded"},
    {"has_ranks", has_ranks, METH_NOARGS, "has_ranks(): a launcher started this process as one of several"},
    {"rank_session", rank_session, METH_VARARGS,
     "rank_session(session[, rank, world size]): the rank's that this process is; None: none, or it has it"},
    {"leave", leave, METH_NOARGS, "leave(): ends recording in this process, until the next join"},
    {"session", session, METH_NOARGS, "session(): the number of the one that is recorded; 0: none"},
    {"off", off, METH_VARARGS, "off(why): off for good in this process"},
    {"note", note, METH_VARARGS, "note(what): what was left out, into the recording"},
    {"made_of", made_of, METH_VARARGS, "made_of(versions, data): of the process, into the recording"},
    {"seen", seen, METH_VARARGS, "seen(loader, mixed): one that is no DataLoader, what a report mixes"},
    {"loops", loops, METH_NOARGS,
     "loops(): a DataLoader gave batches; batches of none, before and beside it"},
    {"ended", ended, METH_VARARGS, "ended(how): by an exception, into the recording"},
    {"gpu_end", gpu_end, METH_NOARGS, "gpu_end(): of the GPU's records, before the process ends"},
    {"gpu_yield", gpu_yield, METH_VARARGS, "gpu_yield(to): likewise, for another profiler of the job"},
    {"timed", timed, METH_VARARGS, "timed(kind, f[, callback]): f, timed as what the kind says"},
    {"is_timed", timed_is, METH_O, "is_timed(f)"},
    {"handlers", exception_handlers, METH_O, "handlers(f): f(e) says whether a signal handler raised e"},
    {"names", samples_names, METH_O, "names(f): f(data set, key, sample) names a sample; None: nothing does"},
    {"subclass", subclass, METH_VARARGS, "subclass(base, full name, attributes): one that looks like it"},
    {"samples", samples_new, METH_O, "samples(data): data, whose items are timed"},
    {"stream", stream_new, METH_O, "stream(iterator): likewise"},
    {"depths", depths, METH_NOARGS, "depths(): an iterator knows how many batches are made"},
    {"collectives", collectives, METH_VARARGS,
     "collectives(on host): whether a collective has ended when its call has"},
    {"optimized", optimized, METH_NOARGS, "optimized(): an optimizer has made its step"},
    {"arrived", steps_arrived, METH_NOARGS, "arrived(): this rank's part of a backward pass is done"},
    {"grad", loop_grad, METH_O, "grad(f): f() says whether what is taken now will be trained on"},
    {"stands_in", stands_in, METH_NOARGS,
     "stands_in(): this thread takes the batches of one that waits for it"},
    {"framework", framework, METH_NOARGS, "framework(): its loader's waits are known by name"},
    {"child", child, METH_VARARGS, "child(parent's pid): this process is one of multiprocessing"},
    {"fetcher", fetcher_set, METH_VARARGS, "fetcher(f, is_stream, timed): f fetches from timed"},
    {"queue", queue_new, METH_VARARGS, "queue(q[, thread]): a worker's queue, or a pinning thread's, timed"},
    {"pin_begin", pin_begin, METH_NOARGS, "pin_begin(): of the calling thread"},
    {"pin_end", pin_end, METH_NOARGS, "pin_end()"},
    {"worker_begin", worker_begin, METH_VARARGS,
     "worker_begin(id, parent's pid, base seed[, late, round]): late: it ran before it was recorded"},
    {"worker_end", worker_end, METH_NOARGS, "worker_end()"},
    {"loader", loader, METH_VARARGS, "loader(arguments): its number"},
    {"arguments", arguments, METH_VARARGS, "arguments(loader, workers, prefetch): those it has from now on"},
    {"iteration", iteration, METH_VARARGS, "iteration(arguments): what its iterator holds"},
    {"facts", facts, METH_VARARGS, "facts(iteration, {key: value}): what its order comes from"},
    {"hash", hash, METH_O, "hash(bytes): XXH3, as hex digits"},
    {"state_begin", state_begin, METH_VARARGS,
     "state_begin(action, via, path, place, value[, lasts]): its number; state is saved, restored or set"},
    {"state_end", state_end, METH_VARARGS, "state_end(number)"},
    {"lengths", lengths, METH_VARARGS, "lengths(iteration, samples, batches, samples of an epoch)"},
    {"reseed", reseed, METH_VARARGS, "reseed(iteration, base seed)"},
    {"pickled", pickled, METH_VARARGS, "pickled(bytes): within iter(loader), what a worker is started from"},
    {"resume", resume, METH_VARARGS, "resume(iteration, taken, sent): it had been going on, so far"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_pipeprobe", .m_size = -1,
                                        .m_methods = functions};

PyMODINIT_FUNC PyInit__pipeprobe(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && (proxy_types() != 0 || samples_types() != 0 || iterator_types() != 0 ||
                   loops_types() != 0 || queues_types() != 0 || handover_types() != 0)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
