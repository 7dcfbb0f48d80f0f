/* collectors/system/counters.h: what the system says about this process and machine, read about once a
 * second: CPU, memory, I/O, pressure (PSI), throttling. Each source is opened once and read with pread; one
 * that is absent simply has no rows.
 *
 * Values are as the kernel counts them: names ending in _total grow from boot or process start, the others
 * are levels. */
#ifndef PP_COLLECTORS_SYSTEM_COUNTERS_H
#define PP_COLLECTORS_SYSTEM_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct pp_counters;

struct pp_counters *pp_counters_open(void); /* NULL: no memory */
void pp_counters_close(struct pp_counters *c);

typedef void pp_counters_fn(void *ctx, const char *name, double value);
/* Calls fn for every counter that can be read now. One thread at a time. */
void pp_counters_sample(struct pp_counters *c, pp_counters_fn *fn, void *ctx);

/* The number after the first "key" that starts a word in text ("rchar: 12", "some avg10=0.00 ... total=7"); 0
 * when it is not there. line, if not NULL, is the word the number's line must start with. */
int pp_counters_find(const char *text, const char *line, const char *key, double *value);

#endif
