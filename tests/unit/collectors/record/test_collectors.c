/* The table of collectors: which rows a recording starts, which thread polls them, and that a row that cannot
 * start is a sentence in the file and not a failure. */
#include "tests/support/store_dir.h"

#include "collectors/gpu/gpu.h"
#include "collectors/record/collectors.h"
#include "collectors/store/reader.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/device.h"
#include "tui/cli/doctor/doctor_checks.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

/* ---- collectors that count their calls ---- */

struct calls {
    int starts, stops;
    _Atomic int polls, by_others; /* by_others: not by the thread of the test */
};
static struct calls quick, slow;
static pthread_t tester;

static pp_status count_start(struct calls *c, void **state)
{
    c->starts++;
    *state = c;
    return PP_OK;
}

static pp_status quick_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    (void)err;
    assert_non_null(opts->store);
    return count_start(&quick, state);
}

static pp_status slow_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    (void)err;
    assert_non_null(opts->device);
    return count_start(&slow, state);
}

static pp_status broken_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    (void)opts;
    (void)state;
    return pp_fail(err, PP_E_NOT_FOUND, "its driver is not here");
}

static void count_poll(void *state)
{
    struct calls *c = state;
    c->by_others += !pthread_equal(pthread_self(), tester);
    c->polls++;
}

static void count_stop(void *state)
{
    ((struct calls *)state)->stops++;
}

static const char *slow_describe(const void *state)
{
    (void)state;
    return "by a thread of its own";
}

static void no_poll(void *state)
{
    (void)state;
    fail_msg("a collector that could not start is polled");
}

static const struct pp_collector quick_row = {.name = "quick",
                                              .start = quick_start,
                                              .poll = count_poll,
                                              .stop = count_stop};
static const struct pp_collector slow_row = {.name = "slow",
                                             .device = "host",
                                             .blocks = 1,
                                             .section = "gpu",
                                             .key = "activity",
                                             .start = slow_start,
                                             .poll = count_poll,
                                             .describe = slow_describe,
                                             .stop = count_stop};
static const struct pp_collector broken_row = {.name = "broken",
                                               .section = "gpu",
                                               .key = "counters",
                                               .start = broken_start,
                                               .poll = no_poll,
                                               .stop = no_poll};
static const struct pp_collector elsewhere_row = {
    .name = "elsewhere", .device = "cuda", .start = slow_start, .poll = no_poll, .stop = no_poll};
static const struct pp_collector *const rows[] = {&quick_row, &slow_row, &broken_row, &elsewhere_row, NULL};

/* ---- tests ---- */

static void rows_run_where_they_apply(void **state)
{
    (void)state;
    struct pp_device *device;
    struct pp_store *store;
    struct pp_reader *r;
    struct pp_collectors *c;
    struct pp_err err;
    double cpu_ns = -1;
    quick = slow = (struct calls){0};
    tester = pthread_self();
    assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "host"}, &device, &err), PP_OK);
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &store, &err), PP_OK);
    struct pp_collect_opts opts = {.store = store, .device = device, .period_ns = 1000000, .rows = rows};
    assert_int_equal(pp_collectors_start(&opts, &c, &err), PP_OK);
    assert_string_equal(pp_collectors_describe(c, &slow_row), "by a thread of its own");
    assert_string_equal(pp_collectors_describe(c, &broken_row), "not recorded: its driver is not here");
    assert_null(pp_collectors_describe(c, &elsewhere_row));
    for (uint64_t limit = pp_now_ns() + 20000000000u; slow.polls < 3 && pp_now_ns() < limit;)
        pp_sleep_until_ns(pp_now_ns() + 1000000);
    assert_int_equal(quick.polls, 0); /* that is the drain's to do */
    pp_collectors_poll(c);
    assert_int_equal(quick.polls, 1);
    assert_int_equal(quick.by_others, 0);
    pp_collectors_stop(c);
    assert_int_equal(slow.polls, slow.by_others + 1); /* the last one is by the thread that stops */
    assert_int_equal(quick.stops + slow.stops, 2);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    pp_device_close(device);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_string_equal(pp_reader_meta(r, "gpu", "activity"), "by a thread of its own");
    assert_string_equal(pp_reader_meta(r, "gpu", "counters"), "not recorded: its driver is not here");
    pp_reader_meta_num(r, "gpu", "monitor_cpu_ns", &cpu_ns);
    assert_true(cpu_ns >= 0);
    pp_reader_close(r);
}

/* exec and the C API record without a device: nothing is started for one, and no thread. */
static void without_a_device_there_is_no_thread(void **state)
{
    (void)state;
    struct pp_store *store;
    struct pp_reader *r;
    struct pp_collectors *c;
    struct pp_err err;
    double cpu_ns = -1;
    quick = slow = (struct calls){0};
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &store, &err), PP_OK);
    assert_int_equal(pp_collectors_start(&(struct pp_collect_opts){.store = store, .rows = rows}, &c, &err),
                     PP_OK);
    pp_collectors_poll(c);
    pp_collectors_stop(c);
    assert_int_equal(quick.polls, 1);
    assert_int_equal(slow.starts, 0);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_null(pp_reader_meta(r, "gpu", "activity"));
    pp_reader_meta_num(r, "gpu", "monitor_cpu_ns", &cpu_ns);
    assert_true(cpu_ns == -1);
    pp_reader_close(r);
    pp_collectors_poll(NULL);
    pp_collectors_stop(NULL);
}

/* Beside a GPU the recording of another program says why nothing of it is recorded; elsewhere it says
 * nothing. */
static void another_programs_gpu_is_not_measured(void **state)
{
    static const struct {
        const char *visible;
        int wanted;
        const char *said; /* NULL: nothing */
    } cases[] = {{"0", 0, "not recorded: kernels and copies of another program are not read"},
                 {"0", 1,
                  "not recorded: no process that takes batches from a PyTorch DataLoader has used the GPU"},
                 {"", 1, NULL},
                 {NULL, 1, NULL}};
    char folder[80], path[128];
    struct pp_err err;
    snprintf(folder, sizeof(folder), "%s/root", store_dir);
    mkdir(folder, 0700);
    snprintf(path, sizeof(path), "%s/dev", folder);
    mkdir(path, 0700);
    for (int i = 0; i < 4; i++) {
        struct pp_store *store;
        struct pp_reader *r;
        assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path, .force = 1}, &store,
                                         &err),
                         PP_OK);
        if (i == 0) {
            snprintf(path, sizeof(path), "%s/dev/nvidia1", folder);
            fclose(fopen(path, "w"));
        } else if (i == 3) {
            unlink(path);
        }
        pp_program_gpu_store(&(struct pp_reach_root){.folder = folder, .visible = cases[i].visible},
                             cases[i].wanted, store);
        assert_int_equal(pp_store_finish(store, &err), PP_OK);
        pp_store_close(store);
        assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
        const char *said = pp_reader_meta(r, "gpu", "activity");
        if (cases[i].said)
            assert_non_null(strstr(said, cases[i].said));
        else
            assert_null(said);
        pp_reader_close(r);
        unlink(store_path);
    }
    snprintf(path, sizeof(path), "%s/dev", folder);
    rmdir(path);
    rmdir(folder);
    (void)state;
}

static void count_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    static const char *const prefix[] = {"process_", "rss_", "machine_"};
    int *seen = ctx;
    (void)t_ns;
    (void)value;
    for (int i = 0; i < 3; i++)
        seen[i] += strncmp(name, prefix[i], strlen(prefix[i])) == 0;
}

static void the_shipped_rows_count_process_and_machine(void **state)
{
    (void)state;
    struct pp_store *store;
    struct pp_reader *r;
    struct pp_collectors *c;
    struct pp_err err;
    int seen[3] = {0};
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &store, &err), PP_OK);
    assert_int_equal(pp_collectors_start(&(struct pp_collect_opts){.store = store}, &c, &err), PP_OK);
    pp_collectors_poll(c);
    pp_collectors_poll(c);
    pp_collectors_stop(c);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_each_counter(r, NULL, count_counter, seen, &err), PP_OK);
    pp_reader_close(r);
    assert_true(seen[0] >= 4 && seen[1] == 2 && seen[2] >= 10);
}

/* Every row says whether it can work here, and a row of a recording has all hooks of one. */
static void every_row_of_the_table_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; pp_collector_rows[i]; i++) {
        const struct pp_collector *row = pp_collector_rows[i];
        char text[240] = "";
        int yes = row->available ? row->available(text, sizeof(text)) : 1;
        assert_true(yes == 0 || yes == 1);
        assert_int_equal(row->available != NULL, row->found == NULL);
        assert_true(row->available ? text[0] : row->found[0]);
        assert_int_equal(row->with != NULL, row->without != NULL);
        assert_int_equal(row->start != NULL, row->stop != NULL);
        assert_int_equal(row->start != NULL, row->poll != NULL);
        assert_int_equal(row->section != NULL, row->key != NULL);
    }
}

/* doctor's page is ordered by hand; no collector may be missing on it. */
static void doctor_shows_every_collector_with_a_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; pp_collector_rows[i]; i++) {
        int shown = 0;
        for (size_t k = 0; k < pp_checks_n; k++)
            shown += pp_checks[k].collector == pp_collector_rows[i];
        assert_int_equal(shown, pp_collector_rows[i]->with != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(rows_run_where_they_apply),
        STORE_TEST(without_a_device_there_is_no_thread),
        STORE_TEST(another_programs_gpu_is_not_measured),
        STORE_TEST(the_shipped_rows_count_process_and_machine),
        cmocka_unit_test(every_row_of_the_table_is_complete),
        cmocka_unit_test(doctor_shows_every_collector_with_a_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
