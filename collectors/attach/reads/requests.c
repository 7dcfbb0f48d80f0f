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

static struct socket {
    uint8_t connected; /* it was seen to be, and its requests are looked at */
    uint8_t tls, state;
    uint8_t own, credited; /* of the thread that counts; one for which that thread waited */
    uint64_t connect_from_ns, tls_from_ns;
    uint64_t sent_ns, first_ns, last_ns;
    struct pp_read_request request;
} sockets[FDS_MAX];

static struct pp_read_request kept[KEPT];
static size_t n_kept, n_open; /* requests that ended, and that are in work */
static uint64_t n_lost;
static int highest = -1; /* descriptor with a request so far */

/* The wait of the thread that counts for a lock, in work or the last one. */
static struct {
    const void *thread, *object;                /* what it waits for; NULL: the wait is over */
    int lasts, ended_by_other, ended_by_reader; /* threads of this process */
    uint64_t from_ns, covered_ns, answered_ns, last_ns, bytes, ended_ns;
    size_t kept; /* requests that ended before it */
} wait;

static __thread uint64_t read_ns __attribute__((tls_model("initial-exec"))); /* this thread read last then */

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
    n_kept = n_open = 0;
    for (int fd = 0; fd <= highest; fd++)
        sockets[fd].state = IDLE;
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
    n_open--;
    if (s->state == ANSWERED && (s->own || s->credited)) {
        struct pp_read_request *r = &s->request;
        r->first_byte_ns = s->first_ns - s->sent_ns;
        r->transfer_ns = s->last_ns - s->first_ns;
        r->start_ns = s->sent_ns - r->resolve_ns - r->connect_ns - r->tls_ns;
        if (n_kept < KEPT)
            kept[n_kept++] = *r;
        else
            n_lost++;
    }
    s->state = IDLE;
    s->tls = s->tls == TLS_FIRST ? TLS_DONE : s->tls;
    s->request.resolve_ns = s->request.connect_ns = s->request.tls_ns = s->request.bytes = 0;
    s->request.connected = 0;
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
    memset(s, 0, sizeof(*s));
    s->connected = names_find(to, s->request.host, sizeof(s->request.host), &s->request.resolve_ns) != 0;
    s->connect_from_ns = now_ns;
    if (fd > highest)
        highest = fd;
    reads_unlock();
    fds_set(fd, FD_SOCKET);
}

/* The part of a connection's begin that this is the end of. 1: a request begins now. */
static int pass_handshake(struct socket *s, const unsigned char *data, size_t size, uint64_t now_ns)
{
    enum { HANDSHAKE = 0x16, APPLICATION = 0x17 }; /* types of TLS records */
    if (s->connect_from_ns) {
        s->request.connect_ns = now_ns - s->connect_from_ns;
        s->request.connected = 1;
        s->connect_from_ns = 0;
        if (size && data[0] == HANDSHAKE) {
            s->tls = TLS_HANDSHAKE;
            s->tls_from_ns = now_ns;
        }
    } else if (s->tls == TLS_HANDSHAKE && size && data[0] == APPLICATION) {
        s->tls = TLS_FIRST;
        s->request.tls_ns = now_ns - s->tls_from_ns;
    }
    return s->tls != TLS_HANDSHAKE;
}

void requests_sent(int fd, const void *data, size_t size, uint64_t now_ns)
{
    if (fd < 0 || fd >= FDS_MAX || !sockets[fd].connected)
        return;
    struct socket *s = &sockets[fd];
    reads_lock();
    if (s->state == ANSWERED)
        end_request(s);
    if (pass_handshake(s, data, size, now_ns) && s->state == IDLE) {
        s->state = ASKED;
        s->own = reads_counted.counting != 0;
        s->credited = 0;
        s->sent_ns = s->last_ns = now_ns;
        n_open++;
    }
    reads_unlock();
}

/* Between the request, or what came before, and now its answer was in flight: so much of the wait is it. */
static void credit_wait(struct socket *s, size_t bytes, uint64_t now_ns)
{
    uint64_t from = s->last_ns;
    if (!wait.lasts || wait.thread == &reads_counted || now_ns - from > FLOWS_NS)
        return;
    from = from > wait.from_ns ? from : wait.from_ns;
    from = from > wait.covered_ns ? from : wait.covered_ns;
    wait.answered_ns += now_ns > from ? now_ns - from : 0;
    wait.covered_ns = wait.last_ns = read_ns = now_ns;
    wait.bytes += bytes;
    s->credited = 1;
}

void requests_received(int fd, size_t bytes, uint64_t now_ns)
{
    if (fd < 0 || fd >= FDS_MAX || sockets[fd].state == IDLE)
        return;
    struct socket *s = &sockets[fd];
    reads_lock();
    if (s->state != IDLE) {
        int begins = s->state == ASKED || (s->tls == TLS_FIRST && s->request.bytes <= TICKET_BYTES);
        credit_wait(s, bytes, now_ns);
        s->first_ns = begins ? now_ns : s->first_ns;
        s->last_ns = now_ns;
        s->request.bytes += bytes;
        s->state = ANSWERED;
    }
    reads_unlock();
}

void requests_closed(int fd)
{
    if (!sockets[fd].connected)
        return;
    reads_lock();
    end_request(&sockets[fd]);
    sockets[fd].connected = 0;
    reads_unlock();
}

/* ---- the wait for a lock ---- */

int requests_lock_begin(const void *object, uint64_t now_ns)
{
    if (wait.lasts && wait.thread != &reads_counted)
        return 0;
    reads_lock();
    int goes_on = wait.thread == &reads_counted && !wait.answered_ns &&
                  now_ns - wait.ended_ns < NEXT_PIECE_NS;
    wait.thread = &reads_counted;
    wait.lasts = 1;
    wait.ended_by_other = wait.ended_by_reader = 0;
    __atomic_store_n(&wait.object, object, __ATOMIC_RELAXED); /* compared, and nothing else */
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
    if (__atomic_load_n(&wait.object, __ATOMIC_RELAXED) != object || reads_inside)
        return;
    reads_lock();
    wait.ended_by_other = wait.thread != &reads_counted;
    wait.ended_by_reader = wait.ended_by_other && read_ns >= wait.from_ns;
    reads_unlock();
}

/* The answers that came during the wait were not what was waited for. */
static void forget_credit(void)
{
    for (int fd = 0; fd <= highest; fd++)
        sockets[fd].credited = 0;
    n_kept = n_kept < wait.kept ? n_kept : wait.kept;
    wait.answered_ns = 0;
}

uint64_t requests_lock_end(uint64_t now_ns, uint64_t *bytes)
{
    reads_lock();
    int was_read = wait.ended_by_reader || (wait.ended_by_other && now_ns - wait.last_ns < WOKEN_NS);
    uint64_t answered = was_read ? wait.answered_ns : 0;
    *bytes = was_read ? wait.bytes : 0;
    if (!was_read && wait.answered_ns)
        forget_credit();
    wait.object = NULL;
    wait.ended_ns = now_ns;
    wait.lasts = 0;
    reads_unlock();
    return answered;
}

/* ---- handing over ---- */

__attribute__((visibility("default"))) pp_reads_requests pipeprobe_reads_requests;

size_t pipeprobe_reads_requests(struct pp_read_request *out, size_t max, uint64_t *lost)
{
    size_t n = 0;
    *lost = 0;
    if (!n_kept && !n_open)
        return 0;
    reads_lock();
    for (int fd = 0; fd <= highest && n_open; fd++)
        if (sockets[fd].state == ANSWERED && (sockets[fd].own || sockets[fd].credited))
            end_request(&sockets[fd]);
    n = n_kept < max ? n_kept : max;
    memcpy(out, kept, n * sizeof(*out));
    n_kept -= n;
    memmove(kept, kept + n, n_kept * sizeof(*kept));
    *lost = n_lost;
    n_lost = 0;
    reads_unlock();
    return n;
}
