#include "report/ranks/digest.h"

#include "probe/base/array.h"
#include "probe/base/bytes.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static const char magic[8] = "ppdigest";
enum {
    VERSION = 6,
    HEAD = 20,
    TEXT_MAX = 4096,
    SMALLEST_ROW = 32,
    SMALLEST_STEP = 10,
    SMALLEST_SLICE = 4,
    SMALLEST_EPOCH = 2,
    SMALLEST_END = 2,
    LONGEST_SLICE = 31 /* log2 of its seconds */
};
#define FILE_MAX ((size_t)1 << 30)

/* ---- the columns of a row ---- */

enum column_type { WHOLE, COUNT, FLAG, TEXT, NUMBER };

#define AT(member) offsetof(struct pp_rank_row, member)
static const struct column {
    enum column_type type;
    size_t at;
} columns[] = {
    {WHOLE, AT(rank)},
    {WHOLE, AT(world_size)},
    {WHOLE, AT(local_rank)},
    {WHOLE, AT(node)},
    {WHOLE, AT(attempt)},
    {TEXT, AT(job)},
    {TEXT, AT(launcher)},
    {TEXT, AT(host)},
    {TEXT, AT(gpu)},
    {TEXT, AT(file)},
    {TEXT, AT(version)},
    {TEXT, AT(outcome)},
    {TEXT, AT(subject)},
    {TEXT, AT(l0)},
    {TEXT, AT(l1)},
    {TEXT, AT(l2)},
    {TEXT, AT(sentence)},
    {NUMBER, AT(samples_per_s)},
    {NUMBER, AT(data_wait_share)},
    {NUMBER, AT(collective_share)},
    {COUNT, AT(lost_spans)},
    {FLAG, AT(met)},
    {FLAG, AT(running)},
    {COUNT, AT(first_by_ns)},
    {COUNT, AT(until_utc_ns)},
    {COUNT, AT(steps)},
    {COUNT, AT(wait_ns)},
    {COUNT, AT(sync_ns)},
    {COUNT, AT(step_ns)},
    {COUNT, AT(collective_ns)},
    {COUNT, AT(wait_delay_ns)},
    {COUNT, AT(step_delay_ns)},
    {COUNT, AT(work_delay_ns)},
    {COUNT, AT(exchanges)},
    {COUNT, AT(sampled_exchanges)},
    {COUNT, AT(exchange_delay_ns)},
    {COUNT, AT(samples)},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* ---- writing ---- */

struct writer {
    uint8_t *buf;
    size_t n, room;
    int failed;
};

static void put_bytes(struct writer *w, const void *p, size_t n)
{
    w->failed = w->failed || !pp_grow(&w->buf, &w->room, w->n + n, 1);
    if (!w->failed) {
        memcpy(w->buf + w->n, p, n);
        w->n += n;
    }
}

static void put(struct writer *w, uint64_t v)
{
    uint8_t bytes[PP_VARINT_BYTES];
    put_bytes(w, bytes, (size_t)(pp_varint_put(bytes, v) - bytes));
}

static void put_column(struct writer *w, const struct column *c, const struct pp_rank_row *row)
{
    const char *at = (const char *)row + c->at;
    switch (c->type) {
    case WHOLE: put(w, (uint64_t)(*(const int64_t *)at + 1)); break; /* -1 is not known */
    case COUNT: put(w, *(const uint64_t *)at); break;
    case FLAG: put(w, *(const int *)at != 0); break;
    case TEXT: {
        /* Unknown is 0, the empty text 1. */
        const char *text = *(const char *const *)at;
        size_t n = text ? strnlen(text, TEXT_MAX) : 0;
        put(w, text ? n + 1 : 0);
        put_bytes(w, text ? text : "", n);
    } break;
    case NUMBER: put_bytes(w, at, sizeof(double)); break;
    }
}

static void put_top(struct writer *w, const struct pp_rank_top *t)
{
    put(w, t->sum_ns);
    put(w, t->sum_ns - t->max_ns);
    put(w, t->max_ns - t->second_ns);
    put(w, (uint64_t)t->rank);
}

static void put_time(struct writer *w, const struct pp_rank_row *row)
{
    uint32_t number = 0, epoch = 0, step = 0;
    uint64_t end = 0;
    put(w, row->n_slices);
    for (size_t i = 0; i < row->n_slices; i++) {
        const struct pp_rank_slice *s = &row->slices[i];
        put(w, s->number - number);
        put(w, s->steps);
        put(w, s->wait_ns);
        put(w, s->all_ns);
        number = s->number;
    }
    put(w, row->n_epochs);
    for (size_t i = 0; i < row->n_epochs; i++) {
        put(w, row->epochs[i].epoch - epoch);
        put(w, row->epochs[i].ready_ns);
        epoch = row->epochs[i].epoch;
    }
    put(w, row->n_ends);
    for (size_t i = 0; i < row->n_ends; i++) {
        put(w, row->ends[i].number - step);
        put(w, row->ends[i].utc_ns - end); /* as those of steps below */
        step = row->ends[i].number;
        end = row->ends[i].utc_ns;
    }
    put(w, row->n_batches);
    put_bytes(w, row->batches ? row->batches : (const uint8_t *)"", row->n_batches);
}

static void put_hist(struct writer *w, const struct pp_hist *h)
{
    uint64_t filled = 0;
    size_t at = 0;
    for (size_t i = 0; i < PP_HIST_BUCKETS; i++)
        filled += h->bucket[i] != 0;
    put(w, filled);
    if (!filled)
        return;
    put(w, h->min);
    put(w, h->max);
    put(w, h->sum);
    for (size_t i = 0; i < PP_HIST_BUCKETS; i++)
        if (h->bucket[i]) {
            put(w, i - at);
            put(w, h->bucket[i]);
            at = i;
        }
}

pp_status pp_digest_store(const struct pp_digest *d, const char *path, struct pp_err *err)
{
    struct writer w = {0};
    uint8_t head[HEAD] = {0};
    uint32_t version = VERSION;
    pp_status st = PP_OK;
    put_bytes(&w, head, sizeof(head));
    uint32_t number = 0;
    uint64_t end = 0;
    put(&w, d->slice_log2_s);
    put(&w, d->n_rows);
    put(&w, PP_PHASE_COUNT);
    for (size_t i = 0; i < d->n_rows; i++) {
        for (size_t c = 0; c < COLUMNS; c++)
            put_column(&w, &columns[c], &d->rows[i]);
        for (size_t p = 0; p < PP_PHASE_COUNT; p++)
            put(&w, d->rows[i].work_ns[p]);
        put_time(&w, &d->rows[i]);
    }
    put(&w, d->n_steps);
    for (size_t i = 0; i < d->n_steps; i++) {
        const struct pp_rank_step *s = &d->steps[i];
        put(&w, s->number - number);
        put(&w, s->ranks);
        put_top(&w, &s->own);
        put_top(&w, &s->input);
        /* ends rise but for a clock that was set: then the difference is a large number, and still right */
        put(&w, s->end_utc_ns - end);
        number = s->number;
        end = s->end_utc_ns;
    }
    for (size_t h = 0; h < PP_DIGEST_HISTS && d->hists; h++)
        put_hist(&w, &d->hists[h]);
    if (!d->hists)
        put(&w, 0), put(&w, 0); /* empty ones */
    if (w.failed)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the digest of %zu ranks", d->n_rows);
    else if (w.n > FILE_MAX)
        st = pp_fail(err, PP_E_UNSUPPORTED,
                     "the digest of %zu ranks takes %zu MiB, and %zu can be read: merge fewer of them",
                     d->n_rows, w.n >> 20, FILE_MAX >> 20);
    if (st == PP_OK) {
        uint64_t sum = XXH3_64bits(w.buf + HEAD, w.n - HEAD);
        memcpy(w.buf, magic, sizeof(magic));
        memcpy(w.buf + 8, &version, sizeof(version));
        memcpy(w.buf + 12, &sum, sizeof(sum));
        st = pp_io_write_atomic(path, w.buf, w.n, err);
    }
    free(w.buf);
    return st;
}

/* ---- reading ---- */

struct cursor {
    const uint8_t *at, *end;
    int bad; /* something did not fit; what follows is zeros */
};

static uint64_t get(struct cursor *c)
{
    uint64_t v;
    c->bad |= !pp_varint_get(&c->at, c->end, &v);
    return c->bad ? 0 : v;
}

static const char *get_text(struct cursor *c, struct pp_arena *a)
{
    uint64_t n = get(c);
    if (!n || c->bad)
        return NULL;
    n--;
    if (n > TEXT_MAX || n > (uint64_t)(c->end - c->at) || memchr(c->at, 0, n)) {
        c->bad = 1;
        return NULL;
    }
    char *raw = pp_arena_alloc(a, n + 1), *plain = NULL;
    if (raw)
        memcpy(raw, c->at, n);
    c->at += n;
    if (raw && !pp_text_is_plain(raw)) { /* it was not written by us */
        plain = pp_text_plain(raw);
        c->bad |= plain && strlen(plain) > TEXT_MAX;
        raw = pp_arena_copy(a, plain);
        free(plain);
    }
    return raw;
}

static void get_column(struct cursor *c, const struct column *col, struct pp_rank_row *row,
                       struct pp_arena *a)
{
    char *at = (char *)row + col->at;
    uint64_t v;
    switch (col->type) {
    case WHOLE:
        v = get(c);
        c->bad |= v > (uint64_t)INT32_MAX + 1;
        *(int64_t *)at = (int64_t)v - 1;
        break;
    case COUNT: *(uint64_t *)at = get(c); break;
    case FLAG: *(int *)at = get(c) != 0; break;
    case TEXT: *(const char **)at = get_text(c, a); break;
    case NUMBER:
        c->bad |= c->end - c->at < (ptrdiff_t)sizeof(double);
        if (!c->bad) {
            memcpy(at, c->at, sizeof(double));
            c->at += sizeof(double);
        }
        break;
    }
}

static struct pp_rank_top get_top(struct cursor *c)
{
    struct pp_rank_top t = {.sum_ns = get(c)};
    uint64_t less = get(c), lesser = get(c), rank = get(c);
    t.max_ns = t.sum_ns - less;
    t.second_ns = t.max_ns - lesser;
    t.rank = (int64_t)rank;
    c->bad |= less > t.sum_ns || lesser > t.max_ns || rank > INT32_MAX;
    return t;
}

/* What the count says, as far as the rest of the file can hold so many. */
static uint64_t believed(struct cursor *c, uint64_t n, size_t smallest)
{
    int fits = n <= (uint64_t)(c->end - c->at) / smallest;
    c->bad |= !fits;
    return fits ? n : 0;
}

static void *room_for(struct cursor *c, uint64_t n, size_t smallest, size_t size)
{
    n = believed(c, n, smallest);
    return calloc(n ? n : 1, size);
}

/* Likewise, in the arena; NULL where there are none. */
static void *part_for(struct cursor *c, struct pp_arena *a, uint64_t n, size_t smallest, size_t size)
{
    n = believed(c, n, smallest);
    return n ? pp_arena_alloc(a, n * size) : NULL;
}

static void get_time(struct cursor *c, struct pp_rank_row *row, struct pp_arena *a)
{
    uint64_t n = get(c), number = 0;
    c->bad |= n > PP_RANK_SLICES;
    row->slices = part_for(c, a, n, SMALLEST_SLICE, sizeof(*row->slices));
    for (uint64_t i = 0; row->slices && i < n && !c->bad; i++) {
        uint64_t more = get(c), steps = get(c), wait = get(c), all = get(c);
        number += more;
        c->bad |= (i && !more) || more > UINT32_MAX || number > UINT32_MAX || steps > UINT32_MAX ||
                  wait > all;
        row->slices[i] = (struct pp_rank_slice){(uint32_t)number, (uint32_t)steps, wait, all};
        row->n_slices = (uint32_t)i + 1;
    }
    n = get(c);
    number = 0;
    c->bad |= n > PP_RANK_EPOCHS;
    row->epochs = part_for(c, a, n, SMALLEST_EPOCH, sizeof(*row->epochs));
    for (uint64_t i = 0; row->epochs && i < n && !c->bad; i++) {
        uint64_t more = get(c);
        number += more;
        c->bad |= (i && !more) || more > UINT32_MAX || number > UINT32_MAX;
        row->epochs[i] = (struct pp_rank_epoch){(uint32_t)number, get(c)};
        row->n_epochs = (uint32_t)i + 1;
    }
}

static void get_ends(struct cursor *c, struct pp_rank_row *row, struct pp_arena *a)
{
    uint64_t n = get(c), number = 0, end = 0;
    c->bad |= n > PP_RANK_ENDS;
    row->ends = part_for(c, a, n, SMALLEST_END, sizeof(*row->ends));
    for (uint64_t i = 0; row->ends && i < n && !c->bad; i++) {
        uint64_t more = get(c);
        number += more;
        c->bad |= (i && !more) || more > UINT32_MAX || number > UINT32_MAX;
        end += get(c);
        row->ends[i] = (struct pp_rank_end){(uint32_t)number, end};
        row->n_ends = (uint32_t)i + 1;
    }
    n = believed(c, get(c), 1);
    c->bad |= n > PP_RANK_BATCHES;
    row->batches = part_for(c, a, n, 1, 1);
    if (row->batches)
        memcpy((uint8_t *)row->batches, c->at, (size_t)n);
    row->n_batches = row->batches ? n : 0;
    c->at += n;
}

/* Counts follow from the buckets. */
static void get_hist(struct cursor *c, struct pp_hist *h)
{
    uint64_t filled = get(c), at = 0;
    pp_hist_clear(h);
    c->bad |= filled > PP_HIST_BUCKETS;
    if (!filled || c->bad)
        return;
    h->min = get(c);
    h->max = get(c);
    h->sum = get(c);
    for (uint64_t i = 0; i < filled && !c->bad; i++) {
        uint64_t more = get(c), n = get(c);
        at += more;
        c->bad |= (i && !more) || more >= PP_HIST_BUCKETS || at >= PP_HIST_BUCKETS || !n;
        if (!c->bad)
            h->bucket[at] = n;
        h->count += n;
    }
    c->bad |= h->min > h->max;
}

static void get_body(struct cursor *c, struct pp_digest *d)
{
    uint64_t log2_s = get(c), n = get(c);
    c->bad |= log2_s > LONGEST_SLICE;
    d->slice_log2_s = c->bad ? 0 : (unsigned)log2_s;
    uint64_t phases = get(c); /* of the pipeprobe that wrote it */
    c->bad |= phases > UINT8_MAX;
    d->rows = room_for(c, n, SMALLEST_ROW, sizeof(*d->rows));
    for (uint64_t i = 0; d->rows && i < n && !c->bad; i++) {
        struct pp_rank_row *row = &d->rows[d->n_rows];
        for (size_t k = 0; k < COLUMNS; k++)
            get_column(c, &columns[k], row, &d->arena);
        for (uint64_t p = 0; p < phases; p++) {
            uint64_t ns = get(c);
            if (p < PP_PHASE_COUNT)
                row->work_ns[p] = ns;
        }
        get_time(c, row, &d->arena);
        get_ends(c, row, &d->arena);
        c->bad |= row->rank < 0 || (d->n_rows && row->rank <= row[-1].rank);
        d->n_rows++;
    }
    n = get(c);
    d->steps = room_for(c, n, SMALLEST_STEP, sizeof(*d->steps));
    uint64_t number = 0, end = 0;
    for (uint64_t i = 0; d->steps && i < n && !c->bad; i++) {
        uint64_t more = get(c), ranks = get(c);
        struct pp_rank_step *s = &d->steps[d->n_steps++];
        c->bad |= (i && !more) || more > UINT32_MAX || number + more > UINT32_MAX || !ranks ||
                  ranks > d->n_rows;
        number += more;
        s->number = (uint32_t)number;
        s->ranks = (uint32_t)ranks;
        s->own = get_top(c);
        s->input = get_top(c);
        s->end_utc_ns = end += get(c);
    }
    d->hists = calloc(PP_DIGEST_HISTS, sizeof(*d->hists));
    for (size_t h = 0; d->hists && h < PP_DIGEST_HISTS; h++)
        get_hist(c, &d->hists[h]);
    c->bad |= c->at != c->end;
}

int pp_digest_is_file(const char *path)
{
    char begins[sizeof(magic)] = {0};
    int fd = pp_io_open(path, O_RDONLY | O_NONBLOCK, 0);
    int is = fd >= 0 && pp_io_pread_full(fd, begins, sizeof(begins), 0) == (ssize_t)sizeof(begins) &&
             memcmp(begins, magic, sizeof(magic)) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

pp_status pp_digest_load(const char *path, struct pp_digest *out, struct pp_err *err)
{
    struct pp_io_file f = {.limit = FILE_MAX};
    uint32_t version = 0;
    uint64_t sum = 0;
    *out = (struct pp_digest){0};
    pp_status st = pp_io_read_file(AT_FDCWD, path, &f, err);
    if (st == PP_OK && (f.size < HEAD || memcmp(f.buf, magic, sizeof(magic)) != 0))
        st = pp_fail(err, PP_E_CORRUPT, "%s is no digest; make one with pipeprobe merge", path);
    if (st == PP_OK) {
        memcpy(&version, f.buf + 8, sizeof(version));
        memcpy(&sum, f.buf + 12, sizeof(sum));
        if (version != VERSION)
            st = pp_fail(
                err, PP_E_VERSION,
                "%s is a digest of version %u, and this pipeprobe reads version %d: make it again from the "
                "recordings with pipeprobe merge",
                path, version, VERSION);
        else if (sum != XXH3_64bits(f.buf + HEAD, f.size - HEAD))
            st = pp_fail(err, PP_E_CORRUPT, "%s is damaged or half-written; merge its parts again", path);
    }
    if (st == PP_OK) {
        struct cursor c = {.at = f.buf + HEAD, .end = f.buf + f.size};
        get_body(&c, out);
        if (!out->rows || !out->steps || !out->hists || pp_arena_failed(&out->arena))
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the digest %s", path);
        else if (c.bad)
            st = pp_fail(err, PP_E_CORRUPT, "%s is no whole digest; merge its parts again", path);
        const char *via = st == PP_OK ? pp_arena_copy(&out->arena, path) : NULL;
        for (size_t i = 0; i < out->n_rows && via; i++)
            out->rows[i].via = via;
    }
    free(f.buf);
    if (st != PP_OK)
        pp_digest_free(out);
    return st;
}
