/* The entry point, what it puts into a client's slots, and the next tool behind us. */
#include "collectors/attach/inject/inject.h"

#include <dlfcn.h>

#define HANDLES_MAX 8192 /* power of two; at most three quarters of it are used */

nvtx_function *inject_next_core[CORE_SLOTS], *inject_next_core2[CORE2_SLOTS];

/* The one symbol that libpipeprobe_inject.so shows. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table);

/* ---- the slots of a client ---- */

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

enum { MODULES = 2, MOST = (int)CORE_SLOTS > (int)CORE2_SLOTS ? (int)CORE_SLOTS : (int)CORE2_SLOTS };
static const struct {
    int module;
    unsigned slots;
    nvtx_function *const *ours, **next;
} modules[MODULES] = {{NVTX_MODULE_CORE, CORE_SLOTS, inject_core, inject_next_core},
                      {NVTX_MODULE_CORE2, CORE2_SLOTS, inject_core2, inject_next_core2}};

/* Attaches the tool of PIPEPROBE_NEXT_INJECTION to this client; 1 when it is there. */
static int attach_next(nvtx_get_export_table *get_export_table)
{
    nvtx_function *before[MODULES][MOST], ***table[MODULES];
    unsigned n[MODULES];
    const char *path = getenv("PIPEPROBE_NEXT_INJECTION");
    void *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    nvtx_initialize *next = library ? (nvtx_initialize *)dlsym(library, "InitializeInjectionNvtx2") : NULL;
    if (path && *path)
        __atomic_store_n(&inject_file()->chained, next ? 1 : 2, __ATOMIC_RELAXED);
    if (!next || next == InitializeInjectionNvtx2)
        return 0;
    for (int m = 0; m < MODULES; m++) {
        n[m] = slots_of(get_export_table, modules[m].module, &table[m]);
        for (unsigned i = 0; i < modules[m].slots; i++)
            before[m][i] = i < n[m] && table[m][i] ? *table[m][i] : NULL;
    }
    if (!next(get_export_table)) {
        __atomic_store_n(&inject_file()->chained, 2, __ATOMIC_RELAXED);
        return 0;
    }
    /* What stood in a slot before the tool's turn is the client's own way to initialise: only what changed is
     * the tool's. */
    for (int m = 0; m < MODULES; m++)
        for (unsigned i = 1; i < modules[m].slots && i < n[m]; i++)
            if (table[m][i] && *table[m][i] != before[m][i])
                __atomic_store_n(&modules[m].next[i], *table[m][i], __ATOMIC_RELAXED);
    return 1;
}

/* Called by every shared object that has NVTX of its own: each has its own slots, and all share one state.
 * With no session to record into we step back: the slots stay as the next tool left them, or, without one,
 * the client makes its calls do nothing. */
int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table)
{
    if (!get_export_table)
        return 0;
    int recording = inject_begin();
    INJECT_COUNT(clients);
    int chained = attach_next(get_export_table);
    if (!recording)
        return chained;
    for (int m = 0; m < MODULES; m++) {
        nvtx_function ***table;
        unsigned n = slots_of(get_export_table, modules[m].module, &table);
        for (unsigned i = 1; i < n && i < modules[m].slots; i++)
            if (table[i] && modules[m].ours[i])
                *table[i] = modules[m].ours[i];
    }
    return 1;
}

/* ---- the next tool's handles ---- */

static struct {
    uintptr_t key; /* 0: free; the value is written first */
    uint64_t value;
} handles[HANDLES_MAX];
static unsigned n_handles; /* under the process's lock */

static unsigned slot_of_key(uintptr_t key)
{
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 40) % HANDLES_MAX;
}

int inject_handle_put(const void *key, uint64_t value)
{
    uintptr_t k = (uintptr_t)key;
    unsigned i = slot_of_key(k);
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
    for (unsigned i = slot_of_key(k); (is = __atomic_load_n(&handles[i].key, __ATOMIC_ACQUIRE));
         i = (i + 1) % HANDLES_MAX)
        if (is == k)
            return __atomic_load_n(&handles[i].value, __ATOMIC_RELAXED);
    return 0;
}
