/* What stands in a client's slots. Each function passes its arguments on to the next tool unchanged, and does
 * our part before or after that: what the next tool does is never between our own enter and leave. */
#include "collectors/attach/inject/inject.h"

/* The next tool's function of a slot, by the type of ours, or NULL. Slot names are those of nvtx_abi.h. */
#define NEXT(table, slot, ours) \
    ((__typeof__(&(ours)))__atomic_load_n(&inject_next_##table[slot], __ATOMIC_RELAXED))

/* The ways to give a message: X(table, its slots, slot, name, parameters, what the next tool gets, and what
 * we take: domain, attributes, text, wide text). */
#define MESSAGES(X) \
    X(core, CORE, EX, ex, (const struct nvtx_attributes *a), (a), 0, a, NULL, NULL) \
    X(core, CORE, A, a, (const char *text), (text), 0, NULL, text, NULL) \
    X(core, CORE, W, w, (const wchar_t *wide), (wide), 0, NULL, NULL, wide) \
    X(core2, CORE2, EX, ex, (void *domain, const struct nvtx_attributes *a), \
      (inject_handle_for_next(domain), a), inject_domain_number(domain), a, NULL, NULL)

/* The ways to give a text: X(slot, name, its characters, and it in UTF-8). */
#define TEXTS(X) \
    X(A, a, char, text) \
    X(W, w, wchar_t, inject_utf8(text, (char[256]){""}, 256))

/* ---- marks ---- */

#define MARK(table, slots, slot, name, parameters, arguments, ...) \
    static void table##_mark_##name parameters \
    { \
        void(*next) parameters = NEXT(table, slots##_MARK_##slot, table##_mark_##name); \
        if (next) \
            next arguments; \
        inject_mark(__VA_ARGS__); \
    }
MESSAGES(MARK)

/* ---- push and pop: the level is the next tool's where there is one ---- */

#define PUSH(table, slots, slot, name, parameters, arguments, ...) \
    static int table##_push_##name parameters \
    { \
        int(*next) parameters = NEXT(table, slots##_PUSH_##slot, table##_push_##name); \
        int level = next ? next arguments : 0, own = inject_push(__VA_ARGS__); \
        return next ? level : own; \
    }
MESSAGES(PUSH)

#define POP(table, slots, parameters, arguments, domain) \
    static int table##_pop parameters \
    { \
        int(*next) parameters = NEXT(table, slots##_POP, table##_pop); \
        int own = inject_pop(domain); \
        return next ? next arguments : own; \
    }
POP(core, CORE, (void), (), 0)
POP(core2, CORE2, (void *domain), (inject_handle_for_next(domain)), inject_domain_number(domain))

/* ---- start and end: the client gets our id, which knows the next tool's ---- */

#define START(table, slots, slot, name, parameters, arguments, ...) \
    static uint64_t table##_start_##name parameters \
    { \
        uint64_t(*next) parameters = NEXT(table, slots##_START_##slot, table##_start_##name); \
        return inject_start(__VA_ARGS__, next ? next arguments : 0); \
    }
MESSAGES(START)

#define END(table, slots, parameters, arguments) \
    static void table##_end parameters \
    { \
        void(*next) parameters = NEXT(table, slots##_END, table##_end); \
        uint64_t next_id = next ? inject_next_id(id) : 0; \
        inject_end(id); \
        if (next_id) \
            next arguments; \
    }
END(core, CORE, (uint64_t id), (next_id))
END(core2, CORE2, (void *domain, uint64_t id), (inject_handle_for_next(domain), next_id))

/* ---- names ---- */

#define NAME_THREAD(slot, name, type, utf8) \
    static void core_name_thread_##name(uint32_t tid, const type *text) \
    { \
        void (*next)(uint32_t, const type *) = NEXT(core, CORE_NAME_THREAD_##slot, core_name_thread_##name); \
        if (next) \
            next(tid, text); \
        inject_name_thread(tid, utf8); \
    }
TEXTS(NAME_THREAD)

/* Categories and resources have no place in a span: they are passed on, and answered. */
#define NAME_CATEGORY(slot, name, type) \
    static void core_##name(uint32_t category, const type *text) \
    { \
        void (*next)(uint32_t, const type *) = NEXT(core, CORE_##slot, core_##name); \
        if (next) \
            next(category, text); \
    } \
    static void core2_##name(void *domain, uint32_t category, const type *text) \
    { \
        void (*next)(void *, uint32_t, const type *) = NEXT(core2, CORE2_##slot, core2_##name); \
        if (next) \
            next(inject_handle_for_next(domain), category, text); \
    }
NAME_CATEGORY(NAME_CATEGORY_A, name_category_a, char)
NAME_CATEGORY(NAME_CATEGORY_W, name_category_w, wchar_t)

static char a_resource; /* the handle of every resource that only we were told of */

static void *core2_resource_create(void *domain, void *attributes)
{
    void *(*next)(void *, void *) = NEXT(core2, CORE2_RESOURCE_CREATE, core2_resource_create);
    void *handle = next ? next(inject_handle_for_next(domain), attributes) : NULL;
    return handle ? handle : &a_resource;
}

static void core2_resource_destroy(void *handle)
{
    void (*next)(void *) = NEXT(core2, CORE2_RESOURCE_DESTROY, core2_resource_destroy);
    if (next && handle != &a_resource)
        next(handle);
}

/* ---- handles ---- */

#define REGISTER_STRING(slot, name, type, utf8) \
    static void *core2_register_string_##name(void *domain, const type *text) \
    { \
        void *(*next)(void *, const type *) = NEXT(core2, CORE2_REGISTER_STRING_##slot, \
                                                   core2_register_string_##name); \
        return inject_string_register(inject_domain_number(domain), utf8, \
                                      next ? next(inject_handle_for_next(domain), text) : NULL); \
    }
TEXTS(REGISTER_STRING)

#define DOMAIN_CREATE(slot, name, type, utf8) \
    static void *core2_domain_create_##name(const type *text) \
    { \
        void *(*next)(const type *) = NEXT(core2, CORE2_DOMAIN_CREATE_##slot, core2_domain_create_##name); \
        return inject_domain_create(utf8, next ? next(text) : NULL); \
    }
TEXTS(DOMAIN_CREATE)

static void core2_domain_destroy(void *domain)
{
    void (*next)(void *) = NEXT(core2, CORE2_DOMAIN_DESTROY, core2_domain_destroy);
    void *handle = inject_handle_for_next(domain);
    if (next && handle)
        next(handle);
}

static void core2_initialize(const void *reserved)
{
    void (*next)(const void *) = NEXT(core2, CORE2_INITIALIZE, core2_initialize);
    if (next)
        next(reserved);
}

#define CORE_ROW(slot, function) [CORE_##slot] = (nvtx_function *)core_##function,
#define CORE2_ROW(slot, function) [CORE2_##slot] = (nvtx_function *)core2_##function,
nvtx_function *const inject_core[CORE_SLOTS] = {NVTX_CORE(CORE_ROW)};
nvtx_function *const inject_core2[CORE2_SLOTS] = {NVTX_CORE2(CORE2_ROW)};
