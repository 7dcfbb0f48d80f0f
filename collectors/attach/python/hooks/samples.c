/* Data sets whose samples are timed, the fetcher that has one, and the calls that a sample is made with.
 *
 * The fetcher has the timed data set while it fetches a detailed batch, and its own at all other times: a
 * StatefulDataLoader asks it for its state between two batches, and puts another iterator in its place. */
#include "collectors/attach/python/hooks/hooks.h"
#include "probe/trace/join.h"

/* The fetcher's attribute: (name of the attribute, its own, the timed one) */
#define TIMED_AS "_pipeprobe_timed"

static PyObject *samples_type, *stream_type;

/* ---- Samples and Stream: a data set whose samples are timed ---- */

/* One that is made within another is a part of it. */
static struct record_local *enter_sample(void)
{
    struct record_local *l = record_worker_here();
    if (l && !l->sample.depth++)
        record_sample_begin(l);
    return l;
}

static void leave_sample(struct record_local *l, uint64_t sample, int many, int failed)
{
    if (--l->sample.depth == 0)
        record_sample_end(l, sample, many, failed);
}

KEEPS(samples_names, namer)

/* Of a sample that was made, where it is one of the slowest. 0 with an exception, the job's own. */
static int name_sample(struct record_local *l, PyObject *data, PyObject *key, PyObject *out, uint64_t sample)
{
    struct record_slow slow;
    if (!namer || l->sample.depth || !record_slow_is(l, sample, &slow))
        return 1;
    PyObject *name = PyObject_CallFunctionObjArgs(namer, data, key, out, NULL),
             *bytes = name ? PyUnicode_AsEncodedString(name, "utf-8", "replace") : NULL;
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    if (text)
        record_slow_name(&slow, text);
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    return text || exception_is_ours();
}

static PyObject *samples_item(PyObject *self, PyObject *key)
{
    struct record_local *l = enter_sample();
    PyObject *inner = proxy_of(self)->inner;
    if (!l)
        return PyObject_GetItem(inner, key);
    uint64_t sample = PP_NO_SAMPLE;
    (void)number_of(key, &sample);
    PyObject *out = PyObject_GetItem(inner, key);
    leave_sample(l, sample, 0, !out);
    if (out && !name_sample(l, inner, key, out, sample))
        Py_CLEAR(out);
    return out;
}

/* A data set that fetches a batch in one call: its samples are one record, which says how many they are. */
static PyObject *samples_many(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    Py_ssize_t n = PyTuple_Size(args) == 1 ? PyObject_Size(PyTuple_GetItem(args, 0)) : -1;
    PyErr_Clear();
    struct record_local *l = n > 0 ? enter_sample() : NULL;
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (l)
        leave_sample(l, (uint64_t)n, 1, !out);
    return out;
}

/* There when the data set has it. */
static PyObject *samples_getitems(PyObject *self, void *ctx)
{
    PyObject *many = PyObject_GetAttrString(proxy_of(self)->inner, "__getitems__");
    PyObject *timed = many && PyCallable_Check(many) ? timed_new(many, samples_many, NULL) : many;
    if (timed != many)
        Py_DECREF(many);
    return timed;
}

static PyObject *stream_next(PyObject *self)
{
    struct record_local *l = enter_sample();
    PyObject *out = PyIter_Next(proxy_of(self)->inner);
    if (l && (out || PyErr_Occurred()))
        leave_sample(l, PP_NO_SAMPLE, 0, !out);
    else if (l) /* the end of the data is no sample */
        l->sample.depth--;
    if (l && out && l->worker.fingerprints && !l->sample.depth)
        content_first(l, out);
    if (l && out && !name_sample(l, Py_None, Py_None, out, PP_NO_SAMPLE))
        Py_CLEAR(out);
    return out;
}

int samples_types(void)
{
    static PyGetSetDef getset[] = {{"__getitems__", samples_getitems, NULL, NULL, NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};
    static const PyType_Slot of_samples[] = {{Py_mp_subscript, (void *)samples_item},
                                             {Py_mp_length, (void *)proxy_length},
                                             {Py_tp_getset, getset},
                                             {0, NULL}};
    static const PyType_Slot of_stream[] = {{Py_tp_iter, (void *)PyObject_SelfIter},
                                            {Py_tp_iternext, (void *)stream_next},
                                            {0, NULL}};
    return proxy_type(of_samples, "_pipeprobe.Samples", &samples_type) != 0 ||
                   proxy_type(of_stream, "_pipeprobe.Stream", &stream_type) != 0
               ? -1
               : 0;
}

PyObject *samples_new(PyObject *module, PyObject *dataset)
{
    struct record_local *l = record_here();
    if (l)
        l->worker.fingerprints = 0;
    return proxy_new(samples_type, dataset, NULL);
}

PyObject *stream_new(PyObject *module, PyObject *iterator)
{
    if (!PyIter_Check(iterator)) {
        PyErr_SetString(PyExc_TypeError, "an iterator is needed");
        return NULL;
    }
    struct record_local *l = record_here();
    if (l) /* so many samples more of this thread are told by their content */
        l->worker.fingerprints = RECORD_FINGERPRINTS;
    return proxy_new(stream_type, iterator, NULL);
}

static int is_sampled(PyObject *object)
{
    return (PyObject *)Py_TYPE(object) == samples_type || (PyObject *)Py_TYPE(object) == stream_type;
}

/* ---- the fetcher ---- */

PyObject *fetcher_set(PyObject *module, PyObject *args)
{
    PyObject *fetcher, *timed;
    int stream;
    if (!PyArg_ParseTuple(args, "OpO", &fetcher, &stream, &timed))
        return NULL;
    const char *attribute = stream ? "dataset_iter" : "dataset";
    PyObject *own = PyObject_GetAttrString(fetcher, attribute);
    PyObject *three = own ? Py_BuildValue("sOO", attribute, own, timed) : NULL;
    int ok = three && PyObject_SetAttrString(fetcher, TIMED_AS, three) == 0;
    Py_XDECREF(own);
    Py_XDECREF(three);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* What stands for the one that the fetcher has now. NULL, perhaps with an exception. */
static PyObject *timed_now(PyObject *three, PyObject *own)
{
    PyObject *timed = PyTuple_GetItem(three, 2);
    if (own != PyTuple_GetItem(three, 1))
        return PyUnicode_CompareWithASCIIString(PyTuple_GetItem(three, 0), "dataset") == 0
                   ? samples_new(NULL, own)
                   : proxy_new(stream_type, own, NULL); /* its first samples have been */
    if (!is_sampled(timed)) {
        /* The copy of a Subset is as the job's is now: its indices or its data set may have been changed. */
        PyObject *theirs = PyObject_GetAttrString(own, "__dict__"),
                 *ours = theirs ? PyObject_GetAttrString(timed, "__dict__") : NULL,
                 *data = ours ? PyDict_GetItemString(theirs, "dataset") : NULL,
                 *samples = data ? samples_new(NULL, data) : NULL;
        if (samples)
            PyDict_Clear(ours);
        int ok = samples && PyDict_Update(ours, theirs) == 0 &&
                 PyDict_SetItemString(ours, "dataset", samples) == 0;
        Py_XDECREF(samples);
        Py_XDECREF(ours);
        Py_XDECREF(theirs);
        if (!ok)
            return NULL;
    }
    Py_INCREF(timed);
    return timed;
}

PyObject *samples_fetch(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    PyObject *fetcher = record_is_on() ? first_of(args) : NULL;
    PyObject *three = fetcher ? PyObject_GetAttrString(fetcher, TIMED_AS) : NULL;
    PyObject *name = NULL, *own = NULL, *timed = NULL; /* name NULL: the fetcher is left as it is */
    if (fetcher && !three)
        PyErr_Clear();
    struct record_local *l = three && PyTuple_Check(three) && PyTuple_Size(three) == 3 ? record_worker_here()
                                                                                       : NULL;
    if (l && l->worker.detailed) {
        name = PyTuple_GetItem(three, 0);
        own = PyObject_GetAttr(fetcher, name);
        timed = own && !is_sampled(own) ? timed_now(three, own) : NULL;
        Py_INCREF(name);
        if (!timed || PyObject_SetAttr(fetcher, name, timed) != 0) {
            PyErr_Clear();
            Py_CLEAR(name);
            Py_CLEAR(own);
            Py_CLEAR(timed);
        }
    }
    Py_XDECREF(three);
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (name) {
        /* Another thread may be in a fetch of the same one: then it has put its own there, and takes that
         * away. The exception of this fetch, if there is one, stays as it is. */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyObject *now = PyObject_GetAttr(fetcher, name);
        if (now == timed)
            (void)PyObject_SetAttr(fetcher, name, own);
        PyErr_Clear();
        PyErr_Restore(type, value, trace);
        Py_XDECREF(now);
        Py_DECREF(name);
        Py_DECREF(own);
        Py_DECREF(timed);
    }
    return out;
}

/* ---- what a sample is made with ---- */

/* An attribute that need not be there, as an area: the product of a tuple's numbers, without the channels of
 * three (of 4 at most, first or last); 0: it is not a size. Asking for it may run code of Python's, and with
 * it a signal handler: 0 with what that raised. */
static int ask_area(PyObject *object, const char *name, uint64_t *area)
{
    PyObject *size = PyObject_GetAttrString(object, name);
    Py_ssize_t n = size && PyTuple_Check(size) ? PyTuple_Size(size) : 0;
    uint64_t side[3] = {1, 1, 1}, most = UINT64_C(1) << 20;
    int known = n == 2 || n == 3;
    for (Py_ssize_t i = 0; known && i < n; i++)
        known = number_of(PyTuple_GetItem(size, i), &side[i]) && side[i] >= 1 && side[i] <= most;
    *area = !known ? 0 : n == 3 && side[0] <= 4 ? side[1] * side[2] : side[0] * side[1];
    int goes_on = size || exception_is_ours();
    Py_XDECREF(size);
    return goes_on;
}

/* A decoder may call another. */
static PyObject *decode(PyObject *function, PyObject *args, PyObject *kwargs, int image)
{
    struct record_local *l = record_local();
    struct record_sample *s = l ? &l->sample : NULL;
    if (!s || !s->depth || s->timing++) {
        PyObject *out = PyObject_Call(function, args, kwargs);
        if (s && s->timing)
            s->timing--;
        return out;
    }
    struct record_mark from = record_now(&l->worker.lane, l->worker.worth_cpu), to;
    struct pp_reads before = s->reads ? *s->reads : (struct pp_reads){0};
    PyObject *out = PyObject_Call(function, args, kwargs);
    to = record_now(&l->worker.lane, l->worker.worth_cpu);
    if (s->reads) {
        s->decode_read.ns += s->reads->ns - before.ns;
        s->decode_read.cpu_ns += s->reads->cpu_ns - before.cpu_ns;
    }
    s->decode_stamps += to.stamp - from.stamp;
    s->decode_cpu_ns += to.cpu_ns - from.cpu_ns;
    s->timing--;
    if (!out || !image)
        return out;
    /* How large the image is that was decoded: PIL's (behind its property `size`), or the tensor or array
     * that came out. */
    PyObject *self = first_of(args);
    const void *decoded = self;
    uint64_t pixels = 0;
    int goes_on = !self || ask_area(self, "_size", &pixels);
    if (goes_on && !pixels) {
        goes_on = ask_area(out, "shape", &pixels);
        decoded = out;
    }
    if (!goes_on) {
        Py_DECREF(out);
        return NULL;
    }
    if (pixels && decoded != s->decoded)
        s->decode_pixels += pixels;
    s->decoded = pixels ? decoded : s->decoded;
    return out;
}

TIMED(samples_decode, decode(function, args, kwargs, 1))

/* Of sound, video, arrays and tables: no image's size is known. */
TIMED(samples_unpack, decode(function, args, kwargs, 0))

/* Its time takes the place of the reads in it, which may be few where it maps the file. */
PyObject *samples_read(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_local();
    struct record_sample *s = l ? &l->sample : NULL;
    if (!s || !s->depth || !s->reads || s->reading)
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = record_now(&l->worker.lane, l->worker.worth_cpu), to;
    struct pp_reads before = *s->reads;
    s->reading = 1;
    PyObject *out = PyObject_Call(function, args, kwargs);
    s->reading = 0;
    to = record_now(&l->worker.lane, l->worker.worth_cpu);
    s->reads->ns = before.ns + pp_thread_stamps_ns(l->worker.lane.trace, from.stamp, to.stamp);
    s->reads->cpu_ns = before.cpu_ns + to.cpu_ns - from.cpu_ns;
    if (s->reads->calls == before.calls)
        s->reads->calls++;
    return out;
}
