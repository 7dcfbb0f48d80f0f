#include "collectors/attach/python/types.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

/* ---- what they share: the object that is stood in for ---- */

struct proxy {
    PyObject_HEAD PyObject *inner;
    PyObject *weak;       /* references to it */
    PyObject *beside;     /* NULL; a Timed's callback, the thread of a Queue that is pinned from */
    enum timed_kind kind; /* of Timed */
};

static PyObject *timed_type, *method_type, *samples_type, *stream_type, *queue_type, *iteration_type;

static int proxy_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct proxy *)self)->inner);
    Py_VISIT(((struct proxy *)self)->beside);
#if PY_VERSION_HEX >= 0x03090000
    Py_VISIT(Py_TYPE(self));
#endif
    return 0;
}

static int proxy_clear(PyObject *self)
{
    Py_CLEAR(((struct proxy *)self)->inner);
    Py_CLEAR(((struct proxy *)self)->beside);
    return 0;
}

static void proxy_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(self);
    if (((struct proxy *)self)->weak)
        PyObject_ClearWeakRefs(self);
    proxy_clear(self);
    release(self);
    Py_DECREF(type);
}

static struct proxy *proxy_new(PyObject *type, PyObject *inner)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    struct proxy *p = (struct proxy *)alloc((PyTypeObject *)type, 0);
    if (!p)
        return NULL;
    Py_INCREF(inner);
    p->inner = inner;
    return p;
}

static PyObject *proxy_getattr(PyObject *self, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(self, name);
    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear();
    return PyObject_GetAttr(((struct proxy *)self)->inner, name);
}

static int proxy_setattr(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((struct proxy *)self)->inner, name, value);
}

static PyObject *proxy_repr(PyObject *self)
{
    return PyObject_Repr(((struct proxy *)self)->inner);
}

static Py_ssize_t proxy_length(PyObject *self)
{
    return PyObject_Size(((struct proxy *)self)->inner);
}

/* Only this file makes them: one without an inner object, as type(f)() or a copy by its class would be, has
 * nothing to stand in for. */
static PyObject *no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)type, (void)args, (void)kwargs;
    PyErr_SetString(PyExc_TypeError, "this type cannot be instantiated");
    return NULL;
}

#define PROXY_SLOTS \
    {Py_tp_new, (void *)no_new}, {Py_tp_dealloc, proxy_free}, {Py_tp_traverse, proxy_traverse}, \
        {Py_tp_clear, proxy_clear}, {Py_tp_getattro, proxy_getattr}, {Py_tp_setattro, proxy_setattr}, \
    { \
        Py_tp_repr, proxy_repr \
    }

/* ---- Timed: a function whose calls are timed; binds like one ---- */

static PyObject *call_many(PyObject *function, PyObject *args, PyObject *kwargs);

static PyObject *timed_apply(const struct proxy *t, PyObject *args, PyObject *kwargs)
{
    switch (t->kind) {
    case TIMED_DECODE: return calls_decode(t->inner, args, kwargs);
    case TIMED_READ: return calls_read(t->inner, args, kwargs);
    case TIMED_COLLATE: return calls_collate(t->inner, args, kwargs);
    case TIMED_NEXT: return calls_next(t->inner, args, kwargs, t->beside);
    case TIMED_LOADS: return calls_loads(t->inner, args, kwargs);
    case TIMED_PUT: return queues_put(t->inner, args, kwargs);
    case TIMED_RESOLVE: return queues_resolve(t->inner, args, kwargs);
    case TIMED_GET: return queues_get(t->inner, args, kwargs);
    case TIMED_COLLECTIVE: return meets_collective(t->inner, args, kwargs);
    case TIMED_BACKWARD: return meets_backward(t->inner, args, kwargs, t->beside);
    case TIMED_FETCH: return calls_fetch(t->inner, args, kwargs);
    case TIMED_MANY: return call_many(t->inner, args, kwargs);
    case TIMED_SAVE: return calls_save(t->inner, args, kwargs);
    case TIMED_INDEX: return calls_index(t->inner, args, kwargs);
    case TIMED_RECEIVED: return calls_received(t->inner, args, kwargs);
    case TIMED_BEFORE:
    case TIMED_AFTER:
    case TIMED_RESULT: return calls_with(t->inner, args, kwargs, t->kind, t->beside);
    case TIMED_AROUND: return calls_around(t->inner, args, kwargs, t->beside);
    }
    return PyObject_Call(t->inner, args, kwargs);
}

static PyObject *timed_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return timed_apply((struct proxy *)self, args, kwargs);
}

/* To a method of Python's own, which compares, hashes, pickles and looks as that of the function would. */
static PyObject *timed_bind(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object && object != Py_None)
        return PyObject_CallFunctionObjArgs(method_type, self, object, NULL);
    Py_INCREF(self);
    return self;
}

/* What pickle finds under the names of a function; NULL: nothing. */
static PyObject *found_by_name(PyObject *function)
{
    PyObject *module = PyObject_GetAttrString(function, "__module__"),
             *path = PyObject_GetAttrString(function, "__qualname__"),
             *names = path ? PyObject_CallMethod(path, "split", "s", ".") : NULL,
             *found = module && names ? PyImport_GetModule(module) : NULL;
    for (Py_ssize_t i = 0; found && i < PyObject_Size(names); i++) {
        PyObject *in = found;
        found = PyObject_GetAttr(in, PyList_GetItem(names, i));
        Py_DECREF(in);
    }
    PyErr_Clear();
    Py_XDECREF(module);
    Py_XDECREF(path);
    Py_XDECREF(names);
    return found;
}

/* Pickled by the name under which it is found, as the function would be; where the function itself is back in
 * its place, as that: copy.copy gives a function as it is. */
static PyObject *timed_reduce(PyObject *self, PyObject *nothing)
{
    PyObject *inner = ((struct proxy *)self)->inner, *found = found_by_name(inner);
    int back = found == inner;
    (void)nothing;
    Py_XDECREF(found);
    if (!back)
        return PyObject_GetAttrString(inner, "__qualname__");
    PyObject *copy = PyImport_ImportModule("copy"),
             *as_it_is = copy ? PyObject_GetAttrString(copy, "copy") : NULL,
             *reduced = as_it_is ? Py_BuildValue("O(O)", as_it_is, inner) : NULL;
    Py_XDECREF(copy);
    Py_XDECREF(as_it_is);
    return reduced;
}

static PyObject *timed_reduce_ex(PyObject *self, PyObject *protocol)
{
    (void)protocol;
    return timed_reduce(self, NULL);
}

static PyObject *timed_wrapped(PyObject *self, void *ctx)
{
    (void)ctx;
    PyObject *inner = ((struct proxy *)self)->inner;
    Py_INCREF(inner);
    return inner;
}

/* Found on the type first, where it would be ours: the function's own. */
static PyObject *timed_doc(PyObject *self, void *ctx)
{
    return PyObject_GetAttrString(((struct proxy *)self)->inner, (const char *)ctx);
}

static PyMethodDef timed_methods[] = {{"__reduce__", timed_reduce, METH_NOARGS, NULL},
                                      {"__reduce_ex__", timed_reduce_ex, METH_O, NULL},
                                      {NULL, NULL, 0, NULL}};
/* Python 3.8 does not know this member, and gives no weak references. */
static PyMemberDef timed_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(struct proxy, weak),
                                       READONLY, NULL},
                                      {NULL, 0, 0, 0, NULL}};
/* isinstance() takes it for the function that it stands for: TorchScript compiles only functions, and goes by
 * that. */
static PyObject *timed_class(PyObject *self, void *ctx)
{
    (void)ctx;
    return PyObject_GetAttrString(((struct proxy *)self)->inner, "__class__");
}

static PyGetSetDef timed_getset[] = {{"__class__", timed_class, NULL, NULL, NULL},
                                     {"__wrapped__", timed_wrapped, NULL, NULL, NULL},
                                     {"__doc__", timed_doc, NULL, NULL, (void *)"__doc__"},
                                     {"__module__", timed_doc, NULL, NULL, (void *)"__module__"},
                                     {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot timed_slots[] = {PROXY_SLOTS,
                                    {Py_tp_call, timed_call},
                                    {Py_tp_descr_get, timed_bind},
                                    {Py_tp_methods, timed_methods},
                                    {Py_tp_getset, timed_getset},
                                    {Py_tp_members, timed_members},
                                    {0, NULL}};
/* ---- Samples and Stream: a data set whose samples are timed ---- */

/* One that is made within another is a part of it. */
static struct record_local *sample_enter(void)
{
    struct record_local *l = calls_worker();
    if (!l)
        return NULL;
    if (!l->depth++)
        record_sample_begin(l);
    return l;
}

static void sample_leave(struct record_local *l, uint64_t sample, int failed)
{
    if (--l->depth == 0)
        record_sample_end(l, sample, 0, failed);
}

static PyObject *samples_item(PyObject *self, PyObject *key)
{
    struct record_local *l = sample_enter();
    PyObject *inner = ((struct proxy *)self)->inner;
    if (!l)
        return PyObject_GetItem(inner, key);
    uint64_t sample = PyLong_Check(key) ? PyLong_AsUnsignedLongLong(key) : PP_NO_SAMPLE;
    if (sample == (uint64_t)-1 && PyErr_Occurred())
        PyErr_Clear();
    PyObject *out = PyObject_GetItem(inner, key);
    sample_leave(l, sample, !out);
    return out;
}

/* A data set that fetches a batch in one call: its samples are one record, which says how many they are. */
static PyObject *call_many(PyObject *function, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_Size(args) == 1 ? PyObject_Size(PyTuple_GetItem(args, 0)) : -1;
    PyErr_Clear();
    struct record_local *l = n > 0 ? sample_enter() : NULL;
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (l && --l->depth == 0)
        record_sample_end(l, (uint64_t)n, 1, !out);
    return out;
}

/* There when the data set has it. */
static PyObject *samples_many(PyObject *self, void *ctx)
{
    (void)ctx;
    PyObject *many = PyObject_GetAttrString(((struct proxy *)self)->inner, "__getitems__");
    PyObject *timed = many && PyCallable_Check(many) ? types_timed(many, TIMED_MANY, NULL) : many;
    if (timed != many)
        Py_DECREF(many);
    return timed;
}

static PyGetSetDef samples_getset[] = {{"__getitems__", samples_many, NULL, NULL, NULL},
                                       {NULL, NULL, NULL, NULL, NULL}};

static PyObject *stream_next(PyObject *self)
{
    struct record_local *l = sample_enter();
    PyObject *out = PyIter_Next(((struct proxy *)self)->inner);
    if (l && (out || PyErr_Occurred()))
        sample_leave(l, PP_NO_SAMPLE, !out);
    else if (l) /* the end of the data is no sample */
        l->depth--;
    if (l && out && l->prints && !l->depth)
        types_print(l, out);
    return out;
}

static PyObject *stream_iter(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

static PyType_Slot samples_slots[] = {PROXY_SLOTS,
                                      {Py_mp_subscript, samples_item},
                                      {Py_mp_length, proxy_length},
                                      {Py_tp_getset, samples_getset},
                                      {0, NULL}};
static PyType_Slot stream_slots[] = {PROXY_SLOTS,
                                     {Py_tp_iter, stream_iter},
                                     {Py_tp_iternext, stream_next},
                                     {0, NULL}};

/* ---- Queue: a worker's queues, and those of the thread that pins memory ---- */

static PyObject *call_method(PyObject *object, const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *method = PyObject_GetAttrString(object, name);
    PyObject *out = method ? PyObject_Call(method, args, kwargs) : NULL;
    Py_XDECREF(method);
    return out;
}

int types_is_named(PyObject *object, const char *type)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    int same = name && PyUnicode_CompareWithASCIIString(name, type) == 0;
    PyErr_Clear();
    Py_XDECREF(name);
    return same;
}

/* A task is (index of the batch, what is in it). _ResumeIteration begins an epoch; None ends the worker. */
static PyObject *queue_get(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *task = call_method(((struct proxy *)self)->inner, "get", args, kwargs);
    if (((struct proxy *)self)->beside) {
        if (task)
            calls_pin_got(task, ((struct proxy *)self)->beside);
        return task;
    }
    struct record_local *l = task && record_is_on() ? record_local() : NULL;
    if (!l || !l->worker.trace || task == Py_None)
        return task;
    if (PyTuple_Check(task) && PyTuple_Size(task) == 2) {
        PyObject *index = PyTuple_GetItem(task, 0);
        uint64_t n = PyLong_Check(index) ? PyLong_AsUnsignedLongLong(index) : 0;
        Py_ssize_t samples = PyObject_Size(PyTuple_GetItem(task, 1)); /* -1: a key that is no list */
        if (PyErr_Occurred() && !calls_is_ours()) {
            Py_DECREF(task);
            return NULL;
        }
        record_batch_begin(l, n, samples > 0 ? (uint64_t)samples : 1);
    } else if (types_is_named(task, "_ResumeIteration")) {
        record_worker_resume(l);
    }
    return task;
}

static PyObject *queue_put(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (((struct proxy *)self)->beside) {
        int pins = l && l->copy.trace;
        if (pins) {
            record_pinned(l);
            l->calls++;
        }
        PyObject *done = call_method(((struct proxy *)self)->inner, "put", args, kwargs);
        if (pins)
            l->calls--;
        if (done && pins)
            record_pin_put(l);
        return done;
    }
    if (!l || !l->worker.trace)
        return call_method(((struct proxy *)self)->inner, "put", args, kwargs);
    struct record_mark from = record_now(&l->worker, 1);
    l->calls++;
    PyObject *out = call_method(((struct proxy *)self)->inner, "put", args, kwargs);
    l->calls--;
    record_batch_put(l, &from);
    return out;
}

static PyMethodDef queue_methods[] = {{"get", (PyCFunction)(void (*)(void))queue_get,
                                       METH_VARARGS | METH_KEYWORDS, NULL},
                                      {"put", (PyCFunction)(void (*)(void))queue_put,
                                       METH_VARARGS | METH_KEYWORDS, NULL},
                                      {NULL, NULL, 0, NULL}};
static PyType_Slot queue_slots[] = {PROXY_SLOTS, {Py_tp_methods, queue_methods}, {0, NULL}};

/* ---- Iteration ---- */

struct held_iteration {
    PyObject_HEAD struct record_iteration it;
};

static void iteration_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    record_iteration_forget(&((struct held_iteration *)self)->it);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot iteration_slots[] = {{Py_tp_new, (void *)no_new},
                                        {Py_tp_dealloc, iteration_free},
                                        {0, NULL}};

PyObject *types_iteration(const struct record_iteration *it)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)iteration_type, Py_tp_alloc);
    struct held_iteration *h = (struct held_iteration *)alloc((PyTypeObject *)iteration_type, 0);
    if (!h)
        return NULL;
    h->it = *it;
    record_iteration_begin(&h->it);
    /* The lane is made here, so that making it is no part of the first wait. */
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (l && l->slot < 0)
        record_taker_open_early(l);
    return (PyObject *)h;
}

struct record_iteration *types_iteration_of(PyObject *held)
{
    return (PyObject *)Py_TYPE(held) == iteration_type ? &((struct held_iteration *)held)->it : NULL;
}

/* ---- making them ---- */

static PyObject *with_beside(PyObject *proxy, PyObject *beside)
{
    Py_XINCREF(beside);
    if (proxy)
        ((struct proxy *)proxy)->beside = beside;
    else
        Py_XDECREF(beside);
    return proxy;
}

PyObject *types_timed(PyObject *function, enum timed_kind kind, PyObject *callback)
{
    struct proxy *p = proxy_new(timed_type, function);
    if (p)
        p->kind = kind;
    return with_beside((PyObject *)p, callback);
}

int types_is_timed(PyObject *object)
{
    return (PyObject *)Py_TYPE(object) == timed_type;
}

/* How many samples more of this thread are told by their content. */
static void set_prints(uint32_t n)
{
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (l)
        l->prints = n;
}

PyObject *types_samples(PyObject *dataset)
{
    set_prints(0);
    return (PyObject *)proxy_new(samples_type, dataset);
}

PyObject *types_stream_again(PyObject *iterator)
{
    return (PyObject *)proxy_new(stream_type, iterator);
}

PyObject *types_stream(PyObject *iterator)
{
    if (!PyIter_Check(iterator)) {
        PyErr_SetString(PyExc_TypeError, "an iterator is needed");
        return NULL;
    }
    set_prints(RECORD_PRINTS);
    return types_stream_again(iterator);
}

int types_is_sampled(PyObject *object)
{
    return (PyObject *)Py_TYPE(object) == samples_type || (PyObject *)Py_TYPE(object) == stream_type;
}

PyObject *types_queue(PyObject *queue, PyObject *pinning_thread)
{
    return with_beside((PyObject *)proxy_new(queue_type, queue), pinning_thread);
}

static int add_type(PyType_Slot *slots, const char *name, size_t size, unsigned flags, PyObject **out)
{
    PyType_Spec spec = {.name = name,
                        .basicsize = (int)size,
                        .flags = Py_TPFLAGS_DEFAULT | flags,
                        .slots = slots};
    *out = PyType_FromSpec(&spec);
    return *out ? 0 : -1;
}

int types_add(PyObject *module)
{
    (void)module;
    const unsigned gc = Py_TPFLAGS_HAVE_GC;
    PyObject *types = PyImport_ImportModule("types");
    method_type = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
    Py_XDECREF(types);
    if (!method_type ||
        add_type(timed_slots, "_pipeprobe.Timed", sizeof(struct proxy), gc, &timed_type) != 0 ||
        add_type(samples_slots, "_pipeprobe.Samples", sizeof(struct proxy), gc, &samples_type) != 0 ||
        add_type(stream_slots, "_pipeprobe.Stream", sizeof(struct proxy), gc, &stream_type) != 0 ||
        add_type(queue_slots, "_pipeprobe.Queue", sizeof(struct proxy), gc, &queue_type) != 0 ||
        queues_add_type() != 0)
        return -1;
    return add_type(iteration_slots, "_pipeprobe.Iteration", sizeof(struct held_iteration), 0,
                    &iteration_type);
}
