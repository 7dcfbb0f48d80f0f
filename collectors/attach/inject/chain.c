#include "collectors/attach/inject/inject.h"

#include <dlfcn.h>
#include <stdlib.h>

#define HANDLES_MAX 8192 /* power of two; at most three quarters of it are used */

nvtx_function *inject_next_core[CORE_SLOTS], *inject_next_core2[CORE2_SLOTS];

int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table);

/* ---- attaching ---- */

static nvtx_initialize *find_next(void)
{
    const char *path = getenv("PIPEPROBE_NEXT_INJECTION");
    void *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    nvtx_initialize *next = library ? (nvtx_initialize *)dlsym(library, "InitializeInjectionNvtx2") : NULL;
    if (path && *path)
        __atomic_store_n(&inject_file()->chained, next ? 1 : 2, __ATOMIC_RELAXED);
    return next == InitializeInjectionNvtx2 ? NULL : next;
}

static unsigned slots_of(nvtx_get_export_table *get_export_table, int module, nvtx_function ****table)
{
    const struct nvtx_callbacks *callbacks = get_export_table(NVTX_TABLE_CALLBACKS);
    unsigned n = 0;
    *table = NULL;
    if (!callbacks || callbacks->size < sizeof(*callbacks) ||
        !callbacks->get_module_functions(module, table, &n) || !*table)
        return 0;
    return n;
}

static void look(nvtx_function ***table, unsigned n, unsigned most, nvtx_function *out[])
{
    for (unsigned i = 0; i < most; i++)
        out[i] = i < n && table[i] ? *table[i] : NULL;
}

/* What stands in a slot before the tool's turn is the client's own way to initialise: only what changed is
 * the tool's. */
static void keep_changes(nvtx_function ***table, unsigned n, unsigned most, nvtx_function *const before[],
                         nvtx_function *next[])
{
    for (unsigned i = 1; i < most && i < n; i++)
        if (table[i] && *table[i] != before[i])
            __atomic_store_n(&next[i], *table[i], __ATOMIC_RELAXED);
}

int inject_chain(nvtx_get_export_table *get_export_table)
{
    nvtx_function *core[CORE_SLOTS], *core2[CORE2_SLOTS], ***core_table, ***core2_table;
    nvtx_initialize *next = find_next();
    if (!next)
        return 0;
    unsigned n = slots_of(get_export_table, NVTX_MODULE_CORE, &core_table),
             n2 = slots_of(get_export_table, NVTX_MODULE_CORE2, &core2_table);
    look(core_table, n, CORE_SLOTS, core);
    look(core2_table, n2, CORE2_SLOTS, core2);
    if (!next(get_export_table)) {
        __atomic_store_n(&inject_file()->chained, 2, __ATOMIC_RELAXED);
        return 0;
    }
    keep_changes(core_table, n, CORE_SLOTS, core, inject_next_core);
    keep_changes(core2_table, n2, CORE2_SLOTS, core2, inject_next_core2);
    return 1;
}

/* ---- its handles ---- */

static struct {
    uintptr_t key; /* 0: free; the value is written first */
    uint64_t value;
} handles[HANDLES_MAX];
static unsigned n_handles; /* under the process's lock */

static unsigned place(uintptr_t key)
{
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 40) % HANDLES_MAX;
}

int inject_handle_put(const void *key, uint64_t value)
{
    uintptr_t k = (uintptr_t)key;
    unsigned i = place(k);
    while (handles[i].key && handles[i].key != k)
        i = (i + 1) % HANDLES_MAX;
    if (!handles[i].key && n_handles == HANDLES_MAX / 4 * 3)
        return 0;
    n_handles += !handles[i].key;
    __atomic_store_n(&handles[i].value, value,
                     __ATOMIC_RELAXED);                     /* a handle given again takes its new meaning */
    __atomic_store_n(&handles[i].key, k, __ATOMIC_RELEASE); /* pairs with the acquire in inject_handle_get */
    return 1;
}

uint64_t inject_handle_get(const void *key)
{
    uintptr_t k = (uintptr_t)key, is;
    for (unsigned i = place(k); (is = __atomic_load_n(&handles[i].key, __ATOMIC_ACQUIRE));
         i = (i + 1) % HANDLES_MAX)
        if (is == k)
            return __atomic_load_n(&handles[i].value, __ATOMIC_RELAXED);
    return 0;
}
