/* The library that is preloaded, linked into this program in front of libc: calls keep their results, errno
 * and cancellation, descriptors are used again, processes fork, signals interrupt, and requests are what was
 * sent. */
#include "collectors/attach/reads/reads.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <netdb.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

pp_reads_of_thread pipeprobe_reads_of_thread;
pp_reads_requests pipeprobe_reads_requests;

/* ---- a server: every request is answered by what it says after its first byte ---- */

static in_port_t port;

static pid_t server;

static void *answer(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char text[256];
    for (ssize_t n; (n = recv(fd, text, sizeof(text), 0)) > 0;) {
        size_t first = text[0] == 0x17 ? 7 : 0; /* a TLS server's session tickets */
        send(fd, text + 1, first, MSG_NOSIGNAL);
        nanosleep(&(struct timespec){.tv_nsec = first ? 30000000 : 0}, NULL);
        send(fd, text + 1 + first, (size_t)n - 1 - first, MSG_NOSIGNAL);
    }
    close(fd);
    return NULL;
}

static void serve(int listening)
{
    for (int fd; (fd = accept(listening, NULL, NULL)) >= 0;) {
        pthread_t t;
        if (pthread_create(&t, NULL, answer, (void *)(intptr_t)fd) == 0)
            pthread_detach(t);
    }
    _exit(0);
}

/* A process of its own: its descriptors are none of ours. */
static int start(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        return -1;
    port = at.sin_port;
    server = fork();
    if (server == 0)
        serve(fd);
    close(fd);
    return server > 0 ? 0 : -1;
}

static int end(void **state)
{
    kill(server, SIGKILL);
    return waitpid(server, NULL, 0) == server ? 0 : -1;
}

static int connected(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = port};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

static void ask(int fd, const char *for_answer)
{
    char text[256] = "?";
    size_t n = strlen(for_answer), got = 0;
    memcpy(text + 1, for_answer, n);
    assert_int_equal(send(fd, text, n + 1, 0), n + 1);
    while (got < n) {
        ssize_t more = recv(fd, text + got, n - got, 0);
        assert_true(more > 0);
        got += (size_t)more;
    }
    assert_memory_equal(text, for_answer, n);
}

static struct pp_reads *count(int how)
{
    struct pp_reads *r = pipeprobe_reads_of_thread();
    *r = (struct pp_reads){.counting = how};
    return r;
}

static size_t take(struct pp_read_request out[64])
{
    uint64_t lost;
    size_t n = pipeprobe_reads_requests(out, 64, &lost);
    assert_int_equal(lost, 0);
    return n;
}

static void drop_all(void)
{
    struct pp_read_request out[64];
    while (take(out) == 64)
        ;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- */

static void on_alarm(int signal)
{
    char byte;
    int pair[2], before = errno;
    if (pipe(pair) == 0) { /* a call within a call */
        (void)!write(pair[1], "x", 1);
        (void)!read(pair[0], &byte, 1);
        close(pair[0]);
        close(pair[1]);
    }
    errno = before;
}

static void results_and_errno_are_libcs(void **state)
{
    struct pollfd p = {.events = POLLIN};
    struct itimerval soon = {.it_value.tv_usec = 20000};
    struct sigaction act = {.sa_handler = on_alarm};
    struct timespec past = {0};
    char buf[8];
    sem_t sem;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    sem_init(&sem, 0, 0);
    sigaction(SIGALRM, &act, NULL);
    for (int how = 0; how <= 2; how++) {
        int fd = connected(), zero = open("/dev/zero", O_RDONLY);
        count(how);
        errno = 77;
        assert_int_equal(read(zero, buf, sizeof(buf)), sizeof(buf));
        assert_int_equal(errno, 77);
        assert_true(read(-1, buf, 1) == -1 && errno == EBADF);
        assert_true(recv(zero, buf, 1, 0) == -1 && errno == ENOTSOCK);
        assert_true(recv(fd, buf, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
        assert_true(send(-1, buf, 1, 0) == -1 && errno == EBADF);
        assert_true(recvmsg(fd, (struct msghdr *)8, 0) == -1 && errno == EFAULT);
        assert_true(close(-1) == -1 && errno == EBADF);
        assert_true(dup2(-1, 5) == -1 && errno == EBADF);
        assert_true(open("/there/is/none", O_RDONLY) == -1 && errno == ENOENT);
        assert_true(waitpid(getpid(), NULL, 0) == -1 && errno == ECHILD);
        assert_true(sem_timedwait(&sem, &past) == -1 && errno == ETIMEDOUT);
        pthread_mutex_lock(&m);
        assert_int_equal(pthread_cond_timedwait(&c, &m, &past), ETIMEDOUT);
        pthread_mutex_unlock(&m);
        p.fd = fd;
        setitimer(ITIMER_REAL, &soon, NULL);
        assert_true(poll(&p, 1, 5000) == -1 && errno == EINTR);
        setitimer(ITIMER_REAL, &soon, NULL);
        assert_true(recv(fd, buf, 1, 0) >= 0 || errno == EINTR);
        setitimer(ITIMER_REAL, &soon, NULL);
        assert_true(sem_wait(&sem) == -1 && errno == EINTR);
        ask(fd, "goes on");
        count(0);
        close(fd);
        close(zero);
    }
    drop_all();
}

/* Pointers to nowhere, and to a page behind which there is none, with lengths that reach far: the kernel's
 * answer comes back. */
static void bad_pointers_come_back(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* a sanitizer looks at the memory of a call before it is made, as far as its length says */
#endif
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
         *end = page + 4096;
    assert_int_equal(munmap(end, 4096), 0);
    void *volatile none = (void *)8; /* of which the compiler knows nothing */
    volatile int less = -1;
    struct iovec v[] = {{none, 16}, {none, 16}}, empty[] = {{none, 0}, {(char *)"x", 1}};
    struct msghdr bad = {.msg_iov = none, .msg_iovlen = 1}, of_bad = {.msg_iov = v, .msg_iovlen = 2};
    struct timeval now = {0};
    struct timespec no_time = {0};
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = port};
    struct addrinfo *found;
    struct pp_read_request got[64];
    char buf[16];
    for (int how = 0; how <= 2; how++) {
        int fd = connected(), fresh = socket(AF_INET, SOCK_STREAM, 0), ep = epoll_create1(0);
        count(how);
#define FAULTS(CALL) \
    errno = 0; \
    if ((CALL) != -1 || errno != EFAULT) \
    fail_msg("counting %d: %s: errno %d", how, #CALL, errno)
        FAULTS(send(fd, none, 16, 0)); /* the first of a connection, of which the first byte counts */
        FAULTS(sendto(fd, none, SIZE_MAX / 2, 0, NULL, 0));
        FAULTS(write(fd, end, 16));
        FAULTS(writev(fd, none, 1));
        FAULTS(writev(fd, v, 2));
        FAULTS(sendmsg(fd, none, 0));
        FAULTS(sendmsg(fd, &bad, 0));
        FAULTS(sendmsg(fd, &of_bad, 0));
        FAULTS(connect(fresh, none, sizeof(at)));
        assert_true(connect(fresh, none, UINT32_MAX) == -1 && errno == EINVAL);
        assert_true(connect(fresh, (struct sockaddr *)&at, 1) == -1 && errno == EINVAL);
        assert_true(writev(fd, v, less) == -1 && errno == EINVAL);
        FAULTS(poll(none, 3, 0));
        FAULTS(ppoll(none, 3, &no_time, NULL));
        assert_true(poll(none, (nfds_t)less, 0) == -1 && (errno == EINVAL || errno == EFAULT));
        FAULTS(select(fd + 1, none, NULL, NULL, &now));
        FAULTS(select(fd + 1, NULL, none, NULL, &now));
        FAULTS(select(fd + 1, (fd_set *)end, NULL, none, &now));
        FAULTS(epoll_ctl(ep, EPOLL_CTL_ADD, fd, none));
        assert_true(epoll_wait(ep, none, 0, 0) == -1 && errno == EINVAL);
        assert_int_equal(writev(fd, empty, 2), 1); /* its first buffer is empty, and points to nowhere */
        assert_int_equal(send(fd, "?HTTP/1.1 503 far from the end", 30, 0), 30);
        while (recv(fd, NULL, 0, MSG_DONTWAIT) < 0 || recv(fd, buf, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
            sleep_ms(1);
        FAULTS(recv(fd, none, 16, 0));
        FAULTS(recvfrom(fd, end, 16, 0, NULL, NULL));
        FAULTS(read(fd, none, 16));
        FAULTS(readv(fd, v, 2));
        FAULTS(readv(fd, none, 1));
        FAULTS(recvmsg(fd, none, 0));
        FAULTS(recvmsg(fd, &of_bad, 0));
        FAULTS(pread(fd, none, 16, 0) == -1 && errno == ESPIPE ? (errno = EFAULT, -1) : 0);
        assert_int_equal(recv(fd, none, 12, MSG_TRUNC),
                         12); /* of a stream: dropped, the pointer is not looked at */
        assert_true(open(none, O_RDONLY) == -1 && errno == EFAULT);
        assert_true(waitpid(-1, none, WNOHANG) <= 0);
        assert_int_equal(nanosleep(none, NULL), -1);
        assert_int_equal(errno, EFAULT);
        assert_int_not_equal(getaddrinfo("no such name", NULL, NULL, &found), 0);
        count(0);
        close(fd);
        close(fresh);
        close(ep);
    }
    take(got);
    drop_all();
    munmap(page, 4096);
}

static void a_refusal_and_the_sleep_behind_it(void **state)
{
    static const struct {
        const char *answer;
        unsigned status, attempt;
        int slept;
    } rows[] = {{"HTTP/1.1 200 OK\r\n", 200, 0, 0},     {"HTTP/1.1 503 Slow\r\n", 503, 0, 1},
                {"HTTP/1.0 429 Wait\r\n", 429, 1, 1},   {"HTTP/1.1 206 Part\r\n", 206, 2, 0},
                {"HTTP/1.1 404 Not\r\n", 404, 0, 0},    {"HTTP/1.1 50", 0, 0, 0},
                {"HTTP/1.1 5x3 Not a number", 0, 0, 0}, {"HTTP/1.1 999 Not one", 0, 0, 0},
                {"HTTP/2 503 is not text", 0, 0, 0},    {"something else, 503", 0, 0, 0}};
    enum { ROWS = sizeof(rows) / sizeof(*rows) };
    struct pp_read_request got[64];
    struct pp_reads *r = count(1);
    int fd = connected();
    for (size_t i = 0; i < ROWS; i++) {
        uint64_t before = r->backoff_ns;
        ask(fd, rows[i].answer);
        sleep_ms(5);
        if ((r->backoff_ns - before >= 5000000) != rows[i].slept || (r->backoff_ns > before) != rows[i].slept)
            fail_msg("row %zu: slept %llu ns", i, (unsigned long long)(r->backoff_ns - before));
    }
    assert_int_equal(take(got), ROWS);
    for (size_t i = 0; i < ROWS; i++)
        if (got[i].status != rows[i].status || got[i].attempt != rows[i].attempt || got[i].connected != !i)
            fail_msg("row %zu: status %u, attempt %u", i, got[i].status, got[i].attempt);
    ask(fd, "HTTP/1.1 503 for the last of a sample");
    assert_int_equal(take(got), 1);
    uint64_t before = r->backoff_ns;
    sleep_ms(2);
    assert_int_equal(r->backoff_ns, before);
    count(0);
    sleep_ms(2);
    close(fd);
}

static void descriptors_are_used_again(void **state)
{
    struct pp_read_request got[64];
    struct pp_reads *r = count(1);
    char buf[8];
    int pair[2], fd = connected(), zero;
    ask(fd, "one");
    close(fd);
    assert_int_equal(open("/dev/zero", O_RDONLY), fd);
    zero = fd;
    uint64_t sockets = r->class_ns[PP_READ_SOCKET], files = r->class_ns[PP_READ_FILE];
    assert_int_equal(read(zero, buf, 8), 8);
    assert_true(r->class_ns[PP_READ_SOCKET] == sockets && r->class_ns[PP_READ_FILE] > files);
    fd = connected();
    ask(fd, "two");
    assert_int_equal(pipe(pair), 0);
    assert_int_equal(dup2(pair[0], fd), fd);
    assert_int_equal(write(pair[1], "12345678", 8), 8);
    uint64_t pipes = r->class_ns[PP_READ_PIPE];
    assert_int_equal(read(fd, buf, 8), 8);
    assert_true(r->class_ns[PP_READ_PIPE] > pipes);
    assert_int_equal(take(got), 2);
    assert_true(got[0].bytes == 3 && got[1].bytes == 3);
    count(0);
    close(fd);
    close(zero);
    close(pair[0]);
    close(pair[1]);
}

static void ten_thousand_descriptors(void **state)
{
    struct rlimit limit, more;
    char buf[8];
    getrlimit(RLIMIT_NOFILE, &limit);
    more = limit;
    more.rlim_cur = limit.rlim_max < 10100 ? limit.rlim_max : 10100;
    if (more.rlim_cur < 10100 || setrlimit(RLIMIT_NOFILE, &more) != 0)
        skip();
    struct pp_reads *r = count(1);
    int low = connected(), zero = open("/dev/zero", O_RDONLY), first = dup(zero), last = first;
    while (last < 10000 && last >= 0)
        last = dup(zero);
    assert_int_equal(last, 10000);
    assert_int_equal(read(last, buf, 8), 8);
    assert_int_equal(dup2(low, last), last);
    ask(last, "HTTP/1.1 200 beyond the table");
    int high = connected();
    ask(high, "HTTP/1.1 503 likewise");
    assert_true(high > 8192 && r->ns > 0);
    close(high);
    for (int fd = first; fd <= last; fd++)
        close(fd);
    ask(low, "HTTP/1.1 200 OK");
    close(low);
    close(zero);
    count(0);
    drop_all();
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- threads ---- */

static sem_t never;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void unlock(void *m)
{
    pthread_mutex_unlock(m);
}

static void *wait_for_good(void *arg)
{
    char byte;
    int fd = connected();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    count(1);
    switch ((intptr_t)arg) {
    case 0: recv(fd, &byte, 1, 0); break;
    case 1: (void)!read(fd, &byte, 1); break;
    case 2: poll(&p, 1, -1); break;
    case 3: sem_wait(&never); break;
    case 4:
        pthread_mutex_lock(&mutex);
        pthread_cleanup_push(unlock, &mutex);
        pthread_cond_wait(&condition, &mutex);
        pthread_cleanup_pop(1);
        break;
    default: sleep(60); break;
    }
    return NULL;
}

static void threads_can_be_cancelled(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it takes the stack of a cancelled thread for one that is overrun */
#endif
    sem_init(&never, 0, 0);
    for (intptr_t i = 0; i < 6; i++) {
        pthread_t t;
        void *out;
        assert_int_equal(pthread_create(&t, NULL, wait_for_good, (void *)i), 0);
        sleep_ms(20);
        pthread_cancel(t);
        assert_int_equal(pthread_join(t, &out), 0);
        assert_ptr_equal(out, PTHREAD_CANCELED);
        count(1);
        int fd = connected();
        ask(fd, "no lock is held for good");
        close(fd);
        count(0);
    }
    drop_all();
}

static sem_t fetched;

static void *fetch(void *arg)
{
    for (int i = 0; i < 50; i++) {
        int fd = connected();
        ask(fd, "HTTP/1.1 200 OK");
        ask(fd, "HTTP/1.1 503 Slow");
        close(fd);
        sem_post(&fetched);
    }
    return NULL;
}

static void helpers_fetch_while_a_thread_waits(void **state)
{
    enum { THREADS = 4 };
    pthread_t t[THREADS];
    struct pp_read_request got[64];
    struct pp_reads *r = count(1);
    size_t n = 0;
    sem_init(&fetched, 0, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, fetch, NULL), 0);
    for (int i = 0; i < 50 * THREADS; i++) {
        assert_int_equal(sem_wait(&fetched), 0);
        n += take(got);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    n += take(got);
    count(0);
    assert_true(n <= 100 * THREADS);
    assert_true(r->class_ns[PP_READ_HELPER] == r->ns);
}

static void *fetch_behind_tls(void *arg)
{
    char text[16];
    int fd = connected();
    assert_int_equal(send(fd, "\x16hello", 6, 0), 6);
    assert_int_equal(recv(fd, text, 5, MSG_WAITALL), 5);
    assert_int_equal(send(fd, "\x17ticketsanswer", 14, 0), 14);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(recv(fd, text, 7 - (size_t)i, MSG_WAITALL), 7 - i);
        sem_post(&fetched);
    }
    close(fd);
    sem_post(&fetched);
    return NULL;
}

static void session_tickets_are_no_answer(void **state)
{
    pthread_t t;
    struct pp_read_request got[64];
    count(1);
    sem_init(&fetched, 0, 0);
    assert_int_equal(pthread_create(&t, NULL, fetch_behind_tls, NULL), 0);
    sem_wait(&fetched);
    assert_int_equal(take(got),
                     0); /* what the sample waited for are the tickets; the answer is still to come */
    sem_wait(&fetched);
    sem_wait(&fetched);
    assert_int_equal(take(got), 1);
    assert_true(got[0].bytes == 13 && got[0].first_byte_ns >= 25000000 && got[0].status == 0);
    pthread_join(t, NULL);
    count(0);
}

/* ---- processes ---- */

static void children_have_requests_of_their_own(void **state)
{
    struct pp_read_request got[64];
    int fd = connected(), status = -1;
    count(1);
    assert_int_equal(send(fd, "?later", 6, 0), 6);
    pid_t child = fork();
    if (child == 0) {
        close(fd);
        int own = connected();
        ask(own, "HTTP/1.1 200 OK");
        _exit(take(got) == 1 && got[0].status == 200 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    child = vfork(); /* it has this memory, and descriptors of its own */
    if (child == 0) {
        close(fd);
        _exit(3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 3);
    char text[8];
    assert_int_equal(recv(fd, text, 8, 0), 5);
    assert_int_equal(take(got), 1);
    assert_int_equal(got[0].bytes, 5);
    count(0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_and_errno_are_libcs),
        cmocka_unit_test(bad_pointers_come_back),
        cmocka_unit_test(a_refusal_and_the_sleep_behind_it),
        cmocka_unit_test(descriptors_are_used_again),
        cmocka_unit_test(ten_thousand_descriptors),
        cmocka_unit_test(threads_can_be_cancelled),
        cmocka_unit_test(helpers_fetch_while_a_thread_waits),
        cmocka_unit_test(session_tickets_are_no_answer),
        cmocka_unit_test(children_have_requests_of_their_own),
    };
    return cmocka_run_group_tests_name("the preloaded library", tests, start, end);
}
