/* report/rules/audit_rules.h: what the audit of samples (report/audit) concludes, as tables: its facts, and
 * its rules (audit.def). */
#pragma once

#include "report/rules/rules.h"

/* FACT(symbol, name, text in tables for people or NULL, unit). Those that are not numbers of something are
 * known where they hold. */
#define PP_AUDIT_FACT_MAP(FACT) \
    /* of a cause */ \
    FACT(EPOCHS, "epochs", "epochs with it", COUNT) \
    FACT(FIRST_EPOCH, "first_epoch", NULL, COUNT) \
    FACT(SAMPLES, "samples", NULL, COUNT) \
    FACT(RANKS, "ranks", NULL, NONE) \
    FACT(ORDER_OF, "order_of", NULL, COUNT) \
    FACT(BY_CONTENT, "by_content", "samples have no numbers: they are compared by content", COUNT) \
    FACT(LEASES, "leases", NULL, NONE) \
    FACT(SHARDS, "shards", NULL, COUNT) \
    /* of all epochs and ranks */ \
    FACT(ABOUT, "about", "counts are estimates", NONE) \
    FACT(FAULT, "fault", "a cause that is not by design", NONE) \
    FACT(JOB_RANKS, "job_ranks", NULL, COUNT) \
    FACT(WHOLE_EPOCHS, "whole_epochs", "whole epochs", COUNT) \
    FACT(ALL_EPOCHS, "all_epochs", NULL, COUNT) \
    FACT(DATA_SAMPLES, "data_samples", "size of the data set", COUNT) \
    FACT(DATA_UNKNOWN, "data_unknown", NULL, NONE) \
    FACT(USED, "used", "uses of samples", COUNT) \
    FACT(PART_UNKNOWN, "part_unknown", "a recording does not name its samples", NONE) \
    FACT(CONTENT, "content", "content of first samples was recorded", COUNT) \
    FACT(INCOMPLETE, "incomplete", "spans are missing", COUNT) \
    FACT(UNLISTED, "unlisted", "samples of batches are not listed", COUNT) \
    FACT(UNPLACED, "unplaced", "where a resumed recording goes on cannot be told", NONE) \
    FACT(UNACCOUNTED, "unaccounted", "a part of the job is not known", COUNT) \
    FACT(MISSING_RANKS, "missing_ranks", "ranks without a recording", COUNT) \
    FACT(REPLACEMENT, "replacement", "the sampler draws with replacement", COUNT) \
    FACT(LOCAL_NUMBERS, "local_numbers", "numbers are each rank's own", COUNT) \
    FACT(UNTOLD, "untold", "the recording does not tell its epochs apart", COUNT) \
    FACT(LEASED, "leased", "shards are leased", COUNT) \
    FACT(LEASES_OPEN, "leases_open", "no rank saw the end of the last epoch", COUNT) \
    FACT(CUT, "cut", "too many epochs and ranks", COUNT)

enum pp_audit_fact {
#define PP_AUDIT_FACT_ENUM(sym, ...) PP_AUDIT_FACT_##sym,
    PP_AUDIT_FACT_MAP(PP_AUDIT_FACT_ENUM)
#undef PP_AUDIT_FACT_ENUM
        PP_AUDIT_FACT_COUNT
};
extern const struct pp_fact pp_audit_facts[PP_AUDIT_FACT_COUNT];

enum pp_audit_cause_id {
#define CAUSE(sym, ...) PP_AUDIT_##sym,
#define OR(...)
#define CONCLUSION(...)
#define NOTE(...)
#include "report/rules/audit.def"
#undef CAUSE
#undef CONCLUSION
    PP_AUDIT_CAUSES
};
enum pp_audit_kind {
#define CAUSE(...)
#define CONCLUSION(sym, ...) PP_AUDIT_##sym,
#include "report/rules/audit.def"
#undef CAUSE
#undef OR
#undef CONCLUSION
#undef NOTE
    PP_AUDIT_KINDS
};

/* The rules of the causes by their order, then those of the conclusion. */
extern const struct pp_rule pp_audit_rules[], pp_audit_notes[];
extern const size_t pp_audit_rules_n, pp_audit_notes_n;
