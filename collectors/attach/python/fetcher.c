/* The fetcher, which has the timed data set for detailed batches and the plain one for others. */
#include "collectors/attach/python/types.h"

#define BOTH "_pipeprobe_both" /* the fetcher's attribute: the plain one and the timed one */

/* The fetcher is the job's: its end, and its data set's, is not held up. */
static __thread struct {
    PyObject *fetcher; /* a weak reference */
    const char *attribute;
    int has_timed;
} fetching;

/* Costs nothing per sample where samples are not recorded. */
void fetcher_detailed(int detailed)
{
    if (!fetching.fetcher || fetching.has_timed == detailed)
        return;
    PyObject *fetcher = PyObject_CallFunctionObjArgs(fetching.fetcher, NULL);
    PyObject *both = fetcher ? PyObject_GetAttrString(fetcher, BOTH) : NULL;
    if (both && PyTuple_Check(both) && PyTuple_Size(both) == 2 &&
        PyObject_SetAttrString(fetcher, fetching.attribute, PyTuple_GetItem(both, detailed != 0)) == 0)
        fetching.has_timed = detailed;
    else
        PyErr_Clear(); /* None: it has gone */
    Py_XDECREF(both);
    Py_XDECREF(fetcher);
}

int fetcher_set(PyObject *fetcher, const char *attribute, PyObject *timed)
{
    PyObject *plain = PyObject_GetAttrString(fetcher, attribute);
    PyObject *both = plain ? PyTuple_Pack(2, plain, timed) : NULL;
    PyObject *weak = both ? PyWeakref_NewRef(fetcher, NULL) : NULL;
    int ok = weak && PyObject_SetAttrString(fetcher, BOTH, both) == 0 &&
             PyObject_SetAttrString(fetcher, attribute, timed) == 0;
    if (ok) {
        fetcher_detailed(1); /* another loader's of this thread */
        Py_XDECREF(fetching.fetcher);
        Py_INCREF(weak);
        fetching.fetcher = weak;
        fetching.attribute = attribute;
        fetching.has_timed = 1;
    }
    Py_XDECREF(plain);
    Py_XDECREF(both);
    Py_XDECREF(weak);
    return ok ? 0 : -1;
}

void fetcher_leave(void)
{
    Py_CLEAR(fetching.fetcher);
}
