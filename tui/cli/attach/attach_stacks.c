#include "tui/cli/attach/attach_stacks.h"

#include "collectors/stacks/process.h"
#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"

#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 1024 };

struct attach_stacks {
    struct pp_stack_tree tree;
    struct pp_stack_processes all;
    struct pp_stack_process *process[ATTACH_ROWS_MAX]; /* process[0] is the job */
    size_t processes;
    struct seen_thread {
        int64_t pid, tid;
    } thread[THREADS]; /* a sample's thread is its place here */
    unsigned char role[THREADS];
    size_t threads;
    struct pp_stack_sample_row *samples;
    size_t n, cap;
    struct pp_rng rng;
    uint64_t period_begins, due_ns;
};

struct attach_stacks *attach_stacks_begin(void)
{
    struct attach_stacks *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->all = (struct pp_stack_processes){.tree = &s->tree,
                                         .room = pp_frames_room_new(),
                                         .id_offset = pp_process_id_offset()};
    s->rng = pp_rng_key((uint64_t)getpid(), 0, pp_now_ns(), 0);
    s->period_begins = pp_now_ns();
    if (pp_stack_tree_init(&s->tree) && s->all.room)
        return s;
    attach_stacks_free(s);
    return NULL;
}

uint64_t attach_stacks_due(const struct attach_stacks *s)
{
    return s->due_ns;
}

/* At a random moment of each period, so that no look keeps step with the job. */
static void set_due(struct attach_stacks *s)
{
    const uint64_t period = UINT64_C(1000000000) / ATTACH_STACKS_HZ, now = pp_now_ns();
    s->period_begins += period;
    if (s->period_begins + period < now)
        s->period_begins = now;
    s->due_ns = s->period_begins + (uint64_t)((double)period * pp_rng_unit(&s->rng));
}

static size_t place_of_thread(struct attach_stacks *s, int64_t pid, int64_t tid, enum pp_looks_role role)
{
    size_t i = 0;
    while (i < s->threads && (s->thread[i].tid != tid || s->thread[i].pid != pid))
        i++;
    if (i == s->threads && i < THREADS) {
        s->thread[i] = (struct seen_thread){pid, tid};
        s->role[i] = (unsigned char)role;
        s->threads++;
    }
    return i;
}

/* Of a worker its main thread alone, of the job all: any of them may train. */
static void look_at_process(struct attach_stacks *s, struct pp_stack_process *p, int is_worker)
{
    for (unsigned i = 0; i < p->threads; i++) {
        const struct pp_process_thread *t = &p->thread[i];
        int is_main = p->python.thread[i].is_main;
        if (!t->tid || (is_worker && !is_main))
            continue;
        enum pp_frames_result r = pp_process_sample(&s->all, p, i);
        size_t at = place_of_thread(s, p->pid, t->tid,
                                    is_worker ? PP_LOOKS_WORKER
                                    : is_main ? PP_LOOKS_MAIN
                                              : PP_LOOKS_BESIDE);
        if (r == PP_FRAMES_NONE || r == PP_FRAMES_GONE || !t->stack || at == THREADS ||
            !pp_grow(&s->samples, &s->cap, s->n + 1, sizeof(*s->samples)))
            continue;
        s->samples[s->n++] = (struct pp_stack_sample_row){.t_ns = pp_now_ns(),
                                                          .thread = (uint32_t)at,
                                                          .stack = t->stack,
                                                          .state = t->state,
                                                          .flags = t->flags};
    }
}

/* NULL: no memory. */
static struct pp_stack_process *process_of(struct attach_stacks *s, int64_t pid)
{
    for (size_t i = 0; i < s->processes; i++)
        if (s->process[i]->pid == pid)
            return s->process[i];
    struct pp_stack_process *p = s->processes < ATTACH_ROWS_MAX ? pp_process_new(pid) : NULL;
    if (p)
        s->process[s->processes++] = p;
    return p;
}

void attach_stacks_look(struct attach_stacks *s, const struct attach_rows *rows)
{
    set_due(s);
    for (size_t i = 0; i < rows->n; i++) {
        const struct attach_row *row = &rows->row[i];
        struct pp_stack_process *p = row->alive && row->kind != ATTACH_OTHER ? process_of(s, row->last.pid)
                                                                             : NULL;
        if (p && pp_process_look(&s->all, p, pp_now_ns()) && p->state == PP_PROCESS_OPEN)
            look_at_process(s, p, row->kind == ATTACH_WORKER);
    }
}

/* As a source that has stacks and nothing else. */
static pp_status each_stack(void *ctx, const struct pp_stack_walk *to, struct pp_err *err)
{
    const struct attach_stacks *s = ctx;
    for (size_t i = 0; i < s->tree.n_functions; i++)
        to->function(to->ctx, &s->tree.functions[i]);
    for (size_t i = 0; i < s->tree.n_frames; i++)
        to->frame(to->ctx, &s->tree.frames[i]);
    for (size_t i = 0; i < s->n; i++)
        to->sample(to->sample_ctx, &s->samples[i]);
    return PP_OK;
}

pp_status attach_stacks_judge(const struct attach_stacks *s, double window_s, struct pp_looks *out,
                              struct pp_err *err)
{
    const struct pp_source source = {.ctx = (void *)s, .path = "the job", .each_stack = each_stack};
    *out = (struct pp_looks){0};
    const struct pp_stack_process *job = s->processes ? s->process[0] : NULL;
    if (job && job->state == PP_PROCESS_REFUSED)
        return pp_fail(err, PP_E_ACCESS, "the stacks of process %lld cannot be read: %s", (long long)job->pid,
                       job->why_not[0] ? job->why_not : "no Python was found in it");
    if (!s->n)
        return pp_fail(err, PP_E_NOT_FOUND, "no Python code of the job was seen");
    pp_status status = pp_stacks_read(&source, &out->ops.stacks, err);
    return status == PP_OK ? pp_looks_judge(out, s->role, s->threads, window_s, err) : status;
}

void attach_stacks_free(struct attach_stacks *s)
{
    for (size_t i = 0; s && i < s->processes; i++)
        pp_process_free(&s->all, s->process[i]);
    if (s) {
        pp_frames_room_free(s->all.room);
        pp_stack_tree_free(&s->tree);
        free(s->samples);
    }
    free(s);
}
