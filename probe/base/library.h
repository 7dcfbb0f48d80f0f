/* base/library.h: a system library that is opened when it is needed and not before: linked with, it would be
 * loaded by every pipeprobe that does not need it. */
#ifndef PP_BASE_LIBRARY_H
#define PP_BASE_LIBRARY_H

#include <stddef.h>

struct pp_library_call {
    const char *name;
    void **at;
};

/* The first of names (ends with NULL) that can be opened and has all calls, n of them; it stays open. Returns
 * whether there is one. */
int pp_library_open(const char *const *names, const struct pp_library_call *calls, size_t n);

#endif
