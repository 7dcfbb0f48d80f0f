/* Where metrics go to: addresses, files, and the endpoint over a real socket. What a server can do wrong is
 * in tests/e2e/metrics_survive_every_server.sh. */
#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "report/send/client.h"
#include "report/send/sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_addresses(void **state)
{
    static const struct {
        const char *text, *host, *port; /* host NULL: refused */
    } rows[] = {
        {"9400", "127.0.0.1", "9400"},
        {":9400", "127.0.0.1", "9400"},
        {"0.0.0.0:80", "0.0.0.0", "80"},
        {"localhost:0", "localhost", "0"},
        {"[::1]:9400", "::1", "9400"},
        {"[::]:65535", "::", "65535"},
        {"", NULL, NULL},
        {"host", NULL, NULL},
        {"host:", NULL, NULL},
        {"host:x", NULL, NULL},
        {"host:-1", NULL, NULL},
        {"host:65536", NULL, NULL},
        {"host:99999999999999999999", NULL, NULL},
        {"::1:9400", NULL, NULL},
        {"9400 ", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_address a;
        struct pp_err err;
        pp_status st = pp_address_parse(rows[i].text, &a, &err);
        if (st != (rows[i].host ? PP_OK : PP_E_USAGE))
            fail_msg("'%s': status %d", rows[i].text, (int)st);
        if (rows[i].host) {
            assert_string_equal(a.host, rows[i].host);
            assert_string_equal(a.port, rows[i].port);
        }
    }
}

static void test_taken_and_unknown(void **state)
{
    struct pp_address a;
    struct pp_err err;
    char shown[100];
    int fd, other;
    assert_int_equal(pp_address_parse("127.0.0.1:0", &a, &err), PP_OK);
    assert_int_equal(pp_address_listen(&a, &fd, shown, sizeof(shown), &err), PP_OK);
    assert_int_equal(strncmp(shown, "127.0.0.1:", 10), 0);
    assert_int_equal(pp_address_parse(shown, &a, &err), PP_OK);
    assert_int_equal(pp_address_listen(&a, &other, shown, sizeof(shown), &err), PP_E_EXISTS);
    assert_non_null(strstr(err.text, "is taken by another program"));
    close(fd);
    assert_int_equal(pp_address_parse("no.such.host.invalid:9400", &a, &err), PP_OK);
    assert_int_equal(pp_address_listen(&a, &fd, shown, sizeof(shown), &err), PP_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "no.such.host.invalid cannot be resolved"));
}

static void read_back(const char *path, char *text, size_t size)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t n = fread(text, 1, size - 1, in);
    text[n] = '\0';
    fclose(in);
}

static void test_textfile(void **state)
{
    char dir[] = "/tmp/pp-send-XXXXXX", path[64], text[64], why[300];
    struct pp_err err;
    void *self;
    struct stat st;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/run.prom", dir);
    assert_int_equal(pp_sink_textfile.check(&pp_sink_textfile, "run.txt", &err), PP_E_USAGE);
    assert_int_equal(pp_sink_textfile.check(&pp_sink_textfile, ".prom", &err), PP_E_USAGE);
    assert_int_equal(pp_sink_textfile.check(&pp_sink_textfile, dir, &err), PP_E_USAGE);
    assert_int_equal(pp_sink_textfile.check(&pp_sink_textfile, path, &err), PP_OK);
    struct pp_sink_opts o = {.target = path};
    assert_int_equal(pp_sink_textfile.open(&pp_sink_textfile, &o, &self, &err), PP_OK);
    pp_sink_textfile.put(self, "one\n", 4, 0);
    read_back(path, text, sizeof(text));
    assert_string_equal(text, "one\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_nlink, 1);
    pp_sink_textfile.put(self, "two\n", 4, 1);
    read_back(path, text, sizeof(text));
    assert_string_equal(text, "two\n");
    assert_int_equal(pp_sink_textfile.count(self).sent, 2);
    unlink(path);
    rmdir(dir);
    pp_sink_textfile.put(self, "three\n", 6, 0); /* the directory is gone */
    assert_int_equal(pp_sink_textfile.count(self).lost, 1);
    pp_sink_textfile.trouble(self, why, sizeof(why));
    assert_non_null(strstr(why, path));
    pp_sink_textfile.close(self);
}

/* ---- TensorBoard ---- */

static char *fetch_head(void *ctx, enum pp_sink_format format, size_t *n)
{
    *n = 4;
    return format == PP_SINK_EVENTS_HEAD ? strdup("head") : NULL;
}

/* One file with the records behind each other; a disk that is full leaves whole ones. */
static void test_event_file(void **state)
{
    char dir[] = "/tmp/pp-send-XXXXXX", deep[64], path[300] = "", text[64], why[300];
    struct pp_err err;
    void *self;
    assert_non_null(mkdtemp(dir));
    snprintf(deep, sizeof(deep), "%s/runs/rank0003", dir);
    struct pp_sink_opts o = {.target = deep, .instance = "my/host", .fetch = fetch_head};
    assert_int_equal(pp_sink_tensorboard.check(&pp_sink_tensorboard, deep, &err), PP_OK);
    assert_int_equal(pp_sink_tensorboard.open(&pp_sink_tensorboard, &o, &self, &err), PP_OK);
    glob_t found;
    snprintf(path, sizeof(path), "%s/events.out.tfevents.*.my_host.*.pipeprobe", deep);
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
    globfree(&found);
    pp_sink_tensorboard.put(self, "one", 3, 0);
    pp_io_fault(PP_IO_FAULT_WRITE, 1, ENOSPC, 0);
    pp_sink_tensorboard.put(self, "two", 3, 0);
    pp_io_fault(0, 0, 0, 0);
    pp_sink_tensorboard.put(self, "three", 5, 1);
    read_back(path, text, sizeof(text));
    assert_string_equal(text, "headonethree");
    assert_int_equal(pp_sink_tensorboard.count(self).sent, 2);
    assert_int_equal(pp_sink_tensorboard.count(self).lost, 1);
    pp_sink_tensorboard.trouble(self, why, sizeof(why));
    assert_non_null(strstr(why, "No space left"));
    pp_sink_tensorboard.close(self);
    assert_int_equal(pp_sink_tensorboard.check(&pp_sink_tensorboard, path, &err), PP_E_USAGE);
    unlink(path);
    rmdir(deep);
    *strrchr(deep, '/') = '\0';
    rmdir(deep);
    rmdir(dir);
}

/* ---- the endpoint ---- */

static char *fetch(void *ctx, enum pp_sink_format format, size_t *n)
{
    const char *text = format ? "openmetrics\n" : "prometheus\n";
    *n = strlen(text);
    return *(int *)ctx ? NULL : strdup(text);
}

#define SECOND UINT64_C(1000000000)

static int connect_from(in_addr_t own, int port)
{
    struct sockaddr_in from = {.sin_family = AF_INET},
                       to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    from.sin_addr.s_addr = htonl(own);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void ask(int port, const char *request, char *answer, size_t size)
{
    size_t n = 0;
    ssize_t got;
    int fd = connect_from(INADDR_LOOPBACK, port);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    while (n < size - 1 && (got = read(fd, answer + n, size - 1 - n)) > 0)
        n += (size_t)got;
    answer[n] = '\0';
    close(fd);
}

#define END "Host: x\r\nConnection: close\r\n\r\n"

static void test_endpoint(void **state)
{
    static const struct {
        const char *request, *status, *has;
    } rows[] = {
        {"GET /metrics HTTP/1.1\r\n" END, "200", "\r\n\r\nprometheus\n"},
        {"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n" END,
         "200", "application/openmetrics-text; version"},
        {"GET / HTTP/1.1\r\n" END, "200", "/metrics"},
        {"GET /../etc/passwd HTTP/1.1\r\n" END, "404", "/metrics"},
        {"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n" END "abc", "405", "Allow: GET, HEAD"},
        {"DELETE /metrics HTTP/1.1\r\n" END, "405", "GET"},
    };
    char answer[4096];
    int broken = 0;
    struct pp_sink_opts o = {.target = "0",
                             .content_types = {"text/plain; version=0.0.4",
                                               "application/openmetrics-text; version=1.0.0"},
                             .fetch = fetch,
                             .ctx = &broken};
    struct pp_err err;
    void *self;
    if (pp_sink_http.missing()) {
        print_message("skipped: %s\n", pp_sink_http.missing());
        skip();
    }
    assert_int_equal(pp_sink_http.open(&pp_sink_http, &o, &self, &err), PP_OK);
    int port = atoi(strrchr(pp_sink_http.where(self), ':') + 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        ask(port, rows[i].request, answer, sizeof(answer));
        if (strncmp(answer + 9, rows[i].status, 3) != 0 || !strstr(answer, rows[i].has))
            fail_msg("%s gave %s", rows[i].request, answer);
    }
    broken = 1;
    ask(port, rows[0].request, answer, sizeof(answer));
    assert_int_equal(strncmp(answer + 9, "503", 3), 0);
    assert_int_equal(pp_sink_http.count(self).sent, 2);
    assert_int_equal(pp_sink_http.count(self).lost, 1);
    pp_sink_http.close(self);
}

/* Connections that say nothing, of one address, do not keep another out. */
static void test_silent_connections(void **state)
{
    enum { SILENT = 33 };
    char answer[4096];
    int whole = 0, fd[SILENT];
    struct pp_sink_opts o = {.target = "0",
                             .content_types = {"text/plain", "text/plain"},
                             .fetch = fetch,
                             .ctx = &whole};
    struct pp_err err;
    void *self;
    if (pp_sink_http.missing())
        skip();
    assert_int_equal(pp_sink_http.open(&pp_sink_http, &o, &self, &err), PP_OK);
    int port = atoi(strrchr(pp_sink_http.where(self), ':') + 1);
    for (int i = 0; i < SILENT; i++)
        fd[i] = connect_from(INADDR_LOOPBACK + 1, port);
    uint64_t began_ns = pp_now_ns();
    ask(port, "GET /metrics HTTP/1.1\r\n" END, answer, sizeof(answer));
    assert_int_equal(strncmp(answer + 9, "200", 3), 0);
    assert_true(pp_now_ns() - began_ns < 9 * SECOND); /* before the silent ones are closed, after 10 s */
    for (int i = 0; i < SILENT; i++)
        close(fd[i]);
    pp_sink_http.close(self);
}

/* ---- the Pushgateway ---- */

static void *open_push(int port)
{
    static char url[64];
    struct pp_sink_opts o = {.target = url,
                             .content_types = {"text/plain", "text/plain"},
                             .job = "job",
                             .instance = "here",
                             .rank = 3};
    struct pp_err err;
    void *self = NULL;
    snprintf(url, sizeof(url), "http://me:s3cr3t@127.0.0.1:%d", port);
    assert_int_equal(pp_sink_push.open(&pp_sink_push, &o, &self, &err), PP_OK);
    return self;
}

static int listen_somewhere(int *port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET};
    socklen_t n = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
    *port = ntohs(sa.sin_port);
    return fd;
}

/* No server listens: counted, and said without the password. */
static void test_push_to_no_server(void **state)
{
    char why[400];
    int port;
    if (pp_sink_push.missing()) {
        print_message("skipped: %s\n", pp_sink_push.missing());
        skip();
    }
    close(listen_somewhere(&port));
    void *self = open_push(port);
    pp_sink_push.put(self, "one\n", 4, 0);
    pp_sink_push.put(self, "two\n", 4, 1);
    pp_sink_push.wait(self, pp_now_ns() + 60 * SECOND);
    assert_int_equal(pp_sink_push.count(self).sent, 0);
    assert_int_equal(pp_sink_push.count(self).lost, 2);
    pp_sink_push.trouble(self, why, sizeof(why));
    assert_non_null(strstr(why, "http://127.0.0.1:"));
    assert_non_null(strstr(why, "its host accepts no connection"));
    assert_null(strstr(why, "s3cr3t"));
    pp_sink_push.close(self);
}

/* A server that takes the connection and is silent: what comes meanwhile takes the place of what waits, and
 * is counted; closing does not wait for the server. */
static void test_push_to_a_silent_server(void **state)
{
    int port, fd;
    if (pp_sink_push.missing())
        skip();
    fd = listen_somewhere(&port);
    void *self = open_push(port);
    pp_sink_push.put(self, "one\n", 4, 0);
    int taken = accept(fd, NULL, NULL);
    assert_true(taken >= 0); /* the first is on its way */
    for (int i = 0; i < 3; i++)
        pp_sink_push.put(self, "more\n", 5, 0);
    assert_int_equal(pp_sink_push.count(self).sent, 0);
    assert_true(pp_sink_push.count(self).lost >= 2);
    pp_sink_push.put(self, "last\n", 5, 1);
    pp_sink_push.wait(self, pp_now_ns());
    assert_true(pp_sink_push.count(self).lost >= 4);
    pp_sink_push.close(self);
    close(taken);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),         cmocka_unit_test(test_taken_and_unknown),
        cmocka_unit_test(test_textfile),          cmocka_unit_test(test_event_file),
        cmocka_unit_test(test_endpoint),          cmocka_unit_test(test_silent_connections),
        cmocka_unit_test(test_push_to_no_server), cmocka_unit_test(test_push_to_a_silent_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
