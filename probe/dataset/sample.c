#include "probe/dataset/sample.h"

#include "probe/base/err.h"

#include <stdlib.h>

pp_status pp_sample_reserve(struct pp_sample *s, size_t n, struct pp_err *err)
{
    if (n > s->cap) {
        size_t cap = s->cap > SIZE_MAX / 2 || s->cap * 2 < n ? n : s->cap * 2;
        uint8_t *buf = realloc(s->buf, cap);
        if (!buf)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for a sample of %zu bytes", n);
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
    *s = (struct pp_sample){0};
}
