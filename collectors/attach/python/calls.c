/* What a call of a Timed does besides the call itself. The exception of the function, if it raised one, is
 * left as it is. */
#include "collectors/attach/python/types.h"

#include "probe/trace/join.h"

/* The iteration that the object has, of this recording. *held is a reference to be given back when it is used
 * no more: in a call the loader may begin another one. */
static struct record_iteration *iteration_of(PyObject *holder, PyObject **held)
{
    *held = PyObject_GetAttrString(holder, TYPES_ITERATION);
    if (!*held)
        PyErr_Clear();
    struct record_iteration *it = *held ? types_iteration_of(*held) : NULL;
    return it && it->session == record_session() ? it : NULL;
}

/* The first argument's: of a method of a DataLoader's iterator. */
static struct record_iteration *iteration_of_self(PyObject *args, PyObject **held)
{
    *held = NULL;
    return record_is_on() && PyTuple_Size(args) > 0 ? iteration_of(PyTuple_GetItem(args, 0), held) : NULL;
}

static PyObject *is_a_handlers;

void calls_handlers(PyObject *function)
{
    Py_XDECREF(is_a_handlers);
    Py_INCREF(function);
    is_a_handlers = function;
}

/* Of the exception that is set, which stays. */
static int came_with_a_signal(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
        PyException_SetTraceback(value, trace);
    PyObject *said = PyObject_CallFunctionObjArgs(is_a_handlers, value, NULL);
    int came = said == Py_True;
    Py_XDECREF(said);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return came;
}

int calls_is_ours(void)
{
    int ours = PyErr_ExceptionMatches(PyExc_Exception);
    /* An attribute that is not there is asked for all the time. */
    if (ours && is_a_handlers && !PyErr_ExceptionMatches(PyExc_AttributeError) && came_with_a_signal())
        ours = 0;
    if (ours)
        PyErr_Clear();
    return ours;
}

/* The lane that this thread's samples go to: of the worker process, or of a loader without workers. */
struct record_local *calls_worker(void)
{
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (l && l->slot < 0 && !record_lane_open(&l->worker, PP_LANE_WORKER, "worker 0"))
        return NULL;
    return l && l->worker.trace ? l : NULL;
}

static struct pp_reads reads_so_far(const struct record_local *l)
{
    return l->reads ? *l->reads : (struct pp_reads){0};
}

/* A number that fits; a sample may have any key. */
static int number_of(PyObject *key, uint64_t *number)
{
    if (!PyLong_Check(key))
        return 0;
    *number = PyLong_AsUnsignedLongLong(key);
    if (*number != (uint64_t)-1 || !PyErr_Occurred())
        return 1;
    PyErr_Clear();
    return 0;
}

/* The product of a tuple's numbers, without the channels of three (of 4 at most, first or last); 0: it is not
 * a size. */
static uint64_t area_of(PyObject *size)
{
    Py_ssize_t n = size && PyTuple_Check(size) ? PyTuple_Size(size) : 0;
    uint64_t side[3] = {1, 1, 1}, most = UINT64_C(1) << 20;
    if (n != 2 && n != 3)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!number_of(PyTuple_GetItem(size, i), &side[i]) || side[i] < 1 || side[i] > most)
            return 0;
    return n == 2 ? side[0] * side[1] : side[0] <= 4 ? side[1] * side[2] : side[0] * side[1];
}

/* An attribute that need not be there. Asking for it may run code of Python's, and with it a signal handler:
 * 0 with what that raised. */
static int ask(PyObject *object, const char *name, PyObject **out)
{
    *out = PyObject_GetAttrString(object, name);
    return *out || calls_is_ours();
}

/* How large the image is that was decoded: PIL's, or the tensor or array that came out. 0: as ask. */
static int note_pixels(struct record_local *l, PyObject *args, PyObject *out)
{
    PyObject *self = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL, *held = NULL;
    const void *image = self;
    if (self && !ask(self, "_size", &held)) /* behind its property `size` */
        return 0;
    uint64_t pixels = area_of(held);
    Py_XDECREF(held);
    if (!pixels) {
        if (!ask(out, "shape", &held))
            return 0;
        image = out;
        pixels = area_of(held);
        Py_XDECREF(held);
    }
    if (pixels && image != l->decoded)
        l->decode_pixels += pixels;
    l->decoded = pixels ? image : l->decoded;
    return 1;
}

/* The outermost call within a sample; a decoder may call another. */
PyObject *calls_decode(PyObject *function, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = record_local();
    if (!l || !l->depth || l->timing++) {
        PyObject *out = PyObject_Call(function, args, kwargs);
        if (l && l->timing)
            l->timing--;
        return out;
    }
    struct record_mark from = record_now(&l->worker, l->worth_cpu), to;
    struct pp_reads before = reads_so_far(l);
    PyObject *out = PyObject_Call(function, args, kwargs);
    to = record_now(&l->worker, l->worth_cpu);
    if (l->reads) {
        l->decode_read.ns += l->reads->ns - before.ns;
        l->decode_read.cpu_ns += l->reads->cpu_ns - before.cpu_ns;
    }
    l->decode_stamps += to.stamp - from.stamp;
    l->decode_cpu_ns += to.cpu_ns - from.cpu_ns;
    l->timing--;
    if (out && !note_pixels(l, args, out))
        Py_CLEAR(out);
    return out;
}

/* A function that reads a file as a whole: its time takes the place of the reads in it, which may be few
 * where it maps the file. */
PyObject *calls_read(PyObject *function, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = record_local();
    if (!l || !l->depth || !l->reads || l->reading)
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = record_now(&l->worker, l->worth_cpu), to;
    struct pp_reads before = *l->reads;
    l->reading = 1;
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->reading = 0;
    to = record_now(&l->worker, l->worth_cpu);
    l->reads->ns = before.ns + pp_thread_stamps_ns(l->worker.trace, from.stamp, to.stamp);
    l->reads->cpu_ns = before.cpu_ns + to.cpu_ns - from.cpu_ns;
    if (l->reads->calls == before.calls)
        l->reads->calls++;
    return out;
}

PyObject *calls_collate(PyObject *function, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = calls_worker();
    if (!l || l->depth) /* a loader within a sample */
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = record_now(&l->worker, 1);
    PyObject *samples = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    uint64_t n = samples && PyList_Check(samples) ? (uint64_t)PyObject_Size(samples) : 0;
    l->calls++;
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->calls--;
    record_collate(l, &from, n, !out);
    return out;
}

/* Which of its iteration's batches the iterator gave last: torch's own number, which the worker has too.
 * Without workers there is none. */
static void note_index(PyObject *loader_iter, struct record_iteration *it)
{
    PyObject *next_index = it->in_order ? PyObject_GetAttrString(loader_iter, "_rcvd_idx") : NULL;
    if (next_index && PyLong_Check(next_index))
        it->given = (uint32_t)PyLong_AsUnsignedLong(next_index) - 1;
    else if (it->in_order)
        it->given = it->taken;
    PyErr_Clear();
    Py_XDECREF(next_index);
}

/* The callback's errors are its own business: it has said so in the recording. 0: Ctrl-C came in it, or the
 * end of the program: that is the job's, and goes on. */
static int call_back(PyObject *callback, PyObject *args, PyObject *kwargs)
{
    PyObject *nothing = PyObject_Call(callback, args, kwargs);
    int goes_on = nothing || calls_is_ours();
    Py_XDECREF(nothing);
    return goes_on;
}

/* Of an iterator that is older than the recording first may make one; and it asks for lengths that were not
 * to be had when it began. NULL with an exception: that of call_back. */
static struct record_iteration *iteration_to_take(PyObject *args, PyObject **held, PyObject *first)
{
    struct record_iteration *it = iteration_of_self(args, held);
    if (it && !it->ask)
        return it;
    Py_CLEAR(*held);
    return call_back(first, args, NULL) ? iteration_of_self(args, held) : NULL;
}

static int depths; /* they are to be had: pipeprobe_hooks.py has looked */

void calls_depths(void)
{
    depths = 1;
}

static int long_of(PyObject *number, long *out)
{
    *out = number && PyLong_Check(number) ? PyLong_AsLong(number) : -1;
    PyErr_Clear();
    Py_XDECREF(number);
    return *out >= 0;
}

/* What qsize() says of multiprocessing's Queue, and of queue.Queue, in front of which pinned batches are; -1:
 * it is another. No code of Python's runs, and so no signal handler of the job's. */
static long queue_size(PyObject *queue)
{
    long most, left;
    PyObject *in_thread = PyObject_GetAttrString(queue, "queue");
    PyObject *sem = in_thread ? NULL : PyObject_GetAttrString(queue, "_sem");
    PyObject *lock = sem ? PyObject_GetAttrString(sem, "_semlock") : NULL;
    Py_ssize_t n = in_thread ? PyObject_Size(in_thread) : -1;
    if (lock && long_of(PyObject_GetAttrString(queue, "_maxsize"), &most) &&
        long_of(PyObject_CallMethod(lock, "_get_value", NULL), &left))
        n = most - left;
    PyErr_Clear();
    Py_XDECREF(lock);
    Py_XDECREF(sem);
    Py_XDECREF(in_thread);
    return n;
}

/* How many batches are made when the next one is asked for: those in the queue, and those that came too early
 * (a task of which the batch has come is none that is outstanding). Without workers there is no queue. */
static void note_depth(struct record_local *l, PyObject *iterator)
{
    long outstanding;
    PyObject *queue = depths ? PyObject_GetAttrString(iterator, "_data_queue") : NULL;
    PyObject *tasks = queue ? PyObject_GetAttrString(iterator, "_task_info") : NULL;
    Py_ssize_t n = tasks && PyDict_Check(tasks) ? PyDict_Size(tasks) : -1,
               queued = n < 0 ? -1 : queue_size(queue);
    if (queued >= 0 && long_of(PyObject_GetAttrString(iterator, "_tasks_outstanding"), &outstanding) &&
        n >= outstanding)
        record_depth(l, (uint64_t)(queued + n - outstanding));
    PyErr_Clear();
    Py_XDECREF(tasks);
    Py_XDECREF(queue);
}

/* The thread that takes the batches; a worker process that has a loader of its own is not that. */
PyObject *calls_next(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *first)
{
    struct record_local *l = record_is_on() ? record_local() : NULL;
    PyObject *held = NULL;
    struct record_iteration *it = l && l->slot < 0 && !l->taking && PyTuple_Size(args) == 1
                                      ? iteration_to_take(args, &held, first)
                                      : NULL;
    struct record_mark from;
    if (!it && PyErr_Occurred())
        return NULL;
    if (!it || !record_taker_open(l)) {
        Py_XDECREF(held);
        return PyObject_Call(function, args, kwargs);
    }
    l->taking++;
    record_take_begin(l, it, &from);
    note_depth(l, PyTuple_GetItem(args, 0));
    if (l->worker.trace)
        record_batch_begin_here(l, &from, it->batch_size ? it->batch_size : 1);
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->taking--;
    l->taken = NULL;
    if (out)
        note_index(PyTuple_GetItem(args, 0), it);
    if (l->trainer.trace)
        record_take_end(l, it, &from, out ? 1 : PyErr_ExceptionMatches(PyExc_StopIteration) ? 0 : -1);
    Py_DECREF(held);
    return out;
}

PyObject *calls_save(PyObject *function, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = record_is_on() ? record_local() : NULL;
    struct record_mark from;
    if (!l || l->slot >= 0 || l->taking || !record_taker_is_open(l))
        return PyObject_Call(function, args, kwargs);
    record_save_begin(l, &from);
    l->taking++; /* what it calls is a part of it */
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->taking--;
    record_save_end(l, &from, !out);
    return out;
}

/* 0: one of them is no number. */
static int note_keys(PyObject *index, int batched, Py_ssize_t n)
{
    uint64_t number;
    int list = PyList_Check(index);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *key = !batched ? index : list ? PyList_GetItem(index, i) : PyTuple_GetItem(index, i);
        if (!number_of(key, &number))
            return 0;
        record_order_sample(number);
    }
    return 1;
}

/* The keys of a batch; those that are no numbers make it one of unknown samples. */
static void note_order(const struct record_iteration *it, PyObject *index, int batched, Py_ssize_t n)
{
    if (n > 0 && record_order_batch(it, (uint64_t)n)) {
        if (note_keys(index, batched, n)) {
            record_order_batch_end();
            return;
        }
        record_order_undo();
    }
    record_order_unknown(it);
}

/* The sampler's StopIteration stays as it is. */
static void note_end(PyObject *args)
{
    PyObject *type, *value, *trace, *held = NULL;
    if (!PyErr_ExceptionMatches(PyExc_StopIteration))
        return;
    PyErr_Fetch(&type, &value, &trace);
    struct record_iteration *it = iteration_of_self(args, &held);
    if (it && !it->late)
        record_order_end(it);
    Py_XDECREF(held);
    PyErr_Restore(type, value, trace);
}

PyObject *calls_index(PyObject *function, PyObject *args, PyObject *kwargs)
{
    PyObject *index = PyObject_Call(function, args, kwargs), *held = NULL;
    if (!index) {
        note_end(args);
        return NULL;
    }
    struct record_iteration *it = iteration_of_self(args, &held);
    if (it) {
        int batched = PyList_Check(index) || PyTuple_Check(index); /* else a key, None for a stream's next */
        Py_ssize_t n = batched ? PyObject_Size(index) : index != Py_None;
        if (!it->late) /* of a part of an epoch nothing can be said */
            note_order(it, index, batched, n);
        it->length[it->sent++ % RECORD_LENGTHS] = n > 0 ? (uint32_t)n : 0;
    }
    Py_XDECREF(held);
    return index;
}

/* Where batches are given in the order in which they come, the last one to come is given. */
PyObject *calls_received(PyObject *function, PyObject *args, PyObject *kwargs)
{
    PyObject *got = PyObject_Call(function, args, kwargs), *held = NULL;
    struct record_iteration *it = got ? iteration_of_self(args, &held) : NULL;
    PyObject *index = it && !it->in_order && PyTuple_Check(got) && PyTuple_Size(got) == 2
                          ? PyTuple_GetItem(got, 0)
                          : NULL;
    if (index && PyLong_Check(index)) {
        it->given = (uint32_t)PyLong_AsUnsignedLong(index);
        PyErr_Clear();
    }
    Py_XDECREF(held);
    return got;
}

/* torch.Tensor, once the job has it. Borrowed. */
static PyTypeObject *tensor_type(void)
{
    static PyObject *type;
    PyObject *name = type ? NULL : PyUnicode_FromString("torch"),
             *torch = name ? PyImport_GetModule(name) : NULL,
             *found = torch ? PyObject_GetAttrString(torch, "Tensor") : NULL;
    if (found && PyType_Check(found))
        type = found, found = NULL;
    PyErr_Clear();
    Py_XDECREF(found);
    Py_XDECREF(torch);
    Py_XDECREF(name);
    return (PyTypeObject *)type;
}

enum { BATCH_DEPTH = 8, BATCH_OBJECTS = 10000 };

/* Those in tuples, lists and dicts within each other, up to as deep and as many objects as a batch may be
 * expected to have; what other objects hold is theirs. */
static uint64_t tensors_in(PyObject *object, PyTypeObject *tensor, int depth, unsigned *left)
{
    uint64_t n = 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!*left || !depth)
        return 0;
    --*left;
    if (PyType_IsSubtype(Py_TYPE(object), tensor))
        return 1;
    if (PyTuple_Check(object))
        for (; at < PyTuple_Size(object) && *left; at++)
            n += tensors_in(PyTuple_GetItem(object, at), tensor, depth - 1, left);
    else if (PyList_Check(object))
        for (; at < PyList_Size(object) && *left; at++)
            n += tensors_in(PyList_GetItem(object, at), tensor, depth - 1, left);
    else if (PyDict_Check(object))
        while (*left && PyDict_Next(object, &at, &key, &value))
            n += tensors_in(value, tensor, depth - 1, left);
    return n;
}

PyObject *calls_loads(PyObject *function, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = record_is_on() ? record_local_peek() : NULL;
    if (!l || !l->taking)
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = record_now(&l->trainer, 0);
    PyObject *out = PyObject_Call(function, args, kwargs);
    PyTypeObject *tensor = out ? tensor_type() : NULL;
    unsigned left = BATCH_OBJECTS;
    record_unpickled(l, &from, tensor ? tensors_in(out, tensor, BATCH_DEPTH, &left) : 0);
    return out;
}

PyObject *calls_with(PyObject *function, PyObject *args, PyObject *kwargs, enum timed_kind kind,
                     PyObject *callback)
{
    if (kind == TIMED_BEFORE && record_is_on() && !call_back(callback, args, kwargs))
        return NULL;
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (!out || kind == TIMED_BEFORE || !record_is_on())
        return out;
    PyObject *result = kind == TIMED_RESULT ? PyTuple_Pack(1, out) : NULL;
    int goes_on = 1;
    if (kind == TIMED_AFTER)
        goes_on = call_back(callback, args, kwargs);
    else if (result)
        goes_on = call_back(callback, result, NULL);
    else
        PyErr_Clear();
    Py_XDECREF(result);
    if (!goes_on)
        Py_CLEAR(out);
    return out;
}

/* The exception of the function, and so the end of a worker, stays as it is. */
PyObject *calls_around(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    int by_name = kwargs && PyDict_Size(kwargs) > 0;
    PyObject *type, *value, *trace, *two = by_name ? NULL : PyObject_Call(callback, args, NULL);
    if (!by_name && !two && !calls_is_ours())
        return NULL;
    int began = two && PyTuple_Check(two) && PyTuple_Size(two) == 2;
    PyObject *out = PyObject_Call(function, began ? PyTuple_GetItem(two, 0) : args, kwargs);
    if (began) {
        PyErr_Fetch(&type, &value, &trace);
        PyObject *nothing = PyObject_CallObject(PyTuple_GetItem(two, 1), NULL);
        Py_XDECREF(nothing);
        PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(two);
    return out;
}

/* (number of the batch, the batch); anything else begins a persistent loader's next epoch. The iterator has
 * put its iteration on the thread before it asked for a batch. */
void calls_pin_got(PyObject *got, PyObject *thread)
{
    struct record_local *l = record_is_on() ? record_local() : NULL;
    if (!l || !l->copy.trace)
        return;
    PyObject *index = PyTuple_Check(got) && PyTuple_Size(got) == 2 ? PyTuple_GetItem(got, 0) : NULL;
    int batch = index && PyLong_Check(index);
    if (!batch || l->first_batch == PP_NO_BATCH) {
        PyObject *held;
        struct record_iteration *it = iteration_of(thread, &held);
        l->first_batch = it ? it->first_batch : PP_NO_BATCH;
        l->epoch = (uint16_t)(it ? it->epoch : 0);
        Py_XDECREF(held);
    }
    uint32_t n = batch ? (uint32_t)PyLong_AsUnsignedLong(index) : 0;
    PyErr_Clear();
    if (batch)
        record_pin_got(l, l->first_batch == PP_NO_BATCH ? PP_NO_BATCH : l->first_batch + n);
}
