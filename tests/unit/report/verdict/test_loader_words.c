/* The advice on a loader is in its own words: which recordings get it, and that no sentence of it names what
 * the loader has not. */
#include "report/build/parts.h"
#include "report/verdict/action.h"
#include "report/verdict/loader_words.h"
#include "report/rules/remedies.h"

#include "tests/support/report_fixture.h"

#include <stdint.h>
#include <string.h>

static const struct pp_loader_words *words_of(const char *module)
{
    for (size_t i = 0; i < pp_loader_words_n; i++)
        if (strcmp(pp_loader_words[i].module, module) == 0)
            return &pp_loader_words[i];
    fail_msg("no words of %s", module);
    return NULL;
}

static int is_dali(const struct pp_report *r)
{
    return pp_loader_words_of(r) == words_of("nvidia.dali");
}

static void the_map_says_what_it_is(void **state)
{
    static const struct {
        const char *map, *source;
        int own_loader, is;
    } rows[] = {{"dali", "nvtx", 0, 1},
                {"loop.map dali", "nvtx", 0, 1},
                {"/usr/share/pipeprobe/maps/dali.map", "nvtx", 0, 1},
                {"dali /tmp/loop.map", NULL, 0, 1},
                {"dali pytorch", "pytorch", 0, 0}, /* a DataLoader was recorded as well */
                {"dali", "nvtx", 1, 0},
                {"dalila", "nvtx", 0, 0},
                {"vidali.map", "nvtx", 0, 0},
                {"dali.mop", "nvtx", 0, 0},
                {"pytorch", "nvtx", 0, 0},
                {"", "nvtx", 0, 0},
                {NULL, "nvtx", 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_report_pair pairs[2];
        struct pp_report r = {.config = pairs, .own_loader = rows[i].own_loader};
        if (rows[i].map)
            pairs[r.n_config++] = (struct pp_report_pair){.key = "map", .value = rows[i].map};
        if (rows[i].source)
            pairs[r.n_config++] = (struct pp_report_pair){.key = "source", .value = rows[i].source};
        assert_int_equal(is_dali(&r), rows[i].is);
    }
}

/* All that any verdict or finding may say. */
static void no_sentence_names_what_dali_has_not(void **state)
{
    static const char *const theirs[] = {"num_workers",        "prefetch_factor",
                                         "in_order",           "pin_memory",
                                         "persistent_workers", "DistributedSampler",
                                         "non_blocking",       "PyTorch",
                                         "DataLoader",         "second stream"};
    struct pp_arena arena = {0};
    size_t changed = 0;
    (void)state;
    for (int i = 0; i < PP_REMEDIES; i++) {
        if (i >= PP_REMEDY_SAMPLER_OF_RANKS && i <= PP_REMEDY_SHARDS_LEFT)
            continue; /* the audit's */
        const char *before = pp_remedies[i].sentence,
                   *after = before ? pp_loader_words_sentence(words_of("nvidia.dali"), 0, before, &arena)
                                   : "";
        for (size_t k = 0; k < sizeof(theirs) / sizeof(theirs[0]); k++)
            if (strstr(after, theirs[k]))
                fail_msg("remedy %d: '%s'", i, after);
        changed += before && strcmp(before, after) != 0;
    }
    assert_true(changed > 20);
    assert_string_equal(pp_loader_words_sentence(words_of("nvidia.dali"), 0,
                                                 pp_remedies[PP_REMEDY_MORE_WORKERS].sentence, &arena),
                        "Use more threads (num_threads): one per CPU, more if they mostly wait.");
    assert_string_equal(
        pp_loader_words_sentence(words_of("nvidia.dali"), 0, pp_remedies[PP_REMEDY_LOCKSTEP].sentence,
                                 &arena),
        "Use more threads (num_threads) where CPUs are idle, or make samples cheaper; a larger prefetch_queue_depth does not help, because no worker gets ahead.");
    pp_arena_free(&arena);
}

static struct pp_report_fix fix(const char *knob, double gain)
{
    return (struct pp_report_fix){.knob = knob,
                                  .set = strcmp(knob, "workers") == 0 ? "num_workers=8" : NULL,
                                  .to = "8",
                                  .text = "",
                                  .change = knob,
                                  .gain = gain,
                                  .low = gain / 2,
                                  .high = 2 * gain,
                                  .samples_per_s = 100 * (1 + gain)};
}

/* The gain of more workers is another loader's. */
static void advice_is_a_line_of_the_pipeline(void **state)
{
    struct pp_arena arena = {0};
    for (int is_dali = 0; is_dali < 2; is_dali++) {
        struct pp_report_pair pairs[] = {{.key = "map", .value = is_dali ? "dali" : "pytorch"},
                                         {.key = "source", .value = "nvtx"}};
        struct pp_report_fix fixes[] = {fix("workers", 0.5), fix("storage", 0.3), fix("prefetch", 0.2),
                                        fix("work", 0.2)};
        struct pp_report_finding finding = {.next_step = pp_remedies[PP_REMEDY_KEEP_WORKERS].sentence};
        struct pp_report r = {.config = pairs, .n_config = 2, .findings = &finding, .n_findings = 1};
        struct pp_report_verdict *v = &r.verdict;
        v->l0 = "input-bound", v->l1 = "loader";
        v->remedy = &pp_remedies[PP_REMEDY_MORE_WORKERS];
        v->next_step = v->remedy->sentence;
        v->fixes = fixes;
        for (size_t i = 0; i < 4; i++)
            if (!is_dali || !pp_loader_words_lack(words_of("nvidia.dali"), fixes[i].knob))
                fixes[v->n_fixes++] = fixes[i];
        pp_changes_advise(&r, &arena);
        pp_action_choose(&r, &arena);
        pp_loader_words_speak(&r, &arena);
        assert_int_equal(v->n_fixes, is_dali ? 2 : 4);
        if (!is_dali) {
            assert_non_null(strstr(v->action.python, "num_workers=8"));
            assert_null(v->action.dali);
            continue;
        }
        assert_string_equal(v->fixes[0].knob, "storage");
        assert_string_equal(v->fixes[1].knob, "work");
        assert_null(v->action.python);
        assert_null(v->action.words);
        assert_string_equal(
            v->action.dali,
            "@pipeline_def(num_threads=N); py_num_workers=N for fn.external_source(parallel=True)");
        assert_string_equal(v->next_step,
                            "Use more threads (num_threads): one per CPU, more if they mostly wait.");
        assert_string_equal(finding.next_step,
                            "Keep the pipeline across epochs (auto_reset=True of its iterator).");
    }
    (void)state;
    pp_arena_free(&arena);
}

/* What is done in the training loop is the same there; a value in the sentence is not in the way. */
static void the_training_loop_is_the_same(void **state)
{
    struct pp_arena arena = {0};
    struct pp_report_pair pairs[] = {{.key = "map", .value = "dali"}};
    struct pp_report r = {.config = pairs, .n_config = 1};
    struct pp_report_verdict *v = &r.verdict;
    (void)state;
    v->remedy = &pp_remedies[PP_REMEDY_NO_SYNC];
    v->next_step = v->remedy->sentence;
    pp_loader_words_speak(&r, &arena);
    assert_null(v->action.dali);
    assert_non_null(strstr(v->action.words, "no .item()"));
    v->remedy = &pp_remedies[PP_REMEDY_OTHER_LOAD];
    v->next_step = v->remedy->sentence;
    pp_loader_words_speak(&r, &arena);
    assert_string_equal(v->action.dali, "set_affinity=True and DALI_AFFINITY_MASK place its threads");
    v->remedy = &pp_remedies[PP_REMEDY_LESS_WORK];
    v->next_step = "Make decode cheaper: smaller images offline";
    pp_loader_words_speak(&r, &arena);
    assert_non_null(strstr(v->next_step, "Decode on the GPU (device=\"mixed\")"));
    assert_non_null(strstr(v->action.dali, "fn.decoders.image_random_crop(device=\"mixed\")"));
    pp_arena_free(&arena);
}

/* Whole reports of jobs, as people read them: had DALI's map named their ranges, none speaks of a DataLoader.
 */
static void no_report_speaks_of_a_data_loader(void **state)
{
    int judged = 0, told = 0;
    (void)state;
    for (int i = 0; i < REPORT_CLASSES; i++) {
        struct fake_run *f = report_of_class(i);
        fake_text(f, "config", "map", "dali loop.map");
        struct pp_report *r = report_of(f);
        FILE *out = open_memstream(&report_text, &report_text_size);
        assert_int_equal(pp_render_short(r, out, 0, 100) | pp_render_md(r, out) | pp_render_html(r, out), 0);
        fclose(out);
        if (is_dali(r)) {
            judged++;
            told += strstr(report_text, "In DALI: ") && strstr(report_text, "DALI:    ");
            if (strstr(report_text, "DataLoader(") || strstr(report_text, "num_workers") ||
                strstr(report_text, "prefetch_factor"))
                fail_msg("%s: %s", report_class_name(i), report_text);
        }
        free(report_text);
        report_done(r, f);
    }
    assert_true(judged >= 1 && told >= 1);
}

/* All that any verdict or finding may say, of loaders that stand in jobs without PyTorch. */
static void no_sentence_names_what_they_have_not(void **state)
{
    static const char *const theirs[] = {"prefetch_factor",    "in_order",           "pin_memory",
                                         "persistent_workers", "non_blocking",       "PyTorch",
                                         "DataLoader",         "DistributedSampler", "torch.cuda",
                                         "torch.set_num"};
    struct pp_arena arena = {0};
    (void)state;
    for (size_t w = 0; w < pp_loader_words_n; w++)
        for (int i = 0; i < PP_REMEDY_SAMPLER_OF_RANKS && !pp_loader_words[w].has_torch; i++)
            for (size_t k = 0; k < sizeof(theirs) / sizeof(theirs[0]) && pp_remedies[i].sentence; k++) {
                const char *said = pp_loader_words_sentence(&pp_loader_words[w], 0, pp_remedies[i].sentence,
                                                            &arena);
                if (strstr(said, theirs[k]))
                    fail_msg("%s, remedy %d: '%s'", pp_loader_words[w].module, i, said);
            }
    pp_arena_free(&arena);
}

/* Threads of Python overlap reads and no work: each has its own setting. A change stays what the what-if
 * takes, and is none that a patch could make. */
static void a_setting_is_written_as_its_loader_has_it(void **state)
{
    static const struct {
        const char *loader, *l1, *knob, *change, *python;
    } rows[] = {
        {"grain", "storage", "workers", "num_threads=8",
         "to_iter_dataset(grain.ReadOptions(num_threads=8, prefetch_buffer_size=8))"},
        {"grain", "transform", "workers", "num_workers=8",
         ".mp_prefetch(grain.MultiprocessingOptions(num_workers=8))  # of grain.DataLoader: worker_count=8"},
        {"own", "storage", "workers", "max_workers=8", "ThreadPoolExecutor(max_workers=8)"},
        {"own", "loader", "workers", "max_workers=8",
         "ProcessPoolExecutor(max_workers=8), or multiprocessing.Pool(processes=8)"},
        {"spdl.pipeline", "storage", "workers", "concurrency=8",
         "pipe(f, concurrency=8), build(num_threads=8)"},
    };
    struct pp_arena arena = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_report_pair pairs[] = {{.key = "loader", .value = rows[i].loader}};
        struct pp_report_fix fixes[] = {fix(rows[i].knob, 0.5)};
        struct pp_report r = {.config = pairs, .n_config = 1};
        struct pp_report_verdict *v = &r.verdict;
        v->l0 = "input-bound", v->l1 = rows[i].l1;
        v->remedy = &pp_remedies[PP_REMEDY_MORE_WORKERS];
        v->next_step = v->then = v->remedy->sentence;
        v->fixes = fixes, v->n_fixes = 1;
        fixes[0].is_argument = 1;
        pp_changes_advise(&r, &arena);
        pp_action_choose(&r, &arena);
        pp_loader_words_speak(&r, &arena);
        assert_string_equal(v->action.python, rows[i].python);
        assert_string_equal(v->fixes[0].change, rows[i].change);
        assert_string_equal(v->then, v->next_step);
        assert_string_equal(v->fixes[0].set, "num_workers=8");
        assert_int_equal(v->fixes[0].is_argument, 0);
        assert_ptr_equal(v->action.fix, &v->fixes[0]);
    }
    pp_arena_free(&arena);
}

/* Reads are the cause, and with eight times the rate what is computed beside them takes more than a thread
 * can. */
static void threads_of_python_compute_by_turns(void **state)
{
    struct pp_arena arena = {0};
    (void)state;
    for (int much = 0; much < 2; much++) {
        struct pp_report_pair pairs[] = {{.key = "loader", .value = "own"}};
        struct pp_report_phase phases[] = {{.phase = PP_PHASE_TRANSFORM,
                                            .lane = PP_LANE_WORKER,
                                            .share = 0.2,
                                            .cpu_share = much ? 0.9 : 0.1}};
        struct pp_report_fix fixes[] = {fix("workers", 4)};
        struct pp_report r = {
            .config = pairs, .n_config = 1, .phases = phases, .n_phases = 1, .n_workers = 1};
        struct pp_report_verdict *v = &r.verdict;
        v->l0 = "input-bound", v->l1 = "storage";
        v->remedy = &pp_remedies[PP_REMEDY_STORAGE];
        v->next_step = v->remedy->sentence;
        v->fixes = fixes, v->n_fixes = 1;
        pp_changes_advise(&r, &arena);
        pp_action_choose(&r, &arena);
        pp_loader_words_speak(&r, &arena);
        assert_int_equal(!strncmp(v->action.python, "ThreadPoolExecutor", 18), !much);
        assert_int_equal(!strncmp(v->action.python, "ProcessPoolExecutor", 19), much);
    }
    pp_arena_free(&arena);
}

/* The guide's table is the one that reports read. */
static void the_guide_has_every_setting(void **state)
{
    static char page[65536];
    FILE *f = fopen("docs/guide/other-loaders.md", "r");
    (void)state;
    assert_non_null(f);
    page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
    fclose(f);
    for (size_t w = 0; w < pp_loader_words_n; w++)
        for (int k = 0; k < PP_LOADER_SETTINGS; k++) {
            const struct pp_loader_words *l = &pp_loader_words[w];
            char row[64], argument[64];
            snprintf(row, sizeof(row), "| %s%s |",
                     strcmp(l->module, "own") == 0 ? "loop of your own" : l->name, "");
            snprintf(argument, sizeof(argument), "`%s`", l->setting[k].argument);
            const char *at = strstr(page, row), *end = at ? strchr(at, '\n') : NULL,
                       *found = at ? strstr(at, argument) : NULL;
            if (!found || found > end)
                fail_msg("docs/guide/other-loaders.md: the row of %s has no %s", l->name, argument);
        }
}

/* Where no replay has a number, how it is written and what it is without. */
static void a_setting_without_a_number(void **state)
{
    struct pp_arena arena = {0};
    struct pp_report_pair pairs[] = {{.key = "loader", .value = "tensorflow"}};
    struct pp_report_loader loader = {.row = "1.0"};
    struct pp_report r = {.config = pairs, .n_config = 1};
    (void)state;
    r.verdict.l1 = "loader";
    r.verdict.remedy = &pp_remedies[PP_REMEDY_MORE_WORKERS];
    r.verdict.next_step = r.verdict.remedy->sentence;
    pp_loader_words_speak(&r, &arena);
    assert_string_equal(r.verdict.action.words, ".map(f, num_parallel_calls=N) (without it: 1)");
    assert_string_equal(
        r.verdict.next_step,
        "Use more parallel calls (num_parallel_calls): one per CPU, more if they mostly wait.");
    assert_null(r.verdict.action.python);
    r.loaders = &loader, r.n_loaders = 1; /* a DataLoader of a job that has TensorFlow for its logs */
    assert_null(pp_loader_words_of(&r));
    pp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_map_says_what_it_is),
        cmocka_unit_test(no_sentence_names_what_dali_has_not),
        cmocka_unit_test(no_sentence_names_what_they_have_not),
        cmocka_unit_test(a_setting_is_written_as_its_loader_has_it),
        cmocka_unit_test(a_setting_without_a_number),
        cmocka_unit_test(threads_of_python_compute_by_turns),
        cmocka_unit_test(the_guide_has_every_setting),
        cmocka_unit_test(advice_is_a_line_of_the_pipeline),
        cmocka_unit_test(the_training_loop_is_the_same),
        cmocka_unit_test(no_report_speaks_of_a_data_loader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
