#include "report/verdict/dali.h"

#include "report/verdict/action.h"
#include "report/rules/remedies.h"

#include <string.h>

/* ---- which recordings ---- */

static const char *config(const struct pp_report *r, const char *key)
{
    for (size_t i = 0; i < r->n_config; i++)
        if (strcmp(r->config[i].key, key) == 0)
            return r->config[i].value;
    return NULL;
}

/* Whether one of the maps, separated by spaces, is "dali" or a file of that name. */
static int names_dali(const char *maps)
{
    for (const char *p = maps; p && *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        const char *name = p;
        for (const char *c = p; c < p + n; c++)
            name = *c == '/' ? c + 1 : name;
        n -= (size_t)(name - p);
        if ((n == 4 || (n == 8 && strncmp(name + 4, ".map", 4) == 0)) && strncmp(name, "dali", 4) == 0)
            return 1;
    }
    return 0;
}

int pp_dali_is(const struct pp_report *r)
{
    const char *source = config(r, "source"), *maps = config(r, "map");
    return !r->own_loader && maps && names_dali(maps) && (!source || strcmp(source, "pytorch") != 0);
}

int pp_dali_lacks(const char *knob)
{
    static const char *const others[] = {"workers", "fewer-workers", "prefetch", "order"};
    int is_other = 0;
    for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
        is_other |= strcmp(knob, others[k]) == 0;
    return is_other;
}

/* ---- what they are told ---- */

/* Sentences that DALI has no word for. */
static const struct {
    enum pp_remedy_id id;
    const char *sentence;
} own[] = {
    {PP_REMEDY_OUT_OF_ORDER,
     "Deepen the prefetch (prefetch_queue_depth), or keep very large images out of the data: batches come in order, and a slow one holds those behind it."},
    {PP_REMEDY_PREFETCH_OR_ORDER,
     "Deepen the prefetch (prefetch_queue_depth): one slow sample delays the finished batches behind it."},
    {PP_REMEDY_PINNED,
     "Feed fn.external_source page-locked or device arrays: DALI's own buffers are page-locked."},
    {PP_REMEDY_COPY_AS_PINNED,
     "Feed fn.external_source page-locked or device arrays: DALI's own buffers are page-locked."},
    {PP_REMEDY_COPY_BUFFERS,
     "Have DALI run ahead of the step: exec_async and exec_pipelined (the defaults), and prefetch_queue_depth of 2 or more."},
    {PP_REMEDY_ASYNC_COPY,
     "Have DALI run ahead of the step: exec_async and exec_pipelined (the defaults), and prefetch_queue_depth of 2 or more."},
    {PP_REMEDY_LESS_OR_OVERLAPPED,
     "Copy less (device=\"mixed\" copies the encoded bytes), or have DALI run ahead of the step (prefetch_queue_depth of 2 or more)."},
    {PP_REMEDY_SLOW_WORKER,
     "Check that thread (table of workers): its CPU, its memory, its mount; a larger prefetch_queue_depth hides a part of it."},
    {PP_REMEDY_READ_TAIL, "Hedge or repeat slow reads, or deepen the prefetch (prefetch_queue_depth)."},
    {PP_REMEDY_READS_IN_FLIGHT,
     "Read further ahead (prefetch_queue_depth of fn.readers.*), packed shards (fn.readers.webdataset), or a cache."},
    {PP_REMEDY_STORAGE,
     "For latency: read further ahead (prefetch_queue_depth of fn.readers.*). For bandwidth: a faster tier, a cache or packed shards."},
    {PP_REMEDY_PIN_LESS,
     "Give that thread less to copy: uint8 that the device normalises, one array in place of many small ones."},
    {PP_REMEDY_UNPICKLE_LESS,
     "Send fewer arrays per batch: one in place of many small ones; or larger batches."},
    {PP_REMEDY_SET_EPOCH,
     "Shuffle anew in each epoch: random_shuffle=True, or shuffle_after_epoch=True, of fn.readers.*."},
    {PP_REMEDY_LESS_WORK,
     "Decode on the GPU (device=\"mixed\"), or make the work cheaper: smaller images offline, cached decoded data, a cheaper augmentation; or add CPUs."},
};

/* Longer ones first. */
static const struct {
    const char *theirs, *dali;
} words[] = {
    {"workers (num_workers in PyTorch)", "threads (num_threads)"},
    {"workers (num_workers", "threads (num_threads"},
    {"reads in flight (num_workers)", "reads ahead (prefetch_queue_depth of fn.readers.*)"},
    {"Keep the workers across epochs", "Keep the pipeline across epochs"},
    {"keep the workers across epochs", "keep the pipeline across epochs"},
    {"Start the workers once for all epochs", "Build the pipeline once for all epochs"},
    {"Keep the workers across", "Keep the pipeline across"},
    {" (persistent_workers=True in PyTorch)", " (auto_reset=True of its iterator)"},
    {"More workers gain nothing", "More threads gain nothing"},
    {"more workers gain nothing", "more threads gain nothing"},
    {"num_workers", "num_threads"},
    {"prefetch_factor", "prefetch_queue_depth"},
};

enum { OWN = sizeof(own) / sizeof(*own), WORDS = sizeof(words) / sizeof(*words) };

const char *pp_dali_sentence(const char *sentence, struct pp_arena *arena)
{
    for (int i = 0; i < OWN; i++)
        if (strcmp(pp_remedies[own[i].id].sentence, sentence) == 0)
            return own[i].sentence;
    for (int i = 0; i < WORDS && sentence; i++) {
        const char *at = strstr(sentence, words[i].theirs);
        while (at) {
            size_t before = (size_t)(at - sentence) + strlen(words[i].dali);
            sentence = pp_arena_printf(arena, "%.*s%s%s", (int)(at - sentence), sentence, words[i].dali,
                                       at + strlen(words[i].theirs));
            at = sentence ? strstr(sentence + before, words[i].theirs) : NULL;
        }
    }
    return sentence;
}

/* One with a value filled in is not known by its text. */
static const char *next_step(const struct pp_report_verdict *v, struct pp_arena *arena)
{
    for (int i = 0; i < OWN && v->remedy; i++)
        if (v->remedy == &pp_remedies[own[i].id])
            return own[i].sentence;
    return pp_dali_sentence(v->next_step, arena);
}

/* Of what is done in the training loop. */
static int is_as_in_pytorch(const char *text)
{
    return text &&
           (strncmp(text, "the same as in PyTorch", strlen("the same as in PyTorch")) == 0 ||
            strncmp(text, "the same in the training loop", strlen("the same in the training loop")) == 0);
}

/* What it has besides: the next step has said the rest. */
static const char *without_same(const char *text)
{
    static const char same[] = "the same; ";
    return text && strncmp(text, same, sizeof(same) - 1) == 0 ? text + sizeof(same) - 1 : text;
}

void pp_dali_speak(struct pp_report *r, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    if (!pp_dali_is(r))
        return;
    if (v->next_step)
        v->next_step = next_step(v, arena);
    v->action.python = v->action.words = NULL;
    if (v->remedy && is_as_in_pytorch(v->remedy->dali))
        v->action.words = pp_action_plain(v->remedy->pytorch, arena);
    else if (v->remedy)
        v->action.dali = pp_action_plain(without_same(v->remedy->dali), arena);
    for (size_t i = 0; i < r->n_findings; i++)
        if (r->findings[i].next_step)
            r->findings[i].next_step = pp_dali_sentence(r->findings[i].next_step, arena);
}
