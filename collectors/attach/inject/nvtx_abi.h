/* collectors/attach/inject/nvtx_abi.h: what an NVTX client and an injected tool hand each other, as much of
 * it as we use. Sizes, numbers and slot positions are those of NVTX v2 and v3 (nvToolsExt.h,
 * nvtxDetail/nvtxTypes.h); writing them down here spares the build the headers.
 *
 * A client calls InitializeInjectionNvtx2(get_export_table) at its first NVTX call, once per shared object
 * that has the header-only v3. The callbacks table gives, per module, an array of pointers to the client's
 * function slots; a tool stores its functions there. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

typedef void nvtx_function(void);
typedef const void *nvtx_get_export_table(uint32_t id);
typedef int nvtx_initialize(nvtx_get_export_table *get_export_table);

struct nvtx_callbacks {
    size_t size;
    int (*get_module_functions)(int module, nvtx_function ***table[], unsigned *n);
};

/* The slots from 1 on, and our functions of them: X(slot, function). CORE has 15 of them, CORE2 15 in v3 and
 * 14 in v2. */
/* clang-format off */
#define NVTX_CORE(X) \
    X(MARK_EX, mark_ex) X(MARK_A, mark_a) X(MARK_W, mark_w) X(START_EX, start_ex) X(START_A, start_a) \
    X(START_W, start_w) X(END, end) X(PUSH_EX, push_ex) X(PUSH_A, push_a) X(PUSH_W, push_w) X(POP, pop) \
    X(NAME_CATEGORY_A, name_category_a) X(NAME_CATEGORY_W, name_category_w) X(NAME_THREAD_A, name_thread_a) \
    X(NAME_THREAD_W, name_thread_w)
#define NVTX_CORE2(X) \
    X(MARK_EX, mark_ex) X(START_EX, start_ex) X(END, end) X(PUSH_EX, push_ex) X(POP, pop) \
    X(RESOURCE_CREATE, resource_create) X(RESOURCE_DESTROY, resource_destroy) \
    X(NAME_CATEGORY_A, name_category_a) X(NAME_CATEGORY_W, name_category_w) \
    X(REGISTER_STRING_A, register_string_a) X(REGISTER_STRING_W, register_string_w) \
    X(DOMAIN_CREATE_A, domain_create_a) X(DOMAIN_CREATE_W, domain_create_w) \
    X(DOMAIN_DESTROY, domain_destroy) X(INITIALIZE, initialize)
/* clang-format on */
#define CORE_SLOT(slot, function) CORE_##slot,
#define CORE2_SLOT(slot, function) CORE2_##slot,
enum { CORE_NONE, NVTX_CORE(CORE_SLOT) CORE_SLOTS };
enum { CORE2_NONE, NVTX_CORE2(CORE2_SLOT) CORE2_SLOTS };

enum {
    NVTX_PAYLOAD_NONE,
    NVTX_PAYLOAD_U64,
    NVTX_PAYLOAD_I64,
    NVTX_PAYLOAD_DOUBLE,
    NVTX_PAYLOAD_U32,
    NVTX_PAYLOAD_I32,
    NVTX_PAYLOAD_FLOAT
};
enum { NVTX_MESSAGE_NONE, NVTX_MESSAGE_ASCII, NVTX_MESSAGE_WIDE, NVTX_MESSAGE_REGISTERED };

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double d;
        uint32_t u32;
        int32_t i32;
        float f;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const void *registered;
    } message;
};
_Static_assert(sizeof(struct nvtx_attributes) == 48, "nvtxEventAttributes_v2");
