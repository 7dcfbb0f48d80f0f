/* `pipeprobe run`: a full loader against the user's data, recorded; then the report on the recording. */
#include "report/build/build.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/metrics/beside.h"
#include "tui/cli/recording_name.h"
#include "tui/cli/run/prove.h"
#include "tui/cli/run/run_beside.h"
#include "tui/cli/run/run_record.h"
#include "collectors/gpu/gpu.h"
#include "collectors/nvtx/nvtx.h"
#include "probe/base/arena.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/storage/model.h"
#include "probe/loader/fault.h"
#include "probe/storage/cache/cache.h"
#include "probe/ranks/lease.h"
#include "report/render/render.h"
#include <sys/resource.h>
#include <unistd.h>

struct run {
    struct run_request asked;
    struct run_parts parts;
    struct run_record rec;
    struct run_events events;
    struct pp_loader_result result;
    struct run_torch torch; /* --loader pytorch */
    pid_t top;              /* of the dashboard; 0: none */
    struct metrics_beside metrics;
    struct digest_beside digest;
    int second; /* pipeprobe's own loader, beside PyTorch's: the settings were said already */
};

/* ---- Ctrl-C: once stops the loader, twice leaves at once ---- */

/* timeout(1), and other programs that signal a process and its group, send one request twice, faster than a
 * person types. */
enum { SAME_REQUEST_NS = 200 * 1000 * 1000 };

static int64_t
    first_interrupt_ns; /* the handler's own, in which every signal that it catches is blocked; 0: none yet */
static _Atomic(struct pp_loader *)
    running; /* what the handler stops; set while pp_loader_run may be entered */

static void stop_or_leave(int sig)
{
    static const char again[] =
        "\npipeprobe run: interrupted again: exiting now; committed spans are in the file, the rest is recovered when it is opened\n";
    struct timespec now;
    (void)sig;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (first_interrupt_ns && now_ns - first_interrupt_ns < SAME_REQUEST_NS)
        return;
    if (first_interrupt_ns) {
        ssize_t n = write(STDERR_FILENO, again, sizeof(again) - 1);
        (void)n;
        run_torch_stop(1);
        _exit(130);
    }
    first_interrupt_ns = now_ns;
    struct pp_loader *l = atomic_load_explicit(&running, memory_order_acquire);
    if (l)
        pp_loader_stop(l);
    run_torch_stop(0);
}

/* ---- notes on stderr ---- */

#define SAY(...) pp_arena_printf(&a, __VA_ARGS__)

/* What was asked for and what was chosen, a line each; a text that is NULL is not said. */
static void note_choices(const struct run *r)
{
    static const char *const sizes[] = {"workers", "batch size", "prefetch"};
    const struct run_opts *o = &r->asked.o;
    const struct run_parts *p = &r->parts;
    const struct run_torch *torch = r->torch.pid ? &r->torch : NULL;
    const struct pp_loader_opts *l = &p->loader;
    const uint64_t size[] = {(uint64_t)l->workers, l->batch_size, (uint64_t)l->prefetch};
    const unsigned long long buffer = l->shuffle_buffer, epoch = p->sampler ? pp_sampler_len(p->sampler) : 0;
    struct pp_arena a = {NULL};
    struct pp_device_info dev;
    const char *warning, *chosen[3];
    char text[480], t[32];
    if (o->quiet)
        return;
    pp_dataset_describe(p->dataset, text, sizeof(text));
    fprintf(stderr, "dataset    %s (opened in %s)\n", text,
            pp_text_duration(t, sizeof(t), (double)p->open_ns));
    for (size_t i = 0; (warning = pp_dataset_warning(p->dataset, i)); i++)
        pp_cli_note("warning", warning);
    for (int i = 0; i < 3; i++)
        chosen[i] = SAY("%s %llu%s%s%s", sizes[i], (unsigned long long)size[i], p->chosen[i][0] ? " (" : "",
                        p->chosen[i], p->chosen[i][0] ? ")" : "");
    const char *sizes_text = SAY("%s, %s, %s", chosen[0], chosen[1], chosen[2]);
    const char *activity = o->record ? pp_recording_describe(r->rec.recording, &pp_collector_cupti) : NULL;
    pp_device_info(p->device, &dev);
    const struct {
        const char *label, *text;
    } notes[] = {
        {"storage",
         p->model ? SAY("--like %s, an assumption and no measurement: %s", p->model->name, p->model->text)
                  : NULL},
        {"loader", torch ? SAY("PyTorch DataLoader, %s, persistent workers (%s, %s)", sizes_text,
                               torch->versions, torch->python)
                         : SAY("%s: slots of %s in all", sizes_text,
                               pp_text_bytes(t, sizeof(t),
                                             ((double)l->workers * l->prefetch + 1) * (double)l->batch_size *
                                                 (double)p->row_bytes))},
        {"transform", p->transform
                          ? SAY("%s, %s%s", pp_transform_text(p->delivered ? p->delivered : p->transform),
                                pp_dtype_name((enum pp_dtype)o->dtype),
                                p->delivered ? "; copied as u8 and normalised on the device" : "")
                          : NULL},
        {"cache", o->cache ? SAY("%s, up to %s, policy %s", o->cache,
                                 pp_text_bytes(t, sizeof(t), (double)o->cache_bytes),
                                 pp_cache_policies[o->cache_policy].name)
                           : NULL},
        {"order",
         o->lease ? SAY("stream, shards %s as they are leased, shuffle buffer %llu",
                        l->shuffle_shards ? "shuffled and" : "in order,", buffer)
         : l->streaming
             ? SAY("stream, shards %s, shuffle buffer %llu; resumed exactly (the epoch is replayed up to that "
                   "position), or from\n           the cursor with --resume-cursor: each sample at least once, "
                   "at most %llu of them twice",
                   l->shuffle_shards ? "shuffled" : "in order", buffer, buffer)
             : SAY("%s, seed %lld, rank %lld of %lld", pp_sampler_kind_name((enum pp_sampler_kind)o->sampler),
                   (long long)o->seed, (long long)o->rank, (long long)o->world_size)},
        {"rank", r->asked.named_by_rank
                     ? SAY("%lld of %lld, from the environment of %s; --rank and --world-size override it",
                           (long long)o->rank, (long long)o->world_size, r->asked.identity.launcher)
                     : NULL},
        {"note", epoch && l->batch_size > epoch
                     ? SAY("a batch of %llu is larger than an epoch of %s: every batch will be short",
                           (unsigned long long)l->batch_size,
                           pp_text_counted(t, sizeof(t), (double)epoch, "sample", "samples"))
                     : NULL},
        {"measures",
         torch ? NULL : "pipeprobe's loader (about 3x PyTorch + PIL). To measure your job: pipeprobe exec"},
        {"device", torch ? NULL : SAY("%s%s%s", dev.name, dev.note ? "; " : "", dev.note ? dev.note : "")},
        {"", !torch && strcmp(dev.kind, "host") == 0
                 ? "no GPU takes part: copying a batch takes the time that such a link would (--link-gbps)"
                 : NULL},
        {"", dev.passed_over && run_gpu_expected() ? SAY("not CUDA: %s", dev.passed_over) : NULL},
        {"decode", run_decode_text(p, text, sizeof(text))},
        {"GPU", activity ? SAY("activity %s", activity) : NULL},
        {"step",
         l->step == PP_STEP_NONE
             ? "none: measures the ceiling. Give --step-ms to compare it with your step"
             : SAY("%s of %s", pp_step_name(l->step), pp_text_duration(t, sizeof(t), (double)l->step_ns))},
        {"collective", o->collective ? SAY("%lld ranks synchronise after each step through %s; timeout %s",
                                           (long long)o->world_size, o->collective,
                                           pp_text_duration(t, sizeof(t), (double)o->collective_limit_ns))
                                     : NULL},
        {"lease", o->lease
                      ? SAY("shards are leased in %s; a rank without a heartbeat for %s is taken for dead, "
                            "and its shards are read again",
                            o->lease, pp_text_duration(t, sizeof(t), (double)o->lease_expiry_ns))
                      : NULL},
        {"recording",
         SAY("%s%s\n", o->record ? r->rec.path : "off", l->max_ns ? "" : " (no time limit; Ctrl-C stops)")},
    };
    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
        if (notes[i].text)
            fprintf(stderr, "%-10s %s\n", notes[i].label, notes[i].text);
    pp_arena_free(&a);
}

/* ---- parts of a run ---- */

/* Without a recording there is no report: the few numbers the loader itself knows. */
static int print_unrecorded(const struct run_opts *o, const struct run_parts *p,
                            const struct pp_loader_result *r)
{
    char rate[32];
    if (!o->json) {
        printf("%s samples/s (%llu samples in %llu batches, %llu errors; nothing recorded)\n",
               pp_text_rate(rate, sizeof(rate), pp_loader_rate(r)), (unsigned long long)r->samples,
               (unsigned long long)r->batches, (unsigned long long)r->errors);
        return fflush(stdout) == 0 ? 0 : -1;
    }
    struct pp_json j;
    pp_json_begin(&j, stdout, 2);
    pp_json_object(&j);
    pp_json_put_str(&j, "schema", "pipeprobe.unrecorded/1");
    pp_json_put_num(&j, "samples_per_s", pp_loader_rate(r));
    pp_json_put_uint(&j, "samples", r->samples);
    pp_json_put_uint(&j, "batches", r->batches);
    pp_json_put_uint(&j, "errors", r->errors);
    pp_json_put_int(&j, "workers", p->loader.workers);
    pp_json_put_uint(&j, "allocations_warm", r->allocations_warm);
    pp_json_put_uint(&j, "slot_bytes", r->slot_bytes);
    pp_json_object_end(&j);
    return pp_json_end(&j);
}

enum { COULD_NOT_MEASURE = 4 };

/* A failure in mid-run is no usage error, whatever its cause: a sample that is "not found" must not look like
 * a mistyped option. */
static int could_not_measure(const struct pp_err *err)
{
    pp_cli_fail(&pp_cmd_run, err);
    return COULD_NOT_MEASURE;
}

/* ---- the command: prepare, run, report ---- */

/* Everything up to the first sample, and what runs beside it in processes of their own, if it is asked for.
 * That metrics or a digest cannot be had is said, and the run goes on. */
static pp_status prepare(struct run *r, struct pp_err *err)
{
    const struct run_opts *o = &r->asked.o;
    char own[PATH_MAX];
    pp_status st = PP_OK;
    interrupt_catch(0, stop_or_leave);
    interrupt_ignore_pipe();
    pp_progress_begin(&r->events.progress, o->quiet || o->rank > 0); /* of several ranks the first one's */
    if (o->record)
        st = pp_recording_name(o->output, r->asked.named_by_rank ? &r->asked.identity : NULL, o->force,
                               r->rec.path, sizeof(r->rec.path), err);
    if (st == PP_OK && o->loader == RUN_LOADER_PYTORCH && !o->against)
        st = run_beside_name(r->rec.path, o->force, own, sizeof(own), err);
    if (st == PP_OK)
        st = run_parts_make(&r->parts, &r->asked, &r->events.progress, err);
    if (st == PP_OK && o->loader == RUN_LOADER_PYTORCH) {
        r->rec.opened_ns = pp_now_ns();
        st = run_torch_start(&r->torch, o, r->parts.dataset, err);
    }
    if (st == PP_OK && o->record)
        st = run_record_begin(&r->rec, &r->asked, &r->parts, err);
    if (st != PP_OK)
        return st;
    if (o->record) {
        struct metrics_opts metrics = o->metrics;
        struct metrics_of_rank rank;
        metrics_opts_for_rank(&metrics, &r->asked.identity, &rank);
        metrics_beside_start(&r->metrics, &metrics, r->rec.path, "metrics    ", o->quiet);
    }
    if (o->record && o->world_size > 1) {
        digest_beside_start(&r->digest, &o->digest_to, r->rec.path, 0, "digest     ");
        digest_beside_add(&r->digest, r->rec.path);
    }
    pp_nvtx_start(); /* before the threads that record */
    if (!r->second)
        note_choices(r);
    if (!o->top)
        return PP_OK;
    struct again top = {.group = AGAIN_WITH_US}; /* drawing shares no lock and no CPU account with the run */
    again_add(&top, "pipeprobe", "top", r->rec.path, NULL);
    int e = again_start(&top, &r->top);
    pp_progress_begin(&r->events.progress, 1); /* the screen is the dashboard's */
    return e ? pp_fail_errno(err, e, "cannot start the dashboard") : PP_OK;
}

static void connect(struct run *r)
{
    const struct run_opts *o = &r->asked.o;
    const struct pp_loader_opts *l = &r->parts.loader;
    struct run_events *ev = &r->events;
    if (o->record) {
        ev->store = pp_recording_store(r->rec.recording);
        r->parts.loader.session = pp_recording_session(r->rec.recording);
        ev->session = r->parts.loader.session;
        ev->path = r->rec.path;
    }
    ev->shared = o->collective ? o->collective : o->lease;
    ev->top = &r->top;
    ev->quiet = o->quiet;
    ev->max_ns = l->max_ns;
    ev->max_steps = l->max_steps;
    ev->has_step = l->step != PP_STEP_NONE;
    ev->keep_digests = o->digest;
    ev->keep_indexes = o->list_delivered != NULL;
    ev->row_bytes = r->parts.row_bytes;
    r->parts.loader.events = run_events_hooks;
    r->parts.loader.events.ctx = ev;
    if (!ev->keep_digests && !ev->keep_indexes)
        r->parts.loader.events.deliver = NULL;
}

/* From the first sample to the finished file. Returns the exit code so far, after a message for each failure.
 */
static int measure(struct run *r)
{
    struct pp_err err, end_err;
    char said[480];
    struct pp_loader *loader = NULL;
    pp_status st, ended = PP_OK;
    pp_err_clear(&err);
    connect(r);
    if (r->torch.pid) {
        st = run_torch_measure(&r->torch, &r->asked, &r->parts, &r->rec, &r->result, &err);
    } else if ((st = pp_loader_create(&r->parts.loader, &loader, &err)) == PP_OK) {
        atomic_store_explicit(&running, loader, memory_order_release);
        if (interrupt_asked())
            pp_loader_stop(loader); /* the signal came before the handler could see the loader */
        run_record_follow(&r->rec, loader);
        st = pp_loader_run(loader, &r->result, &err);
        run_record_follow(&r->rec, NULL);
        atomic_store_explicit(&running, NULL, memory_order_release);
        pp_loader_destroy(loader);
    }
    if (!r->result.given_up) { /* the other ranks need not wait for the report */
        pp_lease_leave(r->parts.lease);
        r->parts.lease = NULL;
    }
    const char *outcome = st != PP_OK ? "failed" : interrupt_asked() ? "interrupted" : "finished";
    pp_progress_clear(&r->events.progress);
    if (r->asked.o.record && st != PP_OK && !r->result.start_ns && r->asked.o.loader != RUN_LOADER_PYTORCH) {
        pp_recording_abandon(r->rec.recording);
        r->rec.recording = NULL;
    } else if (r->asked.o.record)
        ended = run_record_end(&r->rec, &r->result, outcome, &end_err);
    if (r->rec.recording && !pp_recording_lost(r->rec.recording) && r->asked.o.loader != RUN_LOADER_PYTORCH)
        run_record_name_slow(r->rec.path, r->parts.dataset);
    metrics_beside_finish(&r->metrics);
    digest_beside_finish(&r->digest);
    if (r->top)
        again_wait(r->top); /* until the user has left the dashboard: the terminal is then ours again */
    if (r->result.given_up && !r->asked.o.quiet)
        fprintf(stderr, "note       %u read%s; the run ended without %s\n", r->result.given_up,
                r->result.given_up == 1 ? " hangs" : "s hang", r->result.given_up == 1 ? "it" : "them");
    if (!r->asked.o.quiet)
        run_decode_note_result(&r->result.decode);
    if (pp_cache_trouble(said, sizeof(said)) && !r->asked.o.quiet)
        pp_cli_note("note", said);
    if (st != PP_OK)
        could_not_measure(&err);
    if (ended != PP_OK)
        could_not_measure(&end_err);
    return st != PP_OK || ended != PP_OK ? COULD_NOT_MEASURE : 0;
}

/* ---- --loader pytorch: pipeprobe's own loader beside it ---- */

/* The same settings through our own loader, into path. The exit code of the run, after a message. */
static int run_own(const struct run *torch, const char *path)
{
    struct run *r = calloc(1, sizeof(*r));
    struct pp_err err;
    int code;
    pp_err_clear(&err);
    if (!r) {
        pp_fail(&err, PP_E_NO_MEMORY, "no memory for another run");
        return could_not_measure(&err);
    }
    r->second = 1;
    r->asked = torch->asked;
    r->asked.started_ns = pp_now_ns();
    r->asked.set.fields = &r->asked.o;
    struct run_opts *o = &r->asked.o;
    o->loader = RUN_LOADER_PIPEPROBE;
    o->python = o->against = o->list_delivered = NULL;
    o->output = path;
    r->asked.named_by_rank = 0;
    o->metrics = (struct metrics_opts){0}; /* they are PyTorch's run */
    o->digest_to = (struct digest_opts){0};
    o->force = 1; /* whether it may be replaced was asked at the beginning */
    o->workers = torch->parts.loader.workers;
    o->batch_size = (int64_t)torch->parts.loader.batch_size;
    o->prefetch = torch->parts.loader.prefetch;
    if (!o->quiet)
        fprintf(stderr, "\nbeside it  pipeprobe's own loader with the same settings, into %s\n", path);
    code = prepare(r, &err) == PP_OK ? measure(r) : pp_cli_fail(&pp_cmd_run, &err);
    pp_recording_free(r->rec.recording);
    if (!r->result.given_up)
        run_parts_free(&r->parts);
    free(r->events.deliveries);
    free(r->events.indexes);
    free(r);
    return code;
}

/* After PyTorch's run, whose exit code so far is code. */
static int stand_beside(const struct run *r, int code)
{
    const struct run_opts *o = &r->asked.o;
    struct run_beside b = {.torch_path = r->rec.path,
                           .versions = r->torch.versions,
                           .torch_storage_bytes = r->torch.storage_bytes,
                           .own_storage_bytes = UINT64_MAX};
    char own[PATH_MAX];
    struct pp_err err;
    pp_err_clear(&err);
    if (o->against) {
        b.own_path = strcmp(o->against, "none") != 0 ? o->against : NULL;
    } else if (!interrupt_asked() && (code == 0 || code == 3)) {
        struct rusage before, after;
        int known = getrusage(RUSAGE_SELF, &before) == 0;
        int own_code = run_beside_name(r->rec.path, 1, own, sizeof(own), &err) == PP_OK ? run_own(r, own) : 4;
        if (known && getrusage(RUSAGE_SELF, &after) == 0)
            b.own_storage_bytes = (uint64_t)(after.ru_inblock - before.ru_inblock) * 512;
        b.own_path = own_code == 0 && !interrupt_asked() ? own : NULL;
        code = own_code ? own_code : code;
    }
    if (!o->json)
        putchar('\n');
    if (run_beside_print(&b, o->json, stdout, &err) != PP_OK)
        code = could_not_measure(&err);
    return interrupt_asked() ? 130 : code;
}

/* What the user is shown. code: of the run so far; a verdict that cannot be given only counts when all else
 * went well.
 */
static int report(struct run *r, int code)
{
    const struct run_opts *o = &r->asked.o;
    struct pp_err err;
    int verdict = 0;
    pp_status st = PP_OK;
    pp_err_clear(&err);
    if (o->prove && code == 0 && !interrupt_asked()) {
        const struct prove_opts proof = {.argc = r->asked.argc,
                                         .argv = r->asked.argv,
                                         .recording = r->rec.path,
                                         .rank = o->rank,
                                         .world_size = o->world_size,
                                         .rounds = o->prove_rounds,
                                         .keep = o->keep_proof,
                                         .quiet = o->quiet};
        if (pp_prove(&proof, &err) != PP_OK)
            code = could_not_measure(&err);
    }
    if (!o->record)
        st = print_unrecorded(o, &r->parts, &r->result) == 0
                 ? PP_OK
                 : pp_fail(&err, PP_E_IO, "writing to stdout failed");
    else if (r->rec.recording && !pp_recording_lost(r->rec.recording)) {
        struct pp_report *recorded = NULL;
        int failed = 0;
        st = pp_report_build(r->rec.path, &recorded, &err);
        if (st == PP_OK)
            verdict = pp_report_exit_code(recorded);
        errno = 0;
        if (st == PP_OK && o->json && o->loader != RUN_LOADER_PYTORCH) /* else one of both: run_beside.h */
            failed = pp_render_json(recorded, stdout) != 0;
        else if (st == PP_OK && !o->json)
            failed = (o->quick ? pp_render_brief
                               : pp_render_short)(recorded, stdout,
                                                  pp_cli_use_color((enum pp_color)o->color, stdout),
                                                  pp_cli_columns(stdout)) != 0;
        if (failed && errno != EPIPE) /* a reader that leaves has what it wanted */
            st = pp_fail(&err, PP_E_IO, "printing the report failed; it is in %s: pipeprobe report %s",
                         r->rec.path, r->rec.path);
        pp_report_free(recorded);
    } /* else there is nothing to report on, as was said */
    if (code == 0)
        code = verdict;
    if (st == PP_OK && o->loader == RUN_LOADER_PYTORCH && code != COULD_NOT_MEASURE &&
        !pp_recording_lost(r->rec.recording))
        return stand_beside(r, code);
    if (interrupt_asked())
        code = 130;
    if (st == PP_OK)
        st = run_events_write(&r->events, o, &r->parts, &r->result, &err);
    return st == PP_OK ? code : could_not_measure(&err);
}

static int run_main(int argc, char **argv)
{
    struct run r = {.asked.started_ns = pp_now_ns()};
    struct run_opts *o = &r.asked.o;
    struct pp_err err;
    pp_err_clear(&err);
    int code = run_opts_read(&r.asked, &pp_cmd_run, argc, argv);
    if (code < 0 && o->inject.n == 1 && !strcmp(o->inject.item[0], "list")) {
        const char *name, *args, *help;
        for (int i = 0; (help = pp_faults_help(i, &name, &args)); i++)
            printf("%s%s%s\n    %s\n", name, args[0] ? "=" : "", args, help);
        code = 0;
    }
    if (code < 0 && (run_opts_check(o, &r.asked.set, r.asked.n_operands, &err) != PP_OK ||
                     run_torch_check(o, &r.asked.set, &err) != PP_OK))
        code = pp_cli_fail(&pp_cmd_run, &err);
    if (code < 0 && o->loader == RUN_LOADER_PYTORCH)
        o->device = RUN_DEVICE_HOST; /* of both loaders: the step is a simulated one */
    if (code < 0 && o->ranks > 1)
        code = run_ranks(&pp_cmd_run, &r.asked);
    if (code >= 0)
        goto out;
    code = prepare(&r, &err) == PP_OK ? measure(&r) : -1;
    if (code < 0) {
        pp_recording_abandon(r.rec.recording);
        r.rec.recording = NULL;
    }
    code = code < 0 ? pp_cli_fail(&pp_cmd_run, &err) : report(&r, code);
out:
    metrics_beside_end(&r.metrics);
    digest_beside_end(&r.digest, r.asked.o.quiet);
    run_torch_free(&r.torch);
    pp_recording_free(r.rec.recording);
    if (!r.result.given_up) /* else threads are still reading with them */
        run_parts_free(&r.parts);
    free(r.events.deliveries);
    free(r.events.indexes);
    free(r.asked.command_line);
    free(r.asked.operands);
    return code;
}

const struct pp_command pp_cmd_run = {
    .name = "run",
    .summary = "run an instrumented loader on your data and name its bottleneck",
    .usage = "run DATASET [options]   or   run --synthetic SPEC [options]",
    .opts = run_opt_table,
    .notes = "Measures pipeprobe's loader on the data (about 3x PyTorch + PIL), and says what\n"
             "a PyTorch DataLoader is expected to do. To measure your job: pipeprobe exec.\n"
             "DATASET, a path, http(s):// or s3://, is a directory of images (class =\n"
             "directory), shards (tar, MDS, TFRecord: 'shard-{000000..000009}.tar', or a\n"
             "directory of them), tables (Parquet, Arrow, HDF5), or a token file (.bin, .npy).\n"
             "Exit codes: 0 measured, 2 usage, 3 too little, 4 could not measure, 130 Ctrl-C.",
    .examples = {"pipeprobe run ~/imagenet/train",
                 "pipeprobe run ~/imagenet/train --step-ms 45 -b 128 -w 8 -o job.sqlite"},
    .run = run_main,
};
