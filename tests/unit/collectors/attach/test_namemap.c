/* The table from foreign range names to phases: rows, domains, comments, errors, and the maps we ship. */
#include "collectors/attach/namemap.h"
#include "probe/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct pp_namemap *map_of(const char *text)
{
    struct pp_err err;
    struct pp_namemap *m = pp_namemap_new();
    pp_err_clear(&err);
    assert_non_null(m);
    if (pp_namemap_add_text(m, text, "test.map", &err) != PP_OK)
        fail_msg("%s", err.text);
    return m;
}

static void rows_match(void **state)
{
    static const char text[] = "# what the loader calls its parts\n"
                               "\n"
                               "decode_meta  = ignore   # not pixels\n"
                               "decode*=decode\n"
                               "  load [0-9]  =  read\r\n"
                               "DALI:*Reader* = read\n"
                               "\"a = b #1\" = transform\n"
                               "Optimizer.step#* = step\n"
                               "std::sort = collate\n"
                               "scope\\:name = h2d\n"
                               ":plain = data_wait\n"
                               "*torch*:fwd = step\n";
    static const struct {
        const char *domain, *name;
        pp_phase phase;
    } rows[] = {
        {"", "decode", PP_PHASE_DECODE},
        {"other", "decode_jpeg", PP_PHASE_DECODE},
        {"", "decode_meta", PP_PHASE_USER},
        {"", "load 7", PP_PHASE_READ},
        {"", "load x", PP_PHASE_USER},
        {"", "Load 7", PP_PHASE_USER},
        {"DALI", "FileReader", PP_PHASE_READ},
        {"", "FileReader", PP_PHASE_USER},
        {"", "a = b #1", PP_PHASE_TRANSFORM},
        {"", "Optimizer.step#SGD.step", PP_PHASE_STEP},
        {"", "std::sort", PP_PHASE_COLLATE},
        {"x", "scope:name", PP_PHASE_H2D},
        {"", "plain", PP_PHASE_DATA_WAIT},
        {"x", "plain", PP_PHASE_USER},
        {"mytorch1", "fwd", PP_PHASE_STEP},
        {"", "fwd", PP_PHASE_USER},
        {"", "", PP_PHASE_USER},
    };
    struct pp_namemap *m = map_of(text);
    assert_int_equal(pp_namemap_rows(m), 10);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (pp_namemap_find(m, rows[i].domain, rows[i].name, NULL) != rows[i].phase)
            fail_msg("%s:%s became phase %d, not %d", rows[i].domain, rows[i].name,
                     pp_namemap_find(m, rows[i].domain, rows[i].name, NULL), rows[i].phase);
    pp_namemap_free(m);
}

static void work_may_be_the_processes(void **state)
{
    static const struct {
        const char *name;
        pp_phase phase;
        int of_process;
    } rows[] = {{"run", PP_PHASE_DECODE, 1}, {"walk", PP_PHASE_READ, 0}, {"stand", PP_PHASE_USER, 0}};
    struct pp_namemap *m = map_of("run = decode \t of process # comment\nwalk = read\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int of_process = -1;
        assert_int_equal(pp_namemap_find(m, "", rows[i].name, &of_process), rows[i].phase);
        assert_int_equal(of_process, rows[i].of_process);
        assert_int_equal(pp_namemap_find(m, "", rows[i].name, NULL), rows[i].phase);
    }
    pp_namemap_free(m);
}

static void without_a_map_everything_is_the_users(void **state)
{
    assert_int_equal(pp_namemap_find(NULL, "", "decode", NULL), PP_PHASE_USER);
    assert_int_equal(pp_namemap_rows(NULL), 0);
    struct pp_namemap *m = map_of("");
    assert_int_equal(pp_namemap_find(m, "", "decode", NULL), PP_PHASE_USER);
    pp_namemap_free(m);
    pp_namemap_free(NULL);
}

static void errors_name_the_line(void **state)
{
    static char long_pattern[400];
    static const struct {
        const char *text, *want[3];
    } rows[] = {
        {"a = read\nb = deocde\n", {"bad.map:2:", "deocde", "did you mean decode"}},
        {"\n\nfoo = zzzzzzzz", {"bad.map:3:", "zzzzzzzz", "data_wait"}},
        {"decode", {"bad.map:1:", "no '='", "decode"}},
        {"# fine\n = decode", {"bad.map:2:", "pattern", "missing"}},
        {"decode =  # nothing", {"bad.map:1:", "phase", "missing"}},
        {"\"open = decode", {"bad.map:1:", "quote", "not closed"}},
        {"x = counter", {"bad.map:1:", "counter", "is not a phase"}},
        {"x = user", {"bad.map:1:", "user", "is not a phase"}},
        {"x = ignore of process", {"bad.map:1:", "of process", "ignore is none"}},
        {"x = of process", {"bad.map:1:", "of process", "is not a phase"}},
        {"x = decodeof process", {"bad.map:1:", "decodeof process", "is not a phase"}},
        {long_pattern, {"bad.map:1:", "longer", "255"}},
    };
    memset(long_pattern, 'a', 300);
    strcpy(long_pattern + 300, " = read");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_err err;
        struct pp_namemap *m = map_of("kept = read");
        pp_err_clear(&err);
        assert_int_equal(pp_namemap_add_text(m, rows[i].text, "bad.map", &err), PP_E_USAGE);
        for (int k = 0; k < 3; k++)
            if (!strstr(err.text, rows[i].want[k]))
                fail_msg("\"%s\" does not say \"%s\"", err.text, rows[i].want[k]);
        assert_int_equal(pp_namemap_rows(m), 1);
        assert_int_equal(pp_namemap_find(m, "", "a", NULL), PP_PHASE_USER);
        pp_namemap_free(m);
    }
}

static void files_that_are_no_map(void **state)
{
    struct pp_err err;
    struct pp_namemap *m = pp_namemap_new();
    char path[] = "/tmp/pp-namemap-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a = read\0b", 10), 10);
    close(fd);
    assert_int_equal(pp_namemap_add_file(m, "/nonexistent/x.map", &err), PP_E_NOT_FOUND);
    assert_int_equal(pp_namemap_add_file(m, "/dev/null", &err), PP_E_UNSUPPORTED);
    assert_int_equal(pp_namemap_add_file(m, "/tmp", &err), PP_E_UNSUPPORTED);
    assert_int_equal(pp_namemap_add_file(m, path, &err), PP_E_CORRUPT);
    assert_int_equal(pp_namemap_rows(m), 0);
    unlink(path);
    pp_namemap_free(m);
}

static void shipped_maps(void **state)
{
    static const struct {
        const char *file, *domain, *name;
        pp_phase phase;
    } rows[] = {
        {"samples/maps/pytorch.map", "", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
         PP_PHASE_DATA_WAIT},
        {"samples/maps/pytorch.map", "", "Optimizer.step#SGD.step", PP_PHASE_STEP},
        {"samples/maps/pytorch.map", "", "Optimizer.zero_grad#SGD.zero_grad", PP_PHASE_STEP},
        {"samples/maps/pytorch.map", "", "forward", PP_PHASE_STEP},
        {"samples/maps/pytorch.map", "", "pin_memory", PP_PHASE_COLLATE},
        {"samples/maps/pytorch.map", "", "collate_fn", PP_PHASE_COLLATE},
        {"samples/maps/pytorch.map", "", "nccl:all_reduce", PP_PHASE_COLLECTIVE},
        {"samples/maps/pytorch.map", "NCCL", "ncclAllReduce", PP_PHASE_COLLECTIVE},
        {"samples/maps/pytorch.map", "", "barrier", PP_PHASE_COLLECTIVE},
        {"samples/maps/pytorch.map", "", "something else", PP_PHASE_USER},
        {"samples/maps/dali.map", "DALI", "[DALI][Loader] ReadOne", PP_PHASE_USER},
        {"samples/maps/dali.map", "DALI", "[DALI][NumpyReaderCPU] Prefetch #3", PP_PHASE_USER},
        {"samples/maps/dali.map", "DALI", "[DALI][CPU op] Run readers__Numpy", PP_PHASE_READ},
        {"samples/maps/dali.map", "DALI", "[DALI][CPU op] Setup readers__Numpy", PP_PHASE_USER},
        {"samples/maps/dali.map", "DALI", "libjpeg_turbo_decoder process #2", PP_PHASE_USER},
        {"samples/maps/dali.map", "DALI", "[DALI][OpTask] Run CPU op decoders.Image", PP_PHASE_DECODE},
        {"samples/maps/dali.map", "DALI", "[DALI][CPU op] ImageDecoderRandomCrop", PP_PHASE_DECODE},
        {"samples/maps/dali.map", "DALI", "[DALI][CPU op] CropMirrorNormalize", PP_PHASE_TRANSFORM},
        {"samples/maps/dali.map", "DALI", "[DALI][GPU op] Resize", PP_PHASE_TRANSFORM},
        {"samples/maps/dali.map", "DALI", "[DALI][Mixed op] MakeContiguous", PP_PHASE_COLLATE},
        {"samples/maps/dali.map", "DALI", "[DALI][MakeContiguousMixed] H2D coalesced", PP_PHASE_USER},
        {"samples/maps/dali.map", "DALI", "[DALI][Executor] RunCPU", PP_PHASE_USER},
        {"samples/maps/dali.map", "DALI Backend", "[DALI][CPU op] FileReader", PP_PHASE_READ},
        {"samples/maps/dali.map", "", "Resize", PP_PHASE_USER},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_err err;
        struct pp_namemap *m = pp_namemap_new();
        pp_err_clear(&err);
        if (pp_namemap_add_file(m, rows[i].file, &err) != PP_OK)
            fail_msg("%s", err.text);
        if (pp_namemap_find(m, rows[i].domain, rows[i].name, NULL) != rows[i].phase)
            fail_msg("%s: %s became phase %d, not %d", rows[i].file, rows[i].name,
                     pp_namemap_find(m, rows[i].domain, rows[i].name, NULL), rows[i].phase);
        pp_namemap_free(m);
    }
}

/* Of NVTX's default domain, as the first row with a domain. */
static void the_default_domain(void **state)
{
    struct pp_namemap *m = pp_namemap_new();
    assert_int_equal(pp_namemap_add_text(m, ":plain = data_wait", "one", NULL), PP_OK);
    assert_int_equal(pp_namemap_find(m, "", "plain", NULL), PP_PHASE_DATA_WAIT);
    assert_int_equal(pp_namemap_find(m, "mine", "plain", NULL), PP_PHASE_USER);
    pp_namemap_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_match),
        cmocka_unit_test(without_a_map_everything_is_the_users),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(files_that_are_no_map),
        cmocka_unit_test(shipped_maps),
        cmocka_unit_test(the_default_domain),
        cmocka_unit_test(work_may_be_the_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
