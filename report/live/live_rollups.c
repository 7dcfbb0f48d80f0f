/* Roll-ups as they are read: parts of seconds, sums since the start that only grow, and what is worth telling
 * as the run goes. */
#include "report/live/live_impl.h"

#include "probe/base/text.h"

#include <stdarg.h>

#define SECONDS_MOST 10000000u /* 115 days; a stamp beyond is damage */

/* ---- sums since the start ---- */

const double pp_live_wait_bounds_s[PP_LIVE_WAIT_BOUNDS] = {0.001, 0.01, 0.1, 1, 10};

static void add_total(struct pp_live_total *to, uint64_t n, uint64_t total_ns, uint64_t bytes)
{
    to->n += n;
    to->total_ns += total_ns;
    to->bytes += bytes;
}

/* Samples are counted by the last work on single ones. Which phase that is shows within the first second;
 * what was counted before stays. */
static void count_samples(const struct pp_live *l, struct pp_live_totals *sum)
{
    const struct pp_live_total *trainer = sum->phase[PP_LANE_TRAINER];
    uint64_t samples = live_samples(sum->work_n);
    sum->batches = 0;
    for (unsigned phase = 0; phase < PP_PHASE_COUNT; phase++)
        sum->batches += live_takes_batch(l, phase) ? (double)trainer[phase].n : 0;
    /* of a number and NAN, the number */
    sum->samples = fmax(sum->samples, samples ? (double)samples : sum->batches * l->batch_size);
}

/* What a part counts: samples where single ones are worked on, else spans. */
static uint64_t pieces_of(const struct pp_second_row *row)
{
    return row->phase >= PP_PHASE_READ && row->phase <= PP_PHASE_TRANSFORM ? row->samples : row->n;
}

static void total_of_part(struct pp_live *l, struct live_second *s, const struct pp_second_row *row)
{
    long thread = live_thread_row(l, row->thread);
    if (thread < 0)
        return;
    add_total(&l->totals.phase[l->threads[thread].lane][row->phase], pieces_of(row), row->total_ns,
              row->bytes);
    live_count_work(l->totals.work_n, row->phase, pieces_of(row));
    if (row->phase == PP_PHASE_READ) {
        s->cache_hit_bytes += row->cache_hit_kib << 10;
        l->totals.cache_hit_bytes += row->cache_hit_kib << 10;
    }
    if (row->phase == PP_PHASE_DATA_WAIT) {
        uint64_t longer, left = row->n;
        for (int i = 0; i < PP_LIVE_WAIT_BOUNDS; i++) {
            longer = pp_second_at_least(row, (uint64_t)(pp_live_wait_bounds_s[i] * 1e9) + 1);
            longer = longer < left ? longer : left; /* damaged blobs may say anything */
            s->waits[i] += (uint32_t)(left - longer);
            l->totals.waits[i] += left - longer;
            left = longer;
        }
        s->waits[PP_LIVE_WAIT_BOUNDS] += (uint32_t)left;
        l->totals.waits[PP_LIVE_WAIT_BOUNDS] += left;
    }
    count_samples(l, &l->totals);
}

const struct pp_live_totals *pp_live_totals(const struct pp_live *l)
{
    return &l->totals;
}

void pp_live_totals_add(const struct pp_live *l, uint64_t s, struct pp_live_totals *sum)
{
    if (s < l->base_s || s - l->base_s >= l->n_seconds)
        return;
    const struct live_second *sec = &l->seconds[s - l->base_s];
    for (uint32_t i = 0; i < sec->n; i++) {
        const struct live_part *p = &sec->parts[i];
        long row = live_thread_row(l, p->thread);
        if (row < 0)
            continue;
        add_total(&sum->phase[l->threads[row].lane][p->phase], p->n, p->total_ns, p->bytes);
        live_count_work(sum->work_n, p->phase, p->n);
    }
    for (int i = 0; i <= PP_LIVE_WAIT_BOUNDS; i++)
        sum->waits[i] += sec->waits[i];
    sum->cache_hit_bytes += sec->cache_hit_bytes;
    sum->dropped = l->totals.dropped; /* at which times is not recorded */
    for (size_t i = 0; i < l->n_errors; i++) {
        struct pp_live_error_kind *kind = &sum->errors[l->errors[i].kind];
        if (l->errors[i].t_ns / LIVE_SECOND_NS != s)
            continue;
        memcpy(kind->name, l->totals.errors[l->errors[i].kind].name, sizeof(kind->name));
        kind->count += l->errors[i].count;
    }
    count_samples(l, sum);
}

/* ---- events ---- */

#define EVENTS_MOST 20000u
/* A piece of work ten times as long as usual, once there is a usual, and long enough to hold up a batch. */
#define UNUSUAL 10u
#define USUAL_N 100u
#define LONG_NS UINT64_C(50000000)
#define SAME_STALL_NS (5 * LIVE_SECOND_NS) /* waits this near to each other are told as one */

const char *const pp_live_event_names[PP_LIVE_EVENT_KINDS] = {"error", "straggler", "stall", "epoch",
                                                              "checkpoint"};

/* Keeps them in order of time; they come nearly so. */
static void tell_event(struct pp_live *l, enum pp_live_event_kind kind, uint64_t t_ns, uint64_t count,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void tell_event(struct pp_live *l, enum pp_live_event_kind kind, uint64_t t_ns, uint64_t count,
                       const char *fmt, ...)
{
    if (l->n_events >= EVENTS_MOST ||
        !live_room(l, &l->events, l->n_events, &l->cap_events, sizeof(*l->events)))
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

/* unusual: how many of the part were. */
static void tell_part(struct pp_live *l, const struct pp_second_row *row, uint64_t unusual, double usual_ns)
{
    uint64_t t_ns = row->second * LIVE_SECOND_NS;
    long thread = live_thread_row(l, row->thread);
    char took[32], usual[32];
    int told = 0; /* of a stall that is near, whose waits it joins */
    for (size_t i = row->phase == PP_PHASE_DATA_WAIT ? l->n_events : 0;
         i-- > 0 && l->events[i].t_ns + SAME_STALL_NS >= t_ns && !told;)
        if (l->events[i].kind == PP_LIVE_STALL) {
            l->events[i].count += unusual;
            told = 1;
        }
    pp_text_duration(took, sizeof(took), (double)row->max_ns);
    pp_text_duration(usual, sizeof(usual), usual_ns);
    if (row->phase == PP_PHASE_CHECKPOINT)
        tell_event(l, PP_LIVE_CHECKPOINT, t_ns, row->n, "checkpoint, %s", took);
    else if (row->phase == PP_PHASE_EPOCH_BOUNDARY && l->ends_epochs)
        tell_event(l, PP_LIVE_EPOCH, t_ns, row->n,
                   row->n > 1 ? "%llu epochs ended, the longest end took %s" : "%llu epoch ended, in %s",
                   (unsigned long long)row->n, took);
    else if (row->phase == PP_PHASE_EPOCH_BOUNDARY)
        tell_event(l, PP_LIVE_EPOCH, t_ns, row->n,
                   row->n > 1 ? "%llu new epochs, longest wait for a first batch %s"
                              : "%llu new epoch, first batch after %s",
                   (unsigned long long)row->n, took);
    else if (row->phase == PP_PHASE_DATA_WAIT && !told)
        tell_event(l, PP_LIVE_STALL, t_ns, unusual, "the trainer waited %s for a batch (usually %s)", took,
                   usual);
    else if (row->phase != PP_PHASE_DATA_WAIT)
        tell_event(l, PP_LIVE_STRAGGLER, t_ns, unusual, "%s took %s on %s (usually %s)",
                   pp_phase_info(row->phase)->name, took, thread >= 0 ? l->threads[thread].name : "a thread",
                   usual);
}

/* ---- rows of the store ---- */

static struct live_second *second_of(struct pp_live *l, uint64_t s)
{
    if (!l->n_seconds)
        l->base_s = l->origin_ns && l->origin_ns / LIVE_SECOND_NS < s ? l->origin_ns / LIVE_SECOND_NS : s;
    if (s < l->base_s)
        s = l->base_s;
    if (s - l->base_s >= SECONDS_MOST)
        return NULL;
    while (l->n_seconds <= s - l->base_s) {
        if (!live_room(l, &l->seconds, l->n_seconds, &l->cap_seconds, sizeof(*l->seconds)))
            return NULL;
        if (!live_room(l, &l->stalled, l->n_seconds, &l->cap_stalled, sizeof(*l->stalled)))
            return NULL;
        l->stalled[l->n_seconds] = 0;
        l->seconds[l->n_seconds++] = (struct live_second){0};
    }
    return &l->seconds[s - l->base_s];
}

static void note_stall(struct pp_live *l, const struct live_second *s)
{
    size_t i = (size_t)(s - l->seconds);
    l->stalled[i] = live_wait_share(l, l->base_s + i) >= PP_LIVE_STALL_SHARE; /* false for NAN */
}

void live_add_part(void *ctx, const struct pp_second_row *row)
{
    struct pp_live *l = ctx;
    struct live_second *s = row->phase < PP_PHASE_COUNT ? second_of(l, row->second) : NULL;
    size_t cap = s ? s->cap : 0;
    if (!s || !live_room(l, &s->parts, s->n, &cap, sizeof(*s->parts)))
        return;
    s->cap = (uint32_t)cap;
    s->parts[s->n++] = (struct live_part){
        .thread = row->thread,
        .phase = row->phase,
        .n = pieces_of(row),
        .total_ns = row->total_ns,
        .max_ns = row->max_ns,
        .cpu_ns = row->cpu_ns,
        .run_delay_ns = row->run_delay_ns,
        .bytes = row->bytes,
    };
    /* The rest of a step's time, other ranks, is no wait for data. */
    int waits = row->phase == PP_PHASE_DATA_WAIT || row->phase == PP_PHASE_DEVICE_SYNC,
        steps = row->phase == PP_PHASE_STEP || row->phase == PP_PHASE_COLLECTIVE;
    s->wait_ns += waits ? row->total_ns : 0;
    s->step_ns += steps ? row->total_ns : 0;
    if (waits || steps)
        note_stall(l, s);
    else
        live_count_work(s->work_n, row->phase, row->samples);
    total_of_part(l, s, row);
    struct live_usual *u = &l->usual[row->phase];
    int marks = row->phase == PP_PHASE_CHECKPOINT || row->phase == PP_PHASE_EPOCH_BOUNDARY;
    uint64_t usual_ns = u->n ? u->total_ns / u->n : 0,
             most_ns = usual_ns * UNUSUAL > LONG_NS ? usual_ns * UNUSUAL : LONG_NS;
    uint64_t unusual = u->n >= USUAL_N && row->max_ns >= most_ns ? pp_second_at_least(row, most_ns) : 0;
    int holds_a_batch = row->phase == PP_PHASE_READ || row->phase == PP_PHASE_DECODE ||
                        row->phase == PP_PHASE_TRANSFORM || row->phase == PP_PHASE_COLLATE ||
                        row->phase == PP_PHASE_H2D || row->phase == PP_PHASE_DATA_WAIT;
    if (marks || (unusual && holds_a_batch))
        tell_part(l, row, unusual, (double)usual_ns);
    u->n += row->n;
    u->total_ns += row->total_ns;
}

void live_add_error(void *ctx, const struct pp_error_row *row)
{
    struct pp_live *l = ctx;
    tell_event(l, PP_LIVE_ERROR, row->t_ns, row->count, "%s, %s: %s%s%s", row->kind, row->action,
               row->path ? row->path : "", row->path && row->reason ? ": " : "",
               row->reason ? row->reason : "");
    /* A kind is the recorder's word for a class of errors. A file with more kinds is damaged, or made. */
    struct pp_live_error_kind *kinds = l->totals.errors;
    const char *word = row->kind && *row->kind ? row->kind : "other";
    uint32_t kind = 0;
    while (kind < PP_LIVE_ERROR_KINDS - 1 && kinds[kind].name[0] &&
           strncmp(kinds[kind].name, word, sizeof(kinds[kind].name) - 1) != 0)
        kind++;
    if (kind == PP_LIVE_ERROR_KINDS - 1)
        word = "other";
    if (!kinds[kind].name[0])
        snprintf(kinds[kind].name, sizeof(kinds[kind].name), "%s", word);
    kinds[kind].count += row->count;
    if (live_room(l, &l->errors, l->n_errors, &l->cap_errors, sizeof(*l->errors)))
        l->errors[l->n_errors++] = (struct live_error){.t_ns = row->t_ns,
                                                       .count = row->count,
                                                       .thread = row->thread,
                                                       .kind = kind};
}

/* That nothing ends is news too: the seconds go on, and a wait of the trainer's counts while it lasts. */
void live_add_open_phase(void *ctx, const struct pp_open_phase_row *row)
{
    struct pp_live *l = ctx;
    struct live_second *s = second_of(l, row->t_ns / LIVE_SECOND_NS);
    long thread = live_thread_row(l, row->thread);
    uint64_t from = row->t_ns / LIVE_SECOND_NS * LIVE_SECOND_NS;
    l->open_ns = row->t_ns > l->open_ns ? row->t_ns : l->open_ns;
    if (!s || thread < 0 || l->threads[thread].lane != PP_LANE_TRAINER || row->phase != PP_PHASE_DATA_WAIT)
        return;
    s->open_wait_ns = row->t_ns - (row->since_ns > from ? row->since_ns : from);
    note_stall(l, s);
}

void live_add_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    static const char *const names[PP_LIVE_GPUS] = {
#define NAME(sym, counter) [PP_LIVE_GPU_##sym] = counter,
        PP_LIVE_GPU_MAP(NAME)
#undef NAME
    };
    static const char *const meters[LIVE_METERS] = {
#define NAME(sym, counter) [LIVE_##sym] = counter,
        LIVE_METER_MAP(NAME)
#undef NAME
    };
    struct pp_live *l = ctx;
    struct live_meters *last = l->n_meters ? &l->meters[l->n_meters - 1] : NULL;
    int meter = 0;
    while (meter < LIVE_METERS && strcmp(name, meters[meter]) != 0)
        meter++;
    if (meter < LIVE_METERS && (!last || !isnan(last->value[meter]))) { /* the next look of the collectors */
        if (!live_room(l, &l->meters, l->n_meters, &l->cap_meters, sizeof(*l->meters)))
            return;
        last = &l->meters[l->n_meters++];
        last->t_ns = t_ns;
        for (int i = 0; i < LIVE_METERS; i++)
            last->value[i] = NAN;
    }
    if (meter < LIVE_METERS)
        last->value[meter] = value;
    for (int i = 0; i < PP_LIVE_GPUS; i++)
        if (strcmp(name, names[i]) == 0 && live_room(l, &l->gpu, l->n_gpu, &l->cap_gpu, sizeof(*l->gpu)))
            l->gpu[l->n_gpu++] = (struct live_gpu){.t_ns = t_ns,
                                                   .what = (enum pp_live_gpu)i,
                                                   .value = (float)value};
}
