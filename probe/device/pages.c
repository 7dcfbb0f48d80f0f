#include "probe/device/pages.h"

#include "probe/base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

pp_status pp_pages_map(size_t size, void **out, struct pp_err *err)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return pp_fail_errno(err, errno,
                             "no memory for %zu MiB of batch slots; try a smaller --batch-size or --prefetch",
                             size >> 20);
    madvise(p, size, MADV_HUGEPAGE); /* a wish: refused, the pages are small */
    memset(p, 0, size);
    *out = p;
    return PP_OK;
}

void pp_pages_unmap(void *p, size_t size)
{
    if (p)
        munmap(p, size);
}
