/* queue.Queue, and concurrent.futures.Future, between a thread that takes a DataLoader's batches and the
 * thread that trains on them. A future is a queue of one. */
#include "collectors/attach/python/types.h"

#include "probe/base/clock.h"

#define QUEUES_MAX 64 /* that hold batches at a time; more of them are not recorded */

/* Set as an attribute of the queue, and gone with it. */
struct held_batches {
    PyObject_HEAD PyObject *queue; /* borrowed: the queue holds us */
    struct record_handed handed;
};

static PyObject *batches_type;
static struct held_batches *known[QUEUES_MAX]; /* under the interpreter's lock */

/* The wait of a thread that has no lane yet, in ns: it may prove to be for a batch. */
static __thread struct {
    const PyObject *queue;
    uint64_t from_ns;
} early;

static void batches_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    for (size_t i = 0; i < QUEUES_MAX; i++)
        if ((PyObject *)known[i] == self)
            known[i] = NULL;
    release(self);
    Py_DECREF(type);
}

static PyType_Slot batches_slots[] = {{Py_tp_dealloc, batches_free}, {0, NULL}};

int queues_add_type(void)
{
    PyType_Spec spec = {.name = "_pipeprobe.Batches",
                        .basicsize = (int)sizeof(struct held_batches),
                        .flags = Py_TPFLAGS_DEFAULT,
                        .slots = batches_slots};
    batches_type = PyType_FromSpec(&spec);
    return batches_type ? 0 : -1;
}

static struct record_handed *find(const PyObject *queue)
{
    for (size_t i = 0; i < QUEUES_MAX; i++)
        if (known[i] && known[i]->queue == queue)
            return &known[i]->handed;
    return NULL;
}

static struct record_handed *make(PyObject *queue)
{
    struct record_handed *h = NULL;
    size_t i = 0;
    while (i < QUEUES_MAX && known[i])
        i++;
    if (i == QUEUES_MAX)
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)batches_type, Py_tp_alloc);
    struct held_batches *held = (struct held_batches *)alloc((PyTypeObject *)batches_type, 0);
    if (held && PyObject_SetAttrString(queue, "_pipeprobe_batches", (PyObject *)held) == 0) {
        held->queue = queue;
        known[i] = held;
        h = &held->handed;
    }
    if (!h)
        PyErr_Clear();
    Py_XDECREF((PyObject *)held); /* the queue holds it */
    return h;
}

/* The thread's own state, where it is no worker's and not inside a DataLoader's __next__. */
static struct record_local *here(void)
{
    struct record_local *l = record_is_on() ? record_local_peek() : NULL;
    return l && l->slot < 0 && !l->taking ? l : NULL;
}

/* Announced before it is there: the other thread may have it before this one goes on. */
static PyObject *put(PyObject *function, PyObject *args, PyObject *kwargs, int announced)
{
    struct record_local *l = here();
    PyObject *queue = l && PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
    struct record_handed *h = queue ? find(queue) : NULL;
    if (queue && record_may_hand_over(l, h != NULL || announced))
        h = h ? h : make(queue);
    else
        h = NULL;
    if (!h)
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = record_now(&l->trainer, 1);
    Py_INCREF(queue); /* what is announced in it outlives the call */
    record_hand_over(l, h);
    l->calls++;
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->calls--;
    if (!out)
        record_hand_back(l, h);
    record_put_end(l, &from);
    Py_DECREF(queue);
    return out;
}

PyObject *queues_put(PyObject *function, PyObject *args, PyObject *kwargs)
{
    return put(function, args, kwargs, 0);
}

/* A future has no more than one result, so none tells of the next: of those that have no batch, the first
 * after an epoch is its end. */
PyObject *queues_resolve(PyObject *function, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = here();
    int ended = l && l->taker.ended;
    if (ended)
        l->taker.ended = 0;
    return put(function, args, kwargs, ended);
}

/* The beginning of this thread's wait for the queue: of this call, or of one before it that came back empty.
 */
static struct record_mark wait_began(struct record_local *l, const PyObject *queue)
{
    if (l && l->taker.get_from.stamp && l->taker.get_queue == queue)
        return l->taker.get_from;
    if (l && record_taker_is_open(l))
        return record_now(&l->trainer, 1);
    if (early.queue != queue)
        early.from_ns = pp_now_ns();
    early.queue = queue;
    return (struct record_mark){0};
}

static void got_batch(const struct record_mark *began, struct record_handed *h)
{
    struct record_local *l = record_local();
    struct record_mark from = *began;
    if (!l || !record_taker_open(l))
        return;
    if (!from.stamp) /* its first: the lane, and with it the clock, is made only now */
        from = record_ago(&l->trainer, pp_now_ns() - early.from_ns);
    record_get_end(l, &from, h);
}

PyObject *queues_get(PyObject *function, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = here();
    PyObject *queue = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
    if (!record_is_on() || !queue || (!l && record_local_peek()))
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = wait_began(l, queue);
    Py_INCREF(queue);
    PyObject *out = PyObject_Call(function, args, kwargs);
    struct record_handed *h = find(queue);
    if (out && h)
        got_batch(&from, h);
    if (l) {
        l->taker.get_queue = queue;
        l->taker.get_from = out ? (struct record_mark){0} : from;
    }
    if (out)
        early.queue = NULL;
    Py_DECREF(queue);
    return out;
}
