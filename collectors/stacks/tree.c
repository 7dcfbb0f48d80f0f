#include "collectors/stacks/members.h"

#include "probe/base/array.h"
#include "probe/base/hash.h"

int pp_stack_tree_init(struct pp_stack_tree *t)
{
    *t = (struct pp_stack_tree){.function_index = calloc(2 * PP_TREE_FUNCTIONS, sizeof(uint32_t)),
                                .frame_index = calloc(2 * PP_TREE_FRAMES, sizeof(uint32_t))};
    return t->function_index && t->frame_index;
}

void pp_stack_tree_free(struct pp_stack_tree *t)
{
    for (size_t i = 0; i < t->n_functions; i++) {
        free((char *)t->functions[i].function);
        free((char *)t->functions[i].file);
    }
    for (size_t i = 0; i < t->n_ops; i++) {
        free((char *)t->ops[i].path);
        free((char *)t->ops[i].class);
        free((char *)t->ops[i].arguments);
    }
    free(t->functions);
    free(t->frames);
    free(t->ops);
    free(t->function_index);
    free(t->frame_index);
    *t = (struct pp_stack_tree){0};
}

uint32_t pp_stack_tree_function(struct pp_stack_tree *t, const char *name, const char *file,
                                uint32_t first_line)
{
    uint32_t i = (uint32_t)pp_hash_text(pp_hash_text(first_line, name), file), *slot;
    for (; *(slot = &t->function_index[i & (2 * PP_TREE_FUNCTIONS - 1)]); i++) {
        const struct pp_stack_function_row *f = &t->functions[*slot - 1];
        if (f->first_line == first_line && strcmp(f->function, name) == 0 && strcmp(f->file, file) == 0)
            return *slot;
    }
    if (t->n_functions == PP_TREE_FUNCTIONS ||
        !pp_grow(&t->functions, &t->function_cap, t->n_functions + 1, sizeof(*t->functions)))
        return 0;
    struct pp_stack_function_row f = {(uint32_t)t->n_functions + 1, first_line, strdup(name), strdup(file)};
    if (!f.function || !f.file) {
        free((char *)f.function);
        free((char *)f.file);
        return 0;
    }
    t->functions[t->n_functions++] = f;
    return *slot = f.id;
}

uint32_t pp_stack_tree_frame(struct pp_stack_tree *t, uint32_t parent, uint32_t function, uint32_t line,
                             uint32_t op)
{
    uint64_t key = pp_mix64((uint64_t)parent << 32 | function) ^ ((uint64_t)line << 32 | op);
    uint32_t i = (uint32_t)pp_mix64(key), *slot;
    for (; *(slot = &t->frame_index[i & (2 * PP_TREE_FRAMES - 1)]); i++) {
        const struct pp_stack_row *f = &t->frames[*slot - 1];
        if (f->parent == parent && f->function == function && f->line == line && f->op == op)
            return *slot;
    }
    if (t->n_frames == PP_TREE_FRAMES ||
        !pp_grow(&t->frames, &t->frame_cap, t->n_frames + 1, sizeof(*t->frames)))
        return 0;
    t->frames[t->n_frames] = (struct pp_stack_row){(uint32_t)t->n_frames + 1, parent, function, line, op};
    return *slot = (uint32_t)++t->n_frames;
}

uint32_t pp_stack_tree_op(struct pp_stack_tree *t, const char *path, const char *class, const char *arguments)
{
    for (size_t i = 0; i < t->n_ops; i++) {
        const struct pp_stack_op_row *o = &t->ops[i];
        if (strcmp(o->path, path) == 0 && strcmp(o->class, class) == 0 &&
            strcmp(o->arguments, arguments) == 0)
            return o->id;
    }
    if (t->n_ops == PP_TREE_OPS || !pp_grow(&t->ops, &t->op_cap, t->n_ops + 1, sizeof(*t->ops)))
        return 0;
    struct pp_stack_op_row o = {(uint32_t)t->n_ops + 1, strdup(path), strdup(class), strdup(arguments)};
    if (!o.path || !o.class || !o.arguments) {
        free((char *)o.path);
        free((char *)o.class);
        free((char *)o.arguments);
        return 0;
    }
    t->ops[t->n_ops++] = o;
    return o.id;
}
