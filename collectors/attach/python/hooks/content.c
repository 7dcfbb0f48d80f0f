/* What a sample is, as a number: of the first samples of an iterable data set, which have no numbers of their
 * own, so that workers or ranks that do not divide it are found; and with `exec --content` of every sample.
 * The sample's own content is hashed, and nothing of the job's is called. The GIL is held, and no exception
 * is left. */
#include "collectors/attach/python/hooks/hooks.h"

#define XXH_INLINE_ALL /* the library is not the job's */
#include <xxhash.h>

enum {
    DEPTH = 6,
    OBJECTS = 1 << 14, /* of a sample; then it is too much */
    OF_A_LIST = 1 << 13,
    END = 16 << 10, /* of the first and the last bytes of what is not hashed as a whole */
    PIECE = 4096,   /* long enough that memory is read ahead: 512 pieces of 64 bytes cost more than all */
    PIECES = 8,     /* in between */
    WHOLE = 2 * END + PIECE * PIECES,
    COPIED = 1 << 22
};

struct content {
    uint64_t hash;
    unsigned left; /* objects that may still be looked at */
    int whole;     /* arrays of any size */
    int named;     /* a sample of WebDataset's is known by its name */
};

static void add_bytes(struct content *p, const char *at, size_t n)
{
    uint64_t hash = p->hash ^ n;
    if (n <= WHOLE || p->whole) {
        p->hash = XXH3_64bits_withSeed(at, n, hash);
        return;
    }
    hash = XXH3_64bits_withSeed(at, END, hash);
    for (size_t i = 0, step = (n - 2 * END - PIECE) / (PIECES - 1); i < PIECES; i++)
        hash = XXH3_64bits_withSeed(at + END + i * step, PIECE, hash);
    p->hash = XXH3_64bits_withSeed(at + n - END, END, hash);
}

static int add_held_bytes(struct content *p, PyObject *bytes) /* a new reference, or NULL */
{
    char *at;
    Py_ssize_t n;
    int known = bytes && PyBytes_Check(bytes) && PyBytes_AsStringAndSize(bytes, &at, &n) == 0;
    if (known)
        add_bytes(p, at, (size_t)n);
    Py_XDECREF(bytes);
    return known;
}

static int is_of_module(PyObject *o, const char *module)
{
    PyObject *of = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__module__");
    int same = of && PyUnicode_Check(of) && PyUnicode_CompareWithASCIIString(of, module) == 0;
    PyErr_Clear();
    Py_XDECREF(of);
    return same;
}

/* An array of numpy's. Not of one that holds objects: it has their addresses, which say nothing, and may be
 * equal in processes that were forked. Where the elements do not follow each other in memory they are copied
 * to be brought into order: not of one with more than COPIED. */
static int add_array(struct content *p, PyObject *array)
{
    PyObject *face = PyObject_GetAttrString(array, "__array_interface__"),
             *type = face ? PyDict_GetItemString(face, "typestr") : NULL,
             *strides = face ? PyDict_GetItemString(face, "strides") : NULL,
             *data = face ? PyDict_GetItemString(face, "data") : NULL,
             *size = data ? PyObject_GetAttrString(array, "nbytes") : NULL;
    long long n = size && PyLong_Check(size) ? PyLong_AsLongLong(size) : -1;
    int plain = type && PyUnicode_Check(type) && PyUnicode_ReadChar(type, 1) != 'O' &&
                PyUnicode_ReadChar(type, 1) != 'V',
        known = 0;
    if (plain && n >= 0 && strides == Py_None && PyTuple_Check(data)) {
        const char *at = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
        known = at || !n;
        add_bytes(p, known && n ? at : "", (size_t)n);
    } else if (plain && n >= 0 && n <= COPIED) {
        known = add_held_bytes(p, PyObject_CallMethod(array, "tobytes", NULL));
    }
    PyErr_Clear();
    Py_XDECREF(size);
    Py_XDECREF(face);
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

/* Its n elements fill a piece of memory, in any order: an image that was permuted is not copied. */
static int is_dense(PyObject *o, long long n)
{
    PyObject *shape = PyObject_GetAttrString(o, "shape"), *stride = PyObject_CallMethod(o, "stride", NULL);
    long long extent = 1; /* of the dimensions that follow each other so far, the innermost first */
    int known = shape && PyTuple_Check(shape) && stride && PyTuple_Check(stride);
    for (Py_ssize_t i = 0; known && extent < n && i < PyTuple_Size(stride); i++) {
        long long size = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        if (size < 2 || PyLong_AsLongLong(PyTuple_GetItem(stride, i)) != extent)
            continue;
        extent *= size;
        i = -1;
    }
    Py_XDECREF(stride);
    Py_XDECREF(shape);
    return known && extent == n;
}

/* One in the CPU's memory; no operator of torch's is called. */
static int add_tensor(struct content *p, PyObject *o)
{
    PyObject *on_cpu = PyObject_GetAttrString(o, "is_cpu");
    long long n = on_cpu == Py_True ? number_given(PyObject_CallMethod(o, "numel", NULL)) : -1,
              each = number_given(PyObject_CallMethod(o, "element_size", NULL)),
              at = n > 0 ? number_given(PyObject_CallMethod(o, "data_ptr", NULL)) : 0;
    int known = n == 0 || (each > 0 && at > 0 && is_dense(o, n));
    if (known) {
        add_bytes(p, n ? (const char *)(uintptr_t)at : "", (size_t)(n * each));
    } else if (n > 0) {
        PyObject *array = PyObject_CallMethod(o, "numpy", NULL); /* it shares the memory */
        known = array && add_array(p, array);
        Py_XDECREF(array);
    }
    PyErr_Clear();
    Py_XDECREF(on_cpu);
    return known;
}

/* 0: it or a part of it is of a type that is not known, or too much. */
static int add_object(struct content *p, PyObject *o, int depth)
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
        return add_held_bytes(p, PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
    if (PyTuple_Check(o) || PyList_CheckExact(o)) {
        /* Of a long list its elements spread over it. */
        int tuple = PyTuple_Check(o), known = 1;
        Py_ssize_t n = PyObject_Size(o), step = n / OF_A_LIST + 1;
        add_bytes(p, (const char *)&n, sizeof(n));
        for (Py_ssize_t i = 0; i < n; i += step)
            known &= add_object(p, tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i), depth - 1);
        return known;
    }
    if (PyDict_CheckExact(o)) {
        PyObject *key, *value, *name = PyDict_GetItemString(o, "__key__"),
                               *url = PyDict_GetItemString(o, "__url__");
        Py_ssize_t at = 0;
        int known = 1;
        if (p->named && name && url && PyUnicode_Check(name) && PyUnicode_Check(url))
            return add_object(p, name, depth - 1) && add_object(p, url, depth - 1);
        while (PyDict_Next(o, &at, &key, &value))
            known &= add_object(p, key, depth - 1) & add_object(p, value, depth - 1);
        return known;
    }
    /* Of these types themselves: a class of the job's own may do anything when it is asked. */
    if (is_named(o, "ndarray") && is_of_module(o, "numpy"))
        return add_array(p, o);
    if (is_named(o, "Tensor") && is_of_module(o, "torch") && !modes_are_on())
        return add_tensor(p, o);
    if (is_of_module(o, "numpy"))
        return add_held_bytes(p, PyObject_CallMethod(o, "tobytes", NULL));
    return 0;
}

void content_first(struct record_local *l, PyObject *sample)
{
    struct content p = {.left = OBJECTS, .named = 1};
    if (add_object(&p, sample, DEPTH)) {
        l->worker.fingerprints--;
        record_count(&l->worker.lane, "sample_print", p.hash ? p.hash : 1); /* report/audit/audit_read.c */
    } else
        l->worker.fingerprints = 0; /* those that follow would be compared with others than theirs */
    PyErr_Clear();
}

void content_batch(struct record_local *l, PyObject *samples)
{
    int list = PyList_Check(samples);
    Py_ssize_t n = list ? PyList_Size(samples) : 1;
    uint64_t *hashes = n > 0 && n <= RECORD_CONTENT_MAX ? malloc((size_t)n * sizeof(*hashes)) : NULL;
    for (Py_ssize_t i = 0; hashes && i < n; i++) {
        struct content p = {.left = OBJECTS, .whole = record_process.content == RECORD_CONTENT_WHOLE};
        (void)add_object(&p, list ? PyList_GetItem(samples, i) : samples, DEPTH);
        PyErr_Clear();
        hashes[i] = p.hash; /* a sample with nothing that is known has no hash */
    }
    if (hashes)
        record_content(l, (uint32_t)n, hashes);
    free(hashes);
}
