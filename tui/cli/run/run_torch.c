#include "tui/cli/run/run_beside.h"
#include "collectors/attach/launch.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_shards.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/shipped.h"
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MAX = 4 << 20, ANSWER_POLL_MS = 200, END_MS = 10000 };

static atomic_int measuring; /* the process that a signal is passed on to; 0: none */

void run_torch_stop(int now)
{
    int saved_errno = errno;
    pid_t pid = atomic_load_explicit(&measuring, memory_order_relaxed);
    if (pid > 0)
        kill(pid, now ? SIGKILL : SIGINT);
    errno = saved_errno;
}

/* ---- options ---- */

pp_status run_torch_check(const struct run_opts *o, const struct pp_opt_set *set, struct pp_err *err)
{
    static const char ours[] =
        "synthetic stream shuffle-shards shuffle-buffer exif-rotate wire out-of-order ranks collective "
        "collective-limit save-state resume resume-cursor link-gbps pageable h2d copy-buffers "
        "sync-every-step gpu-activity cached-batches cpu-ballast inject like retries retry-backoff-ms "
        "prove prove-rounds keep-proof digest top";
    static const char its[] = "python against";
    int is_torch = o->loader == RUN_LOADER_PYTORCH;
    for (int i = 0; set->table[i].name; i++)
        if (set->source[i] == PP_OPT_GIVEN && pp_text_has_word(is_torch ? ours : its, set->table[i].name))
            return pp_fail(err, PP_E_USAGE,
                           is_torch
                               ? "--%s is for pipeprobe's own loader, not for --loader pytorch; leave it out"
                               : "--%s goes with --loader pytorch; give both, or leave it out",
                           set->table[i].name);
    if (!is_torch)
        return PP_OK;
    if (!o->record)
        return pp_fail(
            err, PP_E_USAGE,
            "--no-record is not for --loader pytorch, which is measured by its recording; leave it out");
    if (o->device == RUN_DEVICE_CUDA || o->step >= RUN_STEP_CUDA)
        return pp_fail(
            err, PP_E_USAGE,
            "--loader pytorch steps on the CPU's clock: give the GPU's time per batch as --step-ms, without --%s cuda",
            o->step >= RUN_STEP_CUDA ? "step" : "device");
    if (o->sampler == PP_SAMPLER_STRATIFIED)
        return pp_fail(
            err, PP_E_USAGE,
            "--loader pytorch: PyTorch has no stratified sampler; use another --sampler, or --loader pipeprobe");
    if (o->world_size > 1 && o->sampler == PP_SAMPLER_WEIGHTED)
        return pp_fail(
            err, PP_E_USAGE,
            "--loader pytorch: PyTorch's weighted sampler knows no ranks; leave out --world-size, or use another --sampler");
    if (o->against && strcmp(o->against, "none") != 0 && access(o->against, R_OK) != 0)
        return pp_fail_errno(err, errno, "--against %s", o->against);
    return PP_OK;
}

/* ---- the process ---- */

static pp_status start_python(struct run_torch *t, const char *python, const char *script, struct pp_err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    struct again a = {.program = python};
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        a.failed = errno;
    a.in = in[0];
    a.out = out[1];
    again_add(&a, python, script, NULL);
    int e = again_start(&a, &t->pid);
    if (in[0] >= 0)
        close(in[0]);
    if (out[1] >= 0)
        close(out[1]);
    t->to = in[1];
    t->from = out[0];
    return e ? pp_fail_errno(err, e, "cannot start %s", python) : PP_OK;
}

/* 1: it has ended, with its wait status. */
static int ended(struct run_torch *t, int *status)
{
    if (!again_has_ended(&t->pid, status))
        return 0;
    atomic_store_explicit(&measuring, 0, memory_order_relaxed);
    return 1;
}

/* A line of its answers into t->answer, without the newline. PP_E_INTERRUPTED: while nothing is measured, an
 * interrupt ends it. */
static pp_status read_line(struct run_torch *t, int measures, struct pp_err *err)
{
    int status = 0, gone = 0;
    t->answer_n = 0;
    for (;;) {
        struct pollfd p = {.fd = t->from, .events = POLLIN};
        if (!measures && interrupt_asked())
            return pp_fail(err, PP_E_INTERRUPTED, "interrupted");
        int n = poll(&p, 1, ANSWER_POLL_MS);
        if (n <= 0) { /* its workers may hold the pipe open for a while when it has gone */
            if (gone)
                break;
            gone = ended(t, &status);
            continue;
        }
        if (t->answer_n + 4096 + 1 > t->answer_room) {
            char *grown = t->answer_room >= ANSWER_MAX ? NULL : realloc(t->answer, 2 * t->answer_room + 8192);
            if (!grown)
                return pp_fail(err, PP_E_NO_MEMORY, "no memory for the answer of %s", t->python);
            t->answer = grown;
            t->answer_room = 2 * t->answer_room + 8192;
        }
        ssize_t got = pp_io_read(t->from, t->answer + t->answer_n, 4096);
        if (got <= 0) {
            if (!gone)
                status = again_wait(t->pid);
            atomic_store_explicit(&measuring, 0, memory_order_relaxed);
            t->pid = 0;
            break;
        }
        t->answer_n += (size_t)got;
        t->answer[t->answer_n] = '\0';
        char *end = strchr(t->answer, '\n');
        if (end) {
            *end = '\0';
            return PP_OK;
        }
    }
    if (WIFSIGNALED(status))
        return pp_fail(err, PP_E_SYSTEM, "the PyTorch DataLoader in %s was ended by signal %d (%s)%s",
                       t->python, WTERMSIG(status), strsignal(WTERMSIG(status)),
                       WTERMSIG(status) == SIGKILL ? ": out of memory, perhaps; try fewer --workers" : "");
    return pp_fail(
        err, PP_E_SYSTEM,
        "the PyTorch DataLoader in %s ended with exit status %d before it was done; its words are above",
        t->python, WEXITSTATUS(status));
}

/* The next answer as JSON; one that holds an error becomes that. *out is the caller's to release. */
static pp_status read_answer(struct run_torch *t, int measures, json_t **out, struct pp_err *err)
{
    *out = NULL;
    pp_status st = read_line(t, measures, err);
    if (st != PP_OK)
        return st;
    *out = json_loads(t->answer, 0, NULL);
    if (!json_is_object(*out))
        return pp_fail(err, PP_E_SYSTEM, "%s answered something that is no answer: %.80s", t->python,
                       t->answer);
    const char *sentence = json_string_value(json_object_get(*out, "error"));
    return sentence ? pp_fail(err, PP_E_UNSUPPORTED, "%s", sentence) : PP_OK;
}

pp_status run_torch_start(struct run_torch *t, const struct run_opts *o, const struct pp_dataset *dataset,
                          struct pp_err *err)
{
    static const char *const formats[] = {"image-folder", "webdataset", "tokens"};
    int known = 0;
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        known |= strcmp(pp_dataset_format_name(dataset), formats[i]) == 0;
    if (!known)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "--loader pytorch reads image folders, tar shards and token files, and this is of kind %s; leave it out",
            pp_dataset_format_name(dataset));
    char script[PATH_MAX], library[PATH_MAX];
    json_t *hello = NULL;
    *t = (struct run_torch){.to = -1, .from = -1};
    /* --python, the active virtual environment's, or the first python3 in PATH. */
    const char *environment = getenv("VIRTUAL_ENV");
    if (o->python)
        snprintf(t->python, sizeof(t->python), "%s", o->python);
    else if (!environment || !*environment ||
             (size_t)snprintf(t->python, sizeof(t->python), "%s/bin/python3", environment) >=
                 sizeof(t->python) ||
             access(t->python, X_OK) != 0)
        snprintf(t->python, sizeof(t->python), "python3");
    pp_status st = pp_shipped_find("the script of --loader pytorch", "PIPEPROBE_PYTHON_DIR",
                                   &pp_shipped_python, "torch_loader.py", script, err);
    if (st == PP_OK)
        st = pp_shipped_find("libpipeprobe", "PIPEPROBE_LIB", &pp_shipped_libraries, "libpipeprobe.so.0",
                             library, err);
    if (st == PP_OK && pp_launch_find(t->python, err))
        st = err->code;
    if (st != PP_OK)
        return st;
    setenv("PIPEPROBE_LIB", library, 1);
    unsetenv("PIPEPROBE_SESSION"); /* of an exec around us */
    st = start_python(t, t->python, script, err);
    if (st == PP_OK)
        st = read_answer(t, 0, &hello, err);
    if (st == PP_OK) {
        const char *vision = json_string_value(json_object_get(hello, "torchvision")),
                   *pil = json_string_value(json_object_get(hello, "pil")),
                   *torch = json_string_value(json_object_get(hello, "torch")),
                   *python = json_string_value(json_object_get(hello, "python"));
        snprintf(t->versions, sizeof(t->versions), "torch %s%s%s%s%s", torch ? torch : "?",
                 vision && *vision ? ", torchvision " : "", vision ? vision : "",
                 pil && *pil ? ", Pillow " : "", pil ? pil : "");
        if (python)
            snprintf(t->python, sizeof(t->python), "%s", python);
    }
    json_decref(hello);
    return st;
}

/* It has answered, or is not to go on. */
static void wait_end(struct run_torch *t)
{
    int status;
    if (t->to >= 0)
        close(t->to); /* one that waits for its job ends now */
    if (t->from >= 0)
        close(t->from);
    t->to = t->from = -1;
    for (uint64_t until = pp_now_ns() + END_MS * UINT64_C(1000000); t->pid > 0 && !ended(t, &status);) {
        if (pp_now_ns() >= until)
            kill(t->pid, SIGKILL);
        pp_sleep_until_ns(pp_now_ns() + 10000000);
    }
}

void run_torch_free(struct run_torch *t)
{
    if (t->pid > 0)
        wait_end(t);
    free(t->answer);
    t->answer = NULL;
}

/* ---- the job ---- */

static void put_source(struct pp_json *j, const struct run_parts *p, const char *path, size_t paths_bytes)
{
    const char *format = pp_dataset_format_name(p->dataset);
    char name[PATH_MAX], file[PATH_MAX], *at_sign;
    /* the file itself: Megatron's pairs may be named by their common part */
    if (strcmp(format, "tokens") == 0 &&
        (at_sign = strrchr(pp_dataset_path(p->dataset, 0, file, sizeof(file)), '@'))) {
        *at_sign = '\0';
        path = file;
    }
    pp_json_put_str(j, "format", format);
    pp_json_put_str(j, "path", path);
    pp_json_put_uint(j, "samples", pp_dataset_len(p->dataset));
    if (strcmp(format, "webdataset") == 0) {
        pp_json_put_array(j, "shards");
        for (uint64_t i = 0; i < pp_shards_of(p->dataset)->n; i++)
            pp_json_str(j, pp_shards_of(p->dataset)->path[i]);
        pp_json_array_end(j);
    } else if (strcmp(format, "tokens") == 0) {
        /* "file@offset" of the first two: windows overlap by one token */
        uint64_t at[2] = {0, 0};
        for (uint64_t i = 0; i < 2 && i < pp_dataset_len(p->dataset); i++) {
            const char *offset = strrchr(pp_dataset_path(p->dataset, i, name, sizeof(name)), '@');
            at[i] = offset ? strtoull(offset + 1, NULL, 10) : 0;
        }
        uint64_t stride = at[1] > at[0] ? at[1] - at[0] : p->row_bytes,
                 token = p->row_bytes > stride ? p->row_bytes - stride : p->row_bytes;
        pp_json_put_uint(j, "offset", at[0]);
        pp_json_put_uint(j, "stride_bytes", stride);
        pp_json_put_uint(j, "row_bytes", p->row_bytes);
        pp_json_put_uint(j, "token_bytes", token == 4 ? 4 : 2);
    } else {
        pp_json_put_uint(j, "paths_bytes", paths_bytes);
    }
}

/* The job's line and, behind it, the paths. A process that ends before it has read all is found out when its
 * answer is awaited. */
static pp_status send_job(struct run_torch *t, const struct run_request *asked, const struct run_parts *p,
                          const struct run_record *rec, struct pp_err *err)
{
    static const char *const policies[] = {"skip", "substitute", "fail"};
    const struct run_opts *o = &asked->o;
    const struct pp_loader_opts *l = &p->loader;
    char *paths = NULL, *job = NULL, name[PATH_MAX];
    size_t paths_n = 0, job_n = 0;
    struct pp_json j;
    FILE *f = open_memstream(&paths, &paths_n);
    if (f && strcmp(pp_dataset_format_name(p->dataset), "image-folder") == 0)
        for (uint64_t i = 0; i < pp_dataset_len(p->dataset); i++) {
            pp_dataset_path(p->dataset, i, name, sizeof(name));
            fwrite(name, 1, strlen(name) + 1, f);
        }
    int failed = !f || fclose(f) != 0;
    f = failed ? NULL : open_memstream(&job, &job_n);
    if (f) {
        pp_json_begin(&j, f, 0);
        pp_json_object(&j);
        put_source(&j, p, asked->operands[0], paths_n);
        pp_json_put_uint(&j, "workers", (uint64_t)l->workers);
        pp_json_put_uint(&j, "prefetch", (uint64_t)l->prefetch);
        pp_json_put_uint(&j, "batch_size", l->batch_size);
        pp_json_put_uint(&j, "seed", l->seed);
        pp_json_put_uint(&j, "rank", l->rank);
        pp_json_put_uint(&j, "world_size", l->world_size);
        pp_json_put_uint(&j, "max_epochs", l->max_epochs);
        pp_json_put_uint(&j, "max_steps", l->max_steps);
        pp_json_put_uint(&j, "max_ns", l->max_ns);
        pp_json_put_uint(&j, "warmup", l->warmup_steps);
        pp_json_put_uint(&j, "step_ns", l->step_ns);
        pp_json_put_bool(&j, "drop_last", o->drop_last);
        pp_json_put_str(&j, "sampler", pp_sampler_kind_name((enum pp_sampler_kind)o->sampler));
        pp_json_put_str(&j, "weights", o->weights);
        pp_json_put_str(&j, "transform", p->transform ? pp_transform_text(p->transform) : NULL);
        pp_json_put_str(&j, "dtype", pp_dtype_name((enum pp_dtype)o->dtype));
        pp_json_put_str(&j, "on_error", policies[o->on_error]);
        pp_json_put_str(&j, "step", pp_step_name(l->step));
        pp_json_put_str(&j, "recording", rec->path);
        pp_json_put_str(&j, "list_delivered", o->list_delivered);
        pp_json_put_bool(&j, "progress", !o->quiet && o->rank <= 0);
        pp_json_object_end(&j);
        failed = pp_json_end(&j) != 0;
        failed |= fclose(f) != 0;
    }
    pp_status st = failed || !job ? pp_fail(err, PP_E_NO_MEMORY, "no memory for the list of samples") : PP_OK;
    if (st == PP_OK && pp_io_write_full(t->to, job, job_n) == 0)
        (void)!pp_io_write_full(t->to, paths, paths_n);
    close(t->to);
    t->to = -1;
    free(paths);
    free(job);
    return st;
}

/* ---- the result ---- */

static uint64_t whole(const json_t *object, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(object, key));
    return v > 0 ? (uint64_t)v : 0;
}

pp_status run_torch_measure(struct run_torch *t, const struct run_request *asked, const struct run_parts *p,
                            struct run_record *rec, struct pp_loader_result *result, struct pp_err *err)
{
    json_t *answer = NULL;
    struct pp_store *store = pp_recording_store(rec->recording);
    pp_store_meta_text(store, "config", "loader_versions", t->versions);
    pp_store_meta_text(store, "config", "interpreter", t->python);
    atomic_store_explicit(&measuring, t->pid, memory_order_relaxed);
    if (interrupt_asked())
        run_torch_stop(0); /* the signal came before the handler knew whom to tell */
    pp_status st = send_job(t, asked, p, rec, err);
    if (st == PP_OK)
        st = read_answer(t, 1, &answer, err);
    if (st == PP_OK) {
        static const char *const endings[] = {"duration", "steps", "epochs", "interrupted"},
                                 *const actions[] = {"skipped", "substituted", "failed"};
        const char *ended_by = json_string_value(json_object_get(answer, "ended_by"));
        *result = (struct pp_loader_result){
            .batches = whole(answer, "batches"),
            .samples = whole(answer, "samples"),
            .errors = whole(answer, "errors"),
            .start_ns = whole(answer, "start_ns"),
            .first_batch_ns = whole(answer, "first_batch_ns"),
            .end_ns = whole(answer, "end_ns"),
            .warm_ns = whole(answer, "warm_ns"),
            .warm_samples = whole(answer, "warm_samples"),
            .epoch = whole(answer, "epoch"),
            .ended_by = "error",
        };
        for (size_t i = 0; ended_by && i < sizeof(endings) / sizeof(*endings); i++)
            if (strcmp(ended_by, endings[i]) == 0)
                result->ended_by = endings[i];
        t->storage_bytes = whole(answer, "storage_bytes");
        const json_t *failed = json_object_get(answer, "failed"), *f;
        size_t i;
        char path[PATH_MAX];
        json_array_foreach(failed, i, f)
        {
            uint64_t sample = whole(f, "index");
            const char *kind = json_string_value(json_object_get(f, "kind")),
                       *reason = json_string_value(json_object_get(f, "reason"));
            if (sample < pp_dataset_len(p->dataset))
                pp_store_error(store, &(struct pp_store_error){
                                          .t_ns = whole(f, "t_ns"),
                                          .batch = (uint32_t)whole(f, "batch"),
                                          .sample = sample,
                                          .path = pp_dataset_path(p->dataset, sample, path, sizeof(path)),
                                          .kind = kind ? kind : "corrupt",
                                          .action = actions[asked->o.on_error],
                                          .reason = reason ? reason : "",
                                      });
        }
    } else {
        result->ended_by = "error";
    }
    wait_end(t);
    json_decref(answer);
    return st;
}
