/* Fuzz target: a run's file from a stranger, exported in every format that goes to a stream; by itself, and
 * as two ranks on one clock. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "report/export/export.h"
#include "report/ranks/clock.h"
#include "report/source/joined.h"

#include <stdlib.h>

static void export_all(const struct pp_source *source)
{
    struct pp_err err = {.code = PP_OK};
    for (size_t i = 0; pp_exporters[i]; i++)
        if (pp_export(source, pp_exporters[i],
                      &(struct pp_export_opts){.out = scratch_path("out"), .force = 1}, NULL,
                      &err) != PP_OK &&
            !err.text[0])
            abort(); /* a refusal is a sentence */
}

static uint64_t to_common(const void *clock, uint64_t own_ns)
{
    return pp_clock_to_reference(clock, own_ns);
}

static void export_joined(const struct pp_source *source)
{
    const struct pp_source two[2] = {*source, *source};
    struct pp_clock clock[2];
    struct pp_source joined;
    struct pp_err err;
    if (pp_clock_align(two, 2, clock, &err) == PP_OK) {
        const struct pp_join_part parts[2] = {{.source = &two[0], .label = "rank 0"},
                                              {.source = &two[1],
                                               .label = "rank 1",
                                               .to_common = to_common,
                                               .clock = &clock[1],
                                               .clock_error_ns = clock[1].error_ns}};
        if (pp_source_join(parts, 2, &joined, &err) == PP_OK) {
            export_all(&joined);
            pp_source_unjoin(&joined);
        }
    }
    for (int i = 0; i < 2; i++)
        pp_clock_free(&clock[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pp_source source;
    struct pp_err err;
    if (pp_source_open(scratch_input(data, size), &source, &err) == PP_OK) {
        export_all(&source);
        export_joined(&source);
    }
    pp_source_close(&source);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    return scratch_seed(i, data, size);
}
