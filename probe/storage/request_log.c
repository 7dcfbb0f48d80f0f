#include "probe/storage/request_log.h"
#include "probe/storage/storage.h"

#include <pthread.h>

#include <xxhash.h>

enum { SLOTS = 2 * PP_REQUEST_PLACES }; /* of the hash table of places, open addressing */

PP_COUNTER_SET(pp_request_counters, PP_REQUEST_COUNTS_LIST)

struct kept {
    struct pp_request ring[PP_REQUESTS_KEPT];
    size_t head, n;
    uint64_t lost;
    struct pp_request_place place[PP_REQUEST_PLACES];
    size_t n_places; /* place 0 is that of all others */
    uint16_t slot[SLOTS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *kept; /* guarded by lock, and so is what it points to */
static atomic_int is_on;

int pp_request_log_set(int on)
{
    struct kept *made = on ? calloc(1, sizeof(*made)) : NULL;
    if (made)
        made->n_places = 1;
    pthread_mutex_lock(&lock);
    free(kept);
    kept = made;
    pthread_mutex_unlock(&lock);
    atomic_store_explicit(&is_on, made != NULL, memory_order_relaxed);
    return made != NULL;
}

/* The place's number, which it gets here when it is new. The lock is held. */
static uint16_t number_of(struct kept *k, const char *address, const char *name)
{
    struct pp_request_place p;
    const char *query = strpbrk(name, "?#"), *slash = query ? query : name + strlen(name);
    while (slash > name && slash[-1] != '/')
        slash--;
    while (slash > name && slash[-1] == '/')
        slash--;
    snprintf(p.address, sizeof(p.address), "%s", address);
    snprintf(p.prefix, sizeof(p.prefix), "%.*s", (int)(slash - name), name);
    uint64_t hash = XXH3_64bits(p.address, strlen(p.address)) ^
                    XXH3_64bits_withSeed(p.prefix, strlen(p.prefix), 1);
    size_t at = (size_t)(hash % SLOTS);
    for (; k->slot[at]; at = (at + 1) % SLOTS) {
        const struct pp_request_place *there = &k->place[k->slot[at]];
        if (strcmp(there->address, p.address) == 0 && strcmp(there->prefix, p.prefix) == 0)
            return k->slot[at];
    }
    if (k->n_places == PP_REQUEST_PLACES)
        return 0;
    k->place[k->n_places] = p;
    k->slot[at] = (uint16_t)k->n_places;
    return (uint16_t)k->n_places++;
}

void pp_request_log_add(const struct pp_request *r, const char *address, const char *name)
{
    const uint64_t all_ns = r->queue_ns + r->resolve_ns + r->connect_ns + r->tls_ns + r->first_byte_ns +
                            r->transfer_ns;
    const uint64_t amount[] = {
        [PP_REQUEST_COUNT_REQUESTS] = 1,
        [PP_REQUEST_COUNT_FAILED] = (r->status == 0 && !r->bytes) || r->status >= 400,
        [PP_REQUEST_COUNT_THROTTLED] = r->status == 429 || r->status == 503,
        [PP_REQUEST_COUNT_CONNECTIONS] = (r->flags & PP_REQUEST_CONNECTED) != 0,
        [PP_REQUEST_COUNT_BYTES] = r->bytes,
        [PP_REQUEST_COUNT_BUSY_NS] = all_ns,
        [PP_REQUEST_COUNT_RESOLVE_NS] = r->resolve_ns,
        [PP_REQUEST_COUNT_CONNECT_NS] = r->connect_ns,
        [PP_REQUEST_COUNT_TLS_NS] = r->tls_ns,
        [PP_REQUEST_COUNT_FIRST_BYTE_NS] = r->first_byte_ns,
        [PP_REQUEST_COUNT_TRANSFER_NS] = r->transfer_ns,
    };
    for (unsigned i = 0; i < sizeof(amount) / sizeof(*amount); i++)
        pp_count(&pp_request_counters, i, amount[i]);
    if (!name || !atomic_load_explicit(&is_on, memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    if (kept && kept->n == PP_REQUESTS_KEPT) {
        kept->lost++;
    } else if (kept) {
        struct pp_request *to = &kept->ring[(kept->head + kept->n++) % PP_REQUESTS_KEPT];
        *to = *r;
        to->place = number_of(kept, address, name);
    }
    pthread_mutex_unlock(&lock);
}

struct pp_request pp_request_for(const struct pp_read_context *c)
{
    return c ? (struct pp_request){.sample = c->sample, .epoch = c->epoch, .attempt = c->attempt}
             : (struct pp_request){.sample = UINT64_MAX, .epoch = UINT64_MAX};
}

void pp_request_log_answer(struct pp_request r, const struct pp_http_answer *a, const char *name)
{
    const struct pp_http_took *t = &a->took;
    uint64_t parts = t->resolve_ns + t->connect_ns + t->tls_ns + t->first_byte_ns + t->transfer_ns;
    if (!t->all_ns) /* it was not made: no memory */
        return;
    r.start_ns = t->began_ns;
    r.queue_ns = t->all_ns > parts ? t->all_ns - parts : 0;
    r.resolve_ns = t->resolve_ns;
    r.connect_ns = t->connect_ns;
    r.tls_ns = t->tls_ns;
    r.first_byte_ns = t->first_byte_ns;
    r.transfer_ns = t->transfer_ns;
    r.cpu_ns = t->cpu_ns;
    r.bytes = t->received;
    r.status = a->head.status;
    r.flags |= t->connected ? PP_REQUEST_CONNECTED : 0u;
    pp_request_log_add(&r, t->address, name);
}

size_t pp_request_log_take(struct pp_request *out, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&lock);
    while (kept && kept->n && n < max) {
        out[n++] = kept->ring[kept->head];
        kept->head = (kept->head + 1) % PP_REQUESTS_KEPT;
        kept->n--;
    }
    pthread_mutex_unlock(&lock);
    return n;
}

uint64_t pp_request_log_lost(void)
{
    pthread_mutex_lock(&lock);
    uint64_t lost = kept ? kept->lost : 0;
    pthread_mutex_unlock(&lock);
    return lost;
}

int pp_request_log_place(uint16_t id, struct pp_request_place *out)
{
    pthread_mutex_lock(&lock);
    int there = kept && id < kept->n_places;
    if (there)
        *out = kept->place[id];
    pthread_mutex_unlock(&lock);
    return there;
}
