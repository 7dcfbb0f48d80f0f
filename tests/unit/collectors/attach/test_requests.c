/* The ring of a job's requests, from outside: rows reach the log of requests with their samples and hosts; a
 * row whose process was killed holds up nothing; and a process that writes anything else harms nothing. */
#include "collectors/attach/requests_file.h"
#include "collectors/attach/session_files.h"
#include "collectors/collector.h"
#include "collectors/store/reader.h"
#include "collectors/store/writer.h"
#include "probe/base/err.h"
#include "probe/storage/request_log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], store_path[96], file_path[96];
static struct pp_store *store;
static void *collector;
static struct pp_requests_file *file;
static uint64_t lost;

static void begin(void)
{
    struct pp_err err;
    struct pp_collect_opts opts = {.session_dir = dir};
    strcpy(dir, "/tmp/pp-requests-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(store_path, sizeof(store_path), "%s/r.sqlite", dir);
    snprintf(file_path, sizeof(file_path), "%s/" PP_REQUESTS_FILE_NAME, dir);
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &store, &err), PP_OK);
    opts.store = store;
    assert_true(pp_request_log_set(1));
    assert_int_equal(pp_collector_job_requests.start(&opts, &collector, &err), PP_OK);
    int fd = open(file_path, O_RDWR);
    assert_true(fd >= 0);
    file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(file != MAP_FAILED);
    close(fd);
}

static void on_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    lost += strcmp(what, "requests") == 0 ? count : 0;
}

static void end(void)
{
    struct pp_reader *r;
    struct pp_err err;
    char line[128];
    lost = 0;
    pp_collector_job_requests.stop(collector);
    munmap(file, sizeof(*file));
    assert_int_equal(access(file_path, F_OK), -1);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_each_loss(r, on_loss, NULL, &err), PP_OK);
    pp_reader_close(r);
    pp_request_log_set(0);
    snprintf(line, sizeof(line), "rm -rf '%s'", dir);
    assert_int_equal(system(line), 0);
}

static struct pp_requests_row *put(uint64_t sample, const char *host)
{
    struct pp_requests_row *row = &file->row[file->head % PP_REQUESTS_ROWS];
    row->sample = sample;
    row->epoch = 1;
    row->request = (struct pp_read_request){.start_ns = 1000,
                                            .first_byte_ns = 40,
                                            .bytes = 7,
                                            .connected = 1};
    memcpy(row->request.host, host, strlen(host));
    row->number = ++file->head;
    return row;
}

static void poll_expects(size_t n)
{
    struct pp_request got[8];
    pp_collector_job_requests.poll(collector);
    assert_int_equal(pp_request_log_take(got, 8), n);
}

static void requests_reach_the_log_with_their_host(void **state)
{
    struct pp_request got;
    struct pp_request_place place;
    begin();
    struct pp_requests_row *row = put(5, "data.example:443");
    row->request.status = 503;
    row->request.attempt = 2;
    pp_collector_job_requests.poll(collector);
    assert_int_equal(pp_request_log_take(&got, 1), 1);
    assert_int_equal(got.sample, 5);
    assert_int_equal(got.epoch, 1);
    assert_int_equal(got.first_byte_ns, 40);
    assert_int_equal(got.status, 503);
    assert_int_equal(got.attempt, 2);
    assert_int_equal(got.flags, PP_REQUEST_CONNECTED);
    assert_true(pp_request_log_place(got.place, &place));
    assert_string_equal(place.address, "data.example:443");
    assert_string_equal(place.prefix, "");
    end();
    assert_int_equal(lost, 0);
}

static void a_killed_process_holds_up_nothing(void **state)
{
    begin();
    put(1, "a:1");
    put(2, "a:1")->number = 0;
    put(3, "a:1");
    poll_expects(1);
    poll_expects(1);
    put(4, "a:1")->number = 0;
    put(5, "a:1");
    end();
    assert_int_equal(lost, 2);
}

static void what_no_recorder_writes_is_counted(void **state)
{
    begin();
    put(1, "a:1")->request.first_byte_ns = UINT64_MAX;
    put(2, "a:1")->request.bytes = UINT64_MAX;
    put(3, "a:1")->request.start_ns = 0;
    put(3, "a:1")->request.status = 9999;
    memset(put(4, "a:1")->request.host, 'x', sizeof(file->row[0].request.host)); /* a text without an end */
    poll_expects(1);
    file->head += UINT64_C(1) << 60;
    poll_expects(0);
    file->lost = 3;
    end();
    assert_int_equal(lost, 4 + 1 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_reach_the_log_with_their_host),
        cmocka_unit_test(a_killed_process_holds_up_nothing),
        cmocka_unit_test(what_no_recorder_writes_is_counted),
    };
    return cmocka_run_group_tests_name("requests of a job", tests, NULL, NULL);
}
