/* The functions that pipeprobe_hooks.py calls. All but join do nothing when recording is off. */
#include "collectors/attach/python/types.h"
#include "collectors/attach/rank_session.h"

#include <limits.h>
#include <string.h>
#include <structmember.h>

static PyObject *none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *join(PyObject *self, PyObject *args)
{
    PyObject *text;
    (void)self;
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
    (void)self;
    if (!PyArg_ParseTuple(args, "O&|LL", PyUnicode_FSConverter, &text, &rank, &world_size))
        return NULL;
    /* It may wait: other threads of the job go on. */
    Py_BEGIN_ALLOW_THREADS is_rank = pp_rank_session_as(PyBytes_AsString(text), rank, world_size, own,
                                                        sizeof(own));
    Py_END_ALLOW_THREADS Py_DECREF(text);
    return is_rank ? PyUnicode_DecodeFSDefault(own) : none();
}

static PyObject *leave(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    record_leave();
    return none();
}

static PyObject *session(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    return PyLong_FromUnsignedLong(record_session());
}

static PyObject *off(PyObject *self, PyObject *args)
{
    const char *why;
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &why))
        return NULL;
    if (record_is_on())
        record_off(why);
    return none();
}

static PyObject *note(PyObject *self, PyObject *args)
{
    const char *what;
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &what))
        return NULL;
    if (record_is_on())
        record_note(what);
    return none();
}

static PyObject *gpu_end(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    record_gpu_end();
    return none();
}

static PyObject *gpu_yield(PyObject *self, PyObject *args)
{
    const char *to;
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &to))
        return NULL;
    record_gpu_yield(to);
    return none();
}

static PyObject *stand_in(PyObject *args, PyObject *(*make)(PyObject *))
{
    PyObject *object;
    return PyArg_ParseTuple(args, "O", &object) ? make(object) : NULL;
}

/* The kinds of Timed by their names in Python. */
static const struct {
    const char *name;
    enum timed_kind kind;
    int has_callback;
} kinds[] = {
    {"decode", TIMED_DECODE, 0},     {"read", TIMED_READ, 0},
    {"collate", TIMED_COLLATE, 0},   {"next", TIMED_NEXT, 1},
    {"save", TIMED_SAVE, 0},         {"index", TIMED_INDEX, 0},
    {"before", TIMED_BEFORE, 1},     {"received", TIMED_RECEIVED, 0},
    {"after", TIMED_AFTER, 1},       {"result", TIMED_RESULT, 1},
    {"put", TIMED_PUT, 0},           {"get", TIMED_GET, 0},
    {"backward", TIMED_BACKWARD, 1}, {"collective", TIMED_COLLECTIVE, 0},
    {"resolve", TIMED_RESOLVE, 0},   {"loads", TIMED_LOADS, 0},
    {"fetch", TIMED_FETCH, 0},       {"around", TIMED_AROUND, 1},
};

static PyObject *timed(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *f, *callback = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "sO|O", &name, &f, &callback))
        return NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0 && kinds[i].has_callback == (callback != NULL)) {
            if (kinds[i].kind == TIMED_NEXT)
                record_saw_loader();
            return types_timed(f, kinds[i].kind, callback);
        }
    }
    PyErr_SetString(PyExc_ValueError, name);
    return NULL;
}

static PyObject *is_timed(PyObject *self, PyObject *args)
{
    PyObject *object;
    (void)self;
    return PyArg_ParseTuple(args, "O", &object) ? PyBool_FromLong(types_is_timed(object)) : NULL;
}

static PyObject *handlers(PyObject *self, PyObject *args)
{
    PyObject *f;
    (void)self;
    if (!PyArg_ParseTuple(args, "O", &f))
        return NULL;
    calls_handlers(f);
    return none();
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
    (void)self;
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

static PyObject *samples(PyObject *self, PyObject *args)
{
    (void)self;
    return stand_in(args, types_samples);
}

static PyObject *stream(PyObject *self, PyObject *args)
{
    (void)self;
    return stand_in(args, types_stream);
}

static PyObject *queue(PyObject *self, PyObject *args)
{
    PyObject *object, *thread = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "O|O", &object, &thread))
        return NULL;
    return types_queue(object, thread);
}

static PyObject *pin_begin(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (l)
        record_pin_begin(l);
    return none();
}

static PyObject *pin_end(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (l)
        record_lane_close(&l->copy);
    return none();
}

static PyObject *set_depths(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    calls_depths();
    Py_RETURN_NONE;
}

static PyObject *meets(PyObject *self, PyObject *args)
{
    int on;
    (void)self;
    if (!PyArg_ParseTuple(args, "p", &on))
        return NULL;
    meets_on_host(on);
    return none();
}

static PyObject *arrived(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    meets_arrived();
    return none();
}

static PyObject *fetcher(PyObject *self, PyObject *args)
{
    PyObject *object, *timed;
    int stream;
    (void)self;
    if (!PyArg_ParseTuple(args, "OpO", &object, &stream, &timed) ||
        fetcher_set(object, stream ? "dataset_iter" : "dataset", timed) != 0)
        return NULL;
    return none();
}

static PyObject *worker_begin(PyObject *self, PyObject *args)
{
    int worker;
    long long parent;
    unsigned long long seed;
    (void)self;
    if (!PyArg_ParseTuple(args, "iLK", &worker, &parent, &seed))
        return NULL;
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (l)
        record_worker_begin(l, worker, parent, seed);
    return none();
}

static PyObject *worker_end(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (l)
        record_worker_end(l);
    return none();
}

static void copy_text(char *out, size_t size, const char *text)
{
    strncpy(out, text, size - 1);
    out[size - 1] = '\0';
}

/* loader(workers, batch_size, prefetch, timeout, pin, persistent, in_order, drop_last, samples, batches,
 * start, dataset, sampler) -> its number */
static PyObject *loader(PyObject *self, PyObject *args)
{
    struct pp_loader_row row = {0};
    int pin, persistent, in_order, drop_last;
    unsigned long long samples, batches;
    const char *start, *dataset, *sampler;
    (void)self;
    if (!PyArg_ParseTuple(args, "IIIIppppKKsss", &row.workers, &row.batch_size, &row.prefetch, &row.timeout_s,
                          &pin, &persistent, &in_order, &drop_last, &samples, &batches, &start, &dataset,
                          &sampler))
        return NULL;
    row.samples = samples;
    row.batches = batches;
    row.pin_memory = (uint8_t)pin;
    row.persistent_workers = (uint8_t)persistent;
    row.in_order = (uint8_t)in_order;
    row.drop_last = (uint8_t)drop_last;
    copy_text(row.start_method, sizeof(row.start_method), start);
    copy_text(row.dataset, sizeof(row.dataset), dataset);
    copy_text(row.sampler, sizeof(row.sampler), sampler);
    return PyLong_FromUnsignedLong(record_is_on() ? record_loader_new(&row) : 0);
}

/* iteration(loader, epoch, round, base_seed, batch_size, batches, samples, in_order, ask, made_again) -> what
 * is set as the iterator's attribute */
static PyObject *iteration(PyObject *self, PyObject *args)
{
    struct record_iteration it = {0};
    unsigned long long seed, batches, samples;
    (void)self;
    if (!PyArg_ParseTuple(args, "IIIKIKKp|pp", &it.loader, &it.epoch, &it.round, &seed, &it.batch_size,
                          &batches, &samples, &it.in_order, &it.ask, &it.made_again))
        return NULL;
    it.base_seed = seed;
    it.batches = batches;
    it.samples = samples;
    return types_iteration(&it);
}

static PyObject *lengths(PyObject *self, PyObject *args)
{
    PyObject *held;
    unsigned long long samples, batches, epoch_samples;
    (void)self;
    if (!PyArg_ParseTuple(args, "OKKK", &held, &samples, &batches, &epoch_samples))
        return NULL;
    struct record_iteration *it = types_iteration_of(held);
    if (it)
        record_iteration_lengths(it, samples, batches, epoch_samples);
    return none();
}

static PyObject *reseed(PyObject *self, PyObject *args)
{
    PyObject *held;
    unsigned long long seed;
    (void)self;
    if (!PyArg_ParseTuple(args, "OK", &held, &seed))
        return NULL;
    struct record_iteration *it = types_iteration_of(held);
    if (it)
        record_iteration_reseed(it, seed);
    return none();
}

static PyObject *resume(PyObject *self, PyObject *args)
{
    PyObject *held;
    unsigned taken, sent;
    (void)self;
    if (!PyArg_ParseTuple(args, "OII", &held, &taken, &sent))
        return NULL;
    struct record_iteration *it = types_iteration_of(held);
    if (it)
        record_iteration_resume(it, taken, sent);
    return none();
}

static PyObject *worker_is_late(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (l)
        l->late = 1;
    return none();
}

static PyMethodDef functions[] = {
    {"join", join, METH_VARARGS, "join(session): records into it. False: nothing is recorded"},
    {"rank_session", rank_session, METH_VARARGS,
     "rank_session(session[, rank, world size]): the rank's that this process is; None: none, or it has it"},
    {"leave", leave, METH_NOARGS, "leave(): ends recording in this process, until the next join"},
    {"session", session, METH_NOARGS, "session(): the number of the one that is recorded; 0: none"},
    {"off", off, METH_VARARGS, "off(why): off for good in this process"},
    {"note", note, METH_VARARGS, "note(what): what was left out, into the recording"},
    {"gpu_end", gpu_end, METH_NOARGS, "gpu_end(): of the GPU's records, before the process ends"},
    {"gpu_yield", gpu_yield, METH_VARARGS, "gpu_yield(to): likewise, for another profiler of the job"},
    {"timed", timed, METH_VARARGS, "timed(kind, f[, callback]): f, timed as what the kind says"},
    {"is_timed", is_timed, METH_VARARGS, "is_timed(f)"},
    {"handlers", handlers, METH_VARARGS, "handlers(f): f(e) says whether a signal handler raised e"},
    {"subclass", subclass, METH_VARARGS, "subclass(base, full name, attributes): one that looks like it"},
    {"samples", samples, METH_VARARGS, "samples(data): data, whose items are timed"},
    {"stream", stream, METH_VARARGS, "stream(iterator): likewise"},
    {"depths", set_depths, METH_NOARGS, "depths(): an iterator knows how many batches are made"},
    {"meets", meets, METH_VARARGS, "meets(on): whether a collective has ended when its call has"},
    {"arrived", arrived, METH_NOARGS, "arrived(): this rank's part of a backward pass is done"},
    {"fetcher", fetcher, METH_VARARGS, "fetcher(f, is_stream, timed): f fetches from timed"},
    {"queue", queue, METH_VARARGS, "queue(q[, thread]): a worker's queue, or a pinning thread's, timed"},
    {"pin_begin", pin_begin, METH_NOARGS, "pin_begin(): of the calling thread"},
    {"pin_end", pin_end, METH_NOARGS, "pin_end()"},
    {"worker_begin", worker_begin, METH_VARARGS, "worker_begin(id, parent's pid, base seed)"},
    {"worker_end", worker_end, METH_NOARGS, "worker_end()"},
    {"loader", loader, METH_VARARGS, "loader(arguments): its number"},
    {"iteration", iteration, METH_VARARGS, "iteration(arguments): what its iterator holds"},
    {"lengths", lengths, METH_VARARGS, "lengths(iteration, samples, batches, samples of an epoch)"},
    {"reseed", reseed, METH_VARARGS, "reseed(iteration, base seed)"},
    {"resume", resume, METH_VARARGS, "resume(iteration, taken, sent): it had been going on, so far"},
    {"worker_is_late", worker_is_late, METH_NOARGS, "worker_is_late(): it ran before it was recorded"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_pipeprobe", .m_size = -1,
                                        .m_methods = functions};

PyMODINIT_FUNC PyInit__pipeprobe(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && types_add(module) != 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
