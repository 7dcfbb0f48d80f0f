#include "report/verdict/action.h"

#include "probe/base/text.h"
#include "report/replay/knobs.h"
#include "report/rules/remedies.h"

/* So much of another fix's gain is as good as that. */
#define NEARLY 0.9

/* A gain whose interval holds none is no gain to advise. Without an interval (NAN) nothing is doubted. */
int pp_action_is_sure(const struct pp_report_fix *f)
{
    return !(f->low <= 0);
}

/* ---- what to paste ---- */

const char *pp_action_config(const struct pp_report *r, const char *key)
{
    for (size_t i = 0; i < r->n_config; i++)
        if (strcmp(r->config[i].key, key) == 0)
            return r->config[i].value;
    return NULL;
}

static int is_set(const char *flag)
{
    return flag && (strcmp(flag, "true") == 0 || strcmp(flag, "1") == 0);
}

/* A recording is a stranger's file, and the line is going to be pasted: a count and nothing else. */
static const char *count_of(const char *value)
{
    size_t n = value ? strlen(value) : 0;
    return n > 0 && n <= 4 && strspn(value, "0123456789") == n ? value : NULL;
}

/* Arguments in a fixed order, each once. */
struct arguments {
    char text[256];
    const char *changed; /* "num_workers=8"; NULL: none */
};

static void add(struct arguments *a, const char *name, const char *value)
{
    size_t at = strlen(a->text), n = strlen(name);
    int changes = a->changed && strncmp(a->changed, name, n) == 0 && a->changed[n] == '=';
    if (changes)
        snprintf(a->text + at, sizeof(a->text) - at, ", %s", a->changed);
    else if (value)
        snprintf(a->text + at, sizeof(a->text) - at, ", %s=%s", name, value);
}

/* What changes, and what matters for the prediction as it was recorded. Our loader keeps its workers over the
 * epochs and has pinned memory unless told otherwise; of another only what it says of itself is known. */
static const char *loader_line(const struct pp_report *r, const char *changed, struct pp_arena *arena)
{
    struct arguments a = {.changed = changed};
    const char *prefetch = count_of(pp_action_config(r, "prefetch")),
               *workers = pp_action_config(r, "num_workers");
    int pinned = r->own_loader && !is_set(pp_action_config(r, "pageable"));
    add(&a, "num_workers", count_of(pp_action_config(r, "workers")));
    add(&a, "prefetch_factor", prefetch && atoi(prefetch) > 2 ? prefetch : NULL); /* 2: as without it */
    add(&a, "in_order", r->own_loader && is_set(pp_action_config(r, "out_of_order")) ? "False" : NULL);
    add(&a, "pin_memory", pinned ? "True" : NULL);
    /* workers that start again for every epoch would take back a part of what they gain */
    add(&a, "persistent_workers", r->own_loader || strcmp(workers ? workers : "", "0") == 0 ? "True" : NULL);
    return pp_arena_printf(arena, "DataLoader(...%s)", a.text);
}

/* As many workers as a loader needs that has one read in each: what was predicted for workers, where that
 * gains nearly as much, or as many as there would be reads in flight. NULL: the recording does not say. */
static const char *one_read_each(const struct pp_report *r, const struct pp_report_fix *fix,
                                 struct pp_arena *arena)
{
    const char *workers = count_of(pp_action_config(r, "workers"));
    for (size_t i = 0; i < r->verdict.n_fixes; i++) {
        const struct pp_report_fix *f = &r->verdict.fixes[i];
        if (strcmp(f->knob, "workers") == 0 && pp_action_is_sure(f) && f->gain >= NEARLY * fix->gain)
            return f->to;
    }
    return workers && count_of(fix->to) ? pp_arena_printf(arena, "%d", atoi(workers) * atoi(fix->to)) : NULL;
}

const char *pp_action_plain(const char *text, struct pp_arena *arena)
{
    char *copy = pp_arena_copy(arena, text), *to = copy;
    for (const char *p = copy; p && *p; p++)
        if (*p != '`')
            *to++ = *p;
    if (to)
        *to = '\0';
    return copy;
}

/* Of a recording whose ranges do not say when the trainer waits, or when it works. */
static void say_what_lacks(struct pp_report *r, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    int of_others = r->subject_kind == PP_SUBJECT_JOB || r->subject_kind == PP_SUBJECT_PROGRAM;
    if (!of_others || r->ended || !r->spans || strcmp(v->l0, "inconclusive") != 0 ||
        (r->batches && pp_report_find_phase(r, PP_PHASE_DATA_WAIT) && pp_report_find_phase(r, PP_PHASE_STEP)))
        return;
    /* A PyTorch job whose DataLoaders were recorded needs no ranges: it ended before a second batch. */
    const char *source = pp_action_config(r, "source");
    int batches = source && strcmp(source, "pytorch") == 0 && pp_report_find_phase(r, PP_PHASE_DATA_WAIT);
    /* On a GPU a line that waits for it has most of the time, and says nothing. */
    const struct pp_report_step_line *line = r->n_step_lines ? r->step_lines : NULL;
    line = line && !batches && !r->gpu && !r->has_step && line->low >= PP_LARGE_LINE ? line : NULL;
    v->remedy = &pp_remedies[batches ? PP_REMEDY_MORE_BATCHES
                             : line  ? PP_REMEDY_MAIN_LINE
                                     : PP_REMEDY_ANNOTATE];
    char share[32];
    /* of a loop without a loader: its line, and what a loader would do for it */
    v->next_step =
        line
            ? pp_arena_printf(
                  arena,
                  "%.*s: %s, %s, %s. If it makes batches, make it cheaper, or let the workers of a DataLoader make them during the steps.",
                  (int)strlen(v->remedy->sentence) - 1, v->remedy->sentence,
                  line->callee ? line->callee : line->name, line->place,
                  pp_text_share(share, sizeof(share), line->share))
            : v->remedy->sentence;
    v->ceiling = 0;
    v->reason = batches ? "the job ended before its second batch; a verdict needs at least 10"
                        : "the recording does not say when the trainer waited and when it worked";
    v->sentence = pp_arena_printf(arena, "INCONCLUSIVE: %s", v->reason);
}

/* More workers may hide what has to be found first, unless they take turns at it. NULL: they do not. */
static const char *unless_it_is_a_lock(const struct pp_report_verdict *v, struct pp_arena *arena)
{
    char rate[32], gain[32];
    for (size_t i = 0; i < v->n_fixes; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        if (strcmp(f->knob, "workers") == 0 && pp_action_is_sure(f) && f->gain >= PP_WORTH_SAYING)
            return pp_arena_printf(arena, "%s: %s%s%s, unless it is a lock", f->change,
                                   isnan(f->samples_per_s)
                                       ? ""
                                       : pp_text_predicted(rate, sizeof(rate), f->samples_per_s),
                                   isnan(f->samples_per_s) ? "" : " samples/s, ",
                                   pp_text_gain(gain, sizeof(gain), f->gain, NAN, f->high));
    }
    return NULL;
}

void pp_action_choose(struct pp_report *r, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    double part = r->boundary_s / r->window_s;
    char share[32];
    say_what_lacks(r, arena);
    if (!v->remedy)
        return;
    if (v->action.amount)
        v->action.depends = pp_arena_printf(arena, "depends on how much: pipeprobe whatif %s --set %s",
                                            pp_text_file(r->path),
                                            pp_text_is_shell_word(v->action.amount) ? v->action.amount
                                                                                    : "op=NAME:0.5");
    else if ((v->remedy == &pp_remedies[PP_REMEDY_KEEP_WORKERS_PREFETCH] ||
              v->remedy == &pp_remedies[PP_REMEDY_PREFETCH_ACROSS] ||
              v->remedy == &pp_remedies[PP_REMEDY_ONE_LOADER] ||
              v->remedy == &pp_remedies[PP_REMEDY_ONE_ITERATOR]) &&
             !v->action.fix)
        /* Where no replay tells how much faster epochs would begin: a part of what they take now, since the
         * program itself works between epochs too. */
        v->action.depends = part > 0 && part < 1
                                ? pp_arena_printf(arena,
                                                  "a part of the %s of the time that epoch boundaries take",
                                                  pp_text_percent(share, sizeof(share), part))
                                : NULL;
    else if (v->remedy->looks_first && !v->action.fix)
        v->action.depends = unless_it_is_a_lock(v, arena);
    const struct pp_report_fix *fix = v->action.fix;
    const struct pp_remedy *row = fix ? fix->remedy : NULL;
    const char *args = fix ? fix->set : NULL,
               *each = row && row->of_each_worker ? one_read_each(r, fix, arena) : NULL,
               *own = v->remedy->set && !strchr(v->remedy->set, '{') ? v->remedy->set : NULL, *option;
    char buf[PP_KNOB_TEXT];
    if (each)
        args = pp_arena_printf(arena, "num_workers=%s", each);
    else if (!pp_knob_is_argument(args))
        args = pp_knob_is_argument(own) ? own : NULL;
    if (args)
        v->action.python = loader_line(r, args, arena);
    else
        v->action.python = row && row->line ? row->line : v->remedy->line;
    if (!v->action.python && r->why_no_ops && /* a longer recording names the line */
        (v->remedy == &pp_remedies[PP_REMEDY_SAMPLE_CODE] ||
         v->remedy == &pp_remedies[PP_REMEDY_SAMPLE_HELD]))
        v->action.words = r->why_no_ops;
    else if (!v->action.python)
        v->action.words = pp_action_plain(row && row->pytorch ? row->pytorch : v->remedy->pytorch, arena);
    option = fix ? pp_knob_option(fix->set, ' ', buf) : NULL;
    if (!option && row)
        option = row->options;
    if (r->own_loader && option)
        v->action.command = pp_arena_printf(arena, "pipeprobe run ... %s", option);
    else if (r->own_loader && !fix && v->remedy->pipeprobe)
        v->action.command = pp_action_plain(v->remedy->pipeprobe, arena);
}
