#include "report/resume/sequence.h"
#include "probe/base/array.h"
#include "probe/base/bytes.h"
#include "probe/base/rng.h"

enum { STRIDES = 64 }; /* batches of one step, at the most */

uint64_t pp_resume_mix(uint64_t token)
{
    return pp_mix64(token + UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */
}

static void hash_batch(const struct pp_resume_run *r, struct pp_resume_batch *b)
{
    b->order = pp_resume_mix(b->n);
    b->set = b->files = 0;
    for (uint32_t k = 0; k < b->n; k++) {
        uint64_t h = pp_resume_mix(r->token[b->first + k]), file = r->file[b->first + k];
        b->order = pp_resume_mix(b->order ^ h);
        b->set += h;
        b->files = file && (k == 0 || b->files) ? pp_resume_mix(b->files ^ file) : 0;
    }
}

struct pp_resume_iteration *pp_resume_iterate(struct pp_resume_run *r)
{
    if (r->iterations == PP_RESUME_ITERATIONS ||
        !pp_grow(&r->iteration, &r->iteration_room, r->iterations + 1, sizeof(*r->iteration)))
        return NULL;
    struct pp_resume_iteration *it = &r->iteration[r->iterations++];
    *it = (struct pp_resume_iteration){
        .first = r->n, .first_token = r->tokens, .sampler_epoch = NAN, .workers = NAN, .prefetch = NAN};
    return it;
}

int pp_resume_take(struct pp_resume_run *r, const struct pp_resume_batch *batch, const uint64_t *tokens,
                   const uint64_t *files)
{
    uint32_t n = tokens || !batch->n ? batch->n : 1;
    if (r->tokens + n > PP_RESUME_TOKENS || !r->iterations ||
        !pp_grow(&r->batch, &r->batch_room, r->n + 1, sizeof(*r->batch)) ||
        !pp_grow(&r->token, &r->token_room, r->tokens + n + 1, sizeof(*r->token)) ||
        !pp_grow(&r->file, &r->file_room, r->tokens + n + 1, sizeof(*r->file)))
        return 0;
    struct pp_resume_batch *b = &r->batch[r->n++];
    *b = *batch;
    b->n = n;
    b->first = r->tokens;
    b->iteration = (uint32_t)(r->iterations - 1);
    for (uint32_t k = 0; k < b->n; k++) {
        r->token[r->tokens + k] = tokens ? tokens[k] : batch->order;
        r->file[r->tokens + k] = files ? files[k] : batch->files;
    }
    if (r->hashing)
        hash_batch(r, b);
    else
        r->tokens += b->n;
    r->iteration[r->iterations - 1].n++;
    r->iteration[r->iterations - 1].given++;
    return 1;
}

int pp_resume_save_here(struct pp_resume_run *r, int at_end, int how)
{
    struct pp_resume_save *last = r->saves ? &r->save[r->saves - 1] : NULL;
    /* A checkpoint is several files, each with a span: they are one. */
    if (last && last->batches == r->n && last->at_end == at_end) {
        last->how |= how;
        return 1;
    }
    if (!pp_grow(&r->save, &r->save_room, r->saves + 1, sizeof(*r->save)))
        return 0;
    r->save[r->saves++] = (struct pp_resume_save){.batches = r->n, .at_end = at_end, .how = how};
    return 1;
}

/* ---- what was trained on ---- */

void pp_resume_spread(struct pp_resume_run *r)
{
    size_t often[STRIDES + 1] = {0}, stride = 1;
    for (size_t i = 0; i < r->iterations; i++)
        for (size_t k = 0, since = 0, any = 0; k < r->iteration[i].n; k++, since++) {
            if (!r->batch[r->iteration[i].first + k].trained)
                continue;
            often[any && since <= STRIDES ? since : 0]++;
            any = 1;
            since = 0;
        }
    for (size_t k = 1; k <= STRIDES; k++)
        stride = often[k] > often[stride] ? k : stride;
    for (size_t i = 0; i < r->iterations && stride > 1; i++)
        for (size_t k = r->iteration[i].n, left = 0; k-- > 0;) {
            struct pp_resume_batch *b = &r->batch[r->iteration[i].first + k];
            left = b->trained ? stride : left;
            b->trained = left > 0;
            left -= left > 0;
        }
}

uint32_t pp_resume_lag(const struct pp_resume_run *r)
{
    uint32_t lag = UINT32_MAX;
    for (size_t i = 0; i < r->iterations; i++)
        for (size_t k = 0; k < r->iteration[i].n && k < lag; k++)
            if (r->batch[r->iteration[i].first + k].trained)
                lag = (uint32_t)k;
    return lag == UINT32_MAX ? 0 : lag;
}

void pp_resume_finish(struct pp_resume_run *r, uint32_t lag)
{
    size_t kept = 0, tokens = 0, saved = 0, epochs = 0;
    const uint64_t in_hand = lag < 64 ? (UINT64_C(1) << lag) - 1 : UINT64_MAX;
    int marks = 0;
    for (size_t i = 0; i < r->n; i++)
        marks |= r->batch[i].trained;
    /* In place of `order`, which is filled below. */
    for (size_t i = 0; marks && i < r->iterations; i++)
        for (size_t k = 0; k < r->iteration[i].n; k++) {
            /* The mark of batch k: `lag` takes later, or the last one where the loop came to its end. */
            const struct pp_resume_iteration *it = &r->iteration[i];
            int inside = k + lag < it->n;
            size_t mark = it->first + (inside ? k + lag : it->n - 1);
            r->batch[it->first + k].order = (inside || it->ended) && r->batch[mark].trained;
        }
    for (size_t i = 0; i < r->iterations; i++) {
        struct pp_resume_iteration *it = &r->iteration[i];
        size_t from = it->first, first = kept;
        uint64_t ahead = 0; /* a bit for each of the last batches: it is kept */
        it->first_token = tokens;
        for (size_t k = 0; k <= it->n; k++) {
            /* Saves that stand before the batch: of what the wrapper has in hand nothing is trained yet. */
            for (; saved < r->saves && r->save[saved].batches == from + k; saved++) {
                int none = !marks || (k == it->n && r->save[saved].at_end);
                r->save[saved].batches = kept - (none ? 0 : (size_t)__builtin_popcountll(ahead & in_hand));
            }
            ahead = ahead << 1 | (k < it->n && r->batch[from + k].order);
            if (k == it->n || (marks && !r->batch[from + k].order))
                continue;
            struct pp_resume_batch b = r->batch[from + k];
            if (b.n) {
                memmove(r->token + tokens, r->token + b.first, b.n * sizeof(*r->token));
                memmove(r->file + tokens, r->file + b.first, b.n * sizeof(*r->file));
            }
            b.first = tokens;
            b.iteration = (uint32_t)epochs;
            tokens += b.n;
            hash_batch(r, &b);
            r->batch[kept++] = b;
        }
        it->first = first;
        it->n = kept - first;
        it->tokens = tokens - it->first_token;
        if (it->n || (it->ended && !it->given))
            r->iteration[epochs++] = *it;
        else
            free(it->line);
    }
    r->iterations = epochs;
    for (; saved < r->saves; saved++)
        r->save[saved].batches = kept;
    r->n = kept;
    r->tokens = tokens;
}

/* ---- all ranks ---- */

int pp_resume_merge(const struct pp_resume_run *ranks, size_t n, struct pp_resume_run *out)
{
    *out = (struct pp_resume_run){.path = ranks[0].path,
                                  .rank = -1,
                                  .world = ranks[0].world,
                                  .stream = ranks[0].stream,
                                  .finished = 1,
                                  .restored = ranks[0].restored,
                                  .buffer = ranks[0].buffer};
    for (size_t i = 0; i < ranks[0].iterations; i++) {
        struct pp_resume_iteration *it = pp_resume_iterate(out);
        if (!it)
            return 0;
        const struct pp_resume_iteration of = ranks[0].iteration[i];
        it->ended = of.ended;
        for (size_t k = 0; k < of.n; k++)
            for (size_t r = 0; r < n; r++) {
                const struct pp_resume_run *run = &ranks[r];
                if (of.first + k >= run->n)
                    continue;
                const struct pp_resume_batch *b = &run->batch[of.first + k];
                if (!pp_resume_take(out, b, run->token + b->first, NULL))
                    return 0;
            }
    }
    for (size_t r = 0; r < n; r++)
        out->finished &= ranks[r].finished;
    for (size_t i = 0; i < out->n; i++)
        out->batch[i].trained = 1;
    pp_resume_finish(out, 0);
    return 1;
}

/* ---- as bytes ---- */

/* What is written and what is read pass by the same lines. */
struct passing {
    uint8_t *out;
    size_t n, room;
    const uint8_t *at, *end; /* NULL: it is written */
    int bad;
};

static void pass(struct passing *p, uint64_t *word, size_t n)
{
    uint8_t bytes[PP_VARINT_BYTES];
    for (; n--; word++) {
        size_t more = p->at ? 0 : (size_t)(pp_varint_put(bytes, *word) - bytes);
        p->bad = p->bad ||
                 !(p->at ? pp_varint_get(&p->at, p->end, word) : pp_grow(&p->out, &p->room, p->n + more, 1));
        if (p->bad)
            *word = 0;
        else if (!p->at)
            memcpy(p->out + p->n, bytes, more);
        p->n += more;
    }
}

static void pass_run(struct passing *p, struct pp_resume_run *r)
{
    int *const flag[] = {&r->stream, &r->finished, &r->failed, &r->restored, &r->idle}; /* -1 to 1 */
    uint64_t w[] = {(uint64_t)r->rank, (uint64_t)r->world, r->iterations, r->saves, 0};
    memcpy(w + 4, &r->buffer, sizeof(*w));
    pass(p, w, 5);
    r->rank = (int64_t)w[0];
    r->world = (int64_t)w[1];
    memcpy(&r->buffer, w + 4, sizeof(*w));
    for (size_t i = 0; i < sizeof(flag) / sizeof(*flag); i++) {
        uint64_t v = (uint64_t)(*flag[i] + 1);
        pass(p, &v, 1);
        *flag[i] = (int)(v % 3) - 1;
    }
    for (uint64_t i = 0; i < w[2] && !p->bad; i++) {
        struct pp_resume_iteration *it = p->at ? pp_resume_iterate(r) : &r->iteration[i];
        if (!it) {
            p->bad = 1;
            break;
        }
        const size_t facts = offsetof(struct pp_resume_iteration, line) -
                             offsetof(struct pp_resume_iteration, sampler_epoch); /* words, each of them */
        uint64_t of[7] = {it->n, (uint64_t)it->ended};
        memcpy(of + 2, (char *)it + offsetof(struct pp_resume_iteration, sampler_epoch), facts);
        pass(p, of, 7);
        memcpy((char *)it + offsetof(struct pp_resume_iteration, sampler_epoch), of + 2, facts);
        it->ended = of[1] != 0;
        for (uint64_t k = 0; k < of[0] && !p->bad; k++) {
            struct pp_resume_batch b = p->at ? (struct pp_resume_batch){0} : r->batch[it->first + k];
            uint64_t v[] = {b.n, b.number, b.marks, (uint64_t)b.trained, b.order, b.files, b.content};
            pass(p, v, 7);
            b = (struct pp_resume_batch){.n = (uint32_t)v[0],
                                         .number = (uint32_t)v[1],
                                         .marks = (uint32_t)v[2],
                                         .trained = v[3] != 0,
                                         .order = v[4],
                                         .files = v[5],
                                         .content = v[6]};
            p->bad = p->bad || (p->at && !pp_resume_take(r, &b, NULL, NULL));
        }
    }
    for (uint64_t i = 0; i < w[3] && !p->bad; i++) {
        const struct pp_resume_save s = p->at ? (struct pp_resume_save){0} : r->save[i];
        uint64_t v[] = {s.batches, (uint64_t)s.at_end, (uint64_t)s.how};
        pass(p, v, 3);
        p->bad |= p->at && (v[0] > r->n || !pp_resume_save_here(r, v[1] != 0, (int)(v[2] & 3)));
        if (p->at && !p->bad)
            r->save[r->saves - 1].batches = v[0];
    }
}

uint8_t *pp_resume_pack(const struct pp_resume_run *r, size_t *n)
{
    struct passing p = {.out = NULL};
    struct pp_resume_run run = *r; /* which is not changed where it is written */
    if (!r->unknown)
        pass_run(&p, &run);
    if (p.bad)
        free(p.out);
    *n = p.bad ? 0 : p.n;
    return p.bad ? NULL : p.out;
}

int pp_resume_unpack(const uint8_t *bytes, size_t n, struct pp_resume_run *out)
{
    struct passing p = {.at = bytes, .end = bytes + n};
    *out = (struct pp_resume_run){.hashed = 1};
    if (n)
        pass_run(&p, out);
    return n && !p.bad && p.at == p.end && out->rank >= 0 && out->world >= 1;
}

void pp_resume_free(struct pp_resume_run *r)
{
    for (size_t i = 0; i < r->iterations; i++)
        free(r->iteration[i].line);
    void *const owned[] = {r->checkpoint, r->batch, r->token, r->file, r->iteration, r->save};
    for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++)
        free(owned[i]);
    *r = (struct pp_resume_run){0};
}
