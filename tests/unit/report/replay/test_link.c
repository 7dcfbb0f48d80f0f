/* Storages made by a small simulation, whose kind is known: which of them the reads show to be one shared
 * link. */
#include "tests/support/made_costs.h"
#include "probe/base/rng.h"
#include "report/replay/link.h"
#include "report/replay/storage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { READS = 900, MOST_WORKERS = 8 };

struct storage {
    const char *name;
    double computed;         /* by the workers' children, of the time of reads */
    double link_ns_per_byte; /* of a link that serves one request after another; 0: none */
    double request_bytes;    /* a file is read in requests of as many; 0: in one, or all at once */
    double own_ns_per_byte;  /* of each read's own connection */
    double read_ns,
        tail,   /* of a read, whatever its size; the part of the reads that take eight times as long */
        jitter; /* by so large a part at most they take longer or shorter */
    double decode_ns_per_byte;
    double least_bytes, most_bytes;
    double
        pause_ns; /* on average, behind every eighth read of a worker: a batch is collated and handed over */
    double late_ns; /* at most: a worker's thread goes on later than its read ends */
    int ahead;      /* every second read finds what the one before brought too */
    double pace_ns; /* at least from the begin of a read to that of the next: a trainer asks for no more */
    int apart;      /* the workers begin one after the other, evenly within a read's time */
    int per_slice;  /* as many reads are let go every 100 ms; 0: no ration */
    double unread;  /* so large a part of the samples reads nothing */
};

/* What all reads share. */
struct shared {
    double link_free;
    int served;
};

struct worker {
    double at, began, left, bytes; /* of the read that is under way; left 0: none */
    int reads;
};

static double request(const struct storage *s, struct worker *w, struct shared *all, double u)
{
    double bytes = s->request_bytes > 0 && w->left > s->request_bytes ? s->request_bytes : w->left,
           end = w->at;
    if (w->left >= w->bytes)
        end += s->read_ns * (u < s->tail ? 8 : 1 + s->jitter * (2 * u - 1));
    end += s->own_ns_per_byte * bytes;
    if (s->link_ns_per_byte > 0)
        end = all->link_free = fmax(end, all->link_free) + s->link_ns_per_byte * bytes;
    if (s->per_slice)
        end = fmax(end, 100e6 * floor((double)all->served++ / s->per_slice)) + 0.1e6 * (1 + u);
    w->left -= bytes;
    return end;
}

/* The reads of `workers` that read and decode without a pause. */
static void simulate(const struct storage *s, int workers, uint64_t seed, struct pp_cost_sample *out)
{
    struct worker w[MOST_WORKERS] = {{0}};
    struct pp_rng rng = pp_rng_key(seed, 0, 0, 0);
    struct shared all = {0};
    double begun = -1e18;
    for (int k = 0; k < workers && s->apart; k++)
        w[k].at = s->read_ns * k / workers;
    for (size_t n = 0; n < READS;) {
        struct worker *next = w;
        for (int k = 1; k < workers; k++)
            next = w[k].at < next->at ? &w[k] : next;
        if (next->left == 0) {
            next->bytes = next->left = floor(s->least_bytes *
                                             pow(s->most_bytes / s->least_bytes, pp_rng_unit(&rng)));
            next->began = next->at = begun = fmax(next->at, begun + s->pace_ns);
            if (s->ahead)
                next->left *= next->reads % 2 ? 0 : 2;
            if (s->unread > 0 && pp_rng_unit(&rng) < s->unread) {
                out[n++] = (struct pp_cost_sample){.read_start_ns = (uint64_t)next->began + 1000000,
                                                   .read_end_ns = (uint64_t)next->began + 1000000,
                                                   .worker = (uint32_t)(next - w)};
                next->left = 0;
                next->at += 0.5e6;
                continue;
            }
        }
        if (next->left > 0)
            next->at = request(s, next, &all, pp_rng_unit(&rng));
        next->at += next->left > 0 ? 0 : 1e3 + s->late_ns * pp_rng_unit(&rng);
        if (next->left > 0)
            continue;
        out[n++] = (struct pp_cost_sample){.read_start_ns = (uint64_t)next->began + 1000000,
                                           .read_end_ns = (uint64_t)next->at + 1000000,
                                           .read_blocked = (float)(next->at - next->began),
                                           .bytes = (uint32_t)next->bytes,
                                           .worker = (uint32_t)(next - w)};
        next->reads++;
        next->at += next->reads % 8 ? 0 : 2 * s->pause_ns * pp_rng_unit(&rng);
        next->at += 0.5e6 * (0.9 + 0.2 * pp_rng_unit(&rng)) + s->decode_ns_per_byte * next->bytes;
    }
}

static int by_end(const void *a, const void *b)
{
    const struct pp_cost_sample *x = *(const struct pp_cost_sample *const *)a,
                                *y = *(const struct pp_cost_sample *const *)b;
    return (x->read_end_ns > y->read_end_ns) - (x->read_end_ns < y->read_end_ns);
}

static struct pp_link found(const struct storage *s, int workers, uint64_t seed, double *shared)
{
    static struct pp_cost_sample samples[READS];
    const struct pp_cost_sample *order[READS];
    struct pp_costs c = {.samples = samples, .n = READS, .workers = workers};
    struct pp_link link;
    simulate(s, workers, seed, samples);
    for (size_t i = 0; i < READS; i++) {
        order[i] = &samples[i];
        c.helper_cpu_ns += s->computed * samples[i].read_blocked;
    }
    qsort(order, READS, sizeof(*order), by_end);
    pp_link_find(&c, order, &link);
    *shared = pp_link_shared(&c, order);
    return link;
}

/* Files of many requests take turns on the link: as many reads as ever are under way then say nothing, so
 * that the workers have to decode for a part of their time. */
static void test_a_shared_link_is_found(void **state)
{
    static const struct {
        struct storage storage;
        int workers;
    } links[] = {{{"whole files", .link_ns_per_byte = 250, .least_bytes = 1e4, .most_bytes = 1e5,
                   .decode_ns_per_byte = 20},
                  2},
                 {{"whole files", .link_ns_per_byte = 250, .least_bytes = 1e4, .most_bytes = 1e5,
                   .decode_ns_per_byte = 20},
                  8},
                 {{"one worker", .link_ns_per_byte = 250, .request_bytes = 16384, .least_bytes = 1e4,
                   .most_bytes = 1e5},
                  1},
                 {{"many requests", .link_ns_per_byte = 250, .request_bytes = 16384, .least_bytes = 1e4,
                   .most_bytes = 1e5, .decode_ns_per_byte = 100},
                  2},
                 {{"many requests", .link_ns_per_byte = 250, .request_bytes = 16384, .least_bytes = 1e4,
                   .most_bytes = 1e5, .decode_ns_per_byte = 400},
                  4},
                 {{"large files", .link_ns_per_byte = 20, .request_bytes = 131072, .least_bytes = 2e5,
                   .most_bytes = 2e6, .decode_ns_per_byte = 10},
                  2}};
    for (size_t k = 0; k < sizeof(links) / sizeof(*links); k++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            double shared;
            struct pp_link link = found(&links[k].storage, links[k].workers, seed, &shared);
            double rate = link.bytes_per_s * links[k].storage.link_ns_per_byte / 1e9;
            if (!(link.serial >= PP_SERIAL) || fabs(rate - 1) > 0.15)
                fail_msg("%s, %d workers, seed %d: index %.2f, %.2f of the link", links[k].storage.name,
                         links[k].workers, (int)seed, link.serial, rate);
        }
}

/* More of these reads at a time are as fast, each of them: not a link that all share. */
static void test_reads_of_their_own_are_no_link(void **state)
{
    static const struct storage slow[] = {{"latency", .read_ns = 10e6, .least_bytes = 1e4, .most_bytes = 1e5,
                                           .decode_ns_per_byte = 20},
                                          {"latency beside much decoding", .read_ns = 5e6, .least_bytes = 1e4,
                                           .most_bytes = 1e5, .decode_ns_per_byte = 100},
                                          {"a tail", .read_ns = 3e6, .tail = 0.05, .least_bytes = 1e4,
                                           .most_bytes = 1e5, .decode_ns_per_byte = 20},
                                          {"a connection each", .own_ns_per_byte = 250,
                                           .request_bytes = 16384, .least_bytes = 1e4, .most_bytes = 1e5,
                                           .decode_ns_per_byte = 40},
                                          {"a connection each and latency", .read_ns = 3e6,
                                           .own_ns_per_byte = 100, .least_bytes = 1e4, .most_bytes = 1e5},
                                          {"a link and files of one size", .link_ns_per_byte = 250,
                                           .request_bytes = 16384, .least_bytes = 5e4, .most_bytes = 5e4}};
    for (size_t k = 0; k < sizeof(slow) / sizeof(*slow); k++)
        for (int workers = 2; workers <= 8; workers *= 2)
            for (uint64_t seed = 1; seed <= 20; seed++) {
                double shared;
                struct pp_link link = found(&slow[k], workers, seed, &shared);
                if (link.serial >= PP_SERIAL || (shared > 0 && !(slow[k].link_ns_per_byte > 0)))
                    fail_msg("%s, %d workers, seed %d: index %.2f, shared %.0f", slow[k].name, workers,
                             (int)seed, link.serial, shared);
            }
}

static void judge(const struct storage *s, int workers, uint64_t seed, struct pp_costs *c)
{
    static struct pp_cost_sample samples[READS];
    struct pp_err err;
    *c = (struct pp_costs){.samples = samples, .n = READS, .workers = workers};
    simulate(s, workers, seed, samples);
    c->window_ns = (double)samples[READS - 1].read_end_ns;
    c->samples_per_s = READS * 1e9 / c->window_ns;
    assert_int_equal(pp_storage_read(c, &err), PP_OK);
    free(c->outages);
}

/* What the whole judgement of the storage says: bytes/s of all reads; 0: no limit of them. */
static double limit_of(const struct storage *s, int workers, uint64_t seed)
{
    struct pp_costs c;
    judge(s, workers, seed, &c);
    return c.bandwidth;
}

#define EVEN .least_bytes = 266240, .most_bytes = 266240, .pause_ns = 1e5
#define ONE_SIZE .least_bytes = 266240, .most_bytes = 266240, .pause_ns = 4e6

/* Reads of one size: the more of them are under way the slower each is, or it is not. */
static void test_reads_of_one_size_slow_each_other(void **state)
{
    static const struct {
        struct storage storage;
        int most_workers;
    } rows[] = {
        {{"pieces", .link_ns_per_byte = 40, .request_bytes = 131072, .decode_ns_per_byte = 4, ONE_SIZE}, 4},
        {{"much decoding", .link_ns_per_byte = 40, .request_bytes = 131072, .decode_ns_per_byte = 20,
          ONE_SIZE},
         4},
        {{"small pieces", .link_ns_per_byte = 40, .request_bytes = 16384, .decode_ns_per_byte = 8, ONE_SIZE},
         4},
        {{"whole files", .link_ns_per_byte = 40, .decode_ns_per_byte = 8, ONE_SIZE}, 2},
        {{"pieces, and a little that children compute", .computed = 0.02, .link_ns_per_byte = 40,
          .request_bytes = 131072, .decode_ns_per_byte = 4, ONE_SIZE},
         4},
        {{"a child started for each read, which computes", .computed = 0.35, .link_ns_per_byte = 40,
          .request_bytes = 131072, .decode_ns_per_byte = 4, ONE_SIZE},
         4},
        {{"latency", .read_ns = 10e6, .decode_ns_per_byte = 4, ONE_SIZE}, 8},
        {{"a tail", .read_ns = 10e6, .tail = 0.05, .decode_ns_per_byte = 8, ONE_SIZE}, 8},
        {{"a connection each", .own_ns_per_byte = 40, .request_bytes = 131072, .decode_ns_per_byte = 20,
          ONE_SIZE},
         8},
        {{"latency before half a link", .read_ns = 10e6, .link_ns_per_byte = 20, .request_bytes = 131072,
          .decode_ns_per_byte = 8, ONE_SIZE},
         2}};
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
        for (int workers = 2; workers <= rows[k].most_workers; workers *= 2)
            for (uint64_t seed = 1; seed <= 20; seed++) {
                const struct storage *s = &rows[k].storage;
                double shared, wanted = s->read_ns > 0 || s->computed > 0.1 || !(s->link_ns_per_byte > 0)
                                            ? 0
                                            : 1e9 / s->link_ns_per_byte;
                (void)found(s, workers, seed, &shared);
                if (fabs(shared - wanted) > 0.05 * wanted)
                    fail_msg("%s, %d workers, seed %d: %.0f, not %.0f bytes/s", s->name, workers, (int)seed,
                             shared, wanted);
            }
}

/* Reads of one size that all take equally long, because as many as ever are under way: a link spaces them
 * anew, and reads of their own keep their distance. */
static void test_a_line_forgets_what_delayed_it(void **state)
{
    static const struct {
        struct storage storage;
        int most_workers;
    } rows[] = {{{"a link", .link_ns_per_byte = 40, EVEN}, 8},
                {{"a link, and threads that go on late", .link_ns_per_byte = 40, .late_ns = 1e6, EVEN}, 8},
                {{"a link, read ahead", .link_ns_per_byte = 40, .late_ns = 4e5, .ahead = 1, EVEN}, 8},
                {{"latency, begun apart", .read_ns = 20e6, .jitter = 0.005, .apart = 1, EVEN}, 8},
                {{"latency, and a trainer that asks every 100 ms", .read_ns = 250e6, .jitter = 0.05,
                  .pace_ns = 100e6, EVEN},
                 8},
                {{"latency, and one CPU", .read_ns = 20e6, .jitter = 0.05, .decode_ns_per_byte = 60, EVEN},
                 8},
                {{"latency", .read_ns = 20e6, EVEN}, 8},
                {{"latency that varies by 1 %", .read_ns = 20e6, .jitter = 0.01, EVEN}, 8},
                {{"latency that varies by 5 %", .read_ns = 20e6, .jitter = 0.05, EVEN}, 8},
                {{"latency that varies by 20 %", .read_ns = 20e6, .jitter = 0.2, EVEN}, 8},
                {{"latency that varies by half", .read_ns = 20e6, .jitter = 0.5, EVEN}, 8},
                {{"a connection each", .own_ns_per_byte = 80, .jitter = 0.05, EVEN}, 8}};
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
        for (int workers = 2; workers <= rows[k].most_workers; workers *= 2)
            for (uint64_t seed = 1; seed <= 50; seed++) {
                const struct storage *s = &rows[k].storage;
                double wanted = s->link_ns_per_byte > 0 ? 1e9 / s->link_ns_per_byte : 0,
                       got = limit_of(s, workers, seed);
                if (fabs(got - wanted) > 0.05 * wanted)
                    fail_msg("%s, %d workers, seed %d: %.0f, not %.0f bytes/s", s->name, workers, (int)seed,
                             got, wanted);
            }
}

/* As many reads in 100 ms, of files of many sizes: it is a limit of reads where some samples read nothing,
 * too, and the quick reads between are not found to change. */
static void test_a_ration_is_one_beside_samples_that_read_nothing(void **state)
{
    static const double unread[] = {0, 0.01, 0.04, 0.2, 0.5};
    for (size_t k = 0; k < sizeof(unread) / sizeof(*unread); k++)
        for (int workers = 1; workers <= 2; workers++)
            for (uint64_t seed = 1; seed <= 20; seed++) {
                struct storage s = {"a ration",          .per_slice = 5,
                                    .unread = unread[k], .decode_ns_per_byte = 40,
                                    .pause_ns = 4e6,     .least_bytes = 1e4,
                                    .most_bytes = 1e5};
                struct pp_costs c;
                judge(&s, workers, seed, &c);
                if (fabs(c.reads_per_s - 50) > 3 || !(c.burst_ns > 0) || c.storage.drift >= PP_DRIFT)
                    fail_msg("%.2f read nothing, %d workers, seed %d: %.1f reads/s, drift %.2f", unread[k],
                             workers, (int)seed, c.reads_per_s, c.storage.drift);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_of_one_size_slow_each_other),
        cmocka_unit_test(test_a_line_forgets_what_delayed_it),
        cmocka_unit_test(test_a_ration_is_one_beside_samples_that_read_nothing),
        cmocka_unit_test(test_a_shared_link_is_found),
        cmocka_unit_test(test_reads_of_their_own_are_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
