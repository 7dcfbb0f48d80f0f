#include "report/findings/checks.h"

#include "probe/base/err.h"

enum { BLOCKS = 8, PLACES = 2 * PP_MEMORY_SERIES };
#define LEFT_OUT (1.0 / 3) /* of a process' time: buffers fill */
#define LEAST_S 10.0       /* of the rest */
#define STEADY 0.25        /* of the mean growth, the smallest: a single step has less */
#define LEAST_BYTES (16.0 * (1 << 20))

struct series {
    int64_t pid; /* 0: a free place */
    uint64_t first_ns, last_ns;
    double first, sum[BLOCKS], time[BLOCKS],
        last; /* time: of the readings that sum has, from the first, in s */
    uint32_t n[BLOCKS];
};

static const char *const leads[] = {"process_anon_bytes.", "process_private_bytes."};
enum { ANON, PRIVATE, KINDS };

struct walk {
    struct series *place[KINDS];
    size_t used[KINDS];
    int second; /* the walk that fills the blocks */
};

/* PLACES are more than are used: there is a free one. */
static struct series *place_of(struct series *place, int64_t pid)
{
    size_t at = (size_t)((uint64_t)pid * UINT64_C(0x9E3779B97F4A7C15) >> 32) % PLACES;
    while (place[at].pid && place[at].pid != pid)
        at = (at + 1) % PLACES;
    return &place[at];
}

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct walk *w = ctx;
    int kind = 0;
    while (kind < KINDS && strncmp(name, leads[kind], strlen(leads[kind])) != 0)
        kind++;
    if (kind == KINDS || !isfinite(value) || value < 0)
        return;
    int64_t pid = strtoll(name + strlen(leads[kind]), NULL, 10);
    struct series *s = pid > 0 ? place_of(w->place[kind], pid) : NULL;
    if (!s || (!s->pid && (w->second || w->used[kind] == PP_MEMORY_SERIES)))
        return;
    w->used[kind] += !s->pid;
    s->pid = pid;
    if (!w->second) {
        if (!s->first_ns || t_ns < s->first_ns) {
            s->first_ns = t_ns;
            s->first = value;
        }
        if (t_ns >= s->last_ns) {
            s->last_ns = t_ns;
            s->last = value;
        }
        return;
    }
    double whole = (double)(s->last_ns - s->first_ns), from = (double)s->first_ns + whole * LEFT_OUT,
           at = ((double)t_ns - from) / (whole * (1 - LEFT_OUT));
    if (!(at >= 0) || whole <= 0)
        return;
    size_t block = at >= 1 ? BLOCKS - 1 : (size_t)(at * BLOCKS);
    s->sum[block] += value;
    s->time[block] += (double)(t_ns - s->first_ns) / 1e9;
    s->n[block]++;
}

/* 0: too short to tell. The interval is Student's of the n - 1 differences of blocks. */
static int slope_of(const struct series *s, double *mean, double *low, double *high)
{
    struct series block = *s;
    int n = BLOCKS - 1, filled = 0;
    for (int i = 0; i < BLOCKS; i++)
        filled += s->n[i] > 0;
    if (filled < BLOCKS) { /* what is read seldom has half as many blocks, twice as long */
        n = BLOCKS / 2 - 1;
        for (int i = 0; i <= n; i++) {
            block.n[i] = s->n[2 * i] + s->n[2 * i + 1];
            block.sum[i] = s->sum[2 * i] + s->sum[2 * i + 1];
            block.time[i] = s->time[2 * i] + s->time[2 * i + 1];
            if (!block.n[i])
                return 0;
        }
    }
    double sum = 0, squares = 0, student_95 = n == BLOCKS - 1 ? 2.447 : 4.303; /* two-sided */
    if ((double)(s->last_ns - s->first_ns) * (1 - LEFT_OUT) / 1e9 < LEAST_S)
        return 0;
    for (int i = 1; i <= n; i++) {
        double d = (block.sum[i] / block.n[i] - block.sum[i - 1] / block.n[i - 1]) /
                   (block.time[i] / block.n[i] - block.time[i - 1] / block.n[i - 1]);
        sum += d;
        squares += d * d;
    }
    *mean = sum / n;
    double spread = sqrt(fmax(squares - sum * sum / n, 0) / (n - 1)), half = student_95 * spread / sqrt(n);
    *low = *mean - half;
    *high = *mean + half;
    return 1;
}

/* Private pages are counted without noise, and copies of a heap become fewer as it is copied: whether each
 * block has more of them than the one before tells more than the spread of the slopes. */
static int rises(const struct series *s, double *mean, double *low, double *high)
{
    double before = s->first, at_s = 0, first = NAN, first_s = 0;
    int n = 0;
    *low = INFINITY, *high = -INFINITY;
    for (int i = 0; i < BLOCKS; i++) {
        if (!s->n[i])
            continue;
        double value = s->sum[i] / s->n[i], t = s->time[i] / s->n[i], slope = (value - before) / (t - at_s);
        *low = fmin(*low, slope), *high = fmax(*high, slope);
        *mean = (value - first) / (t - first_s);
        if (n++ == 0)
            first = value, first_s = t;
        before = value, at_s = t;
    }
    return n >= 2 && *low >= STEADY * *mean && (double)(s->last_ns - s->first_ns) / 1e9 >= LEAST_S;
}

pp_status pp_memory_check(const struct pp_source *source, struct pp_memory_growth *out, struct pp_err *err)
{
    struct walk w = {.place = {calloc(2 * PLACES, sizeof(*w.place[0]))}};
    pp_status status = PP_OK;
    *out = (struct pp_memory_growth){.free_bytes = NAN, .full_s = NAN, .copied = NAN};
    if (!w.place[ANON])
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the memory of %s", source->path);
    w.place[PRIVATE] = w.place[ANON] + PLACES;
    for (; source->each_counter && w.second < 2 && status == PP_OK; w.second++)
        status = source->each_counter(source->ctx, on_counter, &w, err);
    /* What is private tells more than what is anonymous, where it was read often enough. A process that
     * copies pages grows in the one and not in the other. */
    double grown = 0, available = pp_source_number(source, "environment", "memory_available", NAN);
    for (size_t i = 0; i < PLACES; i++) {
        const struct series *anon = &w.place[ANON][i], *own = place_of(w.place[PRIVATE], anon->pid);
        double mean, low, high, all = NAN, side;
        if (!anon->pid)
            continue;
        int copies = own->pid && (rises(own, &mean, &low, &high) || slope_of(own, &mean, &low, &high)),
            known = slope_of(anon, copies ? &all : &mean, copies ? &side : &low, copies ? &side : &high);
        const struct series *s = copies ? own : anon;
        /* Copying begins at once, and only buffers fill at first. */
        double watched_s = (double)(s->last_ns - s->first_ns) * (copies ? 1 : 1 - LEFT_OUT) / 1e9;
        if (!copies && !known)
            continue;
        out->processes++;
        if (low <= 0 || mean * watched_s < LEAST_BYTES)
            continue;
        out->growing++;
        out->all_per_s += mean;
        grown += s->last - s->first;
        if (mean > out->per_s) {
            out->pid = s->pid;
            out->per_s = mean;
            out->low_per_s = low;
            out->high_per_s = high;
            out->copied = copies && known ? 1 - fmin(fmax(all / mean, 0), 1) : NAN;
            out->private_bytes = copies ? own->last : NAN;
            out->anon_bytes = copies ? anon->last : NAN;
        }
    }
    if (out->growing && available > 0) {
        out->free_bytes = fmax(available - grown, 0);
        out->full_s = out->free_bytes / out->all_per_s;
    }
    if (!w.used[ANON])
        out->unknown = "the memory of the processes was not recorded";
    else if (!out->processes)
        out->unknown = "no process was watched for 15 s";
    free(w.place[ANON]);
    return status;
}
