/* The same calls through NVIDIA's own header, where it is found: what nvtx_client plays must be what the
 * header does. */
#if defined(PP_HAVE_NVTX) && PP_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(x) \
    do { \
        if (!(x)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x); \
            return 1; \
        } \
    } while (0)

int main(void)
{
    MUST(nvtxRangePushA("outer") == 0);
    MUST(nvtxRangePushW(L"inner gr\u00fc\u00df") == 1);
    MUST(nvtxRangePop() == 1);
    nvtxMarkA("mark");
    MUST(nvtxRangePop() == 0);
    MUST(nvtxRangePop() < 0);
    nvtxDomainHandle_t d = nvtxDomainCreateA("dom");
    nvtxStringHandle_t s = nvtxDomainRegisterStringA(d, "registered");
    nvtxDomainNameCategoryA(d, 3, "category");
    nvtxNameOsThreadA((uint32_t)gettid(), "named");
    MUST(d && s);
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .category = 3,
                               .colorType = NVTX_COLOR_ARGB,
                               .color = 0xff00ff00,
                               .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
                               .payload.ullValue = 17,
                               .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                               .message.registered = s};
    MUST(nvtxDomainRangePushEx(d, &a) == 0);
    MUST(nvtxDomainRangePop(d) == 0);
    nvtxRangeId_t id = nvtxDomainRangeStartEx(d, &a);
    MUST(id);
    nvtxDomainRangeEnd(d, id);
    nvtxResourceAttributes_t ra = {.version = NVTX_VERSION, .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE};
    nvtxResourceHandle_t r = nvtxDomainResourceCreate(d, &ra);
    MUST(r);
    nvtxDomainResourceDestroy(r);
    pid_t pid = fork();
    if (pid == 0) {
        nvtxRangePushA("child");
        nvtxRangePop();
        _exit(0);
    }
    int status;
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
    nvtxDomainDestroy(d);
    return 0;
}
#else
#include <stdio.h>

int main(void)
{
    puts("built without the NVTX v3 headers");
    return 77;
}
#endif
