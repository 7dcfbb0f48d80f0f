/* The ring of a job's GPU activity, from outside: rows come into the file with their batches, on one clock;
 * what was lost, refused or cut short is said; and a process that writes anything else harms nothing. */
#include "collectors/attach/activity_file.h"
#include "collectors/attach/session_files.h"
#include "collectors/collector.h"
#include "collectors/store/reader.h"
#include "collectors/store/writer.h"
#include "probe/base/err.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], store_path[96], file_path[96];
static struct pp_store *store;
static void *collector;
static struct pp_activity_file *file;

struct seen {
    unsigned rows, kernels, copies, batches, named;
    char activity[700], device[128], loss[64];
    double records, dropped, clock_error, from, until;
    uint64_t lost;
};

static void begin(int most)
{
    struct pp_err err;
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path, .force = 1}, &store, &err),
                     PP_OK);
    assert_int_equal(pp_collector_activity.start(
                         &(struct pp_collect_opts){.store = store, .session_dir = dir, .gpu_activity = most},
                         &collector, &err),
                     PP_OK);
    int fd = open(file_path, O_RDWR);
    assert_true(fd >= 0);
    file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(file != MAP_FAILED);
    close(fd);
}

static void on_row(void *ctx, const struct pp_gpu_row *g)
{
    struct seen *s = ctx;
    s->rows++;
    s->kernels += strcmp(g->kind, "kernel") == 0;
    s->copies += strcmp(g->kind, "memcpy") == 0 && g->source && strcmp(g->source, "pageable") == 0;
    s->batches += g->batch == 7;
    s->named += g->name != NULL;
}

static void on_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    struct seen *s = ctx;
    (void)why;
    snprintf(s->loss, sizeof(s->loss), "%s", what);
    s->lost += count;
}

static struct seen end(void)
{
    struct seen s = {.records = -1, .dropped = -1, .clock_error = -1, .from = -1, .until = -1};
    struct pp_reader *r;
    struct pp_err err;
    const char *text;
    pp_collector_activity.stop(collector);
    munmap(file, sizeof(*file));
    assert_int_equal(access(file_path, F_OK), -1);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_each_gpu(r, on_row, &s, &err), PP_OK);
    assert_int_equal(pp_reader_each_loss(r, on_loss, &s, &err), PP_OK);
    snprintf(s.activity, sizeof(s.activity), "%s", (text = pp_reader_meta(r, "gpu", "activity")) ? text : "");
    snprintf(s.device, sizeof(s.device), "%s", (text = pp_reader_meta(r, "environment", "gpu")) ? text : "");
    pp_reader_meta_num(r, "gpu", "records", &s.records);
    pp_reader_meta_num(r, "gpu", "records_dropped", &s.dropped);
    pp_reader_meta_num(r, "gpu", "clock_error_ns", &s.clock_error);
    pp_reader_meta_num(r, "gpu", "from_ns", &s.from);
    pp_reader_meta_num(r, "gpu", "until_ns", &s.until);
    pp_reader_close(r);
    unlink(store_path);
    return s;
}

static uint16_t name(const char *text)
{
    for (uint16_t i = 1; i <= file->names; i++)
        if (strcmp(file->name[i], text) == 0)
            return i;
    strcpy(file->name[++file->names], text);
    return (uint16_t)file->names;
}

static void put(struct pp_activity_row row)
{
    file->row[file->head++ % PP_ACTIVITY_ROWS] = row;
}

/* One batch: a call, the copy it made, and a kernel of another call. */
static void put_batch(uint64_t t)
{
    put((struct pp_activity_row){.kind = name("api"),
                                 .name = name("cudaMemcpyAsync"),
                                 .start_ns = t,
                                 .dur_ns = 10,
                                 .correlation = 3,
                                 .batch = 7,
                                 .thread = 99,
                                 .asynchronous = -1});
    put((struct pp_activity_row){.kind = name("memcpy"),
                                 .source = name("pageable"),
                                 .target = name("device"),
                                 .start_ns = t + 10,
                                 .dur_ns = 100,
                                 .bytes = 4096,
                                 .correlation = 3,
                                 .batch = PP_NO_BATCH,
                                 .thread = UINT32_MAX,
                                 .asynchronous = 1,
                                 .result = -1});
    put((struct pp_activity_row){.kind = name("kernel"),
                                 .name = name("gemm"),
                                 .start_ns = t + 200,
                                 .dur_ns = 100,
                                 .correlation = 4,
                                 .batch = PP_NO_BATCH,
                                 .thread = UINT32_MAX,
                                 .asynchronous = -1,
                                 .result = -1});
}

static void record(const char *text)
{
    file->pid = 4711;
    strcpy(file->text, text);
    strcpy(file->device, "GPU 0");
    file->state = PP_ACTIVITY_ON;
    put((struct pp_activity_row){.start_ns = 1000}); /* the clocks, compared */
}

static void rows_come_with_their_batches(void **state)
{
    (void)state;
    begin(1000);
    record("CUPTI");
    put_batch(2000);
    pp_collector_activity.poll(collector);
    assert_int_equal(file->tail, file->head);
    put_batch(5000);
    file->state = PP_ACTIVITY_ENDED;
    struct seen s = end();
    assert_int_equal(s.rows, 6);
    assert_int_equal(s.kernels, 2);
    assert_int_equal(s.copies, 2);
    assert_int_equal(s.batches, 4); /* call and copy; the kernel's call is not known */
    assert_int_equal(s.named, 4);
    assert_string_equal(s.activity, "CUPTI");
    assert_string_equal(s.device, "GPU 0");
    assert_true(s.records == 6 && s.dropped == 0 && s.clock_error == 0 && s.from == 1000 && s.until == -1);
}

static void what_ends_early_is_known_until_then(void **state)
{
    (void)state;
    begin(1000);
    record("CUPTI");
    put_batch(2000);
    strcpy(file->until, "CUPTI was needed by another");
    file->state = PP_ACTIVITY_ENDED;
    put((struct pp_activity_row){.start_ns = 9000, .dur_ns = 50, .bytes = 5});
    struct seen s = end();
    assert_string_equal(s.activity, "CUPTI; until CUPTI was needed by another");
    assert_true(s.until == 9000 && s.clock_error == 50);
    begin(1000); /* killed: what it had handed over is there, and of what came then nothing is known */
    record("CUPTI");
    put_batch(2000);
    s = end();
    assert_true(s.until == 2300);
    begin(4); /* and a limit */
    record("CUPTI");
    put_batch(2000);
    put_batch(3000);
    pp_collector_activity.poll(collector);
    assert_int_equal(file->stop, 1);
    assert_int_equal(file->tail, file->head);
    s = end();
    assert_int_equal(s.rows, 4);
    assert_true(s.until == 3010 && s.dropped == 0);
}

static void a_refusal_is_a_sentence(void **state)
{
    (void)state;
    begin(1000);
    strcpy(file->text, "another profiler owns CUPTI");
    file->state = PP_ACTIVITY_REFUSED;
    struct seen s = end();
    assert_string_equal(s.activity, "not recorded: another profiler owns CUPTI");
    assert_true(s.records == -1 && s.from == -1);
    begin(1000); /* no process claimed it */
    s = end();
    assert_string_equal(s.activity, "");
    assert_true(s.records == -1);
}

static void losses_are_counted(void **state)
{
    (void)state;
    begin(1000);
    record("CUPTI");
    put_batch(2000);
    file->no_room = 3;
    file->dropped = 4;
    file->state = PP_ACTIVITY_ENDED;
    struct seen s = end();
    assert_true(s.dropped == 7 && s.lost == 7);
    assert_string_equal(s.loss, "gpu records");
}

static void anything_else_harms_nothing(void **state)
{
    (void)state;
    begin(1000);
    record("CUPTI");
    file->names = UINT32_MAX;
    memset(file->name[1], 'x', sizeof(file->name[1]));
    memset(file->text, 't', sizeof(file->text));
    memset(file->until, 'u', sizeof(file->until));
    memset(file->device, 'd', sizeof(file->device));
    put((struct pp_activity_row){.kind = 1, .name = UINT16_MAX, .start_ns = 5});
    put((struct pp_activity_row){.kind = UINT16_MAX, .start_ns = 5});
    put((struct pp_activity_row){.kind = 1, .start_ns = UINT64_MAX, .dur_ns = 5});
    put((struct pp_activity_row){.kind = 1, .start_ns = INT64_MAX, .dur_ns = INT64_MAX});
    put((struct pp_activity_row){.kind = 1, .start_ns = 5, .bytes = UINT64_MAX});
    pp_collector_activity.poll(collector);
    file->state = 77;
    pp_collector_activity.poll(collector);
    file->head += UINT64_C(1) << 40; /* a ring has not so many */
    pp_collector_activity.poll(collector);
    assert_int_equal(file->tail, file->head);
    file->tail = 12345; /* ours, and not believed */
    pp_collector_activity.poll(collector);
    struct seen s = end();
    assert_int_equal(s.rows, 1);
    assert_true(s.lost == 5);
    assert_int_equal(strlen(s.activity), sizeof(file->text) - 1);
}

/* Another program has cut the file: the collector goes on, and finds nothing. */
static void a_file_that_is_cut_ends_nothing(void **state)
{
    (void)state;
    begin(1000);
    record("CUPTI");
    put_batch(2000);
    pp_collector_activity.poll(collector);
    assert_int_equal(truncate(file_path, 0), 0);
    pp_collector_activity.poll(collector);
    struct seen s = end();
    assert_int_equal(s.rows, 3);
}

static void only_who_asks_has_one(void **state)
{
    struct pp_err err;
    void *none = NULL;
    (void)state;
    assert_int_not_equal(pp_collector_activity.start(&(struct pp_collect_opts){.session_dir = dir}, &none,
                                                     &err),
                         PP_OK);
    assert_int_not_equal(pp_collector_activity.start(&(struct pp_collect_opts){.gpu_activity = 9}, &none,
                                                     &err),
                         PP_OK);
    assert_int_not_equal(pp_collector_activity.start(&(struct pp_collect_opts){.session_dir = "/nowhere",
                                                                               .gpu_activity = 9},
                                                     &none, &err),
                         PP_OK);
    assert_null(none);
    assert_int_equal(access(file_path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_with_their_batches), cmocka_unit_test(what_ends_early_is_known_until_then),
        cmocka_unit_test(a_refusal_is_a_sentence),      cmocka_unit_test(losses_are_counted),
        cmocka_unit_test(anything_else_harms_nothing),  cmocka_unit_test(a_file_that_is_cut_ends_nothing),
        cmocka_unit_test(only_who_asks_has_one),
    };
    strcpy(dir, "/tmp/pp-activity-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    snprintf(store_path, sizeof(store_path), "%s/run.sqlite", dir);
    snprintf(file_path, sizeof(file_path), "%s/" PP_ACTIVITY_FILE_NAME, dir);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(dir) != 0 || failed;
}
