/* tests/support/counted_storage.h: files of this machine as objects behind requests: "counted:PATH" names
 * them, and each look at one and each read of one is counted. */
#pragma once

#include "probe/storage/storage.h"

extern int counted_reads, counted_stats; /* atomic; the test sets them back */

/* Once per program, before anything is opened. */
void counted_register(void);
/* "counted:" and the path; the result lives until the next call. */
const char *counted_name(const char *path);
