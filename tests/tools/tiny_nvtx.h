/* tests/tools/tiny_nvtx.h: an NVTX client as small as can be, doing what NVIDIA's header does at a program's
 * first call: opens the library of NVTX_INJECTION64_PATH, calls its entry point, and keeps a table of slots
 * per module. Each file that includes it is a client of its own. */
#pragma once

#include "collectors/attach/inject/nvtx_abi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static nvtx_function *tiny_core_fn[CORE_SLOTS], *tiny_core2_fn[CORE2_SLOTS];
static nvtx_function **tiny_core[CORE_SLOTS + 1], **tiny_core2[CORE2_SLOTS + 1];
static unsigned tiny_core2_n = CORE2_SLOTS; /* 15 plays v2 */

static int tiny_functions(int module, nvtx_function ***table[], unsigned *n)
{
    if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
        return 0;
    *table = module == NVTX_MODULE_CORE ? tiny_core : tiny_core2;
    *n = module == NVTX_MODULE_CORE ? CORE_SLOTS : tiny_core2_n;
    return 1;
}

static const void *tiny_export(uint32_t id)
{
    static const struct nvtx_callbacks callbacks = {sizeof(callbacks), tiny_functions};
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

/* 1 when a tool attached. Without one every slot stays NULL and the calls below do nothing. */
static inline int tiny_attach(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    nvtx_initialize *initialize = library ? (nvtx_initialize *)dlsym(library, "InitializeInjectionNvtx2")
                                          : NULL;
    for (int i = 1; i < CORE_SLOTS; i++)
        tiny_core[i] = &tiny_core_fn[i];
    for (int i = 1; i < CORE2_SLOTS; i++)
        tiny_core2[i] = &tiny_core2_fn[i];
    return initialize && initialize(tiny_export);
}

#define TINY(table, slot, result, args, none, call) \
    (tiny_##table##_fn[slot] ? ((result(*) args)tiny_##table##_fn[slot])call : none)

static inline int tiny_push(const char *text)
{
    return TINY(core, CORE_PUSH_A, int, (const char *), -2, (text));
}
static inline int tiny_push_wide(const wchar_t *text)
{
    return TINY(core, CORE_PUSH_W, int, (const wchar_t *), -2, (text));
}
static inline int tiny_push_ex(const struct nvtx_attributes *a)
{
    return TINY(core, CORE_PUSH_EX, int, (const struct nvtx_attributes *), -2, (a));
}
static inline int tiny_pop(void)
{
    return TINY(core, CORE_POP, int, (void), -2, ());
}
static inline uint64_t tiny_start(const char *text)
{
    return TINY(core, CORE_START_A, uint64_t, (const char *), 0, (text));
}
static inline void tiny_end(uint64_t id)
{
    TINY(core, CORE_END, void, (uint64_t), (void)0, (id));
}
static inline void tiny_mark(const char *text)
{
    TINY(core, CORE_MARK_A, void, (const char *), (void)0, (text));
}
static inline void tiny_name_thread(uint32_t tid, const char *name)
{
    TINY(core, CORE_NAME_THREAD_A, void, (uint32_t, const char *), (void)0, (tid, name));
}
static inline void *tiny_domain(const char *name)
{
    return TINY(core2, CORE2_DOMAIN_CREATE_A, void *, (const char *), NULL, (name));
}
static inline void tiny_domain_destroy(void *d)
{
    TINY(core2, CORE2_DOMAIN_DESTROY, void, (void *), (void)0, (d));
}
static inline void *tiny_register(void *d, const char *text)
{
    return TINY(core2, CORE2_REGISTER_STRING_A, void *, (void *, const char *), NULL, (d, text));
}
static inline void *tiny_resource(void *d)
{
    return TINY(core2, CORE2_RESOURCE_CREATE, void *, (void *, void *), NULL, (d, NULL));
}
static inline int tiny_domain_push(void *d, const struct nvtx_attributes *a)
{
    return TINY(core2, CORE2_PUSH_EX, int, (void *, const struct nvtx_attributes *), -2, (d, a));
}
static inline int tiny_domain_pop(void *d)
{
    return TINY(core2, CORE2_POP, int, (void *), -2, (d));
}
static inline uint64_t tiny_domain_start(void *d, const struct nvtx_attributes *a)
{
    return TINY(core2, CORE2_START_EX, uint64_t, (void *, const struct nvtx_attributes *), 0, (d, a));
}
static inline void tiny_domain_end(void *d, uint64_t id)
{
    TINY(core2, CORE2_END, void, (void *, uint64_t), (void)0, (d, id));
}

static inline struct nvtx_attributes tiny_text(const char *text)
{
    return (struct nvtx_attributes){.version = 3,
                                    .size = sizeof(struct nvtx_attributes),
                                    .message_type = NVTX_MESSAGE_ASCII,
                                    .message.ascii = text};
}

static inline struct nvtx_attributes tiny_handle(const void *registered)
{
    return (struct nvtx_attributes){.version = 3,
                                    .size = sizeof(struct nvtx_attributes),
                                    .message_type = NVTX_MESSAGE_REGISTERED,
                                    .message.registered = registered};
}
