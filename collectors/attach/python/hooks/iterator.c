#include "collectors/attach/python/hooks/hooks.h"

static PyObject *iteration_type;
int iterator_depths_are_known;

/* ---- the iteration that an iterator holds ---- */

struct held_iteration {
    PyObject_HEAD struct record_iteration it;
};

static void iteration_free(PyObject *self)
{
    record_iteration_forget(&((struct held_iteration *)self)->it);
    holder_free(self);
}

int iterator_types(void)
{
    return holder_type(iteration_free, "_pipeprobe.Iteration", sizeof(struct held_iteration), NULL,
                       &iteration_type);
}

PyObject *iteration_new(const struct record_iteration *it)
{
    struct held_iteration *h = (struct held_iteration *)holder_new(iteration_type);
    if (!h)
        return NULL;
    h->it = *it;
    record_iteration_begin(&h->it);
    /* The lane is made here, so that making it is no part of the first wait. */
    struct record_local *l = record_here();
    if (l && l->slot < 0 && record_role_of(l) == RECORD_TRAINER)
        (void)record_consumer_open(l);
    return (PyObject *)h;
}

struct record_iteration *iteration_held(PyObject *held)
{
    return (PyObject *)Py_TYPE(held) == iteration_type ? &((struct held_iteration *)held)->it : NULL;
}

struct record_iteration *iteration_of(PyObject *holder, PyObject **held)
{
    *held = PyObject_GetAttrString(holder, ITERATION);
    if (!*held)
        PyErr_Clear();
    struct record_iteration *it = *held ? iteration_held(*held) : NULL;
    return it && it->session == record_session() ? it : NULL;
}

/* The first argument's: of a method of a DataLoader's iterator. */
static struct record_iteration *iteration_of_self(PyObject *args, PyObject **held)
{
    *held = NULL;
    return record_is_on() && PyTuple_Size(args) > 0 ? iteration_of(PyTuple_GetItem(args, 0), held) : NULL;
}

/* ---- __next__ ---- */

/* How many batches are made when the next one is asked for: those in the queue, and those that came too early
 * (a task of which the batch has come is none that is outstanding). Without workers there is no queue. No
 * code of Python's runs, and so no signal handler of the job's. */
static void note_depth(struct record_local *l, PyObject *iterator)
{
    PyObject *queue = iterator_depths_are_known ? PyObject_GetAttrString(iterator, "_data_queue") : NULL;
    PyObject *tasks = queue ? PyObject_GetAttrString(iterator, "_task_info") : NULL;
    Py_ssize_t n = tasks && PyDict_Check(tasks) ? PyDict_Size(tasks) : -1;
    /* What qsize() says of queue.Queue, in front of which pinned batches are, and of multiprocessing's; -1:
     * it is another. */
    PyObject *in_thread = n < 0 ? NULL : PyObject_GetAttrString(queue, "queue");
    PyObject *sem = n < 0 || in_thread ? NULL : PyObject_GetAttrString(queue, "_sem");
    PyObject *lock = sem ? PyObject_GetAttrString(sem, "_semlock") : NULL;
    long long queued = in_thread ? PyObject_Size(in_thread) : -1;
    if (lock) {
        long long most = number_given(PyObject_GetAttrString(queue, "_maxsize")),
                  left = most < 0 ? -1 : number_given(PyObject_CallMethod(lock, "_get_value", NULL));
        queued = left >= 0 ? most - left : -1;
    }
    PyErr_Clear();
    if (queued >= 0) {
        long long outstanding = number_given(PyObject_GetAttrString(iterator, "_tasks_outstanding"));
        if (outstanding >= 0 && n >= outstanding && l->consumer.role != RECORD_PREFETCHER)
            record_count(&l->consumer.lane, "queue_ready_batches", (uint64_t)(queued + n - outstanding));
    }
    PyErr_Clear();
    Py_XDECREF(lock);
    Py_XDECREF(sem);
    Py_XDECREF(in_thread);
    Py_XDECREF(tasks);
    Py_XDECREF(queue);
}

/* The thread that takes the batches; a worker process that has a loader of its own is not that. */
PyObject *iterator_next(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_here();
    PyObject *held = NULL;
    int takes = l && l->slot < 0 && !l->consumer.taking && PyTuple_Size(args) == 1;
    struct record_iteration *it = takes ? iteration_of_self(args, &held) : NULL;
    struct record_mark from;
    /* Of an iterator that is older than the recording the callback may make one; and it asks for lengths that
     * were not to be had when it began. */
    if (takes && (!it || it->ask_lengths)) {
        Py_CLEAR(held);
        it = call_back(callback, args, NULL) ? iteration_of_self(args, &held) : NULL;
    }
    if (!it && PyErr_Occurred())
        return NULL;
    if (!it || !record_consumer_open(l)) {
        Py_XDECREF(held);
        return PyObject_Call(function, args, kwargs);
    }
    PyObject *self = PyTuple_GetItem(args, 0);
    l->consumer.taking++;
    record_take_begin(l, it, &from);
    note_depth(l, self);
    if (l->worker.lane.trace)
        record_batch_begin_here(l, &from, it->batch_size ? it->batch_size : 1);
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->consumer.taking--;
    l->worker.making = NULL;
    /* Which of its iteration's batches it gave: torch's own number, which the worker has too. Without workers
     * there is none. */
    if (out && it->in_order) {
        long long next_index = number_given(PyObject_GetAttrString(self, "_rcvd_idx"));
        it->given = next_index >= 0 ? (uint32_t)next_index - 1 : it->taken;
    }
    if (out) {
        PyErr_Clear();
        it->looked_at = loop_only_looks();
    }
    if (l->consumer.lane.trace)
        record_take_end(l, it, &from, out ? 1 : PyErr_ExceptionMatches(PyExc_StopIteration) ? 0 : -1);
    Py_DECREF(held);
    return out;
}

/* ---- iter(loader) ---- */

PyObject *iterator_begins(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_here();
    int begins = l && record_iter_begin(l);
    PyObject *out = PyObject_Call(function, args, kwargs), *held = NULL;
    if (!begins)
        return out;
    record_iter_end(l, out ? iteration_of(out, &held) : NULL);
    Py_XDECREF(held);
    return out;
}

PyObject *iterator_draws(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_mark from;
    struct record_local *l = record_is_on() ? record_local_peek() : NULL;
    int draws = l && record_draw_begin(l, &from);
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (draws && record_is_on())
        record_draw_end(l, &from);
    return out;
}

/* ---- what the next batch is made of ---- */

/* The keys of a batch; those that are no numbers make it one of unknown samples. */
static void note_order(const struct record_iteration *it, PyObject *index, int batched, Py_ssize_t n)
{
    uint64_t number;
    int list = PyList_Check(index);
    if (n <= 0 || !record_order_batch(it, (uint64_t)n)) {
        record_order_unknown(it, 0);
        return;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *key = !batched ? index : list ? PyList_GetItem(index, i) : PyTuple_GetItem(index, i);
        if (!number_of(key, &number)) {
            record_order_unknown(it, 1);
            return;
        }
        record_order_sample(number);
    }
}

PyObject *iterator_index(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    PyObject *index = iterator_draws(function, args, kwargs, callback), *held = NULL, *type, *value, *trace;
    int ended = !index && PyErr_ExceptionMatches(PyExc_StopIteration);
    if (!index && !ended)
        return NULL;
    if (ended) /* the sampler's exception stays as it is */
        PyErr_Fetch(&type, &value, &trace);
    struct record_iteration *it = iteration_of_self(args, &held);
    if (it && ended && !it->resumed) {
        record_order_end(it);
    } else if (it && index) {
        int batched = PyList_Check(index) || PyTuple_Check(index); /* else a key */
        Py_ssize_t n = batched ? PyObject_Size(index) : !it->stream;
        if (!it->resumed) /* of a part of an epoch nothing can be said */
            note_order(it, index, batched, n);
        it->length[it->sent++ % RECORD_LENGTHS] = n > 0 ? (uint32_t)n : 0;
    }
    Py_XDECREF(held);
    if (ended)
        PyErr_Restore(type, value, trace);
    return index;
}

/* ---- what came ---- */

/* Where batches are given in the order in which they come, the last one to come is given. */
PyObject *iterator_received(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
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

PyObject *iterator_loads(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_is_on() ? record_local_peek() : NULL;
    if (!l || !l->consumer.taking)
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = record_now(&l->consumer.lane, 1);
    PyObject *out = PyObject_Call(function, args, kwargs);
    struct record_handed count = {0};
    struct record_consumer *c = &l->consumer;
    c->unpickle_tensors += out ? tensors_in(out, &count) : 0;
    struct record_mark now = record_now(&c->lane, 1);
    c->unpickle_stamps += now.stamp - from.stamp;
    c->unpickle_cpu_ns += now.cpu_ns > from.cpu_ns ? now.cpu_ns - from.cpu_ns : 0;
    return out;
}
