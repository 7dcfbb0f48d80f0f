/* queue.Queue, and concurrent.futures.Future, between a thread that takes a DataLoader's batches and the
 * thread that trains on them. A future is a queue of one. */
#include "collectors/attach/python/hooks/hooks.h"

#define QUEUES_MAX 64 /* that hold batches at a time; more of them are not recorded */

/* Set as an attribute of the queue, and gone with it. */
struct held_batches {
    PyObject_HEAD PyObject *queue; /* borrowed: the queue holds us */
    struct record_handover handed;
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
    for (size_t i = 0; i < QUEUES_MAX; i++)
        if ((PyObject *)known[i] == self)
            known[i] = NULL;
    holder_free(self);
}

int handover_types(void)
{
    return holder_type(batches_free, "_pipeprobe.Batches", sizeof(struct held_batches), NULL, &batches_type);
}

static struct record_handover *batches_of(const PyObject *queue)
{
    for (size_t i = 0; i < QUEUES_MAX; i++)
        if (known[i] && known[i]->queue == queue)
            return &known[i]->handed;
    return NULL;
}

/* The thread's own state, where it is no worker's and not inside a DataLoader's __next__. */
static struct record_local *outside_next(void)
{
    struct record_local *l = record_is_on() ? record_local_peek() : NULL;
    return l && l->slot < 0 && !l->consumer.taking ? l : NULL;
}

/* Announced before it is there: the other thread may have it before this one goes on. */
static PyObject *hand_over(PyObject *function, PyObject *args, PyObject *kwargs, int announced)
{
    struct record_local *l = outside_next();
    PyObject *queue = l ? first_of(args) : NULL;
    struct record_handover *h = queue ? batches_of(queue) : NULL;
    if (!queue || !record_may_hand_over(l, h != NULL || announced))
        return PyObject_Call(function, args, kwargs);
    if (!h) { /* its first */
        size_t i = 0;
        while (i < QUEUES_MAX && known[i])
            i++;
        struct held_batches *held = i < QUEUES_MAX ? (struct held_batches *)holder_new(batches_type) : NULL;
        if (held && PyObject_SetAttrString(queue, "_pipeprobe_batches", (PyObject *)held) == 0) {
            held->queue = queue;
            known[i] = held;
        }
        PyErr_Clear();
        Py_XDECREF((PyObject *)held); /* the queue holds it */
        h = batches_of(queue);
    }
    if (!h)
        return PyObject_Call(function, args, kwargs);
    struct record_mark from = record_now(&l->consumer.lane, 1);
    Py_INCREF(queue); /* what is announced in it outlives the call */
    record_hand_over(l, h);
    l->calls++;
    PyObject *out = PyObject_Call(function, args, kwargs);
    l->calls--;
    /* Out of it again, where the queue was full. */
    if (!out && h->put > h->got && h->parcel[--h->put % RECORD_HANDED_MAX].is_batch && l->consumer.own.got)
        l->consumer.own.got--;
    record_handed_over(l, &from);
    Py_DECREF(queue);
    return out;
}

PyObject *handover_put(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct loop_call c = loop_gives(first_of(args));
    PyObject *out = hand_over(function, args, kwargs, 0);
    loop_call_ends(&c, out);
    return out;
}

/* A future has no more than one result, so none tells of the next: of those that have no batch, the first
 * after an epoch is its end. */
PyObject *handover_resolve(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = outside_next();
    int ended = l && l->consumer.epoch_ended;
    if (ended)
        l->consumer.epoch_ended = 0;
    return hand_over(function, args, kwargs, ended);
}

static PyObject *get_handed(PyObject *function, PyObject *args, PyObject *kwargs)
{
    struct record_local *l = outside_next();
    PyObject *queue = first_of(args);
    if (!record_is_on() || !queue || (!l && record_local_peek()))
        return PyObject_Call(function, args, kwargs);
    /* This thread began to wait for the queue in this call, or in one before it that came back empty. */
    struct record_mark from = {0};
    if (l && l->consumer.get_from.stamp && l->consumer.get_queue == queue) {
        from = l->consumer.get_from;
    } else if (l && record_lane_is_open(&l->consumer.lane)) {
        from = record_now(&l->consumer.lane, 1);
    } else {
        if (early.queue != queue)
            early.from_ns = pp_now_ns();
        early.queue = queue;
    }
    Py_INCREF(queue);
    PyObject *out = PyObject_Call(function, args, kwargs);
    struct record_handover *h = batches_of(queue);
    struct record_local *taker = out && h ? record_local() : NULL;
    if (taker && record_consumer_open(taker)) {
        if (!from.stamp) /* its first: the lane, and with it the clock, is made only now */
            from = record_ago(&taker->consumer.lane, pp_now_ns() - early.from_ns);
        record_got_handed(taker, &from, h);
    }
    if (l) {
        l->consumer.get_queue = queue;
        l->consumer.get_from = out ? (struct record_mark){0} : from;
    }
    if (out)
        early.queue = NULL;
    Py_DECREF(queue);
    return out;
}

TIMED(handover_get, loop_called(loop_takes(first_of(args), 0), get_handed, function, args, kwargs))
TIMED(handover_result, loop_called(loop_takes(NULL, 0), get_handed, function, args, kwargs))
