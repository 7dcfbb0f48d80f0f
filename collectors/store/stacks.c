/* Python stacks as rows: functions, a trie of frames, samples of it. */
#include "collectors/store/store.h"

#define FOLDED_ROWS 65536 /* samples that go into the roll-up together */
#define STACK_THREADS 4096
#define NS_PER_MINUTE 60000000000

struct pp_store_stacks {
    int64_t samples, folded; /* rowids: of the last sample, of the last one that is in the roll-up */
    struct pp_store_who threads[STACK_THREADS]; /* without spans; number PP_THREADS_MAX + i */
    uint32_t n_threads;
};

static struct pp_store_stacks *stacks_of(struct pp_store *s)
{
    if (!s->stacks)
        s->stacks = calloc(1, sizeof(*s->stacks));
    return s->stacks;
}

PUTS(pp_store_stack_function, (struct pp_store * s, const struct pp_stack_function_row *f), ST_STACK_FUNCTION,
     v_int(f->id), v_text(f->function), v_text(f->file), v_int(f->first_line))
PUTS(pp_store_stack, (struct pp_store * s, const struct pp_stack_row *frame), ST_STACK, v_int(frame->id),
     v_unless(frame->parent, 0), v_int(frame->function), v_unless(frame->line, 0), v_unless(frame->op, 0))
PUTS(pp_store_stack_op, (struct pp_store * s, const struct pp_stack_op_row *op), ST_STACK_OP, v_int(op->id),
     v_text(op->path), v_text(op->class), v_text(op->arguments))
pp_status pp_store_stack_thread(struct pp_store *s, int64_t pid, int64_t tid, uint32_t *thread)
{
    struct pp_store_who who = {(int32_t)pid, (int32_t)tid};
    uint32_t i = 0;
    pp_status status = PP_OK;
    pthread_mutex_lock(&s->lock);
    struct pp_store_stacks *k = stacks_of(s);
    *thread = UINT32_MAX;
    /* The newest first: the kernel may have given a number again. */
    for (uint32_t id = s->declared; id > 0 && *thread == UINT32_MAX; id--)
        if (s->who[id - 1].tid == who.tid && s->who[id - 1].pid == who.pid)
            *thread = id - 1;
    int is_ours = 0;
    for (uint32_t id = s->declared; id > 0 && !is_ours; id--)
        is_ours = s->who[id - 1].pid == who.pid;
    if (*thread != UINT32_MAX || !k || !is_ours)
        return pp_store_leave(s, PP_OK);
    while (i < k->n_threads && (k->threads[i].tid != who.tid || k->threads[i].pid != who.pid))
        i++;
    if (i < STACK_THREADS)
        *thread = PP_THREADS_MAX + i;
    if (i == k->n_threads && i < STACK_THREADS) {
        k->threads[k->n_threads++] = who;
        status = pp_store_put_row(s, ST_STACK_THREAD,
                                  PP_ROW(v_int(*thread), v_int((uint64_t)pid), v_int((uint64_t)tid)));
    }
    return pp_store_leave(s, status);
}

pp_status pp_store_stack_sample(struct pp_store *s, const struct pp_stack_sample_row *r)
{
    const char state[2] = {r->state};
    pthread_mutex_lock(&s->lock);
    struct pp_store_stacks *k = stacks_of(s);
    if (!k || s->detail == PP_DETAIL_ROLLUP)
        return pp_store_leave(s, PP_OK);
    pp_status status = pp_store_put_row(s, ST_STACK_SAMPLE,
                                        PP_ROW(v_int((uint64_t)++k->samples), v_int(r->t_ns),
                                               v_int(r->thread), v_int(r->stack),
                                               v_text(r->state ? state : NULL), v_int(r->flags)));
    if (!status && k->samples - k->folded > PP_STORE_STACK_SAMPLES) {
        /* The oldest samples become counts of a minute. What is summed grows as well, only slower, and keeps
         * as many rows. */
        char sql[640];
        long long to = s->stacks->folded + FOLDED_ROWS;
        snprintf(
            sql, sizeof(sql),
            "INSERT INTO stack_rollup SELECT t_ns / %lld, thread, stack, state, count(*) FROM stack_sample WHERE rowid <= %lld"
            " GROUP BY 1, 2, 3, 4;"
            "DELETE FROM stack_sample WHERE rowid <= %lld;"
            "DELETE FROM stack_rollup WHERE rowid <= (SELECT max(rowid) FROM stack_rollup) - %u;",
            (long long)NS_PER_MINUTE, to, to, PP_STORE_STACK_SAMPLES);
        s->stacks->folded = to;
        status = sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
                     ? PP_OK
                     : pp_store_fail(s, "cannot write to");
    }
    return pp_store_leave(s, status);
}
