#include "report/source/stacks.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

/* More than a recorder writes. */
enum { MOST_FUNCTIONS = 1 << 18, MOST_MEMBERS = 1 << 12, MOST_FRAMES = 1 << 20, MOST_SAMPLES = 1 << 22 };

struct reading {
    struct pp_stacks *out;
    size_t room; /* of samples */
    int no_memory;
};

/* Each row begins with its id, and they come by rising id. PP_STACK_NONE: there is no such row. */
static uint32_t place_of(const void *rows, size_t n, size_t size, uint32_t id)
{
    size_t first = PP_BEFORE(n, i, *(const uint32_t *)((const char *)rows + i * size) < id);
    return first < n && *(const uint32_t *)((const char *)rows + first * size) == id ? (uint32_t)first
                                                                                     : PP_STACK_NONE;
}
#define PLACE(rows, n, id) place_of(rows, n, sizeof(*(rows)), id)

/* Room for one more row whose id is above the last one's; NULL: it is left out. */
static void *next_row(struct reading *r, void **rows, size_t *n, size_t size, size_t most, uint32_t id)
{
    uint32_t last = *n ? *(const uint32_t *)((const char *)*rows + (*n - 1) * size) : 0;
    void *row = *n < most && id > last ? pp_arena_push(&r->out->arena, rows, n, size) : NULL;
    r->out->left_out += !row;
    return row;
}

static void take_function(void *ctx, const struct pp_stack_function_row *row)
{
    struct reading *r = ctx;
    struct pp_stack_function *f = next_row(r, (void **)&r->out->functions, &r->out->n_functions, sizeof(*f),
                                           MOST_FUNCTIONS, row->id);
    if (f)
        *f = (struct pp_stack_function){row->id, row->first_line,
                                        pp_arena_copy(&r->out->arena, row->function),
                                        pp_arena_copy(&r->out->arena, row->file)};
}

static void take_member(void *ctx, const struct pp_stack_op_row *row)
{
    struct reading *r = ctx;
    struct pp_stack_member *m = next_row(r, (void **)&r->out->members, &r->out->n_members, sizeof(*m),
                                         MOST_MEMBERS, row->id);
    if (m)
        *m = (struct pp_stack_member){row->id, pp_arena_copy(&r->out->arena, row->path),
                                      pp_arena_copy(&r->out->arena, row->class),
                                      pp_arena_copy(&r->out->arena, row->arguments)};
}

/* A parent is a row before it, so that none is its own ancestor. */
static void take_frame(void *ctx, const struct pp_stack_row *row)
{
    struct reading *r = ctx;
    struct pp_stacks *s = r->out;
    uint32_t function = PLACE(s->functions, s->n_functions, row->function),
             parent = row->parent ? PLACE(s->frames, s->n_frames, row->parent) : PP_STACK_NONE;
    uint32_t depth = row->parent && parent != PP_STACK_NONE ? s->frames[parent].depth + 1 : 0;
    if (function == PP_STACK_NONE || (row->parent && parent == PP_STACK_NONE) || depth > PP_STACK_DEEPEST) {
        s->left_out++;
        return;
    }
    struct pp_stack_frame *f = next_row(r, (void **)&s->frames, &s->n_frames, sizeof(*f), MOST_FRAMES,
                                        row->id);
    if (f)
        *f = (struct pp_stack_frame){row->id,
                                     parent,
                                     function,
                                     row->line,
                                     row->op ? PLACE(s->members, s->n_members, row->op) : PP_STACK_NONE,
                                     depth};
}

static void take_sample(void *ctx, const struct pp_stack_sample_row *row)
{
    struct reading *r = ctx;
    struct pp_stacks *s = r->out;
    uint32_t frame = PLACE(s->frames, s->n_frames, row->stack);
    if (frame == PP_STACK_NONE || s->n_samples == MOST_SAMPLES) {
        s->left_out++;
        return;
    }
    if (!pp_grow(&s->samples, &r->room, s->n_samples + 1, sizeof(*s->samples))) {
        r->no_memory = 1;
        return;
    }
    s->samples[s->n_samples++] = (struct pp_stack_sample){row->t_ns, row->thread, frame, row->state,
                                                          (uint8_t)row->flags};
}

PP_BY_BOTH(by_thread_and_time, struct pp_stack_sample, thread, t_ns)

void pp_stacks_order(struct pp_stacks *s)
{
    if (s->n_samples)
        qsort(s->samples, s->n_samples, sizeof(*s->samples), by_thread_and_time);
}

pp_status pp_stacks_read(const struct pp_source *source, struct pp_stacks *out, struct pp_err *err)
{
    struct reading r = {.out = out};
    *out = (struct pp_stacks){0};
    if (!source->each_stack)
        return PP_OK;
    pp_status status = source->each_stack(source->ctx,
                                          &(struct pp_stack_walk){&r, &r, take_function, take_member,
                                                                  take_frame, take_sample},
                                          err);
    if (status == PP_OK && (r.no_memory || pp_arena_failed(&out->arena)))
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the stacks of %s", source->path);
    if (status == PP_OK)
        pp_stacks_order(out);
    return status;
}

void pp_stacks_free(struct pp_stacks *s)
{
    free(s->samples);
    pp_arena_free(&s->arena);
    *s = (struct pp_stacks){0};
}

/* How many samples stand before those of the thread from t_ns on. */
static size_t before(const struct pp_stacks *s, uint32_t thread, uint64_t t_ns)
{
    return PP_BEFORE(s->n_samples, i,
                     s->samples[i].thread < thread ||
                         (s->samples[i].thread == thread && s->samples[i].t_ns < t_ns));
}

size_t pp_stacks_between(const struct pp_stacks *s, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
                         size_t *n)
{
    size_t first = before(s, thread, from_ns), end = before(s, thread, to_ns);
    *n = end > first ? end - first : 0;
    return first;
}
