/* What tests of reports share: the report of a run made up in memory, its findings by kind, their numbers. A
 * look-up that finds nothing fails the test, unless its name says otherwise. */
#pragma once

#include "report/build/build.h"
#include "tests/support/fake_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* It speaks with one voice (one_voice.h), else the test fails. The run stays the caller's, and may be changed
 * and reported on again; report_done frees both. */
struct pp_report *report_of(struct fake_run *f);
void report_done(struct pp_report *r, struct fake_run *f);
/* The same for a source that a test has changed. */
struct pp_report *report_of_source(const struct pp_source *source);

const struct pp_report_finding *finding(const struct pp_report *r, const char *kind);
const struct pp_report_finding *finding_or_null(const struct pp_report *r, const char *kind);
double number(const struct pp_report_finding *f, const char *name);
/* The text has these words. */
void says(const char *text, const char *words);

/* 8 s: 80 batches of 100 ms. The trainer waits for this share of the time and steps for the rest; each worker
 * reads for this share and decodes for the rest. */
struct fake_run *fake_waits(int workers, double wait, double read);
/* A counter of each second of them: start, and per_s more with every second. */
void fake_counts(struct fake_run *f, const char *name, double start, double per_s);
