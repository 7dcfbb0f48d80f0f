/* What stands in a client's slots. Each function passes its arguments on to the next tool unchanged, and does
 * our part between enter and leave, so that what the next tool does is never inside our own bracket. */
#include "collectors/attach/inject/inject.h"

/* The next tool's function of a slot with its real type, or NULL. Slot names are those of nvtx_abi.h. */
#define NEXT(table, slot, type) ((type *)__atomic_load_n(&inject_next_##table[slot], __ATOMIC_RELAXED))

typedef void fn_text(const char *);
typedef void fn_wide(const wchar_t *);
typedef void fn_attributes(const struct nvtx_attributes *);
typedef int fn_push_text(const char *);
typedef int fn_push_wide(const wchar_t *);
typedef int fn_push(const struct nvtx_attributes *);
typedef int fn_pop(void);
typedef uint64_t fn_start_text(const char *);
typedef uint64_t fn_start_wide(const wchar_t *);
typedef uint64_t fn_start(const struct nvtx_attributes *);
typedef void fn_end(uint64_t);
typedef void fn_name(uint32_t, const char *);
typedef void fn_name_wide(uint32_t, const wchar_t *);
typedef void fn_domain_attributes(void *, const struct nvtx_attributes *);
typedef int fn_domain_push(void *, const struct nvtx_attributes *);
typedef int fn_domain_pop(void *);
typedef uint64_t fn_domain_start(void *, const struct nvtx_attributes *);
typedef void fn_domain_end(void *, uint64_t);
typedef void *fn_resource_create(void *, void *);
typedef void fn_resource_destroy(void *);
typedef void fn_domain_name(void *, uint32_t, const char *);
typedef void fn_domain_name_wide(void *, uint32_t, const wchar_t *);
typedef void *fn_register(void *, const char *);
typedef void *fn_register_wide(void *, const wchar_t *);
typedef void *fn_domain_create(const char *);
typedef void *fn_domain_create_wide(const wchar_t *);
typedef void fn_domain_destroy(void *);
typedef void fn_initialize(const void *);

/* ---- marks ---- */

static void mark(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide)
{
    struct inject_thread *t = inject_enter();
    if (!t)
        return;
    inject_mark(t,
                a      ? inject_label_of(domain, a)
                : text ? inject_label(domain, text)
                       : inject_label_wide(domain, wide),
                a);
    inject_leave();
}

static void core_mark_ex(const struct nvtx_attributes *a)
{
    fn_attributes *next = NEXT(core, CORE_MARK_EX, fn_attributes);
    if (next)
        next(a);
    mark(0, a, NULL, NULL);
}

static void core_mark_a(const char *text)
{
    fn_text *next = NEXT(core, CORE_MARK_A, fn_text);
    if (next)
        next(text);
    mark(0, NULL, text, NULL);
}

static void core_mark_w(const wchar_t *text)
{
    fn_wide *next = NEXT(core, CORE_MARK_W, fn_wide);
    if (next)
        next(text);
    mark(0, NULL, NULL, text);
}

static void core2_mark_ex(void *domain, const struct nvtx_attributes *a)
{
    fn_domain_attributes *next = NEXT(core2, CORE2_MARK_EX, fn_domain_attributes);
    if (next)
        next(inject_handle_for_next(domain), a);
    mark(inject_domain_number(domain), a, NULL, NULL);
}

/* ---- push and pop: the level is the next tool's where there is one ---- */

static int push(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide)
{
    struct inject_thread *t = inject_enter();
    if (!t)
        return -1;
    int level = inject_push(t, domain,
                            a      ? inject_label_of(domain, a)
                            : text ? inject_label(domain, text)
                                   : inject_label_wide(domain, wide),
                            a);
    inject_leave();
    return level;
}

static int pop(unsigned domain)
{
    struct inject_thread *t = inject_enter();
    if (!t)
        return -1;
    int level = inject_pop(t, domain);
    inject_leave();
    return level;
}

static int core_push_ex(const struct nvtx_attributes *a)
{
    fn_push *next = NEXT(core, CORE_PUSH_EX, fn_push);
    int level = next ? next(a) : 0, own = push(0, a, NULL, NULL);
    return next ? level : own;
}

static int core_push_a(const char *text)
{
    fn_push_text *next = NEXT(core, CORE_PUSH_A, fn_push_text);
    int level = next ? next(text) : 0, own = push(0, NULL, text, NULL);
    return next ? level : own;
}

static int core_push_w(const wchar_t *text)
{
    fn_push_wide *next = NEXT(core, CORE_PUSH_W, fn_push_wide);
    int level = next ? next(text) : 0, own = push(0, NULL, NULL, text);
    return next ? level : own;
}

static int core_pop(void)
{
    fn_pop *next = NEXT(core, CORE_POP, fn_pop);
    int own = pop(0);
    return next ? next() : own;
}

static int core2_push_ex(void *domain, const struct nvtx_attributes *a)
{
    fn_domain_push *next = NEXT(core2, CORE2_PUSH_EX, fn_domain_push);
    int level = next ? next(inject_handle_for_next(domain), a) : 0,
        own = push(inject_domain_number(domain), a, NULL, NULL);
    return next ? level : own;
}

static int core2_pop(void *domain)
{
    fn_domain_pop *next = NEXT(core2, CORE2_POP, fn_domain_pop);
    int own = pop(inject_domain_number(domain));
    return next ? next(inject_handle_for_next(domain)) : own;
}

/* ---- start and end: the client gets our id, which knows the next tool's ---- */

static uint64_t start(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide,
                      uint64_t next_id)
{
    struct inject_thread *t = inject_enter();
    struct label label = {.phase = PP_PHASE_USER};
    if (t)
        label = a      ? inject_label_of(domain, a)
                : text ? inject_label(domain, text)
                       : inject_label_wide(domain, wide);
    uint64_t id = inject_start(t, label, a);
    if (next_id)
        inject_start_next(id, next_id);
    if (t)
        inject_leave();
    return id;
}

static void end(uint64_t id)
{
    struct inject_thread *t = inject_enter();
    inject_end(t, id);
    if (t)
        inject_leave();
}

static uint64_t core_start_ex(const struct nvtx_attributes *a)
{
    fn_start *next = NEXT(core, CORE_START_EX, fn_start);
    return start(0, a, NULL, NULL, next ? next(a) : 0);
}

static uint64_t core_start_a(const char *text)
{
    fn_start_text *next = NEXT(core, CORE_START_A, fn_start_text);
    return start(0, NULL, text, NULL, next ? next(text) : 0);
}

static uint64_t core_start_w(const wchar_t *text)
{
    fn_start_wide *next = NEXT(core, CORE_START_W, fn_start_wide);
    return start(0, NULL, NULL, text, next ? next(text) : 0);
}

static void core_end(uint64_t id)
{
    fn_end *next = NEXT(core, CORE_END, fn_end);
    uint64_t next_id = next ? inject_next_id(id) : 0;
    end(id);
    if (next_id)
        next(next_id);
}

static uint64_t core2_start_ex(void *domain, const struct nvtx_attributes *a)
{
    fn_domain_start *next = NEXT(core2, CORE2_START_EX, fn_domain_start);
    return start(inject_domain_number(domain), a, NULL, NULL,
                 next ? next(inject_handle_for_next(domain), a) : 0);
}

static void core2_end(void *domain, uint64_t id)
{
    fn_domain_end *next = NEXT(core2, CORE2_END, fn_domain_end);
    uint64_t next_id = next ? inject_next_id(id) : 0;
    end(id);
    if (next_id)
        next(inject_handle_for_next(domain), next_id);
}

/* ---- names ---- */

static void name_thread(uint32_t tid, const char *name)
{
    struct inject_thread *t = name ? inject_enter() : NULL;
    if (!t)
        return;
    inject_name_thread(tid, name);
    inject_leave();
}

static void core_name_thread_a(uint32_t tid, const char *name)
{
    fn_name *next = NEXT(core, CORE_NAME_THREAD_A, fn_name);
    if (next)
        next(tid, name);
    name_thread(tid, name);
}

static void core_name_thread_w(uint32_t tid, const wchar_t *name)
{
    char utf8[128];
    fn_name_wide *next = NEXT(core, CORE_NAME_THREAD_W, fn_name_wide);
    if (next)
        next(tid, name);
    inject_utf8(name, utf8, sizeof(utf8));
    name_thread(tid, utf8);
}

/* Categories and resources have no place in a span: they are passed on, and answered. */
static void core_name_category_a(uint32_t category, const char *name)
{
    fn_name *next = NEXT(core, CORE_NAME_CATEGORY_A, fn_name);
    if (next)
        next(category, name);
}

static void core_name_category_w(uint32_t category, const wchar_t *name)
{
    fn_name_wide *next = NEXT(core, CORE_NAME_CATEGORY_W, fn_name_wide);
    if (next)
        next(category, name);
}

static void core2_name_category_a(void *domain, uint32_t category, const char *name)
{
    fn_domain_name *next = NEXT(core2, CORE2_NAME_CATEGORY_A, fn_domain_name);
    if (next)
        next(inject_handle_for_next(domain), category, name);
}

static void core2_name_category_w(void *domain, uint32_t category, const wchar_t *name)
{
    fn_domain_name_wide *next = NEXT(core2, CORE2_NAME_CATEGORY_W, fn_domain_name_wide);
    if (next)
        next(inject_handle_for_next(domain), category, name);
}

static char a_resource; /* the handle of every resource that only we were told of */

static void *core2_resource_create(void *domain, void *attributes)
{
    fn_resource_create *next = NEXT(core2, CORE2_RESOURCE_CREATE, fn_resource_create);
    void *handle = next ? next(inject_handle_for_next(domain), attributes) : NULL;
    return handle ? handle : &a_resource;
}

static void core2_resource_destroy(void *handle)
{
    fn_resource_destroy *next = NEXT(core2, CORE2_RESOURCE_DESTROY, fn_resource_destroy);
    if (next && handle != &a_resource)
        next(handle);
}

/* ---- handles ---- */

static void *core2_register_string_a(void *domain, const char *text)
{
    fn_register *next = NEXT(core2, CORE2_REGISTER_STRING_A, fn_register);
    return inject_string_register(inject_domain_number(domain), text,
                                  next ? next(inject_handle_for_next(domain), text) : NULL);
}

static void *core2_register_string_w(void *domain, const wchar_t *text)
{
    char utf8[256];
    fn_register_wide *next = NEXT(core2, CORE2_REGISTER_STRING_W, fn_register_wide);
    inject_utf8(text, utf8, sizeof(utf8));
    return inject_string_register(inject_domain_number(domain), utf8,
                                  next ? next(inject_handle_for_next(domain), text) : NULL);
}

static void *core2_domain_create_a(const char *name)
{
    fn_domain_create *next = NEXT(core2, CORE2_DOMAIN_CREATE_A, fn_domain_create);
    return inject_domain_create(name, next ? next(name) : NULL);
}

static void *core2_domain_create_w(const wchar_t *name)
{
    char utf8[256];
    fn_domain_create_wide *next = NEXT(core2, CORE2_DOMAIN_CREATE_W, fn_domain_create_wide);
    inject_utf8(name, utf8, sizeof(utf8));
    return inject_domain_create(utf8, next ? next(name) : NULL);
}

static void core2_domain_destroy(void *domain)
{
    fn_domain_destroy *next = NEXT(core2, CORE2_DOMAIN_DESTROY, fn_domain_destroy);
    void *handle = inject_handle_for_next(domain);
    if (next && handle)
        next(handle);
}

static void core2_initialize(const void *reserved)
{
    fn_initialize *next = NEXT(core2, CORE2_INITIALIZE, fn_initialize);
    if (next)
        next(reserved);
}

#define SLOT(number, function) [number] = (nvtx_function *)(function)

nvtx_function *const inject_core[CORE_SLOTS] = {
    SLOT(CORE_MARK_EX, core_mark_ex),
    SLOT(CORE_MARK_A, core_mark_a),
    SLOT(CORE_MARK_W, core_mark_w),
    SLOT(CORE_START_EX, core_start_ex),
    SLOT(CORE_START_A, core_start_a),
    SLOT(CORE_START_W, core_start_w),
    SLOT(CORE_END, core_end),
    SLOT(CORE_PUSH_EX, core_push_ex),
    SLOT(CORE_PUSH_A, core_push_a),
    SLOT(CORE_PUSH_W, core_push_w),
    SLOT(CORE_POP, core_pop),
    SLOT(CORE_NAME_CATEGORY_A, core_name_category_a),
    SLOT(CORE_NAME_CATEGORY_W, core_name_category_w),
    SLOT(CORE_NAME_THREAD_A, core_name_thread_a),
    SLOT(CORE_NAME_THREAD_W, core_name_thread_w),
};

nvtx_function *const inject_core2[CORE2_SLOTS] = {
    SLOT(CORE2_MARK_EX, core2_mark_ex),
    SLOT(CORE2_START_EX, core2_start_ex),
    SLOT(CORE2_END, core2_end),
    SLOT(CORE2_PUSH_EX, core2_push_ex),
    SLOT(CORE2_POP, core2_pop),
    SLOT(CORE2_RESOURCE_CREATE, core2_resource_create),
    SLOT(CORE2_RESOURCE_DESTROY, core2_resource_destroy),
    SLOT(CORE2_NAME_CATEGORY_A, core2_name_category_a),
    SLOT(CORE2_NAME_CATEGORY_W, core2_name_category_w),
    SLOT(CORE2_REGISTER_STRING_A, core2_register_string_a),
    SLOT(CORE2_REGISTER_STRING_W, core2_register_string_w),
    SLOT(CORE2_DOMAIN_CREATE_A, core2_domain_create_a),
    SLOT(CORE2_DOMAIN_CREATE_W, core2_domain_create_w),
    SLOT(CORE2_DOMAIN_DESTROY, core2_domain_destroy),
    SLOT(CORE2_INITIALIZE, core2_initialize),
};
