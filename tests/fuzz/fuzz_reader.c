/* Fuzz target: a run's file from a stranger: open, read everything, report, audit. */
#include "tests/fuzz/fuzz.h"
#include "collectors/store/recover.h"
#include "report/audit/audit_read.h"
#include "report/build/build.h"
#include "tests/fuzz/scratch.h"

#include "report/render/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void audit(FILE *out)
{
    struct pp_audit_files files = {0};
    struct pp_audit a = {0};
    struct pp_err err = {.code = PP_OK};
    pp_status st = pp_audit_files_add(&files, scratch_path("run.sqlite"), &err);
    if (st == PP_OK)
        st = pp_audit_files_judge(&files, &a, &err);
    if (st == PP_OK)
        pp_audit_text(&a, 1, out);
    else if (!err.text[0])
        abort();
    pp_arena_free(&a.arena);
    pp_audit_files_free(&files);
}

static void add_up(void *ctx, const struct pp_request_row *row)
{
    if (row->start_ns > INT64_MAX || pp_request_row_ns(row) > UINT64_C(6) * 86400000000000)
        abort(); /* times that cannot be */
    *(size_t *)ctx += (row->address ? strlen(row->address) : 0) + (row->prefix ? strlen(row->prefix) : 0);
}

static void requests(void)
{
    struct pp_reader *r = NULL;
    struct pp_err err = {.code = PP_OK};
    size_t bytes = 0;
    if (pp_reader_open(scratch_path("run.sqlite"), &r, &err) == PP_OK)
        pp_reader_each_request(r, NULL, add_up, &bytes, &err);
    if (r)
        pp_reader_each_request(r, &(struct pp_request_wanted){.by_start = 1}, add_up, &bytes, &err);
    pp_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    struct pp_report *report = NULL;
    struct pp_err err;
    if (!nowhere) {
        nowhere = fopen("/dev/null", "w");
        pp_reader_set_before(pp_recording_recover); /* as the program does */
    }
    if (pp_report_build(scratch_input(data, size), &report, &err) == PP_OK) {
        pp_render_text(report, nowhere, 0, 80);
        pp_render_short(report, nowhere, 0, 80);
        pp_render_json(report, nowhere);
    } else if (!err.text[0]) {
        abort(); /* a refusal is a sentence */
    }
    pp_report_free(report);
    audit(nowhere);
    requests();
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    return scratch_seed(i, data, size);
}
