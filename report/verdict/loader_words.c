#include "report/verdict/loader_words.h"

#include "report/rules/remedies.h"
#include "report/verdict/action.h"

/* ---- what loaders call their settings ---- */

/* Defaults and names as of Grain 0.2.18, TensorFlow 2.21, Keras 3.15, DALI 2.4, Ray 2.60, SPDL 0.8, torchdata
 * 0.11. */
const struct pp_loader_words pp_loader_words[] = {
    {"grain",
     "Grain",
     "workers",
     {[PP_FOR_READS] = {"num_threads", "16",
                        "to_iter_dataset(grain.ReadOptions(num_threads={to}, prefetch_buffer_size={to}))"},
      [PP_FOR_WORK] = {"num_workers", "0",
                       ".mp_prefetch(grain.MultiprocessingOptions(num_workers={to}))  # of grain.DataLoader: "
                       "worker_count={to}"},
      [PP_FOR_PREFETCH] = {"prefetch_buffer_size", "500",
                           "grain.ReadOptions(prefetch_buffer_size={to})  # of worker processes: "
                           "per_worker_buffer_size, 1"}},
     .lacks = "order persistent-workers no-workers pinned"},
    {"tensorflow",
     "tf.data",
     "parallel calls",
     {[PP_FOR_READS] = {"num_parallel_calls", "1",
                        ".map(load, num_parallel_calls={to}); of files of records .interleave(open, "
                        "cycle_length={to}, num_parallel_calls={to})"},
      [PP_FOR_WORK] = {"num_parallel_calls", "1", ".map(f, num_parallel_calls={to})"},
      [PP_FOR_PREFETCH] = {"prefetch", "none", ".prefetch({to})  # last, behind batch()"}},
     .lacks = "workers fewer-workers no-workers prefetch order persistent-workers pinned"},
    {"nvidia.dali",
     "DALI",
     "threads",
     {[PP_FOR_READS] = {"num_threads", "one per CPU", "@pipeline_def(num_threads={to})"},
      [PP_FOR_WORK] = {"num_threads", "one per CPU", "@pipeline_def(num_threads={to})"},
      [PP_FOR_PREFETCH] = {"prefetch_queue_depth", "2", "@pipeline_def(prefetch_queue_depth={to})"}},
     .lacks = "workers fewer-workers prefetch order"},
    {"ray.data",
     "Ray Data",
     "concurrent calls",
     {[PP_FOR_READS] = {"concurrency", "as many as CPUs are free",
                        "ds.map(f, concurrency={to}, num_cpus=0.5)"},
      [PP_FOR_WORK] = {"concurrency", "as many as CPUs are free", "ds.map(f, concurrency={to})"},
      [PP_FOR_PREFETCH] = {"prefetch_batches", "1", "ds.iter_batches(prefetch_batches={to})"}},
     .lacks = "workers fewer-workers no-workers prefetch order persistent-workers pinned"},
    {"keras",
     "Keras",
     "workers",
     {[PP_FOR_READS] = {"workers", "1", "PyDataset(workers={to})"},
      [PP_FOR_WORK] = {"workers", "1", "PyDataset(workers={to}, use_multiprocessing=True)"},
      [PP_FOR_PREFETCH] = {"max_queue_size", "10", "PyDataset(max_queue_size={to})"}},
     .lacks = "no-workers order persistent-workers pinned"},
    {"spdl.pipeline",
     "SPDL",
     "tasks",
     {[PP_FOR_READS] = {"concurrency", "1", "pipe(f, concurrency={to}), build(num_threads={to})"},
      [PP_FOR_WORK] = {"concurrency", "1", "pipe(f, executor=ProcessPoolExecutor({to}), concurrency={to})"},
      [PP_FOR_PREFETCH] = {"buffer_size", "3", "add_sink({to})"}},
     .lacks = "no-workers persistent-workers",
     .has_torch = 1},
    {"torchdata.nodes",
     "torchdata.nodes",
     "workers",
     {[PP_FOR_READS] = {"num_workers", "none",
                        "ParallelMapper(node, f, num_workers={to}, method=\"thread\")"},
      [PP_FOR_WORK] = {"num_workers", "none",
                       "ParallelMapper(node, f, num_workers={to}, method=\"process\")"},
      [PP_FOR_PREFETCH] = {"prefetch_factor", "none", "Prefetcher(node, prefetch_factor={to})"}},
     .lacks = "no-workers persistent-workers",
     .has_torch = 1},
    {"own",
     "loop",
     "workers",
     {[PP_FOR_READS] = {"max_workers", "CPUs + 4", "ThreadPoolExecutor(max_workers={to})"},
      [PP_FOR_WORK] = {"max_workers", "one per CPU",
                       "ProcessPoolExecutor(max_workers={to}), or multiprocessing.Pool(processes={to})"},
      [PP_FOR_PREFETCH] = {"maxsize", "no limit", "queue.Queue(maxsize={to})"}},
     .lacks = "no-workers persistent-workers order",
     .has_torch = 1},
};
const size_t pp_loader_words_n = sizeof(pp_loader_words) / sizeof(*pp_loader_words);

/* ---- which recordings ---- */

static int is_dali(const struct pp_loader_words *w)
{
    return strcmp(w->module, "nvidia.dali") == 0;
}

const struct pp_loader_words *pp_loader_words_of(const struct pp_report *r)
{
    const char *source = pp_action_config(r, "source"), *maps = pp_action_config(r, "map"),
               *loader = pp_action_config(r, "loader");
    if (r->own_loader || r->n_loaders)
        return NULL;
    const struct pp_loader_words *dali = NULL;
    for (const struct pp_loader_words *w = pp_loader_words; w < pp_loader_words + pp_loader_words_n; w++) {
        if (loader && strcmp(w->module, loader) == 0)
            return w;
        dali = is_dali(w) ? w : dali;
    }
    /* Whether one of the maps, separated by spaces, is "dali" or a file of that name. */
    int named = 0;
    for (const char *p = maps; p && *p && !named; p += strcspn(p, " "), p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        const char *name = p;
        for (const char *c = p; c < p + n; c++)
            name = *c == '/' ? c + 1 : name;
        n -= (size_t)(name - p);
        named = (n == 4 || (n == 8 && strncmp(name + 4, ".map", 4) == 0)) && strncmp(name, "dali", 4) == 0;
    }
    return named && (!source || strcmp(source, "pytorch") != 0) ? dali : NULL;
}

int pp_loader_words_lack(const struct pp_loader_words *w, const char *knob)
{
    size_t n = strlen(knob);
    for (const char *p = w ? w->lacks : NULL; p && *p; p += strcspn(p, " "), p += strspn(p, " "))
        if (strncmp(p, knob, n) == 0 && (p[n] == ' ' || !p[n]))
            return 1;
    return 0;
}

/* ---- what they are told ---- */

#define PAGE_LOCKED \
    "Feed fn.external_source page-locked or device arrays: DALI's own buffers are page-locked."
#define AHEAD \
    "Have DALI run ahead of the step: exec_async and exec_pipelined (the defaults), and prefetch_queue_depth of 2 or more."

/* Sentences that DALI has no word for. */
static const struct {
    enum pp_remedy_id id;
    const char *sentence;
} own[] = {
    {PP_REMEDY_OUT_OF_ORDER,
     "Deepen the prefetch (prefetch_queue_depth), or keep very large images out of the data: batches come in order, and a slow one holds those behind it."},
    {PP_REMEDY_PREFETCH_OR_ORDER,
     "Deepen the prefetch (prefetch_queue_depth): one slow sample delays the finished batches behind it."},
    {PP_REMEDY_PINNED, PAGE_LOCKED},
    {PP_REMEDY_COPY_AS_PINNED, PAGE_LOCKED},
    {PP_REMEDY_COPY_BUFFERS, AHEAD},
    {PP_REMEDY_ASYNC_COPY, AHEAD},
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

/* In place of what is PyTorch's; {work}, {reads}, {prefetch}: that setting, {noun}: what makes batches.
 * Longer ones first. */
static const struct {
    const char *theirs, *here;
    const char *module; /* NULL: of every loader */
} words[] = {
    {"Keep the workers across epochs", "Keep the pipeline across epochs", "nvidia.dali"},
    {"keep the workers across epochs", "keep the pipeline across epochs", "nvidia.dali"},
    {"Start the workers once for all epochs", "Build the pipeline once for all epochs", "nvidia.dali"},
    {" (persistent_workers=True in PyTorch)", " (auto_reset=True of its iterator)", "nvidia.dali"},
    {"workers (num_workers in PyTorch)", "{noun} ({work})", NULL},
    {"workers (num_workers", "{noun} ({work}", NULL},
    {"reads in flight (num_workers, prefetch_factor)", "reads in flight ({reads}, {prefetch})", NULL},
    {"reads in flight (num_workers)", "reads in flight ({reads})", NULL},
    {"Deliver batches in order of completion (in_order=False), deepen", "Deepen", NULL},
    {", or try in_order=False", "", NULL},
    {"in_order=False and a larger prefetch_factor hide", "a larger {prefetch} hides", NULL},
    {"Use page-locked batch memory (pin_memory=True), and copy with non_blocking=True",
     "Use page-locked memory for what is copied to the GPU, and copy it asynchronously", NULL},
    {" as they come (non_blocking=True)", " as they come", NULL},
    {"on a second stream with non_blocking=True", "on a second stream", NULL},
    {" (non_blocking=True, a second stream)", " on a second stream", NULL},
    {"pinned memory, non_blocking=True, a second stream", "page-locked memory and a second stream", NULL},
    {"; or try pin_memory=False", "", NULL},
    {" With a GPU, pin_memory=True has a thread of its own take them.", "", NULL},
    {" (persistent_workers=True in PyTorch)", "", NULL},
    {"sampler.set_epoch(epoch) before each epoch (DistributedSampler), or seed the shuffle",
     "for another shuffle in each epoch: seed it", NULL},
    {"Give the DataLoader a DistributedSampler, and each process",
     "Give each process a part of the data, and", NULL},
    {" (.item(), torch.cuda.synchronize())", "", NULL},
    {"cv2.setNumThreads(0) and torch.set_num_threads(1) in worker_init_fn", "cv2.setNumThreads(0)", NULL},
    {" (StatefulDataLoader)", "", NULL},
    {"its DataLoader", "its loader", NULL},
    {"More workers gain nothing", "More {noun} gain nothing", NULL},
    {"more workers gain nothing", "more {noun} gain nothing", NULL},
    {"num_workers", "{work}", NULL},
    {"prefetch_factor", "{prefetch}", NULL},
};

enum { OWN = sizeof(own) / sizeof(*own), WORDS = sizeof(words) / sizeof(*words) };

static const char *replace_all(const char *text, const char *from, const char *to, struct pp_arena *arena)
{
    const char *at = text && to ? strstr(text, from) : NULL; /* to NULL: there was no memory for it */
    while (at) {
        size_t before = (size_t)(at - text) + strlen(to);
        text = pp_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
        at = text ? strstr(text + before, from) : NULL;
    }
    return text;
}

#define ONE_THREADS_CPU 0.7 /* of a CPU: the interpreter's lock takes turns above it */

/* reads: of a cause that is storage, and that more threads end. */
const char *pp_loader_words_sentence(const struct pp_loader_words *w, int reads, const char *sentence,
                                     struct pp_arena *arena)
{
    const struct {
        const char *name, *value;
    } names[] = {{"{work}", w->setting[reads ? PP_FOR_READS : PP_FOR_WORK].argument},
                 {"{reads}", w->setting[PP_FOR_READS].argument},
                 {"{prefetch}", w->setting[PP_FOR_PREFETCH].argument},
                 {"{noun}", w->noun}};
    for (int i = 0; i < OWN && is_dali(w) && sentence; i++)
        if (strcmp(pp_remedies[own[i].id].sentence, sentence) == 0)
            return own[i].sentence;
    for (int i = 0; i < WORDS; i++) {
        const char *here = words[i].here;
        if (words[i].module && strcmp(words[i].module, w->module) != 0)
            continue;
        for (size_t k = 0;
             k < sizeof(names) / sizeof(*names) && sentence && strstr(sentence, words[i].theirs); k++)
            here = replace_all(here, names[k].name, names[k].value, arena);
        sentence = replace_all(sentence, words[i].theirs, here, arena);
    }
    return sentence;
}

/* ---- what is written ---- */

/* The setting that a change or a remedy is about; NULL: none. */
static const struct pp_loader_setting *setting_of(const struct pp_loader_words *w, const char *set, int reads)
{
    return !set                                        ? NULL
           : strncmp(set, "num_workers=", 12) == 0     ? &w->setting[reads ? PP_FOR_READS : PP_FOR_WORK]
           : strncmp(set, "prefetch_factor=", 16) == 0 ? &w->setting[PP_FOR_PREFETCH]
                                                       : NULL;
}

/* Changes as data stay what the replay takes (whatif --set); no patch and no tune of ours makes them. */
static void speak_of_changes(const struct pp_loader_words *w, int reads, struct pp_report *r,
                             struct pp_arena *arena)
{
    struct pp_report_fix *fixes = pp_arena_alloc(arena, (r->verdict.n_fixes + 1) * sizeof(*fixes));
    const size_t chosen = r->verdict.action.fix ? (size_t)(r->verdict.action.fix - r->verdict.fixes) : 0,
                 candidate = r->verdict.action.candidate
                                 ? (size_t)(r->verdict.action.candidate - r->verdict.fixes)
                                 : 0;
    for (size_t i = 0; fixes && i < r->verdict.n_fixes; i++) {
        struct pp_report_fix *f = &fixes[i];
        *f = r->verdict.fixes[i];
        const struct pp_loader_setting *s = setting_of(w, f->set, reads);
        f->is_argument = 0;
        f->change = s ? pp_arena_printf(arena, "%s=%s", s->argument, f->to)
                      : pp_loader_words_sentence(w, reads, f->change, arena);
    }
    for (size_t i = 0; i < r->verdict.n_path; i++) {
        const char *set = r->verdict.path[i].set;
        const struct pp_loader_setting *s = setting_of(w, set, reads);
        r->verdict.path[i].set = s ? pp_arena_printf(arena, "%s%s", s->argument, strchr(set, '=')) : set;
    }
    if (!fixes)
        return;
    r->verdict.fixes = fixes;
    r->verdict.action.fix = r->verdict.action.fix ? &fixes[chosen] : NULL;
    r->verdict.action.candidate = r->verdict.action.candidate ? &fixes[candidate] : NULL;
}

/* How it is written where a setting is advised, with its number if the replay has one; else what PyTorch's
 * users are told, if it is not about the loader and there is PyTorch in the job. */
static void speak_of_action(const struct pp_loader_words *w, int reads, struct pp_report_verdict *v,
                            struct pp_arena *arena)
{
    static const char *const of_data_loader[] = {"DataLoader", "num_workers", "prefetch_factor",
                                                 "persistent_workers", "worker_init_fn"};
    const struct pp_report_fix *fix = v->action.fix;
    const struct pp_loader_setting *s = setting_of(w, fix ? fix->set : NULL, reads);
    int is_of_storage = v->remedy == &pp_remedies[PP_REMEDY_STORAGE] ||
                        v->remedy == &pp_remedies[PP_REMEDY_READS_IN_FLIGHT];
    if (s) {
        v->action.python = replace_all(s->write, "{to}", fix->to, arena);
        return;
    }
    const char *said = v->remedy ? v->remedy->pytorch : NULL;
    s = setting_of(w, v->remedy ? v->remedy->set : NULL, reads);
    s = is_of_storage                               ? &w->setting[PP_FOR_READS]
        : v->remedy == &pp_remedies[PP_REMEDY_LOCK] ? &w->setting[PP_FOR_WORK]
                                                    : s;
    v->action.python = NULL;
    v->action.words = NULL;
    if (s)
        v->action.words = pp_arena_printf(arena, "%s (without it: %s)",
                                          replace_all(s->write, "{to}", "N", arena), s->dflt);
    for (size_t i = 0; i < sizeof(of_data_loader) / sizeof(*of_data_loader) && said; i++)
        said = strstr(said, of_data_loader[i]) ? NULL : said;
    if (!s && said && w->has_torch)
        v->action.words = pp_action_plain(said, arena);
}

void pp_loader_words_speak(struct pp_report *r, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    const struct pp_loader_words *w = pp_loader_words_of(r);
    if (!w)
        return;
    /* Python's threads compute by turns: more of them are advised where storage is the cause, and what they
     * would compute then, all together, is what one of them can. */
    static const pp_phase work[] = {PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE};
    double cpus = 0, faster = v->action.fix ? 1 + v->action.fix->gain : 1;
    for (size_t i = 0; i < sizeof(work) / sizeof(*work); i++) {
        const struct pp_report_phase *p = pp_report_find_phase(r, work[i]);
        if (p && p->lane == PP_LANE_WORKER && p->cpu_share * p->share > 0)
            cpus += p->cpu_share * p->share * (double)r->n_workers;
    }
    int reads = v->l1 && strcmp(v->l1, "storage") == 0 && cpus * faster < ONE_THREADS_CPU;
    const char *step = pp_loader_words_sentence(w, reads, v->next_step, arena);
    for (int i = 0; v->next_step && v->remedy && is_dali(w) && i < OWN; i++)
        if (v->remedy == &pp_remedies[own[i].id]) /* one with a value filled in is not known by its text */
            step = own[i].sentence;
    v->next_step = step;
    v->cause = pp_loader_words_sentence(w, reads, v->cause, arena);
    v->then = pp_loader_words_sentence(w, reads, v->then, arena);
    v->other = pp_loader_words_sentence(w, reads, v->other, arena);
    speak_of_changes(w, reads, r, arena);
    if (is_dali(w)) {
        /* Remedies have words of it. */
        static const char same[] = "the same; "; /* the next step has said that */
        static const char *const as_in_pytorch[] = {"the same as in PyTorch",
                                                    "the same in the training loop"};
        const char *dali = v->remedy ? v->remedy->dali : NULL;
        int as_theirs = 0; /* of what is done in the training loop */
        for (size_t i = 0; dali && i < sizeof(as_in_pytorch) / sizeof(*as_in_pytorch); i++)
            as_theirs |= strncmp(dali, as_in_pytorch[i], strlen(as_in_pytorch[i])) == 0;
        if (dali && strncmp(dali, same, sizeof(same) - 1) == 0)
            dali += sizeof(same) - 1;
        v->action.python = v->action.words = NULL;
        if (as_theirs)
            v->action.words = pp_action_plain(v->remedy->pytorch, arena);
        else if (v->remedy)
            v->action.dali = pp_action_plain(dali, arena);
    } else {
        speak_of_action(w, reads, v, arena);
    }
    for (size_t i = 0; i < r->n_findings; i++)
        if (r->findings[i].next_step)
            r->findings[i].next_step = pp_loader_words_sentence(w, reads, r->findings[i].next_step, arena);
}
