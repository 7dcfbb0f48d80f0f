/* The tensors of a batch: how many they are, their bytes, and those of the storages that stand behind them. A
 * view is handed to another process with its whole storage. Only methods of PyTorch's own, in C, are called:
 * no code of the job's, and no signal handler. */
#include "collectors/attach/python/hooks/hooks.h"

enum { BATCH_DEPTH = 8, BATCH_OBJECTS = 10000, STORAGES = 32 };

struct walk {
    PyTypeObject *tensor;
    unsigned objects; /* that may still be looked at */
    struct record_handed *out;
    uint64_t seen[STORAGES]; /* addresses of storages, the last few */
    unsigned n_seen;
};

/* What a method without arguments gives, as a number; 0: none. */
static uint64_t ask_number(PyObject *object, const char *method)
{
    long long n = number_given(PyObject_CallMethod(object, method, NULL));
    return n > 0 ? (uint64_t)n : 0;
}

/* A storage that is shared already, as collated batches are, is not copied: of it the tensor counts. */
static void measure_tensor(struct walk *w, PyObject *tensor)
{
    struct record_handed *out = w->out;
    uint64_t bytes = ask_number(tensor, "numel") * ask_number(tensor, "element_size"), behind = bytes;
    PyObject *storage = PyObject_CallMethod(tensor, "untyped_storage", NULL);
    if (!storage) { /* before PyTorch 2.0 */
        PyErr_Clear();
        storage = PyObject_CallMethod(tensor, "_storage", NULL);
    }
    PyObject *shared = storage ? PyObject_CallMethod(storage, "is_shared", NULL) : NULL;
    if (shared == Py_False) {
        uint64_t address = ask_number(storage, "data_ptr");
        unsigned i = 0, kept = w->n_seen < STORAGES ? w->n_seen : STORAGES;
        while (i < kept && w->seen[i] != address)
            i++;
        if (i == kept)
            w->seen[w->n_seen++ % STORAGES] = address;
        behind = i == kept ? ask_number(storage, "nbytes") : 0;
    }
    PyErr_Clear(); /* one without a storage: sparse, on the meta device */
    Py_XDECREF(shared);
    Py_XDECREF(storage);
    out->bytes += bytes;
    out->storage_bytes += behind;
    out->measured++;
}

/* Those in tuples, lists and dicts within each other, up to as deep and as many objects as a batch may be
 * expected to have; what other objects hold is theirs. */
static void walk_object(struct walk *w, PyObject *object, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!w->objects || !depth)
        return;
    w->objects--;
    if (PyType_IsSubtype(Py_TYPE(object), w->tensor)) {
        w->out->tensors++;
        if (Py_TYPE(object) == w->tensor && w->out->measured < w->out->measure_most)
            measure_tensor(w, object);
    } else if (PyTuple_Check(object)) {
        for (; at < PyTuple_Size(object) && w->objects; at++)
            walk_object(w, PyTuple_GetItem(object, at), depth - 1);
    } else if (PyList_Check(object)) {
        for (; at < PyList_Size(object) && w->objects; at++)
            walk_object(w, PyList_GetItem(object, at), depth - 1);
    } else if (PyDict_Check(object)) {
        while (w->objects && PyDict_Next(object, &at, &key, &value))
            walk_object(w, value, depth - 1);
    }
}

uint64_t tensors_in(PyObject *object, struct record_handed *out)
{
    static PyObject *type; /* torch.Tensor, once the job has it */
    PyObject *name = type ? NULL : PyUnicode_FromString("torch"),
             *torch = name ? PyImport_GetModule(name) : NULL,
             *found = torch ? PyObject_GetAttrString(torch, "Tensor") : NULL;
    if (found && PyType_Check(found))
        type = found, found = NULL;
    PyErr_Clear();
    Py_XDECREF(found);
    Py_XDECREF(torch);
    Py_XDECREF(name);
    struct walk w = {.tensor = (PyTypeObject *)type, .objects = BATCH_OBJECTS, .out = out};
    if (w.tensor)
        walk_object(&w, object, BATCH_DEPTH);
    return out->tensors;
}
