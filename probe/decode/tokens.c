/* Token windows: nothing is encoded, the sample is the row. Texts: the beginning of one is the row. The copy
 * into the batch is what the transform is for an image, and is recorded as that. */
#include "probe/base/err.h"
#include "probe/decode/decode.h"

static pp_status copy_window(void *state, const struct pp_encoded *in, void *out, size_t size,
                             struct pp_err *err)
{
    if (in->size != size)
        return pp_fail(err, PP_E_CORRUPT, "sample %llu holds %zu bytes, and the first one %zu",
                       (unsigned long long)in->index, in->size, size);
    memcpy(out, in->data, size);
    return PP_OK;
}

const struct pp_decode_ops pp_decode_tokens = {
    .name = "tokens",
    .content = PP_CONTENT_TOKENS,
    .result = PP_DECODED_ROW,
    .phase = PP_PHASE_TRANSFORM,
    .row = copy_window,
};

static pp_status copy_text(void *state, const struct pp_encoded *in, void *out, size_t size,
                           struct pp_err *err)
{
    size_t n = in->size < size ? in->size : size;
    memcpy(out, in->data, n);
    memset((uint8_t *)out + n, 0, size - n);
    return PP_OK;
}

const struct pp_decode_ops pp_decode_text = {
    .name = "text",
    .content = PP_CONTENT_TEXT,
    .result = PP_DECODED_ROW,
    .phase = PP_PHASE_TRANSFORM,
    .row = copy_text,
};
