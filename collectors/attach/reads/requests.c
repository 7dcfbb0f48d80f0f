#include "collectors/attach/reads/fds.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* A body whose bytes are further apart than this is no answer, but a connection that stays open. */
#define FLOWS_NS UINT64_C(5000000000)
/* A wait that an answer ended ends this soon behind its last byte, where one thread read it and another one,
 * which it was passed to, ended the wait. */
#define WOKEN_NS UINT64_C(10000000)
/* A wait in pieces (one second each, say) is one wait. */
#define NEXT_PIECE_NS UINT64_C(200000)
/* What a server sends by itself behind a TLS handshake: session tickets. */
#define TICKET_BYTES 1024u

enum { KEPT = 256 };
enum tls { TLS_NONE, TLS_HANDSHAKE, TLS_DONE, TLS_FIRST /* request of a connection */ };
enum state { IDLE, ASKED, ANSWERED };

/* Written with the lock held, and looked at without: who finds nothing to do there takes no lock. */
#define PEEK(of) __atomic_load_n(&(of), __ATOMIC_RELAXED)
#define SET(of, value) __atomic_store_n(&(of), value, __ATOMIC_RELAXED)

static struct socket {
    uint8_t connected, state; /* PEEK; connected: it was seen to be, and its requests are looked at */
    uint8_t tls;
    uint8_t own, credited; /* of the thread that counts; one for which that thread waited */
    uint64_t connect_from_ns, tls_from_ns;
    uint64_t sent_ns, first_ns, last_ns;
    struct pp_read_request request;
} sockets[FDS_MAX];

static struct pp_read_request kept[KEPT];
static size_t n_kept, n_open; /* PEEK; requests that ended, and that are in work */
static uint64_t n_lost;
static int highest = -1; /* descriptor with a request so far */

/* The wait of the thread that counts for a lock, in work or the last one. */
static struct {
    const void *thread, *object;                /* PEEK; what it waits for; NULL: the wait is over */
    int lasts, ended_by_other, ended_by_reader; /* threads of this process */
    uint64_t from_ns, covered_ns, answered_ns, last_ns, bytes, ended_ns;
    size_t kept; /* requests that ended before it */
} wait;

/* Of this thread. */
static __thread uint64_t read_ns __attribute__((tls_model("initial-exec"))); /* it read last then */
static __thread uint64_t refused_ns
    __attribute__((tls_model("initial-exec"))); /* a refusal, and nothing since */
static __thread uint8_t refusals __attribute__((tls_model("initial-exec"))); /* one after the other */

static atomic_flag taken = ATOMIC_FLAG_INIT;

void reads_lock(void)
{
    reads_inside++;
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        sched_yield();
}

void reads_unlock(void)
{
    atomic_flag_clear_explicit(&taken, memory_order_release); /* pairs with the acquire in reads_lock */
    reads_inside--;
}

/* What was in work is the parent's. */
static void forked(void)
{
    atomic_flag_clear(&taken);
    memset(&wait, 0, sizeof(wait));
    SET(n_kept, 0);
    SET(n_open, 0);
    for (int fd = 0; fd <= highest; fd++)
        SET(sockets[fd].state, IDLE);
}

__attribute__((constructor)) static void prepare(void)
{
    pthread_atfork(NULL, NULL, forked);
}

/* ---- a request: the lock is held ---- */

static void end_request(struct socket *s)
{
    if (s->state == IDLE)
        return;
    SET(n_open, n_open - 1);
    if (s->state == ANSWERED && (s->own || s->credited)) {
        struct pp_read_request *r = &s->request;
        r->first_byte_ns = s->first_ns - s->sent_ns;
        r->transfer_ns = s->last_ns - s->first_ns;
        r->start_ns = s->sent_ns - r->resolve_ns - r->connect_ns - r->tls_ns;
        if (n_kept < KEPT) {
            kept[n_kept] = *r;
            SET(n_kept, n_kept + 1);
        } else {
            n_lost++;
        }
    }
    SET(s->state, IDLE);
    s->tls = s->tls == TLS_FIRST ? TLS_DONE : s->tls;
    s->request.resolve_ns = s->request.connect_ns = s->request.tls_ns = s->request.bytes = 0;
    s->request.connected = 0;
    s->request.status = 0;
}

void requests_connect(int fd, const struct sockaddr *to, uint64_t now_ns)
{
    if (fd < 0 || fd >= FDS_MAX)
        return;
    struct socket *s = &sockets[fd];
    reads_lock();
    if (s->connected && s->connect_from_ns) { /* it is asked again whether that is done */
        reads_unlock();
        return;
    }
    end_request(s);
    memset(&s->tls, 0, sizeof(*s) - offsetof(struct socket, tls));
    SET(s->connected, names_find(to, s->request.host, sizeof(s->request.host), &s->request.resolve_ns) != 0);
    s->connect_from_ns = now_ns;
    if (fd > highest)
        highest = fd;
    reads_unlock();
    fds_set(fd, FD_SOCKET);
}

static void begin_request(struct socket *s, uint64_t now_ns)
{
    SET(s->state, ASKED);
    s->own = reads_counted.counting != 0;
    s->credited = 0;
    s->sent_ns = s->last_ns = now_ns;
    if (refused_ns && !s->own) /* the sample waits for this thread, so for its sleep after a refusal too */
        s->last_ns = refused_ns;
    refused_ns = 0;
    s->request.attempt = refusals;
    SET(n_open, n_open + 1);
}

int requests_sending(int fd, uint64_t now_ns)
{
    if (fd < 0 || fd >= FDS_MAX || !PEEK(sockets[fd].connected))
        return 0;
    struct socket *s = &sockets[fd];
    reads_lock();
    if (s->state == ANSWERED)
        end_request(s);
    int looks = s->connect_from_ns || s->tls == TLS_HANDSHAKE;
    if (!looks && s->state == IDLE)
        begin_request(s, now_ns);
    reads_unlock();
    return looks;
}

void requests_sent(int fd, int first, uint64_t from_ns)
{
    enum { HANDSHAKE = 0x16, APPLICATION = 0x17 }; /* types of TLS records */
    struct socket *s = &sockets[fd];
    reads_lock();
    /* The part of a connection's begin that this is the end of. */
    if (s->connect_from_ns) {
        s->request.connect_ns = from_ns - s->connect_from_ns;
        s->request.connected = 1;
        s->connect_from_ns = 0;
        if (first == HANDSHAKE) {
            s->tls = TLS_HANDSHAKE;
            s->tls_from_ns = from_ns;
        }
    } else if (s->tls == TLS_HANDSHAKE && first == APPLICATION) {
        s->tls = TLS_FIRST;
        s->request.tls_ns = from_ns - s->tls_from_ns;
    }
    if (s->tls != TLS_HANDSHAKE && s->state == IDLE)
        begin_request(s, from_ns);
    reads_unlock();
}

/* "HTTP/1.1 503": these bytes of an answer, and no others. 0: it is none. */
static unsigned status_of(const char *data, size_t bytes)
{
    enum { BEGIN = 7, NUMBER = 9, END = 12 };
    unsigned status = 0;
    if (!data || bytes < END || memcmp(data, "HTTP/1.", BEGIN) != 0)
        return 0;
    for (int i = NUMBER; i < END; i++)
        status = 10 * status + (data[i] >= '0' && data[i] <= '9' ? (unsigned)(data[i] - '0') : 1000);
    return status < 600 ? status : 0;
}

int requests_are_refused(void)
{
    return refused_ns != 0;
}

void requests_received(int fd, const void *data, size_t bytes, uint64_t now_ns)
{
    if (fd < 0 || fd >= FDS_MAX || PEEK(sockets[fd].state) == IDLE)
        return;
    struct socket *s = &sockets[fd];
    reads_lock();
    if (s->state != IDLE) {
        if (s->state == ASKED && s->tls == TLS_NONE) {
            s->request.status = (uint16_t)status_of(data, bytes);
            int refused = pp_reads_is_refusal(s->request.status);
            refusals = (uint8_t)(refused && refusals < UINT8_MAX ? refusals + 1 : refused ? refusals : 0);
            refused_ns = refused ? now_ns : 0;
        }
        int begins = s->state == ASKED || (s->tls == TLS_FIRST && s->request.bytes <= TICKET_BYTES);
        /* Between the request, or what came before, and now its answer was in flight: so much of the wait is
         * it. */
        uint64_t from = s->last_ns;
        if (wait.lasts && wait.thread != &reads_counted && now_ns - from <= FLOWS_NS) {
            from = from > wait.from_ns ? from : wait.from_ns;
            from = from > wait.covered_ns ? from : wait.covered_ns;
            wait.answered_ns += now_ns > from ? now_ns - from : 0;
            wait.covered_ns = wait.last_ns = read_ns = now_ns;
            wait.bytes += bytes;
            s->credited = 1;
        }
        s->first_ns = begins ? now_ns : s->first_ns;
        s->last_ns = now_ns;
        s->request.bytes += bytes;
        SET(s->state, ANSWERED);
    }
    reads_unlock();
}

void requests_closed(int fd)
{
    if (!PEEK(sockets[fd].connected))
        return;
    reads_lock();
    end_request(&sockets[fd]);
    SET(sockets[fd].connected, 0);
    reads_unlock();
}

/* ---- the wait for a lock ---- */

int requests_lock_begin(const void *object, uint64_t now_ns)
{
    if (PEEK(wait.lasts) && PEEK(wait.thread) != &reads_counted)
        return 0;
    reads_lock();
    int goes_on = wait.thread == &reads_counted && !wait.answered_ns &&
                  now_ns - wait.ended_ns < NEXT_PIECE_NS;
    SET(wait.thread, &reads_counted);
    SET(wait.lasts, 1);
    wait.ended_by_other = wait.ended_by_reader = 0;
    SET(wait.object, object); /* compared, and nothing else */
    if (!goes_on) {
        wait.from_ns = wait.covered_ns = now_ns;
        wait.answered_ns = wait.last_ns = wait.bytes = 0;
        wait.kept = n_kept;
    }
    reads_unlock();
    return 1;
}

void requests_lock_free(const void *object)
{
    if (PEEK(wait.object) != object || reads_inside)
        return;
    reads_lock();
    wait.ended_by_other = wait.thread != &reads_counted;
    wait.ended_by_reader = wait.ended_by_other && read_ns >= wait.from_ns;
    reads_unlock();
}

void requests_lock_end(uint64_t now_ns)
{
    struct pp_reads *c = &reads_counted;
    reads_lock();
    int was_read = wait.ended_by_reader || (wait.ended_by_other && now_ns - wait.last_ns < WOKEN_NS);
    uint64_t answered = was_read ? wait.answered_ns : 0, bytes = wait.bytes;
    if (!was_read && wait.answered_ns) {
        /* The answers that came during the wait were not what was waited for. */
        for (int fd = 0; fd <= highest; fd++)
            sockets[fd].credited = 0;
        SET(n_kept, n_kept < wait.kept ? n_kept : wait.kept);
        wait.answered_ns = 0;
    }
    SET(wait.object, NULL);
    wait.ended_ns = now_ns;
    SET(wait.lasts, 0);
    reads_unlock();
    if (!answered)
        return;
    c->ns += answered;
    c->class_ns[PP_READ_HELPER] += answered;
    c->bytes += bytes;
    c->calls++;
}

/* ---- handing over ---- */

__attribute__((visibility("default"))) pp_reads_requests pipeprobe_reads_requests;

size_t pipeprobe_reads_requests(struct pp_read_request *out, size_t max, uint64_t *lost)
{
    size_t n = 0;
    *lost = 0;
    refused_ns = 0; /* what the next sample sleeps for is its own affair */
    refusals = 0;
    if (!PEEK(n_kept) && !PEEK(n_open))
        return 0;
    reads_lock();
    for (int fd = 0; fd <= highest && n_open; fd++) {
        struct socket *s = &sockets[fd];
        /* The sample has what it waited for. Another thread may go on, and have no more than session tickets
         * yet. */
        int over = s->own || (s->credited && (s->tls != TLS_FIRST || s->request.bytes > TICKET_BYTES));
        if (s->state == ANSWERED && over)
            end_request(s);
    }
    n = n_kept < max ? n_kept : max;
    memcpy(out, kept, n * sizeof(*out));
    SET(n_kept, n_kept - n);
    memmove(kept, kept + n, n_kept * sizeof(*kept));
    *lost = n_lost;
    n_lost = 0;
    reads_unlock();
    return n;
}
