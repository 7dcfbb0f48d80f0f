#include "collectors/attach/python/hooks/hooks.h"

#include <structmember.h>

static PyObject *timed_type, *method_type;

/* ---- what the stand-ins share ---- */

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(proxy_of(self)->inner);
    Py_VISIT(proxy_of(self)->beside);
#if PY_VERSION_HEX >= 0x03090000
    Py_VISIT(Py_TYPE(self));
#endif
    return 0;
}

static int clear(PyObject *self)
{
    Py_CLEAR(proxy_of(self)->inner);
    Py_CLEAR(proxy_of(self)->beside);
    return 0;
}

void holder_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static void dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (proxy_of(self)->weak)
        PyObject_ClearWeakRefs(self);
    clear(self);
    holder_free(self);
}

static PyObject *getattr(PyObject *self, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(self, name);
    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear();
    return PyObject_GetAttr(proxy_of(self)->inner, name);
}

static int setattr(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(proxy_of(self)->inner, name, value);
}

static PyObject *repr(PyObject *self)
{
    return PyObject_Repr(proxy_of(self)->inner);
}

Py_ssize_t proxy_length(PyObject *self)
{
    return PyObject_Size(proxy_of(self)->inner);
}

/* Only we make them: one without an inner object, as type(f)() or a copy by its class would be, has nothing
 * to stand in for. */
static PyObject *no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyErr_SetString(PyExc_TypeError, "this type cannot be instantiated");
    return NULL;
}

static int make_type(PyType_Slot *slots, const char *name, size_t size, unsigned flags, PyObject **out)
{
    PyType_Spec spec = {.name = name,
                        .basicsize = (int)size,
                        .flags = Py_TPFLAGS_DEFAULT | flags,
                        .slots = slots};
    *out = PyType_FromSpec(&spec);
    return *out ? 0 : -1;
}

int proxy_type(const PyType_Slot *own, const char *name, PyObject **out)
{
    PyType_Slot slots[16] = {{Py_tp_new, (void *)no_new},        {Py_tp_dealloc, (void *)dealloc},
                             {Py_tp_traverse, (void *)traverse}, {Py_tp_clear, (void *)clear},
                             {Py_tp_getattro, (void *)getattr},  {Py_tp_setattro, (void *)setattr},
                             {Py_tp_repr, (void *)repr}};
    size_t n = 7;
    for (; own->slot; own++)
        slots[n++] = *own;
    return make_type(slots, name, sizeof(struct proxy), Py_TPFLAGS_HAVE_GC, out);
}

int holder_type(destructor free_object, const char *name, size_t size, PyMethodDef *methods, PyObject **out)
{
    PyType_Slot slots[] = {{Py_tp_new, (void *)no_new},
                           {Py_tp_dealloc, (void *)free_object},
                           {methods ? Py_tp_methods : 0, methods},
                           {0, NULL}};
    return make_type(slots, name, size, 0, out);
}

PyObject *holder_new(PyObject *type)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    return alloc((PyTypeObject *)type, 0);
}

PyObject *proxy_new(PyObject *type, PyObject *inner, PyObject *beside)
{
    struct proxy *p = (struct proxy *)holder_new(type);
    if (!p)
        return NULL;
    Py_INCREF(inner);
    Py_XINCREF(beside);
    p->inner = inner;
    p->beside = beside;
    return (PyObject *)p;
}

/* ---- small questions ---- */

int is_named(PyObject *object, const char *type)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    int same = name && PyUnicode_CompareWithASCIIString(name, type) == 0;
    PyErr_Clear();
    Py_XDECREF(name);
    return same;
}

int number_of(PyObject *key, uint64_t *number)
{
    if (!PyLong_Check(key))
        return 0;
    *number = PyLong_AsUnsignedLongLong(key);
    if (*number != (uint64_t)-1 || !PyErr_Occurred())
        return 1;
    PyErr_Clear();
    return 0;
}

long long number_given(PyObject *number)
{
    long long value = number && PyLong_Check(number) ? PyLong_AsLongLong(number) : -1;
    PyErr_Clear();
    Py_XDECREF(number);
    return value;
}

KEEPS(exception_handlers, is_a_handlers)

int exception_is_ours(void)
{
    int ours = PyErr_ExceptionMatches(PyExc_Exception);
    /* An attribute that is not there is asked for all the time. */
    if (ours && is_a_handlers && !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        if (trace)
            PyException_SetTraceback(value, trace);
        PyObject *said = PyObject_CallFunctionObjArgs(is_a_handlers, value, NULL);
        ours = said != Py_True;
        Py_XDECREF(said);
        PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
    if (ours)
        PyErr_Clear();
    return ours;
}

int call_back(PyObject *callback, PyObject *args, PyObject *kwargs)
{
    PyObject *nothing = PyObject_Call(callback, args, kwargs);
    int goes_on = nothing || exception_is_ours();
    Py_XDECREF(nothing);
    return goes_on;
}

/* ---- Timed: a function whose calls are timed; binds like one ---- */

static PyObject *timed_apply(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const struct proxy *t = proxy_of(self);
    return t->call(t->inner, args, kwargs, t->beside);
}

/* To a method of Python's own, which compares, hashes, pickles and looks as that of the function would. */
static PyObject *timed_bind(PyObject *self, PyObject *object, PyObject *type)
{
    if (object && object != Py_None)
        return PyObject_CallFunctionObjArgs(method_type, self, object, NULL);
    Py_INCREF(self);
    return self;
}

/* Pickled by the name under which it is found, as the function would be; where the function itself is back in
 * its place, as that: copy.copy gives a function as it is. */
static PyObject *timed_reduce(PyObject *self, PyObject *protocol)
{
    PyObject *inner = proxy_of(self)->inner;
    /* What pickle finds under the names of the function; NULL: nothing. */
    PyObject *module = PyObject_GetAttrString(inner, "__module__"),
             *path = PyObject_GetAttrString(inner, "__qualname__"),
             *names = path ? PyObject_CallMethod(path, "split", "s", ".") : NULL,
             *found = module && names ? PyImport_GetModule(module) : NULL;
    for (Py_ssize_t i = 0; found && i < PyObject_Size(names); i++) {
        PyObject *in = found;
        found = PyObject_GetAttr(in, PyList_GetItem(names, i));
        Py_DECREF(in);
    }
    int back = found == inner;
    PyErr_Clear();
    Py_XDECREF(module);
    Py_XDECREF(path);
    Py_XDECREF(names);
    Py_XDECREF(found);
    if (!back)
        return PyObject_GetAttrString(inner, "__qualname__");
    PyObject *copy = PyImport_ImportModule("copy"),
             *as_it_is = copy ? PyObject_GetAttrString(copy, "copy") : NULL,
             *reduced = as_it_is ? Py_BuildValue("O(O)", as_it_is, inner) : NULL;
    Py_XDECREF(copy);
    Py_XDECREF(as_it_is);
    return reduced;
}

static PyObject *inners_attribute(PyObject *self, void *name)
{
    return PyObject_GetAttrString(proxy_of(self)->inner, name);
}

int proxy_types(void)
{
    static PyMethodDef methods[] = {{"__reduce__", timed_reduce, METH_NOARGS, NULL},
                                    {"__reduce_ex__", timed_reduce, METH_O, NULL},
                                    {NULL, NULL, 0, NULL}};
    /* Python 3.8 does not know the first, and gives no weak references. */
    static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(struct proxy, weak), READONLY,
                                     NULL},
                                    {"__wrapped__", T_OBJECT, offsetof(struct proxy, inner), READONLY, NULL},
                                    {NULL, 0, 0, 0, NULL}};
    /* Found on the type first, where they would be ours: the function's own. isinstance() takes a Timed for
     * the function that it stands for: TorchScript compiles only functions, and goes by that. */
    static PyGetSetDef getset[] = {{"__class__", inners_attribute, NULL, NULL, (void *)"__class__"},
                                   {"__doc__", inners_attribute, NULL, NULL, (void *)"__doc__"},
                                   {"__module__", inners_attribute, NULL, NULL, (void *)"__module__"},
                                   {NULL, NULL, NULL, NULL, NULL}};
    static const PyType_Slot slots[] = {{Py_tp_call, (void *)timed_apply},
                                        {Py_tp_descr_get, (void *)timed_bind},
                                        {Py_tp_methods, methods},
                                        {Py_tp_getset, getset},
                                        {Py_tp_members, members},
                                        {0, NULL}};
    PyObject *types = PyImport_ImportModule("types");
    method_type = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
    Py_XDECREF(types);
    return method_type ? proxy_type(slots, "_pipeprobe.Timed", &timed_type) : -1;
}

PyObject *timed_new(PyObject *function, timed_call *call, PyObject *callback)
{
    PyObject *timed = proxy_new(timed_type, function, callback);
    if (timed)
        proxy_of(timed)->call = call;
    return timed;
}

PyObject *timed_is(PyObject *module, PyObject *object)
{
    return PyBool_FromLong((PyObject *)Py_TYPE(object) == timed_type);
}

TIMED(timed_before,
      record_is_on() && !call_back(callback, args, kwargs) ? NULL : PyObject_Call(function, args, kwargs))

PyObject *timed_after(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    PyObject *out = PyObject_Call(function, args, kwargs);
    if (out && record_is_on() && !call_back(callback, args, kwargs))
        Py_CLEAR(out);
    return out;
}

PyObject *timed_result(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    PyObject *out = PyObject_Call(function, args, kwargs);
    PyObject *result = out && record_is_on() ? PyTuple_Pack(1, out) : NULL;
    if (result && !call_back(callback, result, NULL))
        Py_CLEAR(out);
    if (!result && out)
        PyErr_Clear();
    Py_XDECREF(result);
    return out;
}

/* The exception of the function, and so the end of a worker, stays as it is. */
PyObject *timed_around(PyObject *function, PyObject *args, PyObject *kwargs, PyObject *callback)
{
    int by_name = kwargs && PyDict_Size(kwargs) > 0;
    PyObject *type, *value, *trace, *two = by_name ? NULL : PyObject_Call(callback, args, NULL);
    if (!by_name && !two && !exception_is_ours())
        return NULL;
    int began = two && PyTuple_Check(two) && PyTuple_Size(two) == 2;
    PyObject *out = PyObject_Call(function, began ? PyTuple_GetItem(two, 0) : args, kwargs);
    if (began) {
        PyErr_Fetch(&type, &value, &trace);
        PyObject *nothing = PyObject_CallObject(PyTuple_GetItem(two, 1), NULL);
        Py_XDECREF(nothing);
        PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(two);
    return out;
}
