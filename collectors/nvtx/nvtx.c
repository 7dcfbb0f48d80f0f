#include "collectors/nvtx/nvtx.h"

#include <stdio.h>

#if defined(PP_HAVE_NVTX) && PP_HAVE_NVTX

#include "probe/trace/observe.h"

#include <nvtx3/nvToolsExt.h>
#include <pipeprobe/phase.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BUILT = 1 };

/* By colour role: dark enough for a light timeline, light enough for a dark one. */
static const uint32_t argb[] = {
    [PP_COLOUR_OTHER] = 0xff8a8a8a, [PP_COLOUR_COMPUTE] = 0xff2e9e44, [PP_COLOUR_IO] = 0xffd98a1f,
    [PP_COLOUR_CPU] = 0xff2f6fd0,   [PP_COLOUR_COPY] = 0xff8a4fc9,    [PP_COLOUR_STALL] = 0xffd03030,
    [PP_COLOUR_IDLE] = 0xffb8b8b8,  [PP_COLOUR_FAULT] = 0xffb0006a,
};

/* Set once by pp_nvtx_start, before any thread could read them. */
static nvtxDomainHandle_t domain;
static nvtxStringHandle_t names[PP_PHASE_COUNT];

static __thread int is_open, is_named;

static void end_range(void)
{
    if (!is_open)
        return;
    is_open = 0;
    nvtxDomainRangePop(domain);
}

static void begin_range(pp_phase phase, uint32_t batch)
{
    const struct pp_phase_info *info = pp_phase_info(phase);
    char name[32] = "";
    end_range();
    if (!info)
        return;
    if (!is_named && pthread_getname_np(pthread_self(), name, sizeof(name)) == 0)
        nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name);
    is_named = 1;
    nvtxEventAttributes_t a = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .category = (uint32_t)phase,
        .colorType = NVTX_COLOR_ARGB,
        .color = argb[info->colour],
        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
        .message.registered = names[phase],
    };
    if (batch != PP_NO_BATCH) {
        a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        a.payload.ullValue = batch;
    }
    nvtxDomainRangePushEx(domain, &a);
    is_open = 1;
}

#else
enum { BUILT = 0 };
#endif

int pp_nvtx_start(void)
{
#if defined(PP_HAVE_NVTX) && PP_HAVE_NVTX
    static const struct pp_observer observer = {.begin = begin_range, .end = end_range};
    const char *tool = getenv("NVTX_INJECTION64_PATH");
    if (!tool || !*tool)
        return 0;
    domain = nvtxDomainCreateA("pipeprobe");
    if (!domain) /* the tool's library could not be loaded, or it wants no NVTX */
        return 0;
    for (unsigned id = 1; id < PP_PHASE_COUNT; id++) {
        const struct pp_phase_info *info = pp_phase_info(id);
        if (!info || id == PP_PHASE_COUNTER || id == PP_PHASE_USER)
            continue;
        names[id] = nvtxDomainRegisterStringA(domain, info->name);
        nvtxDomainNameCategoryA(domain, id, info->name);
    }
    pp_trace_set_observer(&observer);
    return 1;
#else
    return 0;
#endif
}

static int available(char *text, size_t size)
{
    snprintf(text, size, "%s", BUILT ? "compiled in" : "not compiled in");
    return BUILT;
}

/* Ranges go to the tool that is attached, with or without a recording: pp_nvtx_start is called by the
 * command. */
const struct pp_collector pp_collector_nvtx = {
    .name = "NVTX headers",
    .with = "nsys profile --trace=nvtx pipeprobe run ... shows every phase",
    .without = "phases are not sent to NVTX",
    .available = available,
};
