/* report/audit/facts.h: what is counted of each rank in each epoch (facts.c), and what is judged by
 * (judge.c). Private to the room. */
#ifndef PP_REPORT_AUDIT_FACTS_H
#define PP_REPORT_AUDIT_FACTS_H

#include "report/audit/audit.h"
#include "report/audit/place.h"

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

/* Feeds everything. Free with audit_facts_free, also after a failure. */
pp_status audit_facts_collect(const struct pp_audit_input *in, struct pp_arena *arena, struct audit_facts *f,
                              struct pp_err *err);
void audit_facts_free(struct audit_facts *f);
/* All ranks that the job had in the epoch have it from its start to its end. */
int audit_epoch_is_whole(const struct audit_facts *f, size_t epoch);

static inline const struct audit_fact *audit_fact_at(const struct audit_facts *f, size_t epoch, size_t rank)
{
    return &f->fact[epoch * f->n_ranks + rank];
}

#endif
