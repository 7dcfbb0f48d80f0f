#include "report/ranks/digest.h"

#include "probe/base/array.h"
#include "probe/base/bytes.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/text.h"

#include <fcntl.h>
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

/* ---- one walk, which writes a digest or reads one ---- */

struct codec {
    const uint8_t *at, *end; /* reading: what is left of the file; NULL: it is written */
    struct pp_arena *arena;  /* reading: of texts, slices, epochs and ends */
    uint8_t *buf;            /* writing */
    size_t n, room;
    int bad; /* reading: something did not fit, and what follows is zeros; writing: no memory */
};

static void bytes(struct codec *f, void *p, size_t n)
{
    f->bad |= f->at ? (size_t)(f->end - f->at) < n : !pp_grow(&f->buf, &f->room, f->n + n, 1);
    if (f->bad)
        return;
    if (f->at) {
        memcpy(p, f->at, n);
        f->at += n;
    } else {
        memcpy(f->buf + f->n, p, n);
        f->n += n;
    }
}

/* Writing: v. Reading: what stands there. */
static uint64_t number(struct codec *f, uint64_t v)
{
    uint8_t buf[PP_VARINT_BYTES];
    if (!f->at)
        bytes(f, buf, (size_t)(pp_varint_put(buf, v) - buf));
    else if (!pp_varint_get(&f->at, f->end, &v))
        f->bad = 1;
    return f->bad ? 0 : v;
}

/* The i-th of numbers that rise, as what it adds to the one before, *last. */
static uint32_t rising(struct codec *f, uint32_t v, uint64_t *last, size_t i)
{
    uint64_t more = number(f, v - (uint32_t)*last);
    f->bad |= f->at && ((i && !more) || more > UINT32_MAX || *last + more > UINT32_MAX);
    *last += more;
    return (uint32_t)*last;
}

/* Unknown is 0, the empty text 1. */
static const char *text(struct codec *f, const char *own)
{
    size_t own_n = own ? strnlen(own, TEXT_MAX) : 0;
    uint64_t n = number(f, own ? own_n + 1 : 0);
    if (!n || f->bad)
        return NULL;
    n--;
    if (!f->at) {
        bytes(f, (void *)own, own_n);
        return own;
    }
    if (n > TEXT_MAX || n > (uint64_t)(f->end - f->at) || memchr(f->at, 0, n)) {
        f->bad = 1;
        return NULL;
    }
    char *raw = pp_arena_alloc(f->arena, n + 1), *plain = NULL;
    if (raw)
        memcpy(raw, f->at, n);
    f->at += n;
    if (raw && !pp_text_is_plain(raw)) { /* it was not written by us */
        plain = pp_text_plain(raw);
        f->bad |= plain && strlen(plain) > TEXT_MAX;
        raw = pp_arena_copy(f->arena, plain);
        free(plain);
    }
    return raw;
}

static void column(struct codec *f, const struct column *c, struct pp_rank_row *row)
{
    char *at = (char *)row + c->at;
    uint64_t v;
    switch (c->type) {
    case WHOLE:
        v = number(f, (uint64_t)(*(int64_t *)at + 1)); /* -1 is not known */
        f->bad |= f->at && v > (uint64_t)INT32_MAX + 1;
        *(int64_t *)at = (int64_t)v - 1;
        break;
    case COUNT: *(uint64_t *)at = number(f, *(uint64_t *)at); break;
    case FLAG: *(int *)at = number(f, *(int *)at != 0) != 0; break;
    case TEXT: *(const char **)at = text(f, *(const char **)at); break;
    case NUMBER: bytes(f, at, sizeof(double)); break;
    }
}

static struct pp_rank_top top(struct codec *f, struct pp_rank_top t)
{
    t.sum_ns = number(f, t.sum_ns);
    uint64_t less = number(f, t.sum_ns - t.max_ns), lesser = number(f, t.max_ns - t.second_ns),
             rank = number(f, (uint64_t)t.rank);
    f->bad |= f->at && (less > t.sum_ns || lesser > t.sum_ns - less || rank > INT32_MAX);
    t.max_ns = t.sum_ns - less;
    t.second_ns = t.max_ns - lesser;
    t.rank = (int64_t)rank;
    return t;
}

/* What the count says, as far as the rest of the file can hold so many. */
static uint64_t believed(struct codec *f, uint64_t n, size_t smallest)
{
    int fits = n <= (uint64_t)(f->end - f->at) / smallest;
    f->bad |= !fits;
    return fits ? n : 0;
}

/* How many there are of a part of a row, `most` at the most. Reading, *part is room for them in the arena;
 * NULL where there are none. */
static size_t part(struct codec *f, void *part, uint64_t own, uint64_t most, size_t smallest, size_t size)
{
    uint64_t n = number(f, own);
    if (!f->at)
        return (size_t)n;
    f->bad |= n > most;
    n = believed(f, n, smallest);
    void *room = n ? pp_arena_alloc(f->arena, n * size) : NULL;
    memcpy(part, &room, sizeof(room)); /* a pointer to a type of its own */
    return room ? (size_t)n : 0;
}

/* Its parts; written ones stay as they are. */
static void parts(struct codec *f, struct pp_rank_row *row)
{
    uint64_t last = 0, end = 0;
    row->n_slices = (uint32_t)part(f, &row->slices, row->n_slices, PP_RANK_SLICES, SMALLEST_SLICE,
                                   sizeof(*row->slices));
    for (size_t i = 0; i < row->n_slices && !f->bad; i++) {
        struct pp_rank_slice s = f->at ? (struct pp_rank_slice){0} : row->slices[i];
        s.number = rising(f, s.number, &last, i);
        uint64_t steps = number(f, s.steps);
        s.steps = (uint32_t)steps;
        s.wait_ns = number(f, s.wait_ns);
        s.all_ns = number(f, s.all_ns);
        f->bad |= f->at && (steps > UINT32_MAX || s.wait_ns > s.all_ns);
        if (f->at)
            row->slices[i] = s;
    }
    last = 0;
    row->n_epochs = (uint32_t)part(f, &row->epochs, row->n_epochs, PP_RANK_EPOCHS, SMALLEST_EPOCH,
                                   sizeof(*row->epochs));
    for (size_t i = 0; i < row->n_epochs && !f->bad; i++) {
        struct pp_rank_epoch e = f->at ? (struct pp_rank_epoch){0} : row->epochs[i];
        e.epoch = rising(f, e.epoch, &last, i);
        e.ready_ns = number(f, e.ready_ns);
        if (f->at)
            row->epochs[i] = e;
    }
    last = 0;
    row->n_ends = (uint32_t)part(f, &row->ends, row->n_ends, PP_RANK_ENDS, SMALLEST_END, sizeof(*row->ends));
    for (size_t i = 0; i < row->n_ends && !f->bad; i++) {
        struct pp_rank_end e = f->at ? (struct pp_rank_end){0} : row->ends[i];
        e.number = rising(f, e.number, &last, i);
        e.utc_ns = end += number(f, e.utc_ns - end); /* as those of steps below */
        if (f->at)
            row->ends[i] = e;
    }
    row->n_batches = part(f, &row->batches, row->n_batches, PP_RANK_BATCHES, 1, 1);
    if (row->batches)
        bytes(f, (void *)row->batches, row->n_batches);
}

static void put_hist(struct codec *f, const struct pp_hist *h)
{
    uint64_t filled = 0;
    size_t at = 0;
    for (size_t i = 0; i < PP_HIST_BUCKETS; i++)
        filled += h->bucket[i] != 0;
    number(f, filled);
    if (!filled)
        return;
    number(f, h->min);
    number(f, h->max);
    number(f, h->sum);
    for (size_t i = 0; i < PP_HIST_BUCKETS; i++)
        if (h->bucket[i]) {
            number(f, i - at);
            number(f, h->bucket[i]);
            at = i;
        }
}

/* Counts follow from the buckets. */
static void get_hist(struct codec *f, struct pp_hist *h)
{
    uint64_t filled = number(f, 0), at = 0;
    pp_hist_clear(h);
    f->bad |= filled > PP_HIST_BUCKETS;
    if (!filled || f->bad)
        return;
    h->min = number(f, 0);
    h->max = number(f, 0);
    h->sum = number(f, 0);
    for (uint64_t i = 0; i < filled && !f->bad; i++) {
        uint64_t more = number(f, 0), n = number(f, 0);
        at += more;
        f->bad |= (i && !more) || more >= PP_HIST_BUCKETS || at >= PP_HIST_BUCKETS || !n;
        if (!f->bad)
            h->bucket[at] = n;
        h->count += n;
    }
    f->bad |= h->min > h->max;
}

/* All but the histograms. Writing, *d is a copy, and what it points to stays as it is. */
static void body(struct codec *f, struct pp_digest *d)
{
    uint64_t log2_s = number(f, d->slice_log2_s), n = number(f, d->n_rows), last = 0, end = 0;
    f->bad |= f->at && log2_s > LONGEST_SLICE;
    d->slice_log2_s = f->bad ? 0 : (unsigned)log2_s;
    uint64_t phases = number(f, PP_PHASE_COUNT); /* of the pipeprobe that wrote it */
    f->bad |= phases > UINT8_MAX;
    if (f->at)
        d->rows = calloc(believed(f, n, SMALLEST_ROW) + 1, sizeof(*d->rows));
    for (uint64_t i = 0; d->rows && i < n && !f->bad; i++) {
        struct pp_rank_row row = f->at ? (struct pp_rank_row){0} : d->rows[i];
        for (size_t k = 0; k < COLUMNS; k++)
            column(f, &columns[k], &row);
        for (uint64_t p = 0; p < phases; p++) {
            uint64_t ns = number(f, p < PP_PHASE_COUNT ? row.work_ns[p] : 0);
            if (p < PP_PHASE_COUNT)
                row.work_ns[p] = ns;
        }
        parts(f, &row);
        if (f->at) {
            f->bad |= row.rank < 0 || (i && row.rank <= d->rows[i - 1].rank);
            d->rows[d->n_rows++] = row;
        }
    }
    n = number(f, d->n_steps);
    if (f->at)
        d->steps = calloc(believed(f, n, SMALLEST_STEP) + 1, sizeof(*d->steps));
    for (uint64_t i = 0; d->steps && i < n && !f->bad; i++) {
        struct pp_rank_step s = f->at ? (struct pp_rank_step){0} : d->steps[i];
        s.number = rising(f, s.number, &last, i);
        uint64_t ranks = number(f, s.ranks);
        f->bad |= f->at && (!ranks || ranks > d->n_rows);
        s.ranks = (uint32_t)ranks;
        s.own = top(f, s.own);
        s.input = top(f, s.input);
        /* ends rise but for a clock that was set: then the difference is a large number, and still right */
        s.end_utc_ns = end += number(f, s.end_utc_ns - end);
        if (f->at)
            d->steps[d->n_steps++] = s;
    }
}

pp_status pp_digest_store(const struct pp_digest *d, const char *path, struct pp_err *err)
{
    struct codec f = {0};
    struct pp_digest copy = *d;
    uint8_t head[HEAD] = {0};
    uint32_t version = VERSION;
    pp_status st = PP_OK;
    bytes(&f, head, sizeof(head));
    body(&f, &copy);
    for (size_t h = 0; h < PP_DIGEST_HISTS && d->hists; h++)
        put_hist(&f, &d->hists[h]);
    if (!d->hists)
        number(&f, 0), number(&f, 0); /* empty ones */
    if (f.bad)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the digest of %zu ranks", d->n_rows);
    else if (f.n > FILE_MAX)
        st = pp_fail(err, PP_E_UNSUPPORTED,
                     "the digest of %zu ranks takes %zu MiB, and %zu can be read: merge fewer of them",
                     d->n_rows, f.n >> 20, FILE_MAX >> 20);
    if (st == PP_OK) {
        uint64_t sum = XXH3_64bits(f.buf + HEAD, f.n - HEAD);
        memcpy(f.buf, magic, sizeof(magic));
        memcpy(f.buf + 8, &version, sizeof(version));
        memcpy(f.buf + 12, &sum, sizeof(sum));
        st = pp_io_write_atomic(path, f.buf, f.n, err);
    }
    free(f.buf);
    return st;
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
        struct codec c = {.at = f.buf + HEAD, .end = f.buf + f.size, .arena = &out->arena};
        body(&c, out);
        out->hists = calloc(PP_DIGEST_HISTS, sizeof(*out->hists));
        for (size_t h = 0; out->hists && h < PP_DIGEST_HISTS; h++)
            get_hist(&c, &out->hists[h]);
        c.bad |= c.at != c.end;
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
