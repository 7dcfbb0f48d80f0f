/* Fuzz target: a run's file as anybody may hand it over, exported in every format that goes to a stream. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "report/export/export.h"

#include <stdlib.h>
#include <unistd.h>

static void export_all(const struct pp_source *source)
{
    struct pp_err err = {.code = PP_OK};
    for (size_t i = 0; pp_exporters[i]; i++)
        if (pp_export(source, pp_exporters[i], &(struct pp_export_opts){.out = scratch_path("out"), .force = 1}, NULL, &err) != PP_OK && !err.text[0])
            abort(); /* a refusal is a sentence */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pp_source source;
    struct pp_err err;
    const char *path = scratch_path("run.sqlite");
    scratch_write(path, data, size);
    unlink(scratch_path("run.sqlite-journal"));
    unlink(scratch_path("run.sqlite-wal"));
    if (pp_source_open(path, &source, &err) == PP_OK)
        export_all(&source);
    pp_source_close(&source);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    if (i >= 1)
        return 0;
    scratch_run(scratch_path("seed.sqlite"), 1);
    *data = scratch_read(scratch_path("seed.sqlite"), size);
    return 1;
}
