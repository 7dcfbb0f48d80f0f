/* What interrupts a training step: torch.save, and where a rank of a job waits for the others:
 * torch.distributed's collectives that return when they are done, and the end of a backward pass, in which
 * DistributedDataParallel waits for the gradients of all. */
#include "collectors/attach/python/hooks/hooks.h"

int steps_waits_are_seen;

PyObject *steps_save(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_here();
    struct record_mark from;
    if (!l || l->slot >= 0 || l->consumer.taking || !record_lane_is_open(&l->consumer.lane))
        return PyObject_Call(function, args, kwargs);
    from = record_now(&l->consumer.lane, 1);
    record_put_step(l, &from);
    l->consumer.taking++; /* what it calls is a part of it */
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->consumer.taking--;
    record_interrupted(l, &from, PP_PHASE_CHECKPOINT, !out);
    return out;
}

/* What it calls is a part of it. */
PyObject *steps_state(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    static __thread int depth;
    PyObject *said = depth || !record_is_on() ? NULL : PyObject_Call(callback, args, kwargs);
    if (!said && PyErr_Occurred() && !exception_is_ours())
        return NULL;
    uint64_t number = said && PyLong_Check(said) ? PyLong_AsUnsignedLongLong(said) : 0;
    PyErr_Clear();
    Py_XDECREF(said);
    depth++;
    PyObject *out = PyObject_Call(function, args, kwargs);
    depth--;
    if (number && record_is_on())
        record_state_end(number);
    return out;
}

/* The thread's own state, within a step of the trainer's, where waits are seen. */
static struct record_local *in_step(void)
{
    struct record_local *l = steps_waits_are_seen && record_is_on() ? record_local_peek() : NULL;
    int within = l && l->slot < 0 && !l->consumer.taking && record_lane_is_open(&l->consumer.lane) &&
                 l->consumer.step_from.stamp;
    return within ? l : NULL;
}

static PyObject *group_name; /* ours for good */

static int is_group(PyObject *o)
{
    if (!o || o == Py_None)
        return 0;
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__name__");
    int is = name && PyUnicode_Check(name) &&
             PyUnicode_Find(name, group_name, 0, PyUnicode_GetLength(name), 1) >= 0;
    Py_XDECREF(name);
    PyErr_Clear();
    return is;
}

PyObject *steps_collective(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    static int noted;
    struct record_local *l = in_step();
    if (!l)
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = record_now_delayed(&l->consumer.lane);
    record_exchange_begin();
    l->consumer.taking++; /* what it calls is a part of it */
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->consumer.taking--;
    /* A call that returns a handle goes on behind our back: what it is waited for, and when, is not seen, and
     * the rest would be half the truth. In a backward pass the end of that waits for it. */
    int goes_on_behind = out && out != Py_None;
    if (goes_on_behind && !l->consumer.in_backward && steps_waits_are_seen) {
        steps_waits_are_seen = 0;
        /* report/ranks/digest_read.c looks for its beginning */
        record_note("waits for other ranks are not recorded: the job has asynchronous collectives");
    }
    if (!goes_on_behind && l->consumer.step_from.stamp)
        record_waited(l, &from, !out);
    record_exchange_end(l);
    if (!out || noted || (!group_name && !(group_name = PyUnicode_FromString("ProcessGroup"))))
        return out; /* or its exception, which is on its way */
    /* Of a group that the call names, which need not be all ranks: all_reduce(tensor, group=tensor_parallel).
     * The end of such a collective is no event that all ranks share, and says nothing of their clocks. (What
     * DistributedDataParallel broadcasts has its group as the first argument.) */
    int named = kwargs && is_group(PyDict_GetItemString(kwargs, "group"));
    for (Py_ssize_t i = 1; !named && i < PyTuple_Size(args); i++)
        named = is_group(PyTuple_GetItem(args, i));
    if (named) /* report/ranks/clock.c looks for its beginning */
        record_note("clocks are not compared: the job has collectives of a named group of ranks");
    noted = named;
    return out;
}

/* torch.autograd.backward. The callback has the engine call us when all gradients of this rank are there,
 * before DistributedDataParallel, which asks for that later in the pass, waits for those of the others. */
PyObject *steps_backward(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_here();
    if (l && l->slot < 0)
        record_trains(l);
    if (!l || l != in_step() || l->consumer.in_backward)
        return PyObject_Call(function, args, kwargs);
    l->consumer.arrived.stamp = 0;
    l->consumer.in_backward = 1;
    l->calls++;
    PyObject *hook = PyObject_Call(callback, args, kwargs), *out = NULL;
    if (hook || exception_is_ours()) /* else Ctrl-C came in it */
        out = PyObject_Call(function, args, kwargs);
    l->calls--;
    l->consumer.in_backward = 0;
    if (hook) {
        /* What the callback gave for this pass: an object whose method takes it back. The pass may have
         * raised, and Ctrl-C may come in that method. */
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *done = hook == Py_None ? NULL : PyObject_CallMethod(hook, "remove", NULL);
        int goes_on = done || !PyErr_Occurred() || exception_is_ours();
        Py_XDECREF(done);
        if (goes_on) {
            PyErr_Restore(type, value, traceback);
        } else {
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(traceback);
        }
        Py_DECREF(hook);
        if (!goes_on)
            Py_CLEAR(out);
    }
    if (out && l->consumer.arrived.stamp && l->consumer.step_from.stamp) {
        record_waited(l, &l->consumer.arrived, 0);
        record_exchange_end(l);
    }
    return out;
}

/* Called by the engine, in the thread that called backward where everything is on the host; in another one it
 * says nothing. */
PyObject *steps_arrived(PyObject *module, PyObject *nothing)
{
    struct record_local *l = in_step();
    if (l && l->consumer.in_backward && !l->consumer.arrived.stamp) {
        l->consumer.arrived = record_now_delayed(&l->consumer.lane);
        record_exchange_begin();
    }
    Py_RETURN_NONE;
}
