/* report/rules/looks_rules.h: what is concluded of a job that `pipeprobe attach` looked at from outside
 * (report/measure/looks.h), as a table: its facts, and its rules, of which the first that holds speaks. No
 * gain is known: a replay needs spans. */
#pragma once

#include "report/rules/rules.h"

/* FACT(symbol, name, text in tables for people, unit). */
#define PP_LOOKS_FACT_MAP(FACT) \
    FACT(LOOKS, "looks", "looks at the training thread", COUNT) \
    FACT(WAIT, "wait", "of them in the DataLoader", SHARE) \
    FACT(WAIT_LOW, "wait_low", "of them in the DataLoader, lower limit (95 %)", SHARE) \
    FACT(WAIT_HIGH, "wait_high", "of them in the DataLoader, upper limit (95 %)", SHARE) \
    FACT(MAKES, "makes", "the training thread makes batches", SHARE) \
    FACT(WORKERS, "workers", "workers", COUNT) \
    FACT(CPUS, "cpus", "usable CPUs", RATE) \
    FACT(WORKERS_PER_CPU, "workers_per_cpu", "workers per usable CPU", FACTOR) \
    FACT(BUSY, "busy", "looks at workers that found them making a batch", SHARE) \
    FACT(ON_CPU, "on_cpu", "of the making of batches, on a CPU or ready", SHARE) \
    FACT(IN_READ, "in_read", "of the making of batches, blocked in reads", SHARE) \
    FACT(DELAY, "delay", "who makes batches is ready, without a CPU", SHARE) \
    FACT(IDLE_CPUS, "idle_cpus", "CPUs that nobody uses, of the usable ones", SHARE) \
    FACT(OTHERS, "others", "CPUs that other programs use, of the usable ones", SHARE) \
    FACT(OWNER, "owner", "what takes the time", NONE)

enum pp_looks_fact {
#define PP_LOOKS_FACT_ENUM(sym, ...) PP_LOOKS_FACT_##sym,
    PP_LOOKS_FACT_MAP(PP_LOOKS_FACT_ENUM)
#undef PP_LOOKS_FACT_ENUM
        PP_LOOKS_FACT_COUNT
};
extern const struct pp_fact pp_looks_facts[PP_LOOKS_FACT_COUNT];
extern const struct pp_rule pp_looks_rules[];
extern const size_t pp_looks_rules_n;
