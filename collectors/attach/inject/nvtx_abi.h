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

/* Slot numbers of CORE (16 with slot 0) and of CORE2 (16 in v3, 15 in v2). */
enum {
    CORE_MARK_EX = 1,
    CORE_MARK_A,
    CORE_MARK_W,
    CORE_START_EX,
    CORE_START_A,
    CORE_START_W,
    CORE_END,
    CORE_PUSH_EX,
    CORE_PUSH_A,
    CORE_PUSH_W,
    CORE_POP,
    CORE_NAME_CATEGORY_A,
    CORE_NAME_CATEGORY_W,
    CORE_NAME_THREAD_A,
    CORE_NAME_THREAD_W,
    CORE_SLOTS
};
enum {
    CORE2_MARK_EX = 1,
    CORE2_START_EX,
    CORE2_END,
    CORE2_PUSH_EX,
    CORE2_POP,
    CORE2_RESOURCE_CREATE,
    CORE2_RESOURCE_DESTROY,
    CORE2_NAME_CATEGORY_A,
    CORE2_NAME_CATEGORY_W,
    CORE2_REGISTER_STRING_A,
    CORE2_REGISTER_STRING_W,
    CORE2_DOMAIN_CREATE_A,
    CORE2_DOMAIN_CREATE_W,
    CORE2_DOMAIN_DESTROY,
    CORE2_INITIALIZE,
    CORE2_SLOTS
};

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
