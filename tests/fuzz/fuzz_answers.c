/* Fuzz target: what the senders of metrics and traces read of strangers: answers of OpenTelemetry's servers.
 * The first byte says which. */
#include "tests/fuzz/fuzz.h"

#include "report/otlp/answer.h"

#include <stdlib.h>
#include <string.h>

enum { SENT = 100 };

static void check(const struct pp_otlp_answer *a)
{
    if (a->rejected > SENT || !memchr(a->message, '\0', sizeof(a->message)))
        abort();
    for (const char *c = a->message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            abort();
}

static void fuzz_answer(const char *body, size_t n)
{
    struct pp_otlp_answer a;
    pp_otlp_answer_read(body, n, SENT, &a);
    check(&a);
}

static void fuzz_refusal(const char *body, size_t n)
{
    struct pp_otlp_answer a;
    pp_otlp_refusal_read(body, n, &a);
    check(&a);
}

static void (*const parts[])(const char *body, size_t n) = {fuzz_answer, fuzz_refusal};
enum { PARTS = sizeof(parts) / sizeof(*parts) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    char *body = malloc(size); /* of its own, so that a byte too far is seen */
    if (!body)
        abort();
    memcpy(body, data + 1, size - 1);
    parts[data[0] % PARTS](body, size - 1);
    free(body);
    return 0;
}

static const struct {
    const char *text;
    size_t n;
} seeds[] = {
#define SEED(text) \
    { \
        text, sizeof(text) - 1 \
    }
    SEED("\0\x0a\x06\x08\x03\x12\x02no"),
    SEED("\0{\"partialSuccess\":{\"rejectedSpans\":\"4\",\"errorMessage\":\"old\"}}"),
    SEED("\1\x08\x03\x12\x03"
         "bad"),
    SEED("\1{\"code\":3,\"message\":\"bad\",\"details\":[]}"),
#undef SEED
};

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    if (i >= sizeof(seeds) / sizeof(*seeds))
        return 0;
    *data = malloc(seeds[i].n);
    if (!*data)
        abort();
    memcpy(*data, seeds[i].text, seeds[i].n);
    *size = seeds[i].n;
    return 1;
}
