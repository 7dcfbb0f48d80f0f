/* Python stacks as rows: functions, members of transforms, the trie of frames, samples of it. Looks at the
 * job's threads. */
#include "collectors/store/reader_impl.h"

static pp_status each_function(struct pp_reader *r, const struct pp_stack_walk *to, struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT id, function, file, first_line FROM stack_function ORDER BY id");
    while (query_row(&q))
        to->function(to->ctx, &(struct pp_stack_function_row){.id = col_id_or_none(&q, 0),
                                                              .function = col_text(&q, 1),
                                                              .file = col_text(&q, 2),
                                                              .first_line = (uint32_t)col_num(&q, 3)});
    return query_end(&q, err);
}

static pp_status each_op(struct pp_reader *r, const struct pp_stack_walk *to, struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT id, path, class, arguments FROM stack_op ORDER BY id");
    while (query_row(&q))
        to->op(to->ctx, &(struct pp_stack_op_row){.id = col_id_or_none(&q, 0),
                                                  .path = col_text(&q, 1),
                                                  .class = col_text(&q, 2),
                                                  .arguments = col_text(&q, 3)});
    return query_end(&q, err);
}

static pp_status each_frame(struct pp_reader *r, const struct pp_stack_walk *to, struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT id, parent, function, line, op FROM stack ORDER BY id");
    while (query_row(&q))
        to->frame(to->ctx, &(struct pp_stack_row){.id = col_id_or_none(&q, 0),
                                                  .parent = (uint32_t)col_num_or(&q, 1, 0),
                                                  .function = col_id_or_none(&q, 2),
                                                  .line = (uint32_t)col_num_or(&q, 3, 0),
                                                  .op = (uint32_t)col_num_or(&q, 4, 0)});
    return query_end(&q, err);
}

static pp_status each_sample(struct pp_reader *r, const struct pp_stack_walk *to, struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT t_ns, thread, stack, state, flags FROM stack_sample");
    while (query_row(&q))
        to->sample(to->sample_ctx, &(struct pp_stack_sample_row){.t_ns = col_num(&q, 0),
                                                                 .thread = col_id_or_none(&q, 1),
                                                                 .stack = col_id_or_none(&q, 2),
                                                                 .state = col_text(&q, 3)[0],
                                                                 .flags = (uint32_t)col_num(&q, 4)});
    return query_end(&q, err);
}

pp_status pp_reader_each_stack(struct pp_reader *r, const struct pp_stack_walk *to, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "stack_sample", &status, err) || status) /* recorded by an older version */
        return status;
    status = each_function(r, to, err);
    if (status == PP_OK)
        status = each_op(r, to, err);
    if (status == PP_OK)
        status = each_frame(r, to, err);
    return status == PP_OK ? each_sample(r, to, err) : status;
}

static pp_status each_native_thread(struct pp_reader *r, const struct pp_thread_walk *to, struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT id, pid, tid, name FROM native_thread ORDER BY id");
    while (query_row(&q))
        to->thread(to->ctx, &(struct pp_native_thread_row){.id = col_id_or_none(&q, 0),
                                                           .pid = (int64_t)col_num(&q, 1),
                                                           .tid = (int64_t)col_num(&q, 2),
                                                           .name = col_text(&q, 3)});
    return query_end(&q, err);
}

pp_status pp_reader_each_thread_look(struct pp_reader *r, const struct pp_thread_walk *to, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "thread_look", &status, err) || status)
        return status;
    status = each_native_thread(r, to, err);
    if (status != PP_OK)
        return status;
    struct query q = reader_query(r, "SELECT t_ns, states FROM thread_look");
    while (query_row(&q)) {
        to->look(to->ctx, &(struct pp_thread_look_row){.t_ns = col_num(&q, 0), .states = col_text(&q, 1)});
        query_fetched(&q, 1);
    }
    return query_end(&q, err);
}
