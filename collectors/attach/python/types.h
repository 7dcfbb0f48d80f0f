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
    TIMED_DECODE,  /* a part of the sample in work */
    TIMED_COLLATE, /* a span of the worker */
    TIMED_NEXT,    /* DataLoader iterators' __next__: a span of the thread that takes the batch */
    TIMED_PUT,     /* queue.Queue's put: perhaps of a batch, for another thread */
    TIMED_GET,     /* queue.Queue's get: likewise */
    TIMED_BACKWARD /* its thread is the trainer */
};

/* Adds the types to the module. -1 with an exception. */
int types_add(PyObject *module);

PyObject *types_timed(PyObject *function, enum timed_kind kind);
/* The data set as a fetcher sees it: obj[i] or next(obj) is a sample. */
PyObject *types_samples(PyObject *dataset);
PyObject *types_stream(PyObject *iterator);
/* Puts timed in the place of the fetcher's attribute ("dataset", "dataset_iter"); from then on it is there
 * for the batches whose samples are recorded one by one. attribute is a literal. -1 with an exception. */
int types_fetcher(PyObject *fetcher, const char *attribute, PyObject *timed);
/* A worker's queues: get() of the tasks, put() of the batches. */
PyObject *types_queue(PyObject *queue);
/* The process that a worker takes its tasks from. */
void types_set_parent(int64_t pid);
/* Begins the iteration and holds it; set as an attribute of a DataLoader's iterator. */
PyObject *types_iteration(const struct record_iteration *it);
struct record_iteration *types_iteration_of(PyObject *held); /* NULL: it is none */

/* ---- queues.c: calls of the function, recorded ---- */

int queues_add_type(void); /* -1 with an exception */
PyObject *queues_put(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *queues_get(PyObject *function, PyObject *args, PyObject *kwargs);
PyObject *queues_backward(PyObject *function, PyObject *args, PyObject *kwargs);
/* Lets go of what the calling thread fetched from. */
void types_leave(void);

#define TYPES_ITERATION "_pipeprobe_iteration" /* the attribute */

#endif
