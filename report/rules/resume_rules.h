/* report/rules/resume_rules.h: what the test of resumed jobs (report/resume) concludes, as tables: its facts,
 * and its rules (resume.def). */
#pragma once

#include "report/rules/rules.h"

/* FACT(symbol, name, text in tables for people or NULL, unit). Those that are not numbers of something are
 * known where they hold. Numbers of batches and epochs are those of the uninterrupted run, from 0. */
#define PP_RESUME_FACT_MAP(FACT) \
    /* of the resumed run, held against the uninterrupted one */ \
    FACT(FAILED, "failed", "the resumed run failed before its first batch", COUNT) \
    FACT(IN_SAVE, "in_save", "the job was killed in a save", COUNT) \
    FACT(IDENTITY, "identity", "batches with equal numbers and other files", COUNT) \
    FACT(CONTENT, "content", "batches of the same samples with other bytes", COUNT) \
    FACT(SEED_OF, "seed_of", "epoch whose seed the workers have", COUNT) \
    FACT(WORLD, "world", "ranks, where their number has changed", COUNT) \
    FACT(WORLD_BEFORE, "world_before", NULL, COUNT) \
    FACT(MOVED, "moved", "samples used too often or left out", COUNT) \
    FACT(RANKS_RIGHT, "ranks_right", "ranks that go on as they should", COUNT) \
    FACT(RANKS_WRONG, "ranks_wrong", "ranks that do not", COUNT) \
    FACT(RANK, "rank", NULL, COUNT) \
    FACT(RANK_OF_OTHER, "rank_of_other", "rank whose samples it has", COUNT) \
    FACT(RESTART, "restart", "it begins with the first batch of all", COUNT) \
    FACT(EARLY, "early", "wrong batches, before it goes on at the right place", COUNT) \
    FACT(RESTORED, "restored", "a checkpoint that it loaded", NONE) \
    FACT(DROPPED, "dropped", "epochs less than the uninterrupted run", COUNT) \
    FACT(EMPTY, "empty", "epochs without a batch", COUNT) \
    FACT(STICKS, "sticks", "later epochs without their first samples", COUNT) \
    FACT(STUCK, "stuck", NULL, COUNT) \
    FACT(TWICE, "twice", "epoch whose order comes twice running", COUNT) \
    FACT(AGAIN, "again", "epoch that comes again, shifting later ones", COUNT) \
    FACT(MORE, "more", "epochs more than the uninterrupted run", COUNT) \
    FACT(EPOCH, "epoch", NULL, COUNT) \
    FACT(ORDER_OF, "order_of", "epoch whose order it has, which is another one", COUNT) \
    FACT(NEXT, "next", "the order is that of the next epoch", COUNT) \
    FACT(SAMPLER_EPOCH, "sampler_epoch", "the sampler's epoch", COUNT) \
    FACT(SAMPLER_EPOCH_BEFORE, "sampler_epoch_before", "the sampler's epoch in the uninterrupted run", \
         COUNT) \
    FACT(SHIFT, "shift", "samples that it goes on too far", COUNT) \
    FACT(BACK, "back", NULL, COUNT) \
    FACT(DUE, "due", NULL, COUNT) \
    FACT(SHORT, "short", "as many samples as the short last batches lack", COUNT) \
    FACT(AHEAD, "ahead", "batches that it goes on too far", COUNT) \
    FACT(PREFETCH, "prefetch", "batches that workers may be ahead, which are as many", COUNT) \
    FACT(EPOCH_BEGUN, "epoch_begun", "it stands at the beginning of the epoch", COUNT) \
    FACT(ONLY_TAIL, "only_tail", "only last batches of epochs differ", COUNT) \
    FACT(LATER_NEW, "later_new", "later epoch with an order of its own", COUNT) \
    FACT(LATER, "later", NULL, COUNT) \
    FACT(LATER_OF, "later_of", "epoch whose order a later one has", COUNT) \
    FACT(LATER_SAMPLER, "later_sampler", "the sampler's epoch there, another one", COUNT) \
    FACT(ALIKE, "alike", "workers stay, and all epochs of the uninterrupted run have one order", COUNT) \
    FACT(NEW_ORDER, "new_order", "an order that the uninterrupted run never had", COUNT) \
    FACT(RNG_OF, "rng_of", "moment whose random state it begins with", NONE) \
    FACT(WORKERS, "workers", "workers, where their number has changed", COUNT) \
    FACT(WORKERS_BEFORE, "workers_before", NULL, COUNT) \
    FACT(STREAM, "stream", "samples have no numbers", COUNT) \
    FACT(BUFFER, "buffer", "samples of the shuffle buffer", COUNT) \
    /* of the conclusion */ \
    FACT(WHY, "why", "why it cannot be told", NONE) \
    FACT(FIRST, "first", "first batch that differs", COUNT) \
    FACT(FIRST_EPOCH, "first_epoch", NULL, COUNT) \
    FACT(FIRST_IN_EPOCH, "first_in_epoch", NULL, COUNT) \
    FACT(REPEATED, "repeated", NULL, COUNT) \
    FACT(LEFT_OUT, "left_out", "samples left out", COUNT) \
    FACT(UNTIL, "until", NULL, NONE) \
    FACT(WHO, "who", NULL, NONE) \
    FACT(RIGHT_AGAIN, "right_again", NULL, NONE) \
    FACT(HOW_FAILED, "how_failed", NULL, NONE) \
    FACT(RESUMED_AT, "resumed_at", NULL, COUNT) \
    FACT(COMPARED, "compared", NULL, COUNT) \
    FACT(EPOCHS_BEHIND, "epochs_behind", NULL, COUNT)

enum pp_resume_fact {
#define PP_RESUME_FACT_ENUM(sym, ...) PP_RESUME_FACT_##sym,
    PP_RESUME_FACT_MAP(PP_RESUME_FACT_ENUM)
#undef PP_RESUME_FACT_ENUM
        PP_RESUME_FACT_COUNT
};
extern const struct pp_fact pp_resume_facts[PP_RESUME_FACT_COUNT];

enum pp_resume_kind {
#define CULPRIT(...)
#define OR(...)
#define CONCLUSION(sym, ...) PP_RESUME_##sym,
#include "report/rules/resume.def"
#undef CULPRIT
#undef OR
#undef CONCLUSION
    PP_RESUME_KINDS
};

/* The rules of the culprits by their order, then those of the conclusion. */
extern const struct pp_rule pp_resume_rules[];
extern const size_t pp_resume_culprits_n, pp_resume_rules_n;
