/* What the tests of renderers share: a run that has a bit of everything a report can show. */
#pragma once

#include "tests/support/findings.h"
#include "report/render/render.h"

/* Output of the running test. */
extern char *report_text;
extern size_t report_text_size;

/* Has a bit of everything a report can show. */
struct fake_run *report_full_run(int workers);
/* The report of the one with two workers, made once: for tests that only read it. */
const struct pp_report *report_full(void);

/* Runs of pipeprobe's loader and of a recorded job, one of each class of verdict that they can make. */
enum { REPORT_CLASSES = 8 };
const char *report_class_name(int i);
struct fake_run *report_of_class(int i);
