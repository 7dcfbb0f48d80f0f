/* Fuzz target: a run's file from a stranger, exported in every format that goes to a stream. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "report/export/export.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pp_source source;
    struct pp_err err;
    if (pp_source_open(scratch_input(data, size), &source, &err) == PP_OK)
        export_all(&source);
    pp_source_close(&source);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    return scratch_seed(i, data, size);
}
