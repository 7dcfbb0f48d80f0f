/* collectors/attach/python/types.h: what stands in for an object of the job's: it does what the object does,
 * and records when. None of them is pickled by value, adds a frame to a traceback, or raises an exception of
 * its own; whatever they do not know is the object's. The GIL is held throughout. */
#ifndef PP_COLLECTORS_ATTACH_PYTHON_TYPES_H
#define PP_COLLECTORS_ATTACH_PYTHON_TYPES_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

#include "collectors/attach/python/record.h"

/* A row of Timed: what a call of the function counts as. */
enum timed_kind {
    TIMED_DECODE,     /* a part of the sample in work */
    TIMED_READ,       /* likewise */
    TIMED_COLLATE,    /* a span of the worker */
    TIMED_NEXT,       /* DataLoader iterators' __next__: a span of the thread that takes the batch */
    TIMED_MANY,       /* a data set's __getitems__: all samples of a batch */
    TIMED_FETCH,      /* a fetcher's fetch: of a batch */
    TIMED_SAVE,       /* torch.save: a span of the thread that takes the batches */
    TIMED_INDEX,      /* an iterator's _next_index: what the next batch is made of */
    TIMED_RECEIVED,   /* an iterator's _get_data: (number of a batch, the batch) */
    TIMED_LOADS,      /* what came from another process becomes objects: time of the wait that it ends */
    TIMED_PUT,        /* queue.Queue's put: perhaps of a batch, for another thread */
    TIMED_GET,        /* queue.Queue's get, a Future's result: likewise */
    TIMED_RESOLVE,    /* a Future's set_result: as put */
    TIMED_COLLECTIVE, /* a call that waits for the other ranks: a span of the thread that takes the batches */
    TIMED_BACKWARD,   /* its thread is the trainer; the end of it waits for other ranks */
    /* not timed: a callback of ours is called with the arguments before it or after it, or with its result;
     * the callback raises no exception, and no frame of it is seen in the function's own. */
    TIMED_BEFORE,
    TIMED_AFTER,
    TIMED_RESULT,
    TIMED_AROUND, /* the callback gives (arguments in the place of these, what to call at the end), or None */
};

/* Adds the types to the module. -1 with an exception. */
int types_add(PyObject *module);

/* callback: of TIMED_NEXT and the last five kinds, else NULL. */
PyObject *types_timed(PyObject *function, enum timed_kind kind, PyObject *callback);
int types_is_timed(PyObject *object);
/* The data set as a fetcher sees it: obj[i] or next(obj) is a sample. */
PyObject *types_samples(PyObject *dataset);
PyObject *types_stream(PyObject *iterator); /* its first samples are told by their content */
PyObject *types_stream_again(PyObject *iterator);
int types_is_sampled(PyObject *object); /* it is one of these two */
/* A worker's queues: get() of the tasks, put() of the batches. With pinning_thread (threading.Thread) those
 * of the thread that pins memory: get() of the batches, put() of the pinned ones. */
PyObject *types_queue(PyObject *queue, PyObject *pinning_thread);
int types_is_named(PyObject *object, const char *type); /* by its type's name */
/* Begins the iteration and holds it; set as an attribute of a DataLoader's iterator. */
PyObject *types_iteration(const struct record_iteration *it);
struct record_iteration *types_iteration_of(PyObject *held); /* NULL: it is none */
/* prints.c: a sample of an iterable data set that the thread has made, one of its first. */
void types_print(struct record_local *l, PyObject *sample);

/* ---- queues.c: calls of the function, recorded ---- */

int queues_add_type(void); /* -1 with an exception */
PyObject *queues_put(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *queues_resolve(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *queues_get(PyObject *function, PyObject *args, PyObject *kwargs);

/* ---- meets.c: waits for the other ranks of a job ---- */

void meets_on_host(int on); /* whether the job's collectives end when their calls do, until one does not */
PyObject *meets_collective(PyObject *function, PyObject *args, PyObject *kwargs);
/* callback: called with the arguments before the pass, it asks for meets_arrived; what it gives is removed.
 */
PyObject *meets_backward(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback);
void meets_arrived(void);

#define TYPES_ITERATION "_pipeprobe_iteration" /* the attribute */

/* ---- calls.c: what a call of a Timed does ---- */

/* The lane that this thread's samples go to: of the worker process, or of a loader without workers. */
struct record_local *calls_worker(void);
/* With an exception set that a callback of ours raised: 1 and it is cleared, or 0: it is the job's, as no
 * Exception is ours (Ctrl-C, the end of the program) and none that a signal handler raised. */
int calls_is_ours(void);
void calls_handlers(PyObject *is_a_handlers); /* called with an exception: whether such a handler raised it */
PyObject *calls_around(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback);
PyObject *calls_collate(PyObject *function, PyObject *args, PyObject *kwargs);
/* first: called with the iterator when it has no iteration in this recording, and may give it one; and when
 * its iteration has asked for that. */
PyObject *calls_next(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *first);
/* A fetcher's fetch: while it goes on for a batch whose samples are recorded one by one, the fetcher has a
 * timed data set. */
PyObject *calls_fetch(PyObject *function, PyObject *args, PyObject *kwargs);
void calls_depths(void); /* from now on TIMED_NEXT counts the batches that are made */
PyObject *calls_decode(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *calls_read(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *calls_save(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *calls_index(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *calls_received(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *calls_loads(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *calls_with(PyObject *function, PyObject *args, PyObject *kwargs, enum timed_kind kind,
                     PyObject *callback);
/* A batch that the thread got for pinning. */
void calls_pin_got(PyObject *got, PyObject *thread);

/* ---- fetcher.c ---- */

/* From now on the fetcher has timed in the place of its attribute ("dataset", "dataset_iter") while it
 * fetches a batch whose samples are recorded one by one. -1 with an exception. */
int fetcher_set(PyObject *fetcher, const char *attribute, PyObject *timed);

#endif
