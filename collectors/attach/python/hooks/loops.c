/* Loops without a DataLoader: the calls in which the thread that trains waits for a batch, and those between
 * which another thread or process makes one. ../record/loop.c knows which is which. */
#include "collectors/attach/python/hooks/hooks.h"

#define QUEUES_MAX 32

/* Queues that the trainer has taken from, the last few: who puts into one of them makes what it takes.
 * Compared and nothing else; under the interpreter's lock. */
static const PyObject *taken_from[QUEUES_MAX];
static unsigned n_taken_from;

static int is_taken_from(const PyObject *queue)
{
    for (size_t i = 0; queue && i < QUEUES_MAX; i++)
        if (taken_from[i] == queue)
            return 1;
    return 0;
}

KEEPS(loop_grad, grad_is_enabled)

int loop_only_looks(void)
{
    PyObject *enabled = grad_is_enabled ? PyObject_CallObject(grad_is_enabled, NULL) : NULL;
    PyErr_Clear();
    Py_XDECREF(enabled);
    return enabled == Py_False;
}

struct loop_call loop_takes(const PyObject *queue, int certain)
{
    struct loop_call c = {.as = LOOP_WAITS, .certain = certain, .queue = queue};
    struct record_local *l = record_is_on() && !record_process.has_loader ? record_local() : NULL;
    if (!l) {
        c.queue = record_process.has_loader ? queue : NULL;
        return c;
    }
    if (l->loop.making) {
        c.as = LOOP_IDLES;
        c.l = certain || (!queue && !record_process.parent_pid) ? NULL : l;
        if (c.l)
            record_make_pauses(l, 0);
        return c;
    }
    /* Batches that are taken without gradients, as in an evaluation, are not collected into one. */
    if (l->loop.first.stamp && l->consumer.trains && loop_only_looks() && !l->loop.waiting &&
        record_lane_is_open(&l->consumer.lane))
        record_loop_put_take(l);
    c.asks = queue != NULL;
    if (record_loop_wait_begin(l, certain, &c.from)) {
        c.l = l;
    } else if (record_process.parent_pid && record_loop_is_made()) {
        c.l = l; /* its first task */
        c.as = LOOP_IDLES;
    } else {
        c.queue = NULL;
    }
    return c;
}

struct loop_call loop_gives(const PyObject *queue)
{
    struct loop_call c = {.as = LOOP_GIVES};
    struct record_local *l = record_is_on() && !record_process.has_loader ? record_local_peek() : NULL;
    if (l && l->loop.waiting)
        return c;
    if (record_process.parent_pid || is_taken_from(queue))
        l = l ? l : record_is_on() && record_loop_is_made() ? record_local() : NULL;
    else
        l = l && l->loop.making ? l : NULL;
    if (!l || l->slot >= 0 || l->consumer.taking || (l->sample.depth && !l->loop.making) ||
        (!record_process.parent_pid && record_role_of(l) == RECORD_TRAINER))
        return c;
    c.l = l;
    record_make_pauses(l, 1);
    return c;
}

void loop_call_ends(struct loop_call *c, PyObject *out)
{
    if (out && record_process.has_loader && c->as == LOOP_WAITS && (c->certain || c->queue))
        record_loop_beside(record_local_peek());
    /* Emptied at its end it has no producer, and its place in memory may be another's next. */
    if (out && c->queue && !is_taken_from(c->queue))
        taken_from[n_taken_from++ % QUEUES_MAX] = c->queue;
    struct record_local *l = out && c->asks ? record_local_peek()
                                            : NULL; /* a poll that found nothing is none */
    if (l)
        l->loop.asked++;
    if (!c->l)
        return;
    if (c->as == LOOP_WAITS) {
        int ended = !out && PyErr_ExceptionMatches(PyExc_StopIteration);
        record_loop_wait_end(c->l, c->certain, &c->from, out ? 1 : ended ? 0 : -1);
    } else {
        record_make_goes_on(c->l, c->as == LOOP_GIVES ? PP_PHASE_PUT_WAIT : PP_PHASE_DISPATCH_WAIT);
    }
}

PyObject *loop_called(struct loop_call c, ternaryfunc call, PyObject *function, PyObject *args,
                      PyObject *kwargs)
{
    PyObject *out = call(function, args, kwargs);
    loop_call_ends(&c, out);
    return out;
}

TIMED(loops_next, loop_called(loop_takes(NULL, 1), PyObject_Call, function, args, kwargs))
TIMED(loops_get, loop_called(loop_takes(NULL, 0), PyObject_Call, function, args, kwargs))

/* From a queue between processes. */
PyObject *loops_get_queued(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct loop_call c = loop_takes(NULL, 0);
    c.asks = 1;
    return loop_called(c, PyObject_Call, function, args, kwargs);
}

/* Of the thread that trains: what it calls may bring a batch (got), or be a part of its step. A thread of
 * which no training is seen waits for anything. */
static PyObject *wait_in(PyObject *function, PyObject *args, PyObject *kwargs, int got)
{
    struct record_local *l = record_is_on() && !record_process.has_loader ? record_local() : NULL;
    struct record_mark from;
    int waits = l && !l->loop.making && (!got || l->consumer.trains) && record_loop_wait_begin(l, 0, &from);
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (waits)
        record_loop_wait_end(l, 0, &from, out && out != Py_False && got); /* False: its time was over */
    return out;
}

/* Its threads compete with this one for the interpreter's lock from then on. A maker's own is a part of its
 * sample. */
TIMED(loops_dispatch, wait_in(function, args, kwargs, 0))

/* Called by the module that `its` is a function of, and not by that function. */
static int is_called_by_module_of(PyObject *its)
{
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    PyObject *here = frame ? PyObject_GetAttrString(frame, "f_globals") : NULL,
             *code = frame ? PyObject_GetAttrString(frame, "f_code") : NULL,
             *there = PyObject_GetAttrString(its, "__globals__"),
             *own = PyObject_GetAttrString(its, "__code__");
    int is = here && here == there && code != own;
    PyErr_Clear();
    Py_XDECREF(here);
    Py_XDECREF(code);
    Py_XDECREF(there);
    Py_XDECREF(own);
    return is;
}

/* For another thread, or for what an event loop polls. A maker that waits, for a semaphore too, makes nothing
 * meanwhile. callback: wait_for of Condition or wait of Event, by whose module's other waits (a thread's
 * start) nothing is taken. */
PyObject *loops_wait(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_is_on() ? record_local_peek() : NULL;
    int makes = l && l->loop.making;
    if (callback && (record_process.has_loader || (!makes && is_called_by_module_of(callback))))
        return PyObject_Call(function, args, kwargs);
    if (makes) {
        record_make_pauses(l, 0);
        PyObject *out = PyObject_Call(function, args, kwargs);
        record_make_goes_on(l, PP_PHASE_DISPATCH_WAIT);
        return out;
    }
    if (!callback)
        return wait_in(function, args, kwargs, 1);
    /* A thread that has never had to wait for an Event finds a gate open, and takes no batch. */
    l = record_local_peek();
    PyObject *event = first_of(args);
    PyObject *set = event ? PyObject_GetAttrString(event, "_flag") : NULL; /* a bool, which outlives us */
    PyErr_Clear();
    Py_XDECREF(set);
    if (set == Py_True && !(l && l->loop.awaits))
        return PyObject_Call(function, args, kwargs);
    PyObject *waited = wait_in(function, args, kwargs, 1);
    l = record_local_peek();
    if (l && set == Py_False && waited == Py_True)
        l->loop.awaits = 1;
    return waited;
}

TIMED(loops_put, loop_called(loop_gives(NULL), PyObject_Call, function, args, kwargs))

/* Of a thread that makes nothing otherwise: a producer that runs as a pool's task has its own samples. */
PyObject *loops_task(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_loop_is_made() ? record_local() : NULL;
    if (!l || l->slot >= 0 || l->consumer.taking || l->consumer.trains || l->sample.depth)
        return PyObject_Call(function, args, kwargs);
    record_make_goes_on(l, PP_PHASE_DISPATCH_WAIT);
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (l->loop.making) {
        l->loop.making = l->sample.depth = 0;
        if (record_lane_is_open(&l->worker.lane))
            record_sample_end(l, PP_NO_SAMPLE, 0, !out);
    }
    return out;
}

/* ---- stages: decoding and collation within a pool's task ---- */

enum { STAGE_OTHER, STAGE_DECODE, STAGE_COLLATE };

static PyObject *stage_type;

struct stage {
    PyObject_HEAD int of;
    struct record_mark from;
};

static PyObject *stage_enter(PyObject *self, PyObject *nothing)
{
    struct stage *s = (struct stage *)self;
    struct record_local *l = record_local_peek();
    if (l && l->loop.making && !l->sample.timing++)
        s->from = record_now(&l->worker.lane, l->worker.worth_cpu);
    Py_RETURN_NONE;
}

static PyObject *stage_exit(PyObject *self, PyObject *args)
{
    struct stage *s = (struct stage *)self;
    struct record_local *l = record_local_peek();
    if (l && l->loop.making && l->sample.timing && !--l->sample.timing && s->from.stamp) {
        struct record_mark now = record_now(&l->worker.lane, l->worker.worth_cpu);
        uint64_t *stamps = s->of == STAGE_DECODE ? &l->sample.decode_stamps : &l->sample.collate_stamps,
                 *cpu = s->of == STAGE_DECODE ? &l->sample.decode_cpu_ns : &l->sample.collate_cpu_ns;
        *stamps += now.stamp - s->from.stamp;
        *cpu += now.cpu_ns - s->from.cpu_ns;
    }
    Py_RETURN_NONE;
}

int loops_types(void)
{
    static PyMethodDef methods[] = {{"__enter__", stage_enter, METH_NOARGS, NULL},
                                    {"__exit__", stage_exit, METH_VARARGS, NULL},
                                    {NULL, NULL, 0, NULL}};
    return holder_type(holder_free, "_pipeprobe.Stage", sizeof(struct stage), methods, &stage_type);
}

/* Outside of a sample, and for all stages but two, the framework's own. */
PyObject *loops_stage(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    struct record_local *l = record_is_on() ? record_local_peek() : NULL;
    if (!l || !l->loop.making)
        return PyObject_Call(function, args, kwargs);
    PyObject *said = PyObject_Call(callback, args, NULL);
    if (!said && !exception_is_ours())
        return NULL;
    long of = said && PyLong_Check(said) ? PyLong_AsLong(said) : STAGE_OTHER;
    Py_XDECREF(said);
    struct stage *s = of == STAGE_OTHER ? NULL : (struct stage *)holder_new(stage_type);
    if (!s) {
        PyErr_Clear();
        return PyObject_Call(function, args, kwargs);
    }
    s->of = (int)of;
    return (PyObject *)s;
}
