/* The one symbol that libpipeprobe_inject.so shows. */
#include "collectors/attach/inject/inject.h"

static void install(nvtx_get_export_table *get_export_table, int module, nvtx_function *const ours[],
                    unsigned most)
{
    const struct nvtx_callbacks *callbacks = get_export_table(NVTX_TABLE_CALLBACKS);
    nvtx_function ***table = NULL;
    unsigned n = 0;
    if (!callbacks || callbacks->size < sizeof(*callbacks) ||
        !callbacks->get_module_functions(module, &table, &n) || !table)
        return;
    for (unsigned i = 1; i < n && i < most; i++)
        if (table[i] && ours[i])
            *table[i] = ours[i];
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table);

/* Called by every shared object that has NVTX of its own: each has its own slots, and all share one state.
 * With no session to record into we step back: the slots stay as the next tool left them, or, without one,
 * the client makes its calls do nothing. */
int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table)
{
    if (!get_export_table)
        return 0;
    int recording = inject_begin();
    INJECT_COUNT(clients);
    int chained = inject_chain(get_export_table);
    if (!recording)
        return chained;
    install(get_export_table, NVTX_MODULE_CORE, inject_core, CORE_SLOTS);
    install(get_export_table, NVTX_MODULE_CORE2, inject_core2, CORE2_SLOTS);
    return 1;
}
