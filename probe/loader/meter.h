/* loader/meter.h: how full something bounded was, exactly: depth weighted by time, shares of time empty and
 * full, and what was waited for it on either side. The owner of the bounded thing calls it under its own
 * lock. */
#ifndef PP_LOADER_METER_H
#define PP_LOADER_METER_H

#include <stdint.h>

struct pp_meter {
    uint64_t capacity, depth;
    uint64_t puts, gets, put_wait_ns, get_wait_ns;
    uint64_t started_ns, changed_ns; /* first observation, last change */
    uint64_t empty_ns, full_ns;
    double area; /* integral of depth over time, in items x ns */
};

void pp_meter_init(struct pp_meter *m, uint64_t capacity, uint64_t depth, uint64_t now_ns);
/* The depth becomes `depth` at now_ns. */
void pp_meter_set(struct pp_meter *m, uint64_t depth, uint64_t now_ns);

struct pp_loader_queue;
/* Closes the account at now_ns and writes it as a queue row. */
void pp_meter_report(struct pp_meter *m, const char *name, uint64_t now_ns, struct pp_loader_queue *out);

#endif
