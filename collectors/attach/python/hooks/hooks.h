/* collectors/attach/python/hooks/hooks.h: the half of _pipeprobe.abi3.so that Python calls: what stands in
 * for an object of the job's, does what the object does, and records when (../record). None of them is
 * pickled by value, adds a frame to a traceback, or raises an exception of its own; whatever they do not know
 * is the object's. The GIL is held throughout. Each part below uses only those above it:
 *
 *     proxy.c        the stand-ins, and functions whose calls are timed
 *     content.c      the content of a sample as a number
 *     samples.c      data sets and fetchers: samples, and what they are made with
 *     tensors.c      the tensors of a batch, and their bytes
 *     iterator.c     a DataLoader's iterator: the batches of an epoch
 *     queues.c       the queues of a worker and of the thread that pins memory
 *     loops.c        batches that come from no DataLoader, and what makes them
 *     handover.c     queue.Queue and Future: batches from one thread to another
 *     steps.c        what interrupts a step of the trainer: torch.save, waits for other ranks
 *     module.c       the functions that pipeprobe_hooks.py calls */
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

#include "collectors/attach/python/record/record.h"

/* What a call of a Timed does, the call of the function among it. An exception of the function is left as it
 * is. callback: as the Timed was made with. */
typedef PyObject *timed_call(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback);
/* One whose answer is an expression. */
#define TIMED(name, answer) \
    PyObject *name(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback) \
    { \
        return answer; \
    }

/* What pipeprobe_hooks.py calls as a function of the module: module.c says with which arguments. */
typedef PyObject *module_function(PyObject *module, PyObject *args);
/* One that keeps the function it is given; None: none is kept. */
#define KEEPS(name, kept) \
    static PyObject *kept; \
    PyObject *name(PyObject *module, PyObject *function) \
    { \
        PyObject *before = kept; \
        kept = function == Py_None ? NULL : function; \
        Py_XINCREF(kept); \
        Py_XDECREF(before); \
        Py_RETURN_NONE; \
    }

/* The first argument of a call, borrowed; NULL: it has none. */
static inline PyObject *first_of(PyObject *args)
{
    return PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
}

/* ---- proxy.c ---- */

struct proxy {
    PyObject_HEAD PyObject *inner; /* the object that is stood in for */
    PyObject *weak;                /* references to it */
    PyObject *beside;              /* NULL; a Timed's callback, the thread of a Queue that is pinned from */
    timed_call *call;              /* of a Timed */
};

static inline struct proxy *proxy_of(PyObject *self)
{
    return (struct proxy *)self;
}

/* Adds the types of this part; the others' likewise. -1 with an exception. */
int proxy_types(void);
/* A type of proxies: what they share, and its own slots, of which the last is {0, NULL}. */
int proxy_type(const PyType_Slot *own, const char *name, PyObject **out);
/* Any other type, whose objects Python code cannot make. methods may be NULL. */
int holder_type(destructor dealloc, const char *name, size_t size, PyMethodDef *methods, PyObject **out);
PyObject *holder_new(PyObject *type); /* zeroed */
void holder_free(PyObject *self);     /* the last thing that a dealloc does */
PyObject *proxy_new(PyObject *type, PyObject *inner, PyObject *beside);
Py_ssize_t proxy_length(PyObject *self); /* of the object: a slot */

PyObject *timed_new(PyObject *function, timed_call *call, PyObject *callback);
module_function timed_is;

/* Not timed: the callback is called with the arguments before the function or after it, or with its result;
 * it raises no exception, and no frame of it is seen in the function's own. */
timed_call timed_before, timed_after, timed_result;
/* The callback gives (arguments in the place of these, what to call at the end), or None. */
timed_call timed_around;

/* With an exception set that a callback of ours raised: 1 and it is cleared, or 0: it is the job's, as no
 * Exception is ours (Ctrl-C, the end of the program) and none that a signal handler raised. */
int exception_is_ours(void);
module_function exception_handlers;
/* The callback's errors are its own business: it has said so in the recording. 0: Ctrl-C came in it, or the
 * end of the program: that is the job's, and goes on. */
int call_back(PyObject *callback, PyObject *args, PyObject *kwargs);

int is_named(PyObject *object, const char *type); /* by its type's name */
/* A number that fits; a sample may have any key. No exception is left. */
int number_of(PyObject *key, uint64_t *number);
/* A new reference to a number, which is given back. -1: it is none. Likewise. */
long long number_given(PyObject *number);

/* ---- content.c ---- */

/* A sample of an iterable data set that the thread has made, one of its first. */
void content_first(struct record_local *l, PyObject *sample);
/* With content: what the thread is about to collate, a list of samples, or one that is a batch by itself. */
void content_batch(struct record_local *l, PyObject *samples);

/* ---- samples.c ---- */

int samples_types(void);
/* The data set as a fetcher sees it: obj[i] or next(obj) is a sample. */
module_function samples_new;
module_function stream_new; /* its first samples are told by their content */
/* From now on the function is asked for the names of a loader's slowest samples; it gives a str and raises
 * what a signal handler of the job's does. */
module_function samples_names;
/* From now on the fetcher has the timed one in the place of its data set, or of the iterator over that, while
 * it fetches a batch whose samples are recorded one by one. */
module_function fetcher_set;
timed_call samples_fetch;  /* a fetcher's fetch: of a batch */
timed_call samples_decode; /* a part of the sample in work: the outermost call within it counts */
timed_call samples_unpack; /* the same of what is no image: its pixels are not counted */
timed_call samples_read;   /* likewise, a function that reads a file as a whole */

/* ---- tensors.c ---- */

/* Adds those of the object to out, and gives how many it has then. Of the first out->measure_most the bytes
 * are asked for, 2 us each. No exception is left; none may be set. */
uint64_t tensors_in(PyObject *object, struct record_handed *out);

/* ---- iterator.c ---- */

#define ITERATION "_pipeprobe_iteration" /* the attribute of the iterator that holds its iteration */

int iterator_types(void);
/* Begins the iteration and holds it. */
PyObject *iteration_new(const struct record_iteration *it);
struct record_iteration *iteration_held(PyObject *held); /* NULL: it is none */
/* The iteration that the object has, of this recording. *held is a reference to be given back when it is used
 * no more: in a call the loader may begin another one. */
struct record_iteration *iteration_of(PyObject *holder, PyObject **held);
/* __next__: a span of the thread that takes the batch. The callback is called with the iterator when it has
 * no iteration in this recording, and may give it one; and when its iteration has asked for its lengths. */
timed_call iterator_next;
timed_call iterator_begins;   /* a loader's __iter__: starting workers, drawing the first samples */
timed_call iterator_draws;    /* of the sampler, in __iter__ or __next__ */
timed_call iterator_index;    /* _next_index, which draws: what the next batch is made of */
timed_call iterator_received; /* _get_data: (number of a batch, the batch) */
timed_call iterator_loads;    /* what came from another process becomes objects: time of the wait it ends */
/* __next__ counts the batches that are made: pipeprobe_hooks.py has looked. */
extern int iterator_depths_are_known __attribute__((visibility("hidden")));

/* ---- queues.c ---- */

int queues_types(void);
/* A worker's queues: get() of the tasks, put() of the batches. With a pinning thread (threading.Thread) those
 * of the thread that pins memory: get() of the batches, put() of the pinned ones. */
module_function queue_new;
timed_call queues_collate; /* a span of the worker */

/* ---- loops.c ---- */

/* A call that takes or gives, in a loop without a DataLoader. */
struct loop_call {
    struct record_local *l; /* NULL: it is none */
    struct record_mark from;
    const PyObject
        *queue;        /* where it takes from; a pipeline of several threads: who gives to it makes as well */
    int certain, asks; /* asks: a queue */
    enum { LOOP_WAITS, LOOP_IDLES, LOOP_GIVES } as;
};
/* queue: where it takes from or gives to, in this process; NULL: not known, or nothing that is given to. */
struct loop_call loop_takes(const PyObject *queue, int certain);
struct loop_call loop_gives(const PyObject *queue);
void loop_call_ends(struct loop_call *c, PyObject *out); /* out NULL: an exception, which stays */
PyObject *loop_called(struct loop_call c, ternaryfunc call, PyObject *function, PyObject *args,
                      PyObject *kwargs);
module_function loop_grad;   /* whether what is taken will be trained on, asked as a function */
int loop_only_looks(void);   /* it will not, as far as is known. No exception may be set */
timed_call loops_next;       /* a framework's iterator gives its next batch */
timed_call loops_get;        /* something may be waited for here */
timed_call loops_get_queued; /* in a queue that other processes put into */
timed_call loops_dispatch;   /* of a task to a pool: a part of the take, and nothing taken */
timed_call loops_wait;       /* for another thread, or for what an event loop polls */
timed_call loops_put;        /* to another process */
/* A framework names what it does as a context manager: of the sample in work, by a callback that is called
 * with the arguments and gives 1: decode, 2: collate, 0: what any other code is. */
timed_call loops_stage;
int loops_types(void);
timed_call loops_task; /* a pool's, in a thread of its own */

/* ---- handover.c ---- */

int handover_types(void);
timed_call handover_put;     /* queue.Queue's put: perhaps of a batch, for another thread */
timed_call handover_get;     /* queue.Queue's get: likewise */
timed_call handover_result;  /* a Future's result: likewise */
timed_call handover_resolve; /* a Future's set_result: as put */

/* ---- steps.c ---- */

timed_call steps_save; /* torch.save: a span of the thread that takes the batches */
/* The waits for other ranks are on the host, and all of them are seen: the job's collectives end when their
 * calls do, until one does not. Under the interpreter's lock. */
extern int steps_waits_are_seen __attribute__((visibility("hidden")));
timed_call steps_collective; /* a call that waits for the other ranks */
timed_call steps_state;      /* state is saved or restored: the callback gives its number */
/* Its thread is the trainer; the end of it waits for other ranks. The callback is called with the arguments
 * before the pass and asks for steps_arrived; what it gives is removed. */
timed_call steps_backward;
module_function steps_arrived; /* this rank's part of the pass is done */
