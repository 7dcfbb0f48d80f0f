/* The fetcher, which has the timed data set while it fetches a detailed batch, and its own at all other
 * times: a StatefulDataLoader asks it for its state between two batches, and puts another iterator in its
 * place. */
#include "collectors/attach/python/types.h"

#include <string.h>

#define TIMED_AS \
    "_pipeprobe_timed" /* the fetcher's attribute: (name of the attribute, its own, the timed one) */

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

/* What stands for the one that the fetcher has now. NULL with an exception. */
static PyObject *timed_now(PyObject *three, PyObject *own)
{
    PyObject *timed = PyTuple_GetItem(three, 2);
    if (own != PyTuple_GetItem(three, 1))
        return PyUnicode_CompareWithASCIIString(PyTuple_GetItem(three, 0), "dataset") == 0
                   ? types_samples(own)
                   : types_stream_again(own);
    Py_INCREF(timed);
    return timed;
}

/* What the fetcher had, for which it has the timed one now; NULL: it was left as it is. */
static PyObject *put_in(PyObject *fetcher, PyObject *three, PyObject **name)
{
    *name = PyTuple_GetItem(three, 0);
    Py_INCREF(*name);
    PyObject *own = PyObject_GetAttr(fetcher, *name), *timed = own ? timed_now(three, own) : NULL;
    if (!timed || PyObject_SetAttr(fetcher, *name, timed) != 0) {
        PyErr_Clear();
        Py_CLEAR(own);
        Py_CLEAR(*name);
    }
    Py_XDECREF(timed);
    return own;
}

/* The exception of the fetch, if there is one, stays as it is. */
static void put_back(PyObject *fetcher, PyObject *own, PyObject *name)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    (void)PyObject_SetAttr(fetcher, name, own);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    Py_DECREF(own);
    Py_DECREF(name);
}

PyObject *calls_fetch(PyObject *function, PyObject *args, PyObject *kwargs)
{
    PyObject *fetcher = record_is_on() && PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
    PyObject *three = fetcher ? PyObject_GetAttrString(fetcher, TIMED_AS) : NULL, *own = NULL, *name = NULL;
    if (fetcher && !three)
        PyErr_Clear();
    struct record_local *l = three && PyTuple_Check(three) && PyTuple_Size(three) == 3 ? calls_worker()
                                                                                       : NULL;
    if (l && l->detailed)
        own = put_in(fetcher, three, &name);
    Py_XDECREF(three);
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (own)
        put_back(fetcher, own, name);
    return out;
}
