/* What the first samples of an iterable data set are, as a number each: such samples have no numbers of their
 * own, and workers or ranks that do not divide the data set give the same ones. The sample's own content is
 * hashed; where a part of it is of a type that is not known here, nothing is said of it. The GIL is held, and
 * no exception is left. */
#include "collectors/attach/python/hooks/hooks.h"

#include <string.h>

enum { DEPTH = 6, OBJECTS = 1024, OF_A_LIST = 64, BYTES = 1 << 16, COPIED = 1 << 22 };

struct fingerprint {
    uint64_t hash;
    unsigned left; /* objects that may still be looked at */
};

/* Eight bytes at a time; the multiplier is that of FNV-1a. */
static void add_bytes(struct fingerprint *p, const char *at, size_t n)
{
    uint64_t word;
    p->hash = (p->hash ^ n) * UINT64_C(1099511628211);
    for (n = n < BYTES ? n : BYTES; n; at += sizeof(word)) {
        size_t part = n < sizeof(word) ? n : sizeof(word);
        word = 0;
        memcpy(&word, at, part);
        p->hash = (p->hash ^ word) * UINT64_C(1099511628211);
        p->hash ^= p->hash >> 29;
        n -= part;
    }
}

static int add_held_bytes(struct fingerprint *p, PyObject *bytes) /* a new reference, or NULL */
{
    char *at;
    Py_ssize_t n;
    int known = bytes && PyBytes_Check(bytes) && PyBytes_AsStringAndSize(bytes, &at, &n) == 0;
    if (known)
        add_bytes(p, at, (size_t)n);
    Py_XDECREF(bytes);
    return known;
}

/* Of that type itself: a class of the job's own may do anything when it is asked. */
static int is_of(PyObject *o, const char *module, const char *name)
{
    PyObject *of = is_named(o, name) ? PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__module__") : NULL;
    int same = of && PyUnicode_Check(of) && PyUnicode_CompareWithASCIIString(of, module) == 0;
    PyErr_Clear();
    Py_XDECREF(of);
    return same;
}

/* The beginning of an array of numpy's. Not of one that holds objects: it has their addresses, which say
 * nothing, and may be equal in processes that were forked. Where the elements do not follow each other in
 * memory they are copied to be brought into order: not of one with more than COPIED. */
static int add_array(struct fingerprint *p, PyObject *array)
{
    PyObject *type = PyObject_GetAttrString(array, "dtype"),
             *holds = type ? PyObject_GetAttrString(type, "hasobject") : NULL,
             *size = holds == Py_False ? PyObject_GetAttrString(array, "size") : NULL,
             *flags = size ? PyObject_GetAttrString(array, "flags") : NULL,
             *in_order = flags ? PyObject_GetAttrString(flags, "c_contiguous") : NULL;
    int small = in_order == Py_True || (size && PyLong_Check(size) && PyLong_AsLongLong(size) <= COPIED);
    PyErr_Clear();
    PyObject *flat = small ? PyObject_CallMethod(array, "reshape", "i", -1) : NULL,
             *begin = flat ? PySequence_GetSlice(flat, 0, BYTES / 4) : NULL;
    int known = begin && add_held_bytes(p, PyObject_CallMethod(begin, "tobytes", NULL));
    Py_XDECREF(begin);
    Py_XDECREF(flat);
    Py_XDECREF(in_order);
    Py_XDECREF(flags);
    Py_XDECREF(size);
    Py_XDECREF(holds);
    Py_XDECREF(type);
    return known;
}

/* The job watches or changes what is asked of tensors: with modes of its own, or a default device. */
static int modes_are_on(void)
{
    static const char *const stacks[] = {"_len_torch_function_stack", "_len_torch_dispatch_stack"};
    PyObject *name = PyUnicode_FromString("torch._C"), *torch = name ? PyImport_GetModule(name) : NULL;
    long modes = 0;
    for (size_t i = 0; torch && i < sizeof(stacks) / sizeof(*stacks); i++) {
        PyObject *n = PyObject_CallMethod(torch, stacks[i], NULL);
        modes += n && PyLong_Check(n) ? PyLong_AsLong(n) : 0;
        PyErr_Clear(); /* an older torch has no such stack */
        Py_XDECREF(n);
    }
    Py_XDECREF(torch);
    Py_XDECREF(name);
    PyErr_Clear();
    return modes != 0;
}

static int add_object(struct fingerprint *p, PyObject *o, int depth);

static int add_dict(struct fingerprint *p, PyObject *dict, int depth)
{
    PyObject *key, *value, *name = PyDict_GetItemString(dict, "__key__"),
                           *url = PyDict_GetItemString(dict, "__url__");
    Py_ssize_t at = 0;
    if (name && url && PyUnicode_Check(name) && PyUnicode_Check(url)) /* WebDataset's name of a sample */
        return add_object(p, name, depth) && add_object(p, url, depth);
    while (PyDict_Next(dict, &at, &key, &value))
        if (!add_object(p, key, depth) || !add_object(p, value, depth))
            return 0;
    return 1;
}

/* 0: of a type that is not known, or too much. */
static int add_object(struct fingerprint *p, PyObject *o, int depth)
{
    if (!depth || !p->left)
        return 0;
    p->left--;
    if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o)) {
        int overflow;
        long long v = o == Py_None ? -2 : PyLong_AsLongLongAndOverflow(o, &overflow);
        add_bytes(p, (const char *)&v, sizeof(v));
        return 1;
    }
    if (PyFloat_CheckExact(o)) {
        double v = PyFloat_AsDouble(o);
        add_bytes(p, (const char *)&v, sizeof(v));
        return 1;
    }
    if (PyBytes_CheckExact(o)) {
        Py_INCREF(o);
        return add_held_bytes(p, o);
    }
    if (PyUnicode_CheckExact(o))
        return add_held_bytes(p, PyUnicode_AsUTF8String(o));
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
        int tuple = PyTuple_Check(o);
        for (Py_ssize_t i = 0; i < PyObject_Size(o) && i < OF_A_LIST; i++)
            if (!add_object(p, tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i), depth - 1))
                return 0;
        return 1;
    }
    if (PyDict_CheckExact(o))
        return add_dict(p, o, depth - 1);
    if (is_of(o, "numpy", "ndarray"))
        return add_array(p, o);
    if (!is_of(o, "torch", "Tensor") || modes_are_on())
        return 0;
    /* A tensor in the CPU's memory, which numpy shares with it: no operator of torch's is called. */
    PyObject *array = PyObject_CallMethod(o, "numpy", NULL);
    int known = array && add_array(p, array);
    Py_XDECREF(array);
    return known;
}

void fingerprint_sample(struct record_local *l, PyObject *sample)
{
    struct fingerprint p = {.hash = UINT64_C(14695981039346656037), .left = OBJECTS};
    if (add_object(&p, sample, DEPTH)) {
        l->worker.fingerprints--;
        record_count(&l->worker.lane, "sample_print", p.hash ? p.hash : 1); /* report/audit/audit_read.c */
    } else
        l->worker.fingerprints = 0; /* those that follow would be compared with others than theirs */
    PyErr_Clear();
}
