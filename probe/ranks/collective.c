#include "probe/ranks/collective.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/ranks/collective_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_NS 50000000

struct pp_collective {
    uint32_t rank, world_size;
    uint64_t limit_ns;
    struct pp_ranks_file file;
    uint64_t meetings, over_ns; /* over_ns: when the newest meeting was over for this rank */
    int alone;
    char news[320];
    size_t news_n;
    uint8_t state[]; /* of every rank, as it was last told of */
};

static struct pp_rank_line *line_of(const struct pp_collective *c, uint32_t rank)
{
    return &c->file.shared->line[rank];
}

static uint32_t state_of(const struct pp_collective *c, uint32_t rank)
{
    return atomic_load(&line_of(c, rank)->state);
}

static int came(const struct pp_collective *c, uint32_t rank)
{
    return atomic_load(&line_of(c, rank)->meetings) >= c->meetings;
}

pp_status pp_collective_join(const struct pp_collective_opts *o, struct pp_collective **out,
                             struct pp_err *err)
{
    *out = NULL;
    if (o->world_size < 2 || o->world_size > PP_COLLECTIVE_RANKS || o->rank >= o->world_size)
        return pp_fail(
            err, PP_E_USAGE,
            "--collective is for 2 to %d processes of one machine: give each its --rank, and all the same --world-size",
            PP_COLLECTIVE_RANKS);
    struct pp_collective *c = calloc(1, sizeof(*c) + o->world_size);
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to join %s", o->path);
    c->rank = o->rank;
    c->world_size = o->world_size;
    c->limit_ns = o->limit_ns;
    pp_status st = pp_ranks_file_join(&c->file, o, err);
    if (st != PP_OK) {
        pp_ranks_file_leave(&c->file);
        free(c);
        return st;
    }
    *out = c;
    return PP_OK;
}

void pp_collective_leave(struct pp_collective *c)
{
    if (!c)
        return;
    uint32_t here = PP_RANK_HERE;
    if (atomic_compare_exchange_strong(&line_of(c, c->rank)->state, &here, PP_RANK_LEFT))
        pp_ranks_file_ring(&c->file);
    pp_ranks_file_leave(&c->file);
    free(c);
}

/* ---- news ---- */

static void say(struct pp_collective *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct pp_collective *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = c->news_n < sizeof(c->news)
                ? vsnprintf(c->news + c->news_n, sizeof(c->news) - c->news_n, fmt, args)
                : 0;
    va_end(args);
    c->news_n += n > 0 ? (size_t)n : 0;
}

/* Everything that has changed since the last meeting, and whether another rank is left to wait for. */
static void take_stock(struct pp_collective *c)
{
    uint32_t others = 0;
    c->news_n = 0;
    for (uint32_t r = 0; r < c->world_size; r++) {
        uint32_t state = state_of(c, r);
        if (state > PP_RANK_HERE && state != c->state[r]) {
            /* What has become of a rank that is not waited for any longer. */
            char limit[32], steps[48];
            uint64_t meetings = atomic_load(&line_of(c, r)->meetings);
            pp_text_duration(limit, sizeof(limit), (double)c->limit_ns);
            pp_text_counted(steps, sizeof(steps), meetings ? (double)meetings - 1 : 0, "step", "steps");
            say(c, "%srank %u of %u ", c->news_n ? ", " : "", r, c->world_size);
            switch (state) {
            case PP_RANK_NEVER_CAME: say(c, "did not start within %s", limit); break;
            case PP_RANK_LATE:
                say(c, "did not reach step %llu within %s", (unsigned long long)c->meetings - 1, limit);
                break;
            case PP_RANK_DIED: say(c, "died after %s", steps); break;
            default: say(c, "ended after %s", steps);
            }
        }
        c->state[r] = (uint8_t)state;
        others += r != c->rank && state == PP_RANK_HERE;
    }
    c->alone = others == 0 || c->state[c->rank] != PP_RANK_HERE;
    if (c->news_n)
        say(c, c->alone ? "; rank %u continues alone" : "; rank %u and the others continue without it",
            c->rank);
}

const char *pp_collective_news(struct pp_collective *c)
{
    const char *text = c->news_n ? c->news : NULL;
    c->news_n = 0;
    return text;
}

/* ---- meetings ---- */

/* Before the first step a rank that has not begun is waited for too. */
static int is_awaited(const struct pp_collective *c, uint32_t rank)
{
    uint32_t state = state_of(c, rank);
    return (state == PP_RANK_HERE && !came(c, rank)) || (state == PP_RANK_ABSENT && c->meetings == 1);
}

static int all_came(const struct pp_collective *c)
{
    uint32_t r = 0;
    while (r < c->world_size && !is_awaited(c, r))
        r++;
    return r == c->world_size;
}

/* The first to find a rank gone says so, and wakes the others, who need not wait for it either. */
static void give_up_on(struct pp_collective *c, uint32_t rank, uint32_t state, uint32_t why)
{
    if (atomic_compare_exchange_strong(&line_of(c, rank)->state, &state, why))
        pp_ranks_file_ring(&c->file);
}

/* Comes to the next meeting and waits until it is over. Sequentially consistent stores and loads: of ranks
 * that come together, one at least sees that all did. */
static pp_status meet(struct pp_collective *c, pp_collective_look *look, void *ctx)
{
    struct pp_rank_line *me = line_of(c, c->rank);
    uint64_t number = ++c->meetings;
    atomic_store(&me->came_ns[number & 1], pp_now_ns());
    atomic_store(&me->meetings, number);
    if (all_came(c))
        pp_ranks_file_ring(&c->file);
    /* The limit counts looks, not the clock: ranks that were stopped together, or a machine that slept, must
     * not wake up to find each other late. */
    uint64_t waited = 0, looked = pp_now_ns();
    for (;;) {
        uint32_t bell = atomic_load(
            &c->file.shared->bell); /* before looking who came: who comes after that rings it */
        if (all_came(c))
            return PP_OK;
        pp_ranks_file_sleep(&c->file, bell, LOOK_NS);
        uint64_t now = pp_now_ns(), passed = now - looked;
        if (passed < LOOK_NS)
            continue; /* woken: perhaps by the last one */
        waited += passed < 2 * LOOK_NS ? passed : 2 * LOOK_NS;
        looked = now;
        /* Ranks that died are given up at once, those that do not come when they have been waited for long
         * enough. One that opens its data before its first step takes as long as that takes. */
        int over = waited >= c->limit_ns;
        for (uint32_t r = 0; r < c->world_size; r++) {
            uint32_t state = state_of(c, r);
            if (!is_awaited(c, r))
                continue;
            if (state == PP_RANK_ABSENT && over)
                give_up_on(c, r, state, PP_RANK_NEVER_CAME);
            else if (state == PP_RANK_HERE && r != c->rank && !pp_ranks_file_has(&c->file, r))
                give_up_on(c, r, state, PP_RANK_DIED);
            else if (state == PP_RANK_HERE && over && c->meetings > 1)
                give_up_on(c, r, state, PP_RANK_LATE);
        }
        if (look && look(ctx))
            return PP_E_INTERRUPTED;
    }
}

pp_status pp_collective_gather(struct pp_collective *c, pp_collective_look *look, void *ctx)
{
    pp_status st = meet(c, look, ctx);
    take_stock(c);
    c->over_ns = pp_now_ns();
    return st;
}

pp_status pp_collective_meet(struct pp_collective *c, pp_collective_look *look, void *ctx,
                             struct pp_meeting *out)
{
    *out = (struct pp_meeting){.last_rank = c->rank};
    if (c->alone)
        return PP_END;
    pp_status st = meet(c, look, ctx);
    take_stock(c);
    if (st == PP_OK) {
        /* Who came, gone since or not. PP_END: this rank alone, or the others have given it up and are
         * further on. */
        uint64_t last_ns = 0, others_ns = 0;
        for (uint32_t r = 0; r < c->world_size; r++) {
            if (!came(c, r))
                continue;
            uint64_t came_ns = atomic_load(&line_of(c, r)->came_ns[c->meetings & 1]);
            if (came_ns > last_ns) {
                last_ns = came_ns;
                out->last_rank = r;
            }
            if (r != c->rank && came_ns > others_ns)
                others_ns = came_ns;
        }
        out->others_ns = others_ns > c->over_ns ? others_ns - c->over_ns : 0;
        st = others_ns && c->state[c->rank] == PP_RANK_HERE ? PP_OK : PP_END;
    }
    c->over_ns = pp_now_ns();
    return st;
}

int pp_collective_is_alone(const struct pp_collective *c)
{
    return c->alone;
}
