/* report/findings/findings.h: what every run is checked for, apart from the wait of its steady state, as rows
 * of the model: each found, not found, or not measured. What is said, and where the limits are:
 * rules/findings.def; this room measures what they rest on.
 *
 * A finding does not change the verdict; limits are the verdict's own where it has them. */
#pragma once

#include "report/findings/checks.h"
#include "report/rules/finding_rules.h"

#define PP_LEAST_WINDOW_S 1.0 /* as the verdict asks for: several scheduler and cgroup quota periods */

/* How the facts (rules/finding_facts.def) are measured, each group by one function. What is not measured
 * stays unknown: NAN, or NULL. Texts are borrowed from the arena. */
struct pp_finding_values {
    double number[PP_FINDING_FACTS];
    const char *text[PP_FINDING_FACTS];
};

struct pp_findings_from {
    const struct pp_source *source;
    const struct pp_timeline *timeline;
    const struct pp_checks *checks;
    const struct pp_report *report;
    struct pp_arena *arena;
    int given_length; /* the run ended by itself, so that its start is a part of what it takes */
};

typedef void pp_finding_measure(const struct pp_findings_from *from, struct pp_finding_values *f);
pp_finding_measure
    pp_measure_run; /* run.c: periodic-stalls, first-batch, epoch-boundaries, late-rank, buffer-debt */
pp_finding_measure pp_measure_visits;  /* epoch-order, samples-repeated, samples-skipped */
pp_finding_measure pp_measure_workers; /* lockstep-waits, worker-restarts, worker-hang, memory-growth */
pp_finding_measure pp_measure_remote;  /* remote-* */
pp_finding_measure pp_measure_cache;   /* cache-* */
pp_finding_measure pp_measure_leases;  /* lease-waits */
pp_finding_measure pp_measure_pages;   /* read-amplification, reader-lock */
pp_finding_measure pp_measure_shuffle; /* stream-shuffle */
pp_finding_measure pp_measure_hooks;   /* partly-recorded, several-loaders, sampler-draw, worker-pickle,
                                                workers-without-data */
/* How many workers an iterable data set of a PyTorch job has, and how many of them made no sample in the
 * steady state; 0: it has none, or is another kind. Needs the rows of workers. */
int pp_stream_workers(const struct pp_source *source, const struct pp_report *r, double *idle);
pp_finding_measure pp_measure_handed;        /* view-of-storage, shm-full, read-amplification of jobs */
pp_finding_measure pp_measure_numa;          /* gpu-node */
pp_finding_measure pp_measure_step_lines;    /* step-line */
pp_finding_measure pp_measure_device_decode; /* decode-* */

/* Appends them to r, which is from->report; its times are set. */
void pp_findings_add(const struct pp_findings_from *from, struct pp_report *r);
/* What such rules say of what was measured: a row of r for each code. */
void pp_findings_conclude(const struct pp_rule *rules, size_t n_rules, const struct pp_values *v,
                          struct pp_arena *arena, struct pp_report *r);
