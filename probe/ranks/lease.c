#include "probe/ranks/lease.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/ranks/lease_dir.h"
#include "probe/ranks/lease_words.h"

#define BEATS_PER_EXPIRY 6 /* some may be late */
#define MOST_BETWEEN_BEATS_NS UINT64_C(5000000000)
#define MOST_MARK_NS UINT64_C(1000000000)
#define LEAST_LOOK_NS UINT64_C(20000000)
#define MOST_LOOK_NS UINT64_C(1000000000)
#define LOOK_COSTS 20 /* a waiter spends at most this part of its time in the directory */

enum { NEWS = 8, NEWS_BYTES = 320, HOLDERS = 16 };

/* A rank whose shards were waited for: at how many looks it held one. */
struct holder {
    char token[PP_LEASE_TOKEN];
    uint64_t looks;
};

struct held {
    uint64_t epoch, position, shard;
    int turn;
    int lost;
};

struct pp_lease {
    struct pp_lease_dir dir;
    pthread_t thread;
    int started;
    pthread_mutex_t lock;
    pthread_cond_t wake, marked;
    /* under the lock */
    int stop, trouble; /* trouble: the directory failed at the last try */
    struct held *held; /* in the order in which they were taken */
    size_t n_held, room;
    uint64_t done_epoch, done_position; /* what the trainer has said */
    struct pp_lease_counts counts;
    struct holder holder[HOLDERS];
    char news[NEWS][NEWS_BYTES];
    size_t first_news, n_news;
    pp_status failure; /* the directory does not take heartbeats any more */
    struct pp_err failure_err;
    /* the reader's */
    struct pp_lease_state *state; /* of `epoch`, when it was looked at last */
    uint64_t epoch, next, position;
    int entered;
    uint64_t look_ns;
};

/* ---- what the two threads share ---- */

static void tell(struct pp_lease *l, const char *text)
{
    pthread_mutex_lock(&l->lock);
    if (l->n_news < NEWS)
        snprintf(l->news[(l->first_news + l->n_news++) % NEWS], NEWS_BYTES, "%s", text);
    pthread_mutex_unlock(&l->lock);
}

int pp_lease_news(struct pp_lease *l, char *buf, size_t size)
{
    pthread_mutex_lock(&l->lock);
    int any = l->n_news > 0;
    if (any) {
        snprintf(buf, size, "%s", l->news[l->first_news]);
        l->first_news = (l->first_news + 1) % NEWS;
        l->n_news--;
    }
    pthread_mutex_unlock(&l->lock);
    return any;
}

struct pp_lease_counts pp_lease_counts(struct pp_lease *l)
{
    const struct holder *most = NULL;
    pthread_mutex_lock(&l->lock);
    struct pp_lease_counts c = l->counts;
    c.held = l->n_held;
    for (size_t i = 0; i < HOLDERS; i++)
        if (l->holder[i].looks && (!most || l->holder[i].looks > most->looks))
            most = &l->holder[i];
    if (most) /* host and process; what makes it unique is for no person */
        snprintf(c.holder, sizeof(c.holder), "%.*s", (int)(strrchr(most->token, '.') - most->token),
                 most->token);
    pthread_mutex_unlock(&l->lock);
    return c;
}

/* Under the lock: leases that are done, and of which the directory does not say so. */
static size_t unmarked(const struct pp_lease *l)
{
    size_t n = 0;
    for (; n < l->n_held; n++) {
        const struct held *h = &l->held[n];
        if (h->epoch > l->done_epoch || (h->epoch == l->done_epoch && h->position >= l->done_position))
            break;
    }
    return n;
}

void pp_lease_delivered(struct pp_lease *l, uint64_t epoch, uint64_t position)
{
    pthread_mutex_lock(&l->lock);
    if (epoch > l->done_epoch || (epoch == l->done_epoch && position > l->done_position)) {
        l->done_epoch = epoch;
        l->done_position = position;
        if (unmarked(l))
            pthread_cond_signal(&l->wake);
        uint64_t until = pp_now_ns() + MOST_MARK_NS;
        while (unmarked(l) > 1 && !l->trouble && pp_cond_wait_until(&l->marked, &l->lock, until) == 0)
            continue;
    }
    pthread_mutex_unlock(&l->lock);
}

int pp_lease_is_lost(struct pp_lease *l, uint64_t epoch, uint64_t position)
{
    int lost = 0;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->n_held; i++)
        lost |= l->held[i].lost && l->held[i].epoch == epoch && l->held[i].position == position;
    pthread_mutex_unlock(&l->lock);
    return lost;
}

/* ---- the thread: heartbeats, what is done, what was lost ---- */

static void find_lost(struct pp_lease *l)
{
    char text[NEWS_BYTES];
    for (size_t i = 0;; i++) {
        struct held h = {0};
        pthread_mutex_lock(&l->lock);
        int any = i < l->n_held;
        if (any)
            h = l->held[i];
        pthread_mutex_unlock(&l->lock);
        if (!any)
            return;
        if (h.lost || !pp_lease_dir_has(&l->dir, h.epoch, h.shard, h.turn + 1))
            continue;
        pthread_mutex_lock(&l->lock); /* only this thread takes leases out */
        l->held[i].lost = 1;
        l->counts.lost++;
        pthread_mutex_unlock(&l->lock);
        snprintf(text, sizeof(text),
                 "another rank leased shard %llu of epoch %llu, which this rank held: its heartbeat was late "
                 "by more than the expiry time, and samples of the shard may be read twice",
                 (unsigned long long)h.shard, (unsigned long long)h.epoch);
        tell(l, text);
    }
}

static void *lease_main(void *arg)
{
    struct pp_lease *l = arg;
    struct pp_err err;
    uint64_t every = l->dir.expiry_ns / BEATS_PER_EXPIRY, now = pp_now_ns(), trouble_ns = 0;
    every = every < MOST_BETWEEN_BEATS_NS ? every : MOST_BETWEEN_BEATS_NS;
    uint64_t next = now + every;
    int stop = 0;
    pthread_setname_np(pthread_self(), "pp-lease");
    while (!stop) {
        pthread_mutex_lock(&l->lock);
        if (!l->stop && !unmarked(l))
            pp_cond_wait_until(&l->wake, &l->lock, next);
        stop = l->stop;
        pp_status st = PP_OK;
        while (st == PP_OK && unmarked(l) > 0) { /* leases whose samples were all trained on */
            struct held first = l->held[0];
            pthread_mutex_unlock(&l->lock);
            if (!first.lost) /* else the rest of it was not read here */
                st = pp_lease_dir_take(&l->dir, first.epoch, first.shard, PP_LEASE_DONE, &err);
            pthread_mutex_lock(&l->lock);
            if (st == PP_OK) {
                memmove(l->held, l->held + 1, --l->n_held * sizeof(*l->held));
                pthread_cond_signal(&l->marked);
            }
        }
        pthread_mutex_unlock(&l->lock);
        now = pp_now_ns();
        if (!stop && (now >= next || trouble_ns)) {
            pp_status beat = pp_lease_dir_beat(&l->dir, 0, &err);
            st = beat == PP_OK ? st : beat;
            find_lost(l);
            next = now + every;
        }
        trouble_ns = st == PP_OK ? 0 : trouble_ns ? trouble_ns : now;
        int trouble = trouble_ns != 0;
        pthread_mutex_lock(&l->lock);
        l->trouble = trouble;
        if (trouble)
            pthread_cond_signal(&l->marked);
        pthread_mutex_unlock(&l->lock);
        /* Later the others may take what this rank holds: it ends before that. */
        if (trouble_ns && now - trouble_ns > l->dir.expiry_ns / 2) {
            pthread_mutex_lock(&l->lock);
            if (l->failure == PP_OK) {
                l->failure = st;
                l->failure_err = err;
            }
            pthread_mutex_unlock(&l->lock);
        }
        if (trouble_ns && !stop)
            pp_sleep_until_ns(now + LEAST_LOOK_NS);
    }
    pp_lease_dir_beat(&l->dir, 1, NULL);
    return NULL;
}

/* ---- the reader ---- */

static int holds(struct pp_lease *l, uint64_t shard)
{
    int found = 0;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->n_held; i++)
        found |= !l->held[i].lost && l->held[i].epoch == l->epoch && l->held[i].shard == shard;
    pthread_mutex_unlock(&l->lock);
    return found;
}

pp_status pp_lease_failure(struct pp_lease *l, struct pp_err *err)
{
    pthread_mutex_lock(&l->lock);
    pp_status st = l->failure;
    if (st != PP_OK && err)
        *err = l->failure_err;
    pthread_mutex_unlock(&l->lock);
    return st;
}

static pp_status look(struct pp_lease *l, struct pp_err *err)
{
    uint64_t t0 = pp_now_ns();
    pp_status st = pp_lease_dir_look(&l->dir, l->epoch, l->state, err);
    uint64_t next = (pp_now_ns() - t0) * LOOK_COSTS;
    l->look_ns = next < LEAST_LOOK_NS ? LEAST_LOOK_NS : next > MOST_LOOK_NS ? MOST_LOOK_NS : next;
    return st;
}

uint64_t pp_lease_look_ns(const struct pp_lease *l)
{
    return l->look_ns;
}

/* Makes the lease, unless another rank has. */
static pp_status try_take(struct pp_lease *l, uint64_t shard, int turn, enum pp_lease_answer *answer,
                          struct pp_err *err)
{
    pp_status st = pp_lease_dir_take(&l->dir, l->epoch, shard, turn, err);
    if (st != PP_OK)
        return st == PP_E_EXISTS ? PP_OK : st;
    pthread_mutex_lock(&l->lock);
    if (!pp_grow(&l->held, &l->room, l->n_held + 1, sizeof(*l->held)))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the leases of %zu shards", l->n_held + 1);
    if (st == PP_OK) {
        l->held[l->n_held++] = (struct held){l->epoch, l->position++, shard, turn, 0};
        l->counts.taken++;
        l->counts.stolen += turn > 0;
        *answer = PP_LEASE_TAKEN;
    }
    pthread_mutex_unlock(&l->lock);
    return st;
}

/* A shard that another rank holds: stolen, if that rank died or left. What a rank does last before it leaves
 * is to mark what is done; the order of the two questions is that one turned round. */
static pp_status try_steal(struct pp_lease *l, uint64_t shard, enum pp_lease_answer *answer,
                           struct pp_err *err)
{
    char token[PP_LEASE_TOKEN], text[NEWS_BYTES];
    int turn = l->state[shard].turn;
    enum pp_lease_owner owner = pp_lease_dir_owner(&l->dir, l->epoch, shard, turn, token);
    if (owner == PP_LEASE_ALIVE) {
        /* Counts the first HOLDERS ranks, and no more. */
        size_t i = 0;
        pthread_mutex_lock(&l->lock);
        while (i < HOLDERS && l->holder[i].looks && strcmp(l->holder[i].token, token) != 0)
            i++;
        if (i < HOLDERS && strchr(token, '.')) {
            snprintf(l->holder[i].token, sizeof(l->holder[i].token), "%s", token);
            l->holder[i].looks++;
        }
        pthread_mutex_unlock(&l->lock);
        return PP_OK;
    }
    if (pp_lease_dir_has(&l->dir, l->epoch, shard, PP_LEASE_DONE)) /* the next look sees it */
        return PP_OK;
    pp_status st = try_take(l, shard, turn + 1, answer, err);
    if (st != PP_OK || *answer != PP_LEASE_TAKEN)
        return st;
    snprintf(text, sizeof(text), PP_LEASE_STOLEN_FORMAT, (unsigned long long)shard,
             (unsigned long long)l->epoch, token,
             owner == PP_LEASE_LEFT ? "left in the middle of it"
                                    : "held it and sent no heartbeat for the expiry time");
    tell(l, text);
    return PP_OK;
}

pp_status pp_lease_take(struct pp_lease *l, uint64_t epoch, const uint64_t *order, uint64_t *shard,
                        enum pp_lease_answer *answer, struct pp_err *err)
{
    pp_status st = pp_lease_failure(l, err);
    if (st == PP_OK && !(l->entered && l->epoch == epoch)) {
        st = pp_lease_dir_enter(&l->dir, epoch, err);
        l->epoch = epoch;
        if (st == PP_OK)
            st = look(l, err);
        l->next = l->position = 0;
        l->entered = st == PP_OK;
    }
    *answer = PP_LEASE_WAIT;
    for (; st == PP_OK && *answer == PP_LEASE_WAIT && l->next < l->dir.shards; l->next += st == PP_OK) {
        *shard = order[l->next];
        if (l->state[*shard].turn < 0 && !l->state[*shard].done)
            st = try_take(l, *shard, 0, answer, err);
    }
    if (st != PP_OK || *answer == PP_LEASE_TAKEN)
        return st;
    st = look(l, err);
    uint64_t left = 0;
    for (uint64_t i = 0; st == PP_OK && *answer == PP_LEASE_WAIT && i < l->dir.shards; i++) {
        *shard = order[i];
        const struct pp_lease_state *s = &l->state[*shard];
        if (!s->done && s->turn < 0)
            st = try_take(l, *shard, 0, answer, err);
        else if (!s->done && !holds(l, *shard))
            st = try_steal(l, *shard, answer, err);
        left += !s->done;
    }
    if (st == PP_OK && *answer == PP_LEASE_WAIT && !left)
        *answer = PP_LEASE_OVER;
    return st;
}

/* ---- join and leave ---- */

pp_status pp_lease_join(const struct pp_lease_opts *opts, struct pp_lease **out, struct pp_err *err)
{
    struct pp_lease *l = calloc(1, sizeof(*l));
    if (!l)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to lease shards");
    l->dir.fd = -1;
    l->look_ns = LEAST_LOOK_NS;
    pthread_mutex_init(&l->lock, NULL);
    pp_cond_init(&l->wake);
    pp_cond_init(&l->marked);
    l->state = calloc(opts->shards, sizeof(*l->state));
    pp_status st = l->state ? pp_lease_dir_join(&l->dir, opts, err)
                            : pp_fail(err, PP_E_NO_MEMORY, "no memory for the leases of %llu shards",
                                      (unsigned long long)opts->shards);
    /* A directory in which all is done would give a run without a sample. */
    uint64_t done = 0;
    if (st == PP_OK && opts->epochs)
        st = pp_lease_dir_look(&l->dir, opts->epochs - 1, l->state, err);
    for (uint64_t i = 0; st == PP_OK && opts->epochs && i < l->dir.shards; i++)
        done += (uint64_t)l->state[i].done;
    if (st == PP_OK && opts->epochs && done >= l->dir.shards)
        st = pp_fail(
            err, PP_E_EXISTS,
            "--lease %s: all shards of %s%llu are done there; name another directory, or remove it to read them again",
            l->dir.path, opts->epochs > 1 ? "epochs 0 to " : "epoch ", (unsigned long long)opts->epochs - 1);
    if (st == PP_OK) {
        int rc = pthread_create(&l->thread, NULL, lease_main, l);
        l->started = rc == 0;
        if (rc)
            st = pp_fail_errno(err, rc, "starting the thread of --lease failed");
    }
    if (st != PP_OK)
        pp_lease_leave(l);
    else
        *out = l;
    return st;
}

void pp_lease_leave(struct pp_lease *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stop = 1;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->lock);
    if (l->started)
        pthread_join(l->thread, NULL);
    pp_lease_dir_free(&l->dir);
    pthread_cond_destroy(&l->wake);
    pthread_cond_destroy(&l->marked);
    pthread_mutex_destroy(&l->lock);
    free(l->held);
    free(l->state);
    free(l);
}
