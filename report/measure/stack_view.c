#include "report/measure/stack_view.h"

#include "probe/base/text.h"

#include <ctype.h>

const char *pp_file_short(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash && slash[1] ? slash + 1 : file;
}

static const char *last_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

int pp_function_is_private(const char *name)
{
    const char *last = last_name(name);
    return (last[0] == '_' && last[1] != '_') || strstr(name, "<locals>.");
}

const char *pp_function_short(const char *name)
{
    const char *local = name, *next;
    while ((next = strstr(local, "<locals>.")))
        local = next + strlen("<locals>.");
    const char *dot = strrchr(local, '.');
    while (dot && dot > local && dot[-1] != '.')
        dot--;
    return dot ? dot : local;
}

/* ".../lib/python3.11/random.py", and a standard library in one archive: from behind the version on. */
static const char *in_standard_library(const char *file)
{
    for (const char *p = file; (p = strstr(p, "python")); p++)
        if ((p == file || p[-1] == '/') && isdigit((unsigned char)p[6])) {
            const char *end = p + 6 + strspn(p + 6, "0123456789.");
            if (*end == '/' || strncmp(end - (end[-1] == '.'), ".zip", 4) == 0)
                return end;
        }
    return NULL;
}

const char *pp_file_package(const char *file, int *length)
{
    const char *packages = strstr(file, "-packages/"),
               *at = packages ? packages + strlen("-packages") : in_standard_library(file),
               *slash = at ? strchr(at, '/') : NULL, *name = slash ? slash + 1 : "";
    *length = (int)strcspn(name, "/.");
    return name;
}

enum pp_code_kind pp_code_kind(const struct pp_stack_function *f)
{
    const char *last = last_name(f->name), *file = pp_file_short(f->file);
    if (f->file[0] == '<' || !f->file[0] || strncmp(file, "pipeprobe_", 10) == 0 ||
        (last[0] == '<' && strcmp(last, "<lambda>") != 0 && strcmp(last, "<module>") != 0))
        return PP_CODE_FOLDED;
    return strstr(f->file, "site-packages/") || strstr(f->file, "dist-packages/") ||
                   in_standard_library(f->file)
               ? PP_CODE_LIBRARY
               : PP_CODE_USER;
}

/* torch/utils/data/_utils/fetch.py: what a worker, or a trainer without workers, makes a batch by. */
static int is_fetch(const struct pp_stack_function *f)
{
    return strcmp(last_name(f->name), "fetch") == 0 && pp_text_ends_in(f->file, "_utils/fetch.py");
}

/* PP_ASKS_*; 0: it does not. */
static int asks_for_samples(const struct pp_stack_function *f)
{
    static const char *const names[] = {"__getitem__", "__getitems__", "__iter__", "__next__"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(last_name(f->name), names[i]) == 0)
            return i < 2 ? PP_ASKS_ITEM : PP_ASKS_NEXT;
    return 0;
}

/* Of a frame, after its caller's, which it has. */
static void look(const struct pp_stacks *s, const char *none, struct pp_frame_view *own, uint32_t i)
{
    const struct pp_stack_frame *f = &s->frames[i];
    const struct pp_stack_function *function = &s->functions[f->function];
    enum pp_code_kind kind = pp_code_kind(function);
    uint32_t caller = own->above;
    const struct pp_stack_function *of_caller = caller != PP_STACK_NONE
                                                    ? &s->functions[s->frames[caller].function]
                                                    : NULL;
    if (of_caller && kind == PP_CODE_USER && own->user != PP_STACK_NONE && own->member == PP_STACK_NONE &&
        pp_code_kind(of_caller) == PP_CODE_LIBRARY && strcmp(last_name(function->name), "<lambda>") == 0)
        kind = PP_CODE_FOLDED; /* the line that hands it to a library says more */
    own->above = kind == PP_CODE_FOLDED ? caller : i;
    own->kind = (uint8_t)kind;
    if (is_fetch(function)) {
        *own = (struct pp_frame_view){i, PP_STACK_NONE, PP_STACK_NONE, i, (uint8_t)kind, 1, 0, PP_ASKS_FETCH};
        return;
    }
    /* fetch calls the data set, and then the collate function with what it gave. Of an iterable data set a
     * generator may have any name. */
    if (of_caller && caller == own->entry && kind != PP_CODE_FOLDED && is_fetch(of_caller))
        own->collates = strstr(last_name(function->name), "collate") ||
                        (!asks_for_samples(function) && !strstr(of_caller->name, "Iterable"));
    /* A data set that holds another hands on to it; what it calls deeper is its own, but for iterators. */
    int asks = own->collates || own->user != PP_STACK_NONE ? 0 : asks_for_samples(function);
    if (asks == PP_ASKS_NEXT || (asks && (!own->works || caller == own->entry))) {
        own->works = 1;
        own->entry = i;
        own->asks = (uint8_t)asks;
    }
    if (!own->works || kind == PP_CODE_FOLDED)
        return;
    if (f->op != PP_STACK_NONE && !none[f->op] &&
        (own->member == PP_STACK_NONE || s->frames[own->member].op != f->op))
        own->member = i;
    if (kind == PP_CODE_USER && own->user == PP_STACK_NONE)
        own->user = i;
}

struct pp_frame_view *pp_stack_view(const struct pp_stacks *s, struct pp_arena *arena)
{
    struct pp_frame_view *v = pp_arena_alloc(arena, (s->n_frames + 1) * sizeof(*v));
    char *none = pp_arena_alloc(arena, s->n_members + 1);
    /* The data set itself, and what holds others: time in them is not of an operation. */
    for (size_t i = 0; none && i < s->n_members; i++) {
        const char *path = s->members[i].path;
        size_t n = strlen(path);
        none[i] = !strpbrk(path, ".[");
        for (size_t k = 0; k < s->n_members && !none[i]; k++)
            none[i] = strncmp(s->members[k].path, path, n) == 0 &&
                      (s->members[k].path[n] == '.' || s->members[k].path[n] == '[');
    }
    for (size_t i = 0; none && i < s->n_frames; i++)
        if (s->frames[i].op != PP_STACK_NONE && asks_for_samples(&s->functions[s->frames[i].function]))
            none[s->frames[i].op] = 1;
    for (uint32_t i = 0; v && none && i < s->n_frames; i++) {
        v[i] = s->frames[i].parent != PP_STACK_NONE
                   ? v[s->frames[i].parent]
                   : (struct pp_frame_view){
                         PP_STACK_NONE, PP_STACK_NONE, PP_STACK_NONE, PP_STACK_NONE, 0, 0, 0, PP_ASKS_FETCH};
        look(s, none, &v[i], i);
    }
    return none ? v : NULL;
}

uint32_t pp_stack_first(const struct pp_stacks *s, const struct pp_frame_view *v, uint32_t outer,
                        uint32_t frame, enum pp_code_kind kind)
{
    uint32_t first = PP_STACK_NONE;
    for (uint32_t at = frame; at != PP_STACK_NONE; at = s->frames[at].parent) {
        if (v[at].kind == kind)
            first = at;
        if (at == outer)
            return first;
    }
    return PP_STACK_NONE;
}

uint32_t pp_stack_next_user(const struct pp_stacks *s, const struct pp_frame_view *v, uint32_t outer,
                            uint32_t frame)
{
    uint32_t next = PP_STACK_NONE;
    for (uint32_t at = frame; at != PP_STACK_NONE && at != outer; at = s->frames[at].parent)
        if (v[at].kind == PP_CODE_USER)
            next = at;
    return next;
}
