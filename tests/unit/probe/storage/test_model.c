/* Models of storages: their distribution is the one that their text says, the same read draws the same time,
 * and what is read is what the storage below has. */
#include "probe/storage/model.h"

#include "probe/base/clock.h"
#include "probe/storage/request_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { DRAWS = 20000 };

static int by_double(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void the_percentiles_are_those_of_the_text(void **state)
{
    static double v[DRAWS];
    const struct pp_storage_model *m;
    size_t models = 0;
    for (; (m = &pp_storage_models[models])->name; models++) {
        char p50[32], p99[32];
        snprintf(p50, sizeof(p50), "p50 %g ms", m->first_p50_ms);
        snprintf(p99, sizeof(p99), "p99 %g ms", m->first_p99_ms);
        assert_non_null(strstr(m->text, p50));
        assert_non_null(strstr(m->text, p99));
        for (uint64_t i = 0; i < DRAWS; i++)
            v[i] = pp_storage_model_first_ns(m, i) / 1e6;
        qsort(v, DRAWS, sizeof(*v), by_double);
        assert_true(v[0] > 0);
        assert_true(v[DRAWS / 2] > 0.95 * m->first_p50_ms && v[DRAWS / 2] < 1.05 * m->first_p50_ms);
        assert_true(v[DRAWS * 99 / 100] > 0.85 * m->first_p99_ms &&
                    v[DRAWS * 99 / 100] < 1.15 * m->first_p99_ms);
        assert_true(pp_storage_model_first_ns(m, 7) == pp_storage_model_first_ns(m, 7));
    }
    assert_int_equal(models, 5);
}

static void a_read_takes_the_time_and_has_the_bytes(void **state)
{
    char path[] = "/tmp/pp-model-XXXXXX";
    uint8_t buf[64];
    struct pp_storage *s = NULL;
    struct pp_object o;
    struct pp_err err = {0};
    struct pp_request logged[4];
    const struct pp_read_context context = {.epoch = 2, .sample = 5};
    struct pp_read r = {
        .name = "x", .size = 5, .offset = 1, .buf = buf, .cap = sizeof(buf), .context = &context};
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    close(fd);
    assert_int_equal(pp_storage_attach(path, &s, &err), PP_OK);
    struct pp_storage *plain = s;
    assert_int_equal(pp_storage_wrap_model(s, NULL, &s, &err), PP_OK);
    assert_ptr_equal(s, plain);
    assert_int_equal(pp_storage_wrap_model(s, &pp_storage_models[1], &s, &err), PP_OK);
    assert_false(pp_storage_flags(s) & (PP_STORAGE_PAGE_CACHE | PP_STORAGE_BORROWS));
    assert_int_equal(pp_storage_open(s, &(struct pp_open){.name = path, .attempt = "open"}, &o, &err), PP_OK);
    assert_true(pp_request_log_set(1));
    uint64_t began = pp_now_ns();
    assert_int_equal(pp_object_read_at(&o, &r, &err), PP_OK);
    uint64_t took = pp_now_ns() - began;
    assert_int_equal(r.got, 5);
    assert_memory_equal(r.data, "12345", 5);
    assert_int_equal(pp_request_log_take(logged, 4), 1);
    assert_true(logged[0].flags == PP_REQUEST_MODEL && logged[0].sample == 5 && logged[0].epoch == 2);
    assert_true(logged[0].bytes == 5 && logged[0].first_byte_ns > 0 && logged[0].first_byte_ns <= took);
    assert_int_equal(pp_object_read_at(&o, &r, &err), PP_OK);
    struct pp_request again;
    assert_int_equal(pp_request_log_take(&again, 1), 1);
    assert_true(again.place == logged[0].place);
    pp_request_log_set(0);
    pp_object_close(&o);
    pp_storage_detach(s);
    unlink(path);
}

static int detached;

static void detach(struct pp_storage *s)
{
    detached++;
}

static void requests_are_not_modelled_again(void **state)
{
    static const struct pp_storage_ops ops = {.name = "remote", .detach = detach};
    struct pp_storage remote = {.ops = &ops, .request_bytes = 1}, *s = NULL;
    struct pp_err err = {0};
    assert_int_equal(pp_storage_wrap_model(&remote, &pp_storage_models[0], &s, &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "local data"));
    assert_true(detached == 0 && s == &remote); /* as it was: the caller's still */
    pp_storage_detach(s);
    assert_int_equal(detached, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_percentiles_are_those_of_the_text),
        cmocka_unit_test(requests_are_not_modelled_again),
        cmocka_unit_test(a_read_takes_the_time_and_has_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
