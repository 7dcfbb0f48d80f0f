/* `pipeprobe run`: a full loader against the user's data, recorded; then the report on the recording. */
#include "tui/cli/cli.h"
#include "report/build/build.h"
#include "tui/cli/again.h"
#include "tui/cli/digest_beside.h"
#include "tui/cli/interrupt.h"
#include "tui/cli/metrics/beside.h"
#include "tui/cli/run/prove.h"
#include "tui/cli/run/run_beside.h"
#include "tui/cli/run/run_decode.h"
#include "tui/cli/run/run_events.h"
#include "tui/cli/run/run_opts.h"
#include "tui/cli/run/run_ranks.h"
#include "tui/cli/run/run_record.h"
#include "tui/cli/run/run_setup.h"
#include "tui/cli/run/run_torch.h"

#include "collectors/gpu/gpu.h"
#include "collectors/nvtx/nvtx.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/storage/model.h"
#include "probe/loader/fault.h"
#include "probe/storage/cache/cache_policy.h"
#include "probe/storage/cache/cache.h"
#include "probe/ranks/lease.h"
#include "report/render/render.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

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

static void note_choice(char *buf, size_t size, const char *what, uint64_t value, const char *why)
{
    if (why[0])
        snprintf(buf, size, "%s %llu (%s)", what, (unsigned long long)value, why);
    else
        snprintf(buf, size, "%s %llu", what, (unsigned long long)value);
}

static void note_choices(const struct run_request *asked, const struct run_parts *p,
                         const struct run_record *rec, const struct run_torch *torch)
{
    const struct run_opts *o = &asked->o;
    const struct pp_loader_opts *l = &p->loader;
    char text[256], t[32], a[160], b[160], c[160];
    struct pp_device_info dev;
    const char *warning;
    if (o->quiet)
        return;
    pp_dataset_describe(p->dataset, text, sizeof(text));
    fprintf(stderr, "dataset    %s (opened in %s)\n", text,
            pp_text_duration(t, sizeof(t), (double)p->open_ns));
    for (size_t i = 0; (warning = pp_dataset_warning(p->dataset, i)); i++)
        pp_cli_note("warning", warning);
    if (p->model)
        fprintf(stderr, "storage    --like %s, an assumption and no measurement: %s\n", p->model->name,
                p->model->text);
    note_choice(a, sizeof(a), "workers", (uint64_t)l->workers, p->chosen[0]);
    note_choice(b, sizeof(b), "batch size", l->batch_size, p->chosen[1]);
    note_choice(c, sizeof(c), "prefetch", (uint64_t)l->prefetch, p->chosen[2]);
    if (torch->pid)
        fprintf(stderr, "loader     PyTorch DataLoader, %s, %s, %s, persistent workers (%s, %s)\n", a, b, c,
                torch->versions, torch->python);
    else
        fprintf(stderr, "loader     %s, %s, %s: slots of %s in all\n", a, b, c,
                pp_text_bytes(t, sizeof(t),
                              ((double)l->workers * l->prefetch + 1) * (double)l->batch_size *
                                  (double)p->row_bytes));
    if (p->transform)
        fprintf(stderr, "transform  %s, %s%s\n",
                pp_transform_text(p->delivered ? p->delivered : p->transform),
                pp_dtype_name((enum pp_dtype)o->dtype),
                p->delivered ? "; copied as u8 and normalised on the device" : "");
    if (o->cache)
        fprintf(stderr, "cache      %s, up to %s, policy %s\n", o->cache,
                pp_text_bytes(t, sizeof(t), (double)o->cache_bytes), pp_cache_policies[o->cache_policy].name);
    if (o->lease)
        fprintf(stderr, "order      stream, shards %s as they are leased, shuffle buffer %llu\n",
                l->shuffle_shards ? "shuffled and" : "in order,", (unsigned long long)l->shuffle_buffer);
    else if (l->streaming)
        fprintf(
            stderr,
            "order      stream, shards %s, shuffle buffer %llu; resumed exactly (the epoch is replayed up to that position), or from\n"
            "           the cursor with --resume-cursor: each sample at least once, at most %llu of them twice\n",
            l->shuffle_shards ? "shuffled" : "in order", (unsigned long long)l->shuffle_buffer,
            (unsigned long long)l->shuffle_buffer);
    else
        fprintf(stderr, "order      %s, seed %lld, rank %lld of %lld\n",
                pp_sampler_kind_name((enum pp_sampler_kind)o->sampler), (long long)o->seed,
                (long long)o->rank, (long long)o->world_size);
    if (asked->named_by_rank)
        fprintf(stderr,
                "rank       %lld of %lld, from the environment of %s; --rank and --world-size override it\n",
                (long long)o->rank, (long long)o->world_size, asked->identity.launcher);
    if (p->sampler && l->batch_size > pp_sampler_len(p->sampler))
        fprintf(stderr,
                "note       a batch of %llu is larger than an epoch of %s: every batch will be short\n",
                (unsigned long long)l->batch_size,
                pp_text_counted(t, sizeof(t), (double)pp_sampler_len(p->sampler), "sample", "samples"));
    fputs(
        "judges     pipeprobe's own loader, about 3 times as fast as PyTorch's with PIL; for a job: pipeprobe exec\n",
        stderr);
    pp_device_info(p->device, &dev);
    if (!torch->pid)
        fprintf(stderr, "device     %s%s%s\n", dev.name, dev.note ? "; " : "", dev.note ? dev.note : "");
    if (!torch->pid && strcmp(dev.kind, "host") == 0)
        fprintf(
            stderr,
            "           no GPU takes part: copying a batch takes the time that such a link would (--link-gbps)\n");
    if (dev.passed_over && run_gpu_expected())
        fprintf(stderr, "           not CUDA: %s\n", dev.passed_over);
    run_decode_note(p);
    const char *activity = rec ? pp_recording_describe(rec->recording, &pp_collector_cupti) : NULL;
    if (activity)
        fprintf(stderr, "GPU        activity %s\n", activity);
    if (l->step == PP_STEP_NONE)
        fprintf(stderr,
                "step       none: measures the ceiling. Give --step-ms to compare it with your step\n");
    else
        fprintf(stderr, "step       %s of %s\n", pp_step_name(l->step),
                pp_text_duration(t, sizeof(t), (double)l->step_ns));
    if (o->collective)
        fprintf(stderr, "collective %lld ranks synchronise after each step through %s; timeout %s\n",
                (long long)o->world_size, o->collective,
                pp_text_duration(t, sizeof(t), (double)o->collective_limit_ns));
    if (o->lease)
        fprintf(
            stderr,
            "lease      shards are leased in %s; a rank without a heartbeat for %s is taken for dead, and its shards are read again\n",
            o->lease, pp_text_duration(t, sizeof(t), (double)o->lease_expiry_ns));
    fprintf(stderr, "recording  %s%s\n\n", rec ? rec->path : "off",
            l->max_ns ? "" : " (no time limit; Ctrl-C stops)");
}

/* ---- parts of a run ---- */

static char *join_command_line(int argc, char **argv)
{
    size_t n = sizeof("pipeprobe");
    for (int i = 0; i < argc; i++)
        n += strlen(argv[i]) + 1;
    char *line = malloc(n), *at = line, *stored = malloc(n);
    if (!line || !stored) {
        free(line);
        free(stored);
        return NULL;
    }
    at = stpcpy(at, "pipeprobe");
    for (int i = 0; i < argc; i++) {
        *at++ = ' ';
        at = stpcpy(at, argv[i]);
    }
    pp_text_no_secrets(stored, n, line);
    free(line);
    return stored;
}

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
    pp_json_key(&j, "schema"), pp_json_str(&j, "pipeprobe.unrecorded/1");
    pp_json_key(&j, "samples_per_s"), pp_json_num(&j, pp_loader_rate(r));
    pp_json_key(&j, "samples"), pp_json_uint(&j, r->samples);
    pp_json_key(&j, "batches"), pp_json_uint(&j, r->batches);
    pp_json_key(&j, "errors"), pp_json_uint(&j, r->errors);
    pp_json_key(&j, "workers"), pp_json_int(&j, p->loader.workers);
    pp_json_key(&j, "allocations_warm"), pp_json_uint(&j, r->allocations_warm);
    pp_json_key(&j, "slot_bytes"), pp_json_uint(&j, r->slot_bytes);
    pp_json_object_end(&j);
    return pp_json_end(&j);
}

static pp_status print_report(const struct run_opts *o, const char *path, int *exit_code, struct pp_err *err)
{
    struct pp_report *report = NULL;
    pp_status st = pp_report_build(path, &report, err);
    if (st == PP_OK) {
        *exit_code = pp_report_exit_code(report);
        errno = 0;
        int rc = o->json && o->loader == RUN_LOADER_PYTORCH
                     ? 0 /* one document, of both loaders: run_beside.h */
                 : o->json ? pp_render_json(report, stdout)
                           : (o->quick ? pp_render_brief
                                       : pp_render_short)(report, stdout,
                                                          pp_cli_use_color((enum pp_color)o->color, stdout),
                                                          pp_cli_columns(stdout));
        if (rc != 0 && errno != EPIPE) /* a reader that leaves has what it wanted */
            st = pp_fail(err, PP_E_IO, "printing the report failed; it is in %s: pipeprobe report %s", path,
                         path);
    }
    pp_report_free(report);
    return st;
}

static pp_status save_state(const struct run_opts *o, const struct run_parts *p,
                            const struct pp_loader_result *r, struct pp_err *err)
{
    struct pp_loader_state s = p->state;
    s.epoch = r->epoch;
    s.consumed = r->position;
    s.shard = r->cursor.shard;
    s.offset = r->cursor.offset;
    s.number = r->cursor.number;
    return pp_state_save(o->save_state, &s, err);
}

static pp_status run_loader(struct run_parts *p, struct run_record *rec, struct pp_loader_result *result,
                            struct pp_err *err)
{
    struct pp_loader *loader = NULL;
    pp_status st = pp_loader_create(&p->loader, &loader, err);
    if (st != PP_OK)
        return st;
    atomic_store_explicit(&running, loader, memory_order_release);
    if (interrupt_asked())
        pp_loader_stop(loader); /* the signal came before the handler could see the loader */
    run_record_follow(rec, loader);
    st = pp_loader_run(loader, result, err);
    run_record_follow(rec, NULL);
    atomic_store_explicit(&running, NULL, memory_order_release);
    pp_loader_destroy(loader);
    return st;
}

/* What the user asked to have besides the report. */
static pp_status extras(const struct run_opts *o, const struct run_parts *p, struct run_events *ev,
                        const struct pp_loader_result *r, struct pp_err *err)
{
    size_t n = r->batches < ev->n_batches ? r->batches : ev->n_batches;
    /* A loader that never began stands nowhere: a state saved before stays as it is. */
    pp_status st = o->save_state && r->start_ns ? save_state(o, p, r, err) : PP_OK;
    if (st == PP_OK && o->list_delivered)
        st = run_events_list(ev, n, o->list_delivered, err);
    if (st == PP_OK && o->digest)
        fprintf(o->json ? stderr : stdout, "digest %016llx of %zu batches\n",
                (unsigned long long)run_events_digest(ev, n), n);
    return st;
}

static int list_faults(void)
{
    const char *name, *args, *help;
    char spec[80];
    for (int i = 0; (help = pp_faults_help(i, &name, &args)); i++) {
        snprintf(spec, sizeof(spec), "%s%s%s", name, args[0] ? "=" : "", args);
        printf("%s\n    %s\n", spec, help);
    }
    return 0;
}

enum { COULD_NOT_MEASURE = 4 };

/* A failure in mid-run is no usage error, whatever its cause: a sample that is "not found" must not look like
 * a mistyped option. */
static int could_not_measure(const struct pp_err *err)
{
    pp_cli_fail(&pp_cmd_run, err);
    return COULD_NOT_MEASURE;
}

static pp_status prove(const struct run_request *asked, const char *recording, struct pp_err *err)
{
    return pp_prove(&(struct prove_opts){.argc = asked->argc,
                                         .argv = asked->argv,
                                         .recording = recording,
                                         .rank = asked->o.rank,
                                         .world_size = asked->o.world_size,
                                         .rounds = asked->o.prove_rounds,
                                         .keep = asked->o.keep_proof,
                                         .quiet = asked->o.quiet},
                    err);
}

/* ---- the command: prepare, run, report ---- */

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

/* -1 to go on, else the exit code: help, a usage error, or what needs no run of this process. */
static int read_command_line(struct run_request *asked, int argc, char **argv)
{
    struct pp_err err = {.code = PP_OK};
    struct run_opts *o = &asked->o;
    asked->argc = argc;
    asked->argv = argv;
    asked->set = (struct pp_opt_set){.table = run_opt_table, .fields = o};
    asked->operands = calloc((size_t)argc + 1, sizeof(*asked->operands));
    asked->command_line = join_command_line(argc, argv);
    if (!asked->operands || !asked->command_line) {
        pp_fail(&err, PP_E_NO_MEMORY, "no memory");
        return pp_cli_fail(&pp_cmd_run, &err);
    }
    int code = pp_cli_parse(&pp_cmd_run, &asked->set, argc, argv, asked->operands, &asked->n_operands);
    if (code >= 0)
        return code;
    if (o->inject.n == 1 && !strcmp(o->inject.item[0], "list"))
        return list_faults();
    run_opts_take_identity(asked);
    if (run_opts_check(o, &asked->set, asked->n_operands, &err) != PP_OK ||
        run_torch_check(o, &asked->set, &err) != PP_OK)
        return pp_cli_fail(&pp_cmd_run, &err);
    if (o->loader == RUN_LOADER_PYTORCH)
        o->device = RUN_DEVICE_HOST; /* of both loaders: the step is a simulated one */
    return o->ranks > 1 ? run_ranks(&pp_cmd_run, asked) : -1;
}

/* Beside the recording, if anything is asked for; a failure is said, and the run goes on. */
static void start_metrics(struct run *r)
{
    struct metrics_opts metrics = r->asked.o.metrics;
    struct metrics_of_rank own;
    if (!r->asked.o.record)
        return;
    metrics_opts_for_rank(&metrics, &r->asked.identity, &own);
    metrics_beside_start(&r->metrics, &metrics, r->rec.path, "metrics    ", r->asked.o.quiet);
}

static void start_digest(struct run *r)
{
    if (!r->asked.o.record || r->asked.o.world_size < 2)
        return;
    digest_beside_start(&r->digest, &r->asked.o.digest_to, r->rec.path, 0, "digest     ");
    digest_beside_add(&r->digest, r->rec.path);
}

/* Everything up to the first sample. */
static pp_status prepare(struct run *r, struct pp_err *err)
{
    const struct run_opts *o = &r->asked.o;
    char own[PATH_MAX];
    pp_status st = PP_OK;
    interrupt_catch(0, stop_or_leave);
    interrupt_ignore_pipe();
    pp_progress_begin(&r->events.progress, o->quiet || o->rank > 0); /* of several ranks the first one's */
    if (o->record)
        st = run_record_name(&r->rec, &r->asked, err);
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
    start_metrics(r);
    start_digest(r);
    pp_nvtx_start(); /* before the threads that record */
    if (!r->second)
        note_choices(&r->asked, &r->parts, o->record ? &r->rec : NULL, &r->torch);
    if (o->top) {
        /* a process of its own: drawing shares no lock and no CPU account with what is measured */
        struct again top = {.group = AGAIN_WITH_US};
        again_add(&top, "pipeprobe", "top", r->rec.path, NULL);
        int e = again_start(&top, &r->top);
        pp_progress_begin(&r->events.progress, 1); /* the screen is the dashboard's */
        st = e ? pp_fail_errno(err, e, "cannot start the dashboard") : PP_OK;
    }
    return st;
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
    run_events_connect(ev, &r->parts.loader.events);
}

/* From the first sample to the finished file. Returns the exit code so far, after a message for each failure.
 */
static int measure(struct run *r)
{
    struct pp_err err, end_err;
    char said[480];
    pp_status ended = PP_OK;
    pp_err_clear(&err);
    connect(r);
    pp_status st = r->torch.pid
                       ? run_torch_measure(&r->torch, &r->asked, &r->parts, &r->rec, &r->result, &err)
                       : run_loader(&r->parts, &r->rec, &r->result, &err);
    if (!r->result.given_up) { /* the other ranks need not wait for the report */
        pp_lease_leave(r->parts.lease);
        r->parts.lease = NULL;
    }
    const char *outcome = st != PP_OK ? "failed" : interrupt_asked() ? "interrupted" : "finished";
    pp_progress_clear(&r->events.progress);
    if (r->asked.o.record && st != PP_OK && !r->result.start_ns && r->asked.o.loader != RUN_LOADER_PYTORCH)
        run_record_abandon(&r->rec);
    else if (r->asked.o.record)
        ended = run_record_end(&r->rec, &r->result, outcome, &end_err);
    metrics_beside_finish(&r->metrics);
    digest_beside_finish(&r->digest);
    if (r->top)
        again_wait(r->top); /* until the user has left the dashboard: the terminal is then ours again */
    if (r->result.given_up && !r->asked.o.quiet)
        fprintf(stderr, "note       %u read%s of the data set did not return, and %s not waited for\n",
                r->result.given_up, r->result.given_up == 1 ? "" : "s",
                r->result.given_up == 1 ? "is" : "are");
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

static uint64_t storage_read(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_inblock * 512 : UINT64_MAX;
}

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
    run_record_free(&r->rec);
    if (!r->result.given_up)
        run_parts_free(&r->parts);
    run_events_free(&r->events);
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
        uint64_t before = storage_read();
        int own_code = run_beside_name(r->rec.path, 1, own, sizeof(own), &err) == PP_OK ? run_own(r, own) : 4;
        b.own_storage_bytes = storage_read() - before;
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
    if (o->prove && code == 0 && !interrupt_asked() && prove(&r->asked, r->rec.path, &err) != PP_OK)
        code = could_not_measure(&err);
    if (!o->record)
        st = print_unrecorded(o, &r->parts, &r->result) == 0
                 ? PP_OK
                 : pp_fail(&err, PP_E_IO, "writing to stdout failed");
    else if (r->rec.recording &&
             !run_record_lost(&r->rec)) /* else there is nothing to report on, as was said */
        st = print_report(o, r->rec.path, &verdict, &err);
    if (code == 0)
        code = verdict;
    if (st == PP_OK && o->loader == RUN_LOADER_PYTORCH && code != COULD_NOT_MEASURE &&
        !run_record_lost(&r->rec))
        return stand_beside(r, code);
    if (interrupt_asked())
        code = 130;
    if (st == PP_OK)
        st = extras(o, &r->parts, &r->events, &r->result, &err);
    return st == PP_OK ? code : could_not_measure(&err);
}

static int run_main(int argc, char **argv)
{
    struct run r = {.asked.started_ns = pp_now_ns()};
    struct pp_err err;
    pp_err_clear(&err);
    int code = read_command_line(&r.asked, argc, argv);
    if (code >= 0)
        goto out;
    code = prepare(&r, &err) == PP_OK ? measure(&r) : -1;
    if (code < 0)
        run_record_abandon(&r.rec);
    code = code < 0 ? pp_cli_fail(&pp_cmd_run, &err) : report(&r, code);
out:
    metrics_beside_end(&r.metrics);
    digest_beside_end(&r.digest, r.asked.o.quiet);
    run_torch_free(&r.torch);
    run_record_free(&r.rec);
    if (!r.result.given_up) /* else threads are still reading with them */
        run_parts_free(&r.parts);
    run_events_free(&r.events);
    free(r.asked.command_line);
    free(r.asked.operands);
    return code;
}

const struct pp_command pp_cmd_run = {
    .name = "run",
    .summary = "run an instrumented loader on your data and name its bottleneck",
    .usage = "run DATASET [options]   or   run --synthetic SPEC [options]",
    .opts = run_opt_table,
    .notes = "Judges pipeprobe's own loader on the data, about 3 times as fast as PyTorch's\n"
             "with PIL; the report says what a PyTorch DataLoader is expected to do.\n"
             "DATASET is a directory of images (class = directory), tar shards\n"
             "('shard-{000000..000009}.tar', or a directory of them), or a token file (.bin,\n"
             ".npy). Exit codes: 0 measured, 2 usage, 3 too little was measured,\n"
             "4 could not measure, 130 interrupted.",
    .examples = {"pipeprobe run ~/imagenet/train",
                 "pipeprobe run ~/imagenet/train --step-ms 45 -b 128 -w 8 -o job.sqlite"},
    .run = run_main,
};
