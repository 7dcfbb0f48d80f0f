/* Fuzz target: what the senders of metrics and traces read of strangers: answers of OpenTelemetry's servers
 * and of MLflow's. The first byte says which. */
#include "tests/fuzz/fuzz.h"

#include "report/otlp/settings.h"
#include "report/send/mlflow.h"

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
    pp_otlp_answer_read(body, n, PP_OTLP_TAKEN, SENT, &a);
    check(&a);
}

static void fuzz_refusal(const char *body, size_t n)
{
    struct pp_otlp_answer a;
    pp_otlp_answer_read(body, n, PP_OTLP_REFUSED, 0, &a);
    check(&a);
}

/* What goes into a path leads nowhere else. */
static void fuzz_run(const char *body, size_t n)
{
    struct pp_mlflow_run run;
    char id[65] = "";
    if (pp_mlflow_read_run(body, n, &run) &&
        (!run.id[0] || strpbrk(run.id, "/.%?\"\\") || strstr(run.artifacts, "..") || run.artifacts[0] == '/'))
        abort();
    if (pp_mlflow_read_experiment(body, n, id) && (!id[0] || strpbrk(id, "/.%?\"\\")))
        abort();
}

static void fuzz_words(const char *body, size_t n)
{
    char words[120];
    pp_mlflow_read_refusal(body, n, words, sizeof(words));
    for (const char *c = words; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            abort();
}

static void (*const parts[])(const char *body, size_t n) = {fuzz_answer, fuzz_refusal, fuzz_run, fuzz_words};
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
    SEED("\2{\"run\":{\"info\":{\"run_id\":\"0a\",\"artifact_uri\":\"mlflow-artifacts:/0/0a/artifacts\"}}}"),
    SEED("\2{\"experiment\":{\"experiment_id\":\"1\"}}"),
    SEED("\3{\"error_code\":\"BAD\",\"message\":\"no such run\"}"),
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
