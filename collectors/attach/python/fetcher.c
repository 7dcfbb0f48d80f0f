/* The fetcher, which has the timed data set while it fetches a detailed batch, and its own at all other
 * times: a StatefulDataLoader asks it for its state between two batches, and puts another iterator in its
 * place. */
#include "collectors/attach/python/types.h"

#include <string.h>

/* The fetcher's attribute: (name of the attribute, its own, the timed one) */
#define TIMED_AS "_pipeprobe_timed"

int fetcher_set(PyObject *fetcher, const char *attribute, PyObject *timed)
{
    PyObject *own = PyObject_GetAttrString(fetcher, attribute);
    PyObject *name = own ? PyUnicode_FromString(attribute) : NULL;
    PyObject *three = name ? PyTuple_Pack(3, name, own, timed) : NULL;
    int ok = three && PyObject_SetAttrString(fetcher, TIMED_AS, three) == 0;
    Py_XDECREF(own);
    Py_XDECREF(name);
    Py_XDECREF(three);
    return ok ? 0 : -1;
}

/* The copy of a Subset is as the job's is now: its indices or its data set may have been changed. -1 with an
 * exception. */
static int copy_again(PyObject *own, PyObject *copy)
{
    PyObject *theirs = PyObject_GetAttrString(own, "__dict__"),
             *ours = theirs ? PyObject_GetAttrString(copy, "__dict__") : NULL,
             *data = ours ? PyDict_GetItemString(theirs, "dataset") : NULL,
             *timed = data ? types_samples(data) : NULL;
    if (timed)
        PyDict_Clear(ours);
    int ok = timed && PyDict_Update(ours, theirs) == 0 && PyDict_SetItemString(ours, "dataset", timed) == 0;
    Py_XDECREF(timed);
    Py_XDECREF(ours);
    Py_XDECREF(theirs);
    return ok ? 0 : -1;
}

/* What stands for the one that the fetcher has now. NULL, perhaps with an exception. */
static PyObject *timed_now(PyObject *three, PyObject *own)
{
    PyObject *timed = PyTuple_GetItem(three, 2);
    if (own != PyTuple_GetItem(three, 1))
        return PyUnicode_CompareWithASCIIString(PyTuple_GetItem(three, 0), "dataset") == 0
                   ? types_samples(own)
                   : types_stream_again(own);
    if (!types_is_sampled(timed) && copy_again(own, timed) != 0)
        return NULL;
    Py_INCREF(timed);
    return timed;
}

/* While a fetch goes on. */
struct swap {
    PyObject *name, *own, *timed; /* name NULL: the fetcher was left as it is */
};

/* Another thread may be in a fetch of the same one: then it has put its own there, and takes that away. */
static void put_in(PyObject *fetcher, PyObject *three, struct swap *s)
{
    s->name = PyTuple_GetItem(three, 0);
    s->own = PyObject_GetAttr(fetcher, s->name);
    s->timed = s->own && !types_is_sampled(s->own) ? timed_now(three, s->own) : NULL;
    Py_INCREF(s->name);
    if (!s->timed || PyObject_SetAttr(fetcher, s->name, s->timed) != 0) {
        PyErr_Clear();
        Py_CLEAR(s->name);
        Py_CLEAR(s->own);
        Py_CLEAR(s->timed);
    }
}

/* The exception of the fetch, if there is one, stays as it is. */
static void put_back(PyObject *fetcher, struct swap *s)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *now = PyObject_GetAttr(fetcher, s->name);
    if (now == s->timed)
        (void)PyObject_SetAttr(fetcher, s->name, s->own);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    Py_XDECREF(now);
    Py_DECREF(s->name);
    Py_DECREF(s->own);
    Py_DECREF(s->timed);
}

PyObject *calls_fetch(PyObject *function, PyObject *args, PyObject *kwargs)
{
    PyObject *fetcher = record_is_on() && PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
    PyObject *three = fetcher ? PyObject_GetAttrString(fetcher, TIMED_AS) : NULL;
    struct swap swap = {NULL, NULL, NULL};
    if (fetcher && !three)
        PyErr_Clear();
    struct record_local *l = three && PyTuple_Check(three) && PyTuple_Size(three) == 3 ? calls_worker()
                                                                                       : NULL;
    if (l && l->detailed)
        put_in(fetcher, three, &swap);
    Py_XDECREF(three);
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (swap.name)
        put_back(fetcher, &swap);
    return out;
}
