/* Fuzz target: a recording whose schema and rows were changed, by the table of changes in
 * tests/support/hostile_schema.c: tables to views, to virtual tables and triggers, generated columns, types,
 * counts, pages. The input is four bytes per change: kind, table, column, value. Whatever comes of them is
 * reported, exported, audited, reduced to a digest, and shown live, within a time. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "collectors/store/recover.h"
#include "probe/base/clock.h"
#include "report/audit/audit_read.h"
#include "report/build/build.h"
#include "report/export/export.h"
#include "report/live/live.h"
#include "report/ranks/ranks.h"
#include "report/render/render.h"
#include "tests/support/hostile_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANGES_MAX 6
#define MOST_NS 120000000000u /* a sanitizer on a loaded machine; what does not end takes longer */

static uint8_t *sound;
static size_t sound_size;
static FILE *nowhere;

static void prepare(void)
{
    if (sound)
        return;
    pp_reader_set_before(pp_recording_recover); /* as the program does */
    scratch_run(scratch_path("sound.sqlite"), 1);
    sound = scratch_read(scratch_path("sound.sqlite"), &sound_size);
    nowhere = fopen("/dev/null", "w");
}

static void must_say(pp_status status, const struct pp_err *err)
{
    if (status != PP_OK && !err->text[0])
        abort(); /* a refusal is a sentence */
}

static void report(const char *path)
{
    struct pp_report *r = NULL;
    struct pp_err err = {.code = PP_OK};
    pp_status status = pp_report_build(path, &r, &err);
    must_say(status, &err);
    if (status == PP_OK) {
        pp_render_text(r, nowhere, 0, 80);
        pp_render_json(r, nowhere);
    }
    pp_report_free(r);
}

static void export_all(const char *path)
{
    struct pp_source source;
    struct pp_err err = {.code = PP_OK};
    pp_status status = pp_source_open(path, &source, &err);
    must_say(status, &err);
    for (size_t i = 0; status == PP_OK && pp_exporters[i]; i++)
        must_say(pp_export(&source, pp_exporters[i],
                           &(struct pp_export_opts){.out = scratch_path("out"), .force = 1}, NULL, &err),
                 &err);
    pp_source_close(&source);
}

static void audit(const char *path)
{
    struct pp_audit_files files = {0};
    struct pp_audit a = {0};
    struct pp_err err = {.code = PP_OK};
    pp_status status = pp_audit_files_add(&files, path, &err);
    if (status == PP_OK)
        status = pp_audit_files_judge(&files, &a, &err);
    must_say(status, &err);
    pp_arena_free(&a.arena);
    pp_audit_files_free(&files);
}

static void digest(const char *path)
{
    struct pp_digest d = {0};
    struct pp_ranks r = {.kind = PP_RANKS_INCONCLUSIVE};
    struct pp_err err = {.code = PP_OK};
    pp_status status = pp_digest_read(path, 1, &d, &err);
    if (status == PP_OK)
        status = pp_ranks_judge(&d, &r, &err);
    must_say(status, &err);
    pp_ranks_free(&r);
    pp_digest_free(&d);
}

static void watch(const char *path)
{
    struct pp_live *l = NULL;
    struct pp_err err = {.code = PP_OK};
    struct pp_live_snapshot snap;
    pp_status status = pp_live_open(path, &l, &err);
    must_say(status, &err);
    if (status != PP_OK)
        return;
    must_say(pp_live_at(l, UINT64_MAX, 5, &snap, &err), &err);
    pp_live_close(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prepare();
    const char *path = scratch_input(sound, sound_size);
    for (size_t i = 0; i + 4 <= size && i < 4 * CHANGES_MAX; i += 4)
        hostile_change(path, data[i], data[i + 1], data[i + 2], data[i + 3]);
    uint64_t from = pp_now_ns();
    report(path);
    export_all(path);
    audit(path);
    digest(path);
    watch(path);
    if (pp_now_ns() - from > MOST_NS)
        abort();
    return 0;
}

/* One change each, of a table that is read; the rest is the driver's. */
int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    if (i >= hostile_kinds())
        return 0;
    *size = 4;
    *data = malloc(*size);
    const uint8_t change[4] = {(uint8_t)i, (uint8_t)(i % hostile_tables()), (uint8_t)i, (uint8_t)(i * 7)};
    memcpy(*data, change, sizeof(change));
    return 1;
}
