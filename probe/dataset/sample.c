#include "probe/dataset/sample.h"

#include "probe/base/content.h"
#include "probe/base/err.h"

#include <stdlib.h>

#define KEEP_BYTES ((size_t)64 << 20)

size_t pp_sample_limit(const struct pp_sample *s)
{
    return s->limit ? s->limit : PP_SAMPLE_MEMORY;
}

void pp_sample_trim(struct pp_sample *s)
{
    if (s->cap <= KEEP_BYTES)
        return;
    free(s->buf);
    s->buf = NULL;
    s->data = NULL;
    s->cap = 0;
}

pp_status pp_sample_reserve(struct pp_sample *s, uint64_t n, const char *what, struct pp_err *err)
{
    size_t limit = pp_sample_limit(s);
    if (n > limit)
        return pp_fail_sample_memory(err, what, n, limit);
    if (n > s->cap) {
        size_t cap = s->cap > SIZE_MAX / 2 || s->cap * 2 < n ? n : s->cap * 2;
        if (cap > limit)
            cap = limit;
        uint8_t *buf = realloc(s->buf, cap);
        if (!buf)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for a sample of %zu bytes", (size_t)n);
        s->buf = buf;
        s->cap = cap;
        s->grown++;
    }
    s->data = s->buf;
    return PP_OK;
}

void pp_sample_free(struct pp_sample *s)
{
    free(s->buf);
    *s = (struct pp_sample){.limit = s->limit};
}
