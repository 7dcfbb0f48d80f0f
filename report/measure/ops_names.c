#include "report/measure/ops_group.h"

#include "probe/base/text.h"

#define NAMES_IT 0.6    /* from which part on what a line calls is its name */
#define SECOND_CALL 0.2 /* of a line: from which part on a second call is named beside the first */
#define SEEN 4          /* samples, at least, of such a call */
#define COMMON 0.3      /* code that so much of an op is spent in is listed */
enum { NAME = 64, CODE = 512 };

size_t pp_ops_vote(struct votes *v, uint32_t a, uint32_t b, double n)
{
    size_t i = 0;
    while (i < v->n && (v->row[i].a != a || v->row[i].b != b))
        i++;
    if (i == VOTES)
        return i;
    if (i == v->n) {
        v->row[v->n].a = a;
        v->row[v->n].b = b;
        v->row[v->n++].n = 0;
    }
    v->row[i].n += n;
    return i;
}

size_t pp_ops_most_of(const struct votes *v, uint32_t function)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < v->n; i++)
        if ((function == PP_STACK_NONE || v->row[i].a == function) &&
            (best == SIZE_MAX || v->row[i].n > v->row[best].n))
            best = i;
    return best;
}

const char *pp_ops_place(const struct grouping *g, uint32_t function, uint32_t line)
{
    const struct pp_stack_function *f = &g->s->functions[function];
    return line ? pp_arena_printf(&g->out->arena, "%.100s:%u", pp_file_short(f->file), line)
                : pp_arena_printf(&g->out->arena, "%.100s", pp_file_short(f->file));
}

const char *pp_ops_name(const struct grouping *g, uint32_t function)
{
    const char *name = pp_function_short(g->s->functions[function].name);
    int script = strcmp(name, "<module>") == 0 && pp_code_kind(&g->s->functions[function]) == PP_CODE_USER;
    return script ? "the script" : pp_arena_printf(&g->out->arena, "%.60s", name);
}

const char *pp_ops_library_name(const struct grouping *g, uint32_t function)
{
    int length;
    const char *name = pp_ops_name(g, function),
               *package = pp_file_package(g->s->functions[function].file, &length);
    return length && !strchr(name, '.') ? pp_arena_printf(&g->out->arena, "%.*s.%s", length, package, name)
                                        : name;
}

static void name_member(const struct grouping *g, const struct op_key *key, const struct votes *user,
                        struct pp_op *op)
{
    const struct pp_stack_member *m = &g->s->members[key->what];
    int args = m->arguments[0] && strlen(m->arguments) < NAME;
    /* "transforms[2]" of "dataset.transform.transforms[2]" */
    const char *bracket = strrchr(m->path, '['), *at = bracket ? bracket : strrchr(m->path, '.');
    while (at && at > m->path && at[-1] != '.')
        at--;
    op->name = pp_arena_printf(&g->out->arena, "%.60s%s%s%s", pp_function_short(m->class), args ? "(" : "",
                               args ? m->arguments : "", args ? ")" : "");
    op->word = pp_arena_printf(&g->out->arena, "%.60s", pp_function_short(m->class));
    op->path = pp_arena_printf(&g->out->arena, "%.100s",
                               at && bracket ? at
                               : at          ? at + (*at == '.')
                                             : m->path);
    if (user->n)
        op->place = pp_ops_place(g, user->row[pp_ops_most_of(user, PP_STACK_NONE)].a,
                                 user->row[pp_ops_most_of(user, PP_STACK_NONE)].b);
}

static void name_callee(const struct grouping *g, const struct votes *callee, struct pp_op *op)
{
    size_t lib = pp_ops_most_of(callee, PP_STACK_NONE);
    if (lib == SIZE_MAX || callee->row[lib].n < NAMES_IT * op->n)
        return;
    op->word = pp_ops_library_name(g, callee->row[lib].a);
    op->name = pp_arena_printf(&g->out->arena, "%s in %s", op->word, op->name);
}

/* A line is named by what it calls: a function of the user's, whose own line counts then, or of a library's
 * in the user's. One that calls two dear functions has both names, and its own place. */
static void name_line(const struct grouping *g, const struct op_key *key, const struct votes *own,
                      const struct votes *next, const struct votes *lines, const struct votes *callee,
                      const struct votes *calls, struct pp_op *op)
{
    size_t to = pp_ops_most_of(next, PP_STACK_NONE);
    op->place = pp_ops_place(g, key->what, own->row[pp_ops_most_of(own, PP_STACK_NONE)].b);
    op->name = op->word = pp_ops_name(g, key->what);
    if (next->n && next->row[to].n >= NAMES_IT * op->n) {
        size_t hot = pp_ops_most_of(lines, next->row[to].a);
        op->name = op->word = pp_ops_name(g, next->row[to].a);
        op->place = hot != SIZE_MAX ? pp_ops_place(g, lines->row[hot].a, lines->row[hot].b) : op->place;
    } else
        name_callee(g, callee, op);
    size_t one = pp_ops_most_of(calls, PP_STACK_NONE), two = SIZE_MAX;
    for (size_t i = 0; i < calls->n; i++)
        if (i != one && (two == SIZE_MAX || calls->row[i].n > calls->row[two].n))
            two = i;
    if (two == SIZE_MAX || calls->row[two].n < fmax(SECOND_CALL * op->n, SEEN) ||
        calls->row[one].n + calls->row[two].n < NAMES_IT * op->n)
        return;
    op->name = pp_arena_printf(&g->out->arena, "%s and %s in %s", pp_ops_library_name(g, calls->row[one].a),
                               pp_ops_library_name(g, calls->row[two].a), pp_ops_name(g, key->what));
    op->place = pp_ops_place(g, key->what, own->row[pp_ops_most_of(own, PP_STACK_NONE)].b);
}

/* Which code most of it is spent in, as "PIL/Image.py:Image.resize". */
static const char *code_of(const struct grouping *g, size_t first_op, const uint32_t *op_of, size_t op)
{
    struct votes seen = {0};
    char text[CODE] = "";
    for (uint32_t i = 0; i < g->s->n_frames; i++) {
        if (op_of[i] != op || !(g->sum[i].n > 0))
            continue;
        /* a member's begins with what calls it; below that is its own */
        uint32_t begins = g->key[i].frame, outer = pp_stack_first(g->s, g->v, begins, i, PP_CODE_USER);
        outer = g->key[i].kind == OP_MEMBER && outer != PP_STACK_NONE ? outer : begins;
        for (uint32_t at = i; at != PP_STACK_NONE; at = g->s->frames[at].parent) {
            int again = 0; /* a function that calls itself counts once */
            for (uint32_t below = i; below != at && !again; below = g->s->frames[below].parent)
                again = g->s->frames[below].function == g->s->frames[at].function;
            if (!again)
                pp_ops_vote(&seen, g->s->frames[at].function, 0, g->sum[i].n);
            if (at == outer)
                break;
        }
    }
    for (size_t k = 0; k < seen.n; k++) {
        const struct pp_stack_function *f = &g->s->functions[seen.row[k].a];
        if (seen.row[k].n < COMMON * g->out->ops[first_op + op].n)
            continue;
        const char *packages = strstr(f->file, "-packages/"),
                   *file = packages ? packages + strlen("-packages/") : f->file;
        pp_text_add(text, sizeof(text), "%s%.100s:%.100s", text[0] ? " " : "", file, f->name);
    }
    return pp_arena_copy(&g->out->arena, text);
}

/* Of a library. */
static int is_public(const struct grouping *g, uint32_t frame)
{
    return g->v[frame].kind == PP_CODE_LIBRARY &&
           !pp_function_is_private(g->s->functions[g->s->frames[frame].function].name);
}

void pp_ops_describe(const struct grouping *g, size_t first_op, const uint32_t *op_of, size_t op,
                     const struct op_key *key)
{
    struct pp_op *to = &g->out->ops[first_op + op];
    struct votes next = {0}, lines = {0}, callee = {0}, user = {0}, calls = {0}, own = {0};
    const struct pp_stack_frame *frames = g->s->frames;
    const struct pp_frame_view *of = &g->v[key->frame];
    for (uint32_t i = 0; i < g->s->n_frames; i++) {
        if (op_of[i] != op || !(g->sum[i].n > 0))
            continue;
        uint32_t begins = g->key[i].frame, lib = pp_stack_first(g->s, g->v, begins, i, PP_CODE_LIBRARY),
                 u = PP_STACK_NONE;
        if (key->kind == OP_MEMBER &&
            (u = pp_stack_first(g->s, g->v, begins, i, PP_CODE_USER)) != PP_STACK_NONE) {
            pp_ops_vote(&user, frames[u].function, frames[u].line, g->sum[i].n);
            lib = pp_stack_first(g->s, g->v, u, i, PP_CODE_LIBRARY);
        } else if (key->kind == OP_LIBRARY)
            for (uint32_t at = i; at != begins && at != PP_STACK_NONE; at = frames[at].parent)
                lib = is_public(g, at) ? at : lib;
        else if (key->kind == OP_LINE && (u = pp_stack_next_user(g->s, g->v, begins, i)) != PP_STACK_NONE) {
            pp_ops_vote(&next, frames[u].function, 0, g->sum[i].n);
            pp_ops_vote(&lines, frames[u].function, frames[u].line, g->sum[i].n);
        }
        if (lib != PP_STACK_NONE && lib != begins && is_public(g, lib))
            pp_ops_vote(&callee, frames[lib].function, 0, g->sum[i].n);
        if (key->kind == OP_LINE)
            pp_ops_vote(&own, key->what, frames[begins].line, g->sum[i].n);
        u = lib != PP_STACK_NONE && (u == PP_STACK_NONE || frames[lib].depth < frames[u].depth) ? lib : u;
        if (key->kind == OP_LINE && i != begins && u != PP_STACK_NONE &&
            (g->v[u].kind == PP_CODE_USER || is_public(g, u)))
            pp_ops_vote(&calls, frames[u].function, 0, g->sum[i].n);
    }
    if (key->kind == OP_MEMBER)
        name_member(g, key, &user, to);
    else if (key->kind == OP_LINE)
        name_line(g, key, &own, &next, &lines, &callee, &calls, to);
    else if (of->entry == key->frame && of->asks == PP_ASKS_FETCH)
        to->name = to->word = "dataset.__getitem__"; /* which is no Python */
    else {
        to->name = to->word = pp_ops_name(g, key->what);
        if (of->asks == PP_ASKS_ITEM)
            name_callee(g, &callee, to);
    }
    size_t lib = pp_ops_most_of(&callee, PP_STACK_NONE);
    const char *name = callee.n && to->place ? pp_ops_library_name(g, callee.row[lib].a) : NULL;
    if (name && callee.row[lib].n >= COMMON * to->n && to->name && !strstr(to->name, name))
        to->callee = name;
    to->code = code_of(g, first_op, op_of, op);
}
