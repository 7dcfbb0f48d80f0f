#include "collectors/attach/python/hooks/hooks.h"

static PyObject *queue_type;

static PyObject *call_inner(PyObject *self, const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *method = PyObject_GetAttrString(proxy_of(self)->inner, name);
    PyObject *out = method ? PyObject_Call(method, args, kwargs) : NULL;
    Py_XDECREF(method);
    return out;
}

/* A batch that the thread got for pinning, (number of the batch, the batch); anything else begins a
 * persistent loader's next epoch. The iterator has put its iteration on the thread before it asked for a
 * batch. */
static void note_batch_to_pin(PyObject *got, PyObject *thread)
{
    struct record_local *l = record_here();
    if (!l || !l->pin.lane.trace)
        return;
    PyObject *index = PyTuple_Check(got) && PyTuple_Size(got) == 2 ? PyTuple_GetItem(got, 0) : NULL;
    int batch = index && PyLong_Check(index);
    if (!batch || l->pin.first_batch == PP_NO_BATCH) {
        PyObject *held;
        struct record_iteration *it = iteration_of(thread, &held);
        l->pin.first_batch = it ? it->first_batch : PP_NO_BATCH;
        l->pin.epoch = (uint16_t)(it ? it->epoch : 0);
        Py_XDECREF(held);
    }
    uint32_t n = batch ? (uint32_t)PyLong_AsUnsignedLong(index) : 0;
    PyErr_Clear();
    if (batch) {
        l->pin.batch = l->pin.first_batch == PP_NO_BATCH ? PP_NO_BATCH : l->pin.first_batch + n;
        record_pin_moves(&l->pin, RECORD_PIN_GOT, PP_PHASE_GET_WAIT);
    }
}

/* A task is (index of the batch, what is in it). _ResumeIteration begins an epoch; None ends the worker. */
static PyObject *queue_get(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *task = call_inner(self, "get", args, kwargs), *thread = proxy_of(self)->beside;
    if (thread) {
        if (task)
            note_batch_to_pin(task, thread);
        return task;
    }
    struct record_local *l = task ? record_here() : NULL;
    if (!l || !l->worker.lane.trace || task == Py_None)
        return task;
    if (PyTuple_Check(task) && PyTuple_Size(task) == 2) {
        PyObject *index = PyTuple_GetItem(task, 0);
        uint64_t n = PyLong_Check(index) ? PyLong_AsUnsignedLongLong(index) : 0;
        Py_ssize_t samples = PyObject_Size(PyTuple_GetItem(task, 1)); /* -1: a key that is no list */
        if (PyErr_Occurred() && !exception_is_ours()) {
            Py_DECREF(task);
            return NULL;
        }
        record_batch_begin(l, n, samples > 0 ? (uint64_t)samples : 1);
    } else if (is_named(task, "_ResumeIteration")) {
        l->worker.round++;
        l->worker.looked = 0;
        l->worker.batch = PP_NO_BATCH;
    }
    return task;
}

static PyObject *queue_put(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = record_here();
    int pins = proxy_of(self)->beside != NULL;
    if (!l || !(pins ? l->pin.lane.trace : l->worker.lane.trace))
        return call_inner(self, "put", args, kwargs);
    struct record_mark from = {0};
    struct record_handed handed = {.measure_most = RECORD_MEASURED_MAX};
    /* It may be tried again while the queue is full: its wait began at the first one. */
    if (pins && l->pin.state == RECORD_PIN_GOT)
        record_pin_moves(&l->pin, RECORD_PIN_DONE, PP_PHASE_PIN);
    else if (!pins)
        from = record_now(&l->worker.lane, 1);
    if (!pins && l->worker.in_batch && PyTuple_Size(args) > 0)
        tensors_in(PyTuple_GetItem(args, 0), &handed);
    l->calls++;
    PyObject *out = call_inner(self, "put", args, kwargs);
    l->calls--;
    if (!pins)
        record_batch_put(l, &from, &handed);
    else if (out && l->pin.state == RECORD_PIN_DONE)
        record_pin_moves(&l->pin, RECORD_PIN_NONE, PP_PHASE_PUT_WAIT);
    return out;
}

int queues_types(void)
{
    static PyMethodDef methods[] = {{"get", (PyCFunction)(void (*)(void))queue_get,
                                     METH_VARARGS | METH_KEYWORDS, NULL},
                                    {"put", (PyCFunction)(void (*)(void))queue_put,
                                     METH_VARARGS | METH_KEYWORDS, NULL},
                                    {NULL, NULL, 0, NULL}};
    static const PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};
    return proxy_type(slots, "_pipeprobe.Queue", &queue_type);
}

PyObject *queue_new(PyObject *module, PyObject *args)
{
    PyObject *queue, *pinning_thread = NULL;
    if (!PyArg_ParseTuple(args, "O|O", &queue, &pinning_thread))
        return NULL;
    return proxy_new(queue_type, queue, pinning_thread);
}

PyObject *queues_collate(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_worker_here();
    if (!l || l->sample.depth) /* a loader within a sample */
        return PyObject_Call(function, args, kwargs);
    PyObject *samples = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    if (samples && record_process.content)
        content_batch(l, samples);
    struct record_mark from = record_now_delayed(&l->worker.lane);
    uint64_t n = samples && PyList_Check(samples) ? (uint64_t)PyObject_Size(samples) : 0;
    l->calls++;
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->calls--;
    record_collate(l, &from, n, !out);
    return out;
}
