#include "probe/columns/pages.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <pthread.h>

enum { BUCKETS = 1024 };

PP_COUNTER_SET(pp_pages_counters, PP_PAGES_COUNTS_LIST)

void pp_pages_count_decoded(uint64_t bytes, uint64_t began_ns)
{
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_DECODED, 1);
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_DECODED_BYTES, bytes);
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_DECODE_NS, pp_now_ns() - began_ns);
}

/* A page that a thread is making: on that thread's stack. */
struct making {
    struct pp_page_key key;
    struct making *next;
};

struct pp_pages {
    uint64_t limit;
    pthread_mutex_t lock;
    pthread_cond_t made;
    /* below: under lock */
    uint64_t bytes;
    struct pp_page *bucket[BUCKETS];
    struct pp_page *newest, *oldest;
    struct making *making;
};

pp_status pp_pages_create(uint64_t limit, struct pp_pages **out, struct pp_err *err)
{
    struct pp_pages *c = calloc(1, sizeof(*c));
    *out = c;
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to keep decoded pages");
    c->limit = limit;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->made, NULL);
    return PP_OK;
}

static int is_same(const struct pp_page_key *a, const struct pp_page_key *b)
{
    return a->table == b->table && a->chunk == b->chunk && a->page == b->page;
}

static struct pp_page **bucket_of(struct pp_pages *c, const struct pp_page_key *k)
{
    uint64_t h = ((uint64_t)(uintptr_t)k->table >> 4) * 0x9e3779b97f4a7c15u;
    h = (h ^ k->chunk) * 0x9e3779b97f4a7c15u;
    h = (h ^ k->page) * 0x9e3779b97f4a7c15u;
    return &c->bucket[h >> 54];
}

/* ---- by age ---- */

static void leave_age(struct pp_pages *c, struct pp_page *p)
{
    *(p->newer ? &p->newer->older : &c->newest) = p->older;
    *(p->older ? &p->older->newer : &c->oldest) = p->newer;
}

static void enter_newest(struct pp_pages *c, struct pp_page *p)
{
    p->newer = NULL;
    p->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = p;
    c->newest = p;
}

static void forget(struct pp_pages *c, struct pp_page *p)
{
    struct pp_page **at = bucket_of(c, &p->key);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    leave_age(c, p);
    c->bytes -= p->bytes;
    p->free(p);
}

static void trim(struct pp_pages *c)
{
    for (struct pp_page *p = c->oldest, *newer; p && c->bytes > c->limit; p = newer) {
        newer = p->newer;
        if (p->users == 0)
            forget(c, p);
    }
}

/* ---- getting ---- */

pp_status pp_pages_get(struct pp_pages *c, const struct pp_page_key *key, pp_page_maker *make, void *ctx,
                       struct pp_page **out, struct pp_err *err)
{
    struct pp_page *p;
    pp_status st = PP_OK;
    *out = NULL;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        for (p = *bucket_of(c, key); p && !is_same(&p->key, key);)
            p = p->next;
        const struct making *made_now = p ? NULL : c->making;
        while (made_now && !is_same(&made_now->key, key))
            made_now = made_now->next;
        if (!made_now)
            break;
        pthread_cond_wait(&c->made, &c->lock);
    }
    if (p) {
        p->users++;
        leave_age(c, p);
        enter_newest(c, p);
    } else {
        struct making mine = {.key = *key, .next = c->making}, **at = &c->making;
        c->making = &mine;
        pthread_mutex_unlock(&c->lock);
        st = make(ctx, &p, err);
        pthread_mutex_lock(&c->lock);
        if (st == PP_OK) {
            struct pp_page **bucket = bucket_of(c, key);
            p->key = *key;
            p->users = 1;
            p->next = *bucket;
            *bucket = p;
            enter_newest(c, p);
            c->bytes += p->bytes;
            trim(c);
        }
        while (*at != &mine)
            at = &(*at)->next;
        *at = mine.next;
        pthread_cond_broadcast(&c->made);
    }
    pthread_mutex_unlock(&c->lock);
    *out = st == PP_OK ? p : NULL;
    return st;
}

void pp_pages_put(struct pp_pages *c, struct pp_page *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&c->lock);
    p->users--;
    trim(c);
    pthread_mutex_unlock(&c->lock);
}

uint64_t pp_pages_footprint(struct pp_pages *c)
{
    pthread_mutex_lock(&c->lock);
    uint64_t bytes = c->bytes + sizeof(*c);
    pthread_mutex_unlock(&c->lock);
    return bytes;
}

void pp_pages_destroy(struct pp_pages *c)
{
    if (!c)
        return;
    while (c->oldest)
        forget(c, c->oldest);
    pthread_cond_destroy(&c->made);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
