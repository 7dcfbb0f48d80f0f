/* What is worth telling as the run goes, found in the roll-ups as they are read. */
#include "report/live/live_impl.h"

#include "probe/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_MOST 20000u
/* A piece of work ten times as long as usual, once there is a usual, and long enough to hold up a batch. */
#define UNUSUAL 10u
#define USUAL_N 100u
#define LONG_NS UINT64_C(50000000)
#define SAME_STALL_NS (5 * LIVE_SECOND_NS) /* waits this near to each other are told as one */

static const char *const names[PP_LIVE_EVENT_KINDS] = {"error", "straggler", "stall", "epoch", "checkpoint"};

const char *pp_live_event_name(enum pp_live_event_kind k)
{
    return names[k];
}

static const char *thread_name(const struct pp_live *l, uint32_t id)
{
    long row = live_thread_row(l, id);
    return row >= 0 ? l->threads[row].name : "a thread";
}

/* Keeps them in order of time; they come nearly so. */
static void tell(struct pp_live *l, enum pp_live_event_kind kind, uint64_t t_ns, uint64_t count,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void tell(struct pp_live *l, enum pp_live_event_kind kind, uint64_t t_ns, uint64_t count,
                 const char *fmt, ...)
{
    if (l->n_events >= EVENTS_MOST ||
        !live_room(l, (void **)&l->events, l->n_events, &l->cap_events, sizeof(*l->events)))
        return;
    size_t at = l->n_events++;
    while (at > 0 && l->events[at - 1].t_ns > t_ns) {
        l->events[at] = l->events[at - 1];
        at--;
    }
    struct pp_live_event *e = &l->events[at];
    *e = (struct pp_live_event){.t_ns = t_ns, .count = count, .kind = kind};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
}

/* Counts waits into the stall that is being told already; 0 when there is none so near. */
static int same_stall(struct pp_live *l, uint64_t t_ns, uint64_t waits)
{
    for (size_t i = l->n_events; i-- > 0 && l->events[i].t_ns + SAME_STALL_NS >= t_ns;)
        if (l->events[i].kind == PP_LIVE_STALL) {
            l->events[i].count += waits;
            return 1;
        }
    return 0;
}

/* unusual: how many of the part were. */
static void tell_part(struct pp_live *l, const struct pp_second_row *row, uint64_t unusual, double usual_ns)
{
    uint64_t t_ns = row->second * LIVE_SECOND_NS;
    char took[32], usual[32];
    pp_text_duration(took, sizeof(took), (double)row->max_ns);
    pp_text_duration(usual, sizeof(usual), usual_ns);
    if (row->phase == PP_PHASE_CHECKPOINT)
        tell(l, PP_LIVE_CHECKPOINT, t_ns, row->n, "checkpoint, %s", took);
    else if (row->phase == PP_PHASE_EPOCH_BOUNDARY && l->ends_epochs)
        tell(l, PP_LIVE_EPOCH, t_ns, row->n,
             row->n > 1 ? "%llu epochs ended, the longest end took %s" : "%llu epoch ended, in %s",
             (unsigned long long)row->n, took);
    else if (row->phase == PP_PHASE_EPOCH_BOUNDARY)
        tell(l, PP_LIVE_EPOCH, t_ns, row->n,
             row->n > 1 ? "%llu new epochs, longest wait for a first batch %s"
                        : "%llu new epoch, first batch after %s",
             (unsigned long long)row->n, took);
    else if (row->phase == PP_PHASE_DATA_WAIT && !same_stall(l, t_ns, unusual))
        tell(l, PP_LIVE_STALL, t_ns, unusual, "the trainer waited %s for a batch (usually %s)", took, usual);
    else if (row->phase != PP_PHASE_DATA_WAIT)
        tell(l, PP_LIVE_STRAGGLER, t_ns, unusual, "%s took %s on %s (usually %s)",
             pp_phase_info(row->phase)->name, took, thread_name(l, row->thread), usual);
}

static int is_work_on_a_batch(unsigned phase)
{
    return phase == PP_PHASE_READ || phase == PP_PHASE_DECODE || phase == PP_PHASE_TRANSFORM ||
           phase == PP_PHASE_COLLATE || phase == PP_PHASE_H2D;
}

void live_event_of_part(struct pp_live *l, const struct pp_second_row *row)
{
    struct live_usual *u = &l->usual[row->phase];
    int marks = row->phase == PP_PHASE_CHECKPOINT || row->phase == PP_PHASE_EPOCH_BOUNDARY;
    uint64_t usual_ns = u->n ? u->total_ns / u->n : 0,
             most_ns = usual_ns * UNUSUAL > LONG_NS ? usual_ns * UNUSUAL : LONG_NS;
    uint64_t unusual = u->n >= USUAL_N && row->max_ns >= most_ns ? pp_second_at_least(row, most_ns) : 0;
    if (marks || (unusual && (row->phase == PP_PHASE_DATA_WAIT || is_work_on_a_batch(row->phase))))
        tell_part(l, row, unusual, (double)usual_ns);
    u->n += row->n;
    u->total_ns += row->total_ns;
}

void live_event_of_error(struct pp_live *l, const struct pp_error_row *row)
{
    tell(l, PP_LIVE_ERROR, row->t_ns, row->count, "%s, %s: %s%s%s", row->kind, row->action,
         row->path ? row->path : "", row->path && row->reason ? ": " : "", row->reason ? row->reason : "");
}
