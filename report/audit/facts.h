/* report/audit/facts.h: what is counted of each rank in each epoch (facts.c), and what is judged by
 * (judge.c). Private to the room. */
#pragma once

#include "report/audit/audit.h"
#include "report/audit/audit_read.h"
#include "report/findings/watch.h"
#include "report/source/source.h"

/* A rank in an epoch. */
struct audit_fact {
    uint64_t uses;
    uint64_t own_again;    /* uses of a sample that this rank had used in this part */
    uint64_t resume_again; /* ... in an earlier part */
    uint64_t cross_again;  /* ... that another rank had used, of lower number */
    uint64_t cross_last;   /* of them in the rank's last batch */
    uint64_t taken_over;   /* none of these: of a lease that changed hands in the epoch */
    uint64_t set;          /* sum of the hashes of its samples */
    uint32_t batches;
    uint32_t parts;
    size_t leader; /* whose samples it draws; itself */
    uint8_t whole, workers_alike, same_order;
    int order_of; /* it was resumed with the order of that epoch, plus 1; 0: with its own */
};

struct audit_epoch {
    uint16_t number;
    double world;              /* ranks that the job had in it */
    uint64_t distinct, shards; /* shards: leased ones with a use */
};

/* The number of a rank in the list of ranks. */
struct audit_rank {
    int64_t number;
    size_t first_part, n_parts;
};

struct audit_facts {
    const struct pp_audit_input *in; /* whose parts have epochs of the job: */
    struct pp_audit_input input;
    struct audit_placed placed;
    struct audit_rank *ranks;
    size_t n_ranks;
    struct audit_epoch *epochs;
    size_t n_epochs;
    struct audit_fact *fact; /* [epoch * n_ranks + rank] */
    double samples;          /* of the data set; NAN: not known */
    double world, batch_size;
    int drop_last; /* -1: not known */
    int stratified;
    int numbers_are_local; /* and there are several ranks: they are not held against each other */
    int leased,
        leases_done; /* leases_done: a rank saw the end of the last epoch, at which all shards are done */
    double shards;   /* that are leased; NAN: not known */
    struct pp_audit_lease *taken_over; /* of all parts, by epoch and shard */
    size_t n_taken_over;
    int cut; /* epochs beyond PP_AUDIT_FACTS are not in it */
    double scale;
    struct pp_audit_example examples[PP_AUDIT_EXAMPLES];
    size_t n_examples;
    struct pp_arena *arena; /* of the examples' texts */
};

/* Feeds everything. Its arrays, and those of placed, are the caller's to free, also after a failure. */
pp_status audit_facts_collect(const struct pp_audit_input *in, struct pp_arena *arena, struct audit_facts *f,
                              struct pp_err *err);
/* All ranks that the job had in the epoch have it from its start to its end. */
int audit_epoch_is_whole(const struct audit_facts *f, size_t epoch);

static inline const struct audit_fact *audit_fact_at(const struct audit_facts *f, size_t epoch, size_t rank)
{
    return &f->fact[epoch * f->n_ranks + rank];
}

/* seen.c: a set of samples that only grows until it is cleared. A bit for numbers below PP_AUDIT_EXACT.
 * Numbers above, as leased shards have them (shard x 2^32 + place), have a bit in pages of PP_SEEN_PAGE
 * numbers that follow each other, of which there are PP_SEEN_PAGES at the most: 160 MiB. What finds no page
 * then is watched (findings/watch.h), an estimate. Clearing costs what was touched. */

enum { PP_SEEN_PAGE = 512, PP_SEEN_PAGES = 1 << 21 };

struct pp_seen {
    uint64_t *bits; /* zero where nothing was seen */
    size_t words;
    uint8_t *touched; /* per block of words */
    uint64_t (*page)[PP_SEEN_PAGE / 64];
    uint64_t *number; /* of a page, plus 1, by hash; 0: a free place */
    uint32_t *at;     /* which page that is */
    size_t pages, room, places;
    struct pp_watch watch;
};

/* A sample that is going to be added soon: its bit is fetched meanwhile. In random order each is in another
 * line of memory. */
static inline void pp_seen_expect(const struct pp_seen *s, uint64_t sample)
{
    if (sample / 64 < s->words)
        __builtin_prefetch(&s->bits[sample / 64], 1);
}
/* Zero-initialise; free with pp_seen_free. */
enum pp_watch_answer pp_seen_add(struct pp_seen *s, uint64_t sample);
/* For how many samples one that was added stands: 1 but for those that are watched. */
uint64_t pp_seen_weight(const struct pp_seen *s, uint64_t sample);
int pp_seen_has(const struct pp_seen *s, uint64_t sample);
void pp_seen_clear(struct pp_seen *s);
void pp_seen_free(struct pp_seen *s);

/* prints.c: an iterable data set, whose samples have no numbers: the content of the first ones of each worker
 * and epoch, read from a recording and compared (prints.c). Private to the room. */

/* Hands each epoch to fn in which all workers of a rank, or the first workers of all ranks, gave the same
 * samples. rank: its place; SIZE_MAX: all of them. 0: there is nothing to compare. */
typedef void audit_alike_fn(void *ctx, uint16_t epoch, size_t rank);
int audit_compare_prints(const struct audit_facts *f, audit_alike_fn *fn, void *ctx);

/* Fills prints and n_prints of the part, which owns them, for the loader that is audited. */
pp_status audit_prints_read(const struct pp_source *source, const struct audit_order *order,
                            struct pp_audit_part *part, struct pp_err *err);
