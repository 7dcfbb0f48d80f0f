#include "tui/cli/run/run_setup.h"
#include "collectors/system/cgroup.h"
#include "collectors/system/environment.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/dataset/format.h"
#include "probe/decode/decode.h"
#include "probe/loader/fault.h"
#include "probe/ranks/collective.h"
#include "probe/ranks/lease.h"
#include "probe/storage/cache/cache.h"
#include "probe/net/http.h"
#include "probe/storage/model.h"
#include "tui/cli/jobs/interrupt.h"
#include <xxhash.h>

#define DEFAULT_BATCH 64
#define DEFAULT_PREFETCH 2
#define SLOT_MEMORY_SHARE 0.25 /* of what is available, when the choice is ours */

/* ---- 1. before the data: a typo, or a device that is not there, should not cost a listing ---- */

/* The device, and what a step on it is: a kernel only on one that runs them, so that it is refused before
 * anything starts. */
static pp_status open_device(struct run_parts *p, const struct run_opts *o, struct pp_err *err)
{
    static const char *const kinds[] = {
        [RUN_DEVICE_AUTO] = "auto", [RUN_DEVICE_HOST] = "host", [RUN_DEVICE_CUDA] = "cuda"};
    static const enum pp_step_kind steps[] = {[RUN_STEP_NONE] = PP_STEP_NONE,
                                              [RUN_STEP_SLEEP] = PP_STEP_SLEEP,
                                              [RUN_STEP_SPIN] = PP_STEP_SPIN,
                                              [RUN_STEP_CUDA] = PP_STEP_DEVICE,
                                              [RUN_STEP_CUDA_WORK] = PP_STEP_DEVICE_WORK};
    struct pp_device_opts opts = {.kind = kinds[o->device],
                                  .link_bytes_per_s = o->link_gbps * 1e9,
                                  .pageable = o->pageable,
                                  .copy_buffers = (int)o->copy_buffers,
                                  .sync_copies = o->h2d,
                                  .step_work = o->step == RUN_STEP_CUDA_WORK};
    struct pp_device_normalize normalize;
    struct pp_device_info dev;
    if (p->delivered) {
        normalize = (struct pp_device_normalize){.plane = (size_t)pp_transform_height(p->delivered) *
                                                          (size_t)pp_transform_width(p->delivered),
                                                 .value_bytes = pp_dtype_size((enum pp_dtype)o->dtype),
                                                 .table = pp_transform_values(p->delivered)};
        opts.normalize = &normalize;
    }
    pp_status st = pp_device_open(&opts, &p->device, err);
    if (st != PP_OK)
        return st;
    pp_device_info(p->device, &dev);
    p->loader.step = o->step != RUN_STEP_AUTO ? steps[o->step]
                     : !(o->step_ms > 0)      ? PP_STEP_NONE
                     : dev.runs_steps         ? PP_STEP_DEVICE
                                              : PP_STEP_SLEEP;
    if (o->step >= RUN_STEP_CUDA && !dev.runs_steps)
        return pp_fail(err, PP_E_UNSUPPORTED, "--step %s needs a CUDA device: %s; or use --step sleep",
                       pp_step_name(p->loader.step),
                       dev.passed_over ? dev.passed_over : "this is the host device");
    return PP_OK;
}

/* ---- 2. the data set ---- */

/* Options for another kind of data set than this one. Typed, they are a misunderstanding that would pass
 * silently, and are refused; from the environment or the configuration file they are meant for other runs
 * too, and do nothing here. */
static pp_status refuse_unfit(const struct pp_opt_set *set, const struct pp_dataset *d, const char *path,
                              struct pp_err *err)
{
    static const char *const of_images[] = {"transform", "dtype", "exif-rotate"};
    const struct pp_dataset_format *f, *own = NULL;
    const char *option = NULL, *noun = "images";
    size_t n = 0;
    for (size_t i = 0; !option && i < sizeof(of_images) / sizeof(*of_images); i++)
        if (run_opt_source(set, of_images[i]) == PP_OPT_GIVEN && pp_dataset_content(d) != PP_CONTENT_IMAGE)
            option = of_images[i];
    for (; (f = pp_dataset_format_at(n)); n++)
        if (strcmp(f->name, pp_dataset_format_name(d)) == 0)
            own = f;
    while (!option && n-- > 0) {
        f = pp_dataset_format_at(n);
        for (const struct pp_opt *o = f->opts; !option && o && o->name; o++)
            if (own != f && run_opt_source(set, o->name) == PP_OPT_GIVEN &&
                !(own && pp_text_has_word(own->shares, o->name))) {
                option = o->name;
                noun = f->noun;
            }
    }
    if (!option)
        return PP_OK;
    return pp_fail(err, PP_E_USAGE, "--%s is for %s, and %s is of kind %s; leave it out", option, noun, path,
                   pp_dataset_format_name(d));
}

static pp_status open_dataset(struct run_parts *p, const struct run_request *asked,
                              struct pp_progress *progress, struct pp_err *err)
{
    const struct run_opts *o = &asked->o;
    const char *path = asked->operands[0], *decoders[16];
    const struct pp_cache_opts cache = {.dir = o->cache,
                                        .bytes = o->cache_bytes,
                                        .policy = (enum pp_cache_policy_id)o->cache_policy};
    p->model = o->like ? &pp_storage_models[o->like - 1] : NULL;
    const struct pp_dataset_opts d = {.spec = path,
                                      .options = &o->formats,
                                      .decoders = decoders,
                                      .read_faults = pp_faults_reads(p->faults),
                                      .cache = o->cache ? &cache : NULL,
                                      .model = p->model,
                                      .progress = pp_progress_opening,
                                      .progress_ctx = progress};
    uint64_t began = pp_now_ns();
    pp_http_set_timeout(o->remote_timeout);
    pp_decode_image_names(decoders, sizeof(decoders) / sizeof(*decoders));
    pp_http_set_interrupted(interrupt_asked);
    pp_status st = pp_dataset_open(&d, &p->dataset, err);
    pp_http_set_interrupted(NULL);
    p->open_ns = pp_now_ns() - began;
    pp_progress_clear(progress);
    if (st != PP_OK)
        return st;
    if (run_shards(o)->stream && o->inflight > 1)
        return pp_fail(
            err, PP_E_USAGE,
            "--inflight is for samples read by index, and --stream reads shards in order; leave one of them out");
    if (run_shards(o)->stream && !pp_dataset_streams(p->dataset))
        return pp_fail(err, PP_E_USAGE, "--stream is for tar shards, and %s is %s; leave it out",
                       path ? path : run_synthetic(o), pp_dataset_format_name(p->dataset));
    st = pp_faults_set_dataset(p->faults, pp_dataset_len(p->dataset), err);
    if (st != PP_OK)
        return st;
    if (pp_dataset_content(p->dataset) != PP_CONTENT_IMAGE) {
        pp_transform_destroy(p->transform);
        p->transform = NULL;
        if (p->delivered)
            return pp_fail(err, PP_E_USAGE, "--wire is for images, and %s holds none; leave it out", path);
    }
    st = refuse_unfit(&asked->set, p->dataset, path ? path : "the synthetic set", err);
    if (st != PP_OK)
        return st;
    p->row_bytes = p->transform ? pp_transform_bytes(p->transform) : 0;
    return p->transform ? PP_OK : pp_dataset_row_bytes(p->dataset, o->max_sample_memory, &p->row_bytes, err);
}

/* ---- 3. its order ---- */

static pp_status apply_resume(struct run_parts *p, const struct run_opts *o, const struct pp_sampler_opts *s,
                              struct pp_err *err)
{
    const struct pp_shards_opts *now = run_shards(o);
    struct pp_loader_state state;
    pp_status st = pp_state_load(o->resume, &state, err);
    if (st != PP_OK)
        return st;
    /* A stream's order depends on more than the sampler's options: the saved run must have had the same of
     * all that. */
    uint64_t shards = now->stream ? pp_shards_of(p->dataset)->n : 0;
    if (state.streaming != now->stream)
        return pp_fail(err, PP_E_USAGE, "--resume %s: that run was %s; resume it the same way", o->resume,
                       state.streaming ? "streaming (--stream)" : "not streaming");
    if (now->stream && state.shuffle_buffer != (uint64_t)now->shuffle_buffer)
        return pp_fail(err, PP_E_USAGE, "--resume %s: that run had --shuffle-buffer %llu", o->resume,
                       (unsigned long long)state.shuffle_buffer);
    if (now->stream && !state.shuffle_shards != !now->shuffle_shards)
        return pp_fail(err, PP_E_USAGE, "--resume %s: that run had --%sshuffle-shards", o->resume,
                       state.shuffle_shards ? "" : "no-");
    if (now->stream && state.shards != shards)
        return pp_fail(err, PP_E_USAGE,
                       "--resume %s: that run read %llu shards, and this one has %llu; name the same shards",
                       o->resume, (unsigned long long)state.shards, (unsigned long long)shards);
    st = pp_state_matches(&state, s, err);
    if (st != PP_OK)
        return st;
    p->loader.start_epoch = state.epoch;
    p->loader.start_position = state.consumed;
    p->loader.from_cursor = o->resume_cursor;
    p->loader.start_cursor = (struct pp_stream_cursor){.shard = state.shard,
                                                       .offset = state.offset,
                                                       .delivered = state.consumed,
                                                       .number = state.number};
    if (o->epochs && state.epoch >= (uint64_t)o->epochs)
        return pp_fail(err, PP_E_USAGE,
                       "--resume %s: that run is in epoch %llu, past --epochs %lld; use more epochs",
                       o->resume, (unsigned long long)state.epoch, (long long)o->epochs);
    return PP_OK;
}

/* The sampler, where the run begins in it, and the state that a later --save-state starts from. */
static pp_status make_order(struct run_parts *p, const struct run_opts *o, struct pp_err *err)
{
    const struct pp_shards_opts *shards = run_shards(o);
    double *weights = NULL;
    int64_t *classes = NULL;
    struct pp_sampler_opts s = {.kind = (enum pp_sampler_kind)o->sampler,
                                .n = pp_dataset_len(p->dataset),
                                .seed = (uint64_t)o->seed,
                                .rank = (uint64_t)o->rank,
                                .world_size = (uint64_t)o->world_size,
                                .drop_last = o->drop_last};
    pp_status st = o->weights ? pp_weights_load(o->weights, s.n, &weights, err) : PP_OK;
    if (st == PP_OK && s.kind == PP_SAMPLER_STRATIFIED)
        st = pp_cli_classes(o->classes, p->dataset, s.n, &classes, err);
    s.weights = weights;
    s.classes = classes;
    if (st == PP_OK && !shards->stream)
        st = pp_sampler_create(&s, &p->sampler, err);
    if (st == PP_OK && o->resume)
        st = apply_resume(p, o, &s, err);
    if (st == PP_OK)
        pp_state_init(&p->state, &s);
    p->state.streaming = shards->stream;
    p->state.shuffle_buffer = (uint64_t)shards->shuffle_buffer;
    p->state.shuffle_shards = shards->shuffle_shards != 0;
    p->state.shards = shards->stream ? pp_shards_of(p->dataset)->n : 0;
    free(weights);
    free(classes);
    return st;
}

/* ---- 4. the loader ---- */

/* Workers, batch size and prefetch, where they were left to us. */
static void choose_sizes(struct run_parts *p, const struct run_opts *o)
{
    struct pp_cpus cpus;
    struct pp_loader_opts *l = &p->loader;
    uint64_t samples = p->sampler ? pp_sampler_len(p->sampler) : 0; /* of this rank's epoch; 0: not known */
    pp_cpus_read(&cpus);
    p->usable_cpus = cpus.usable;
    l->workers = (int)o->workers;
    if (o->workers < 0) {
        l->workers = cpus.usable >= 1 ? (int)floor(cpus.usable) : 1;
        snprintf(p->chosen[0], sizeof(p->chosen[0]), "auto: %.3g usable CPUs", cpus.usable);
    }
    l->batch_size = (uint64_t)o->batch_size;
    if (o->batch_size < 0) {
        int all = samples && samples < DEFAULT_BATCH;
        l->batch_size = all ? samples : DEFAULT_BATCH;
        snprintf(p->chosen[1], sizeof(p->chosen[1]), all ? "auto: all samples" : "auto");
    }
    l->prefetch = (int)o->prefetch;
    if (o->prefetch < 0) {
        double per = (double)l->batch_size * (double)p->row_bytes * l->workers,
               limit = (double)pp_memory_available() * SLOT_MEMORY_SHARE;
        l->prefetch = limit > 0 && per * DEFAULT_PREFETCH > limit ? 1 : DEFAULT_PREFETCH;
        snprintf(p->chosen[2], sizeof(p->chosen[2]),
                 l->prefetch == 1 ? "auto: 1, because 2 would use over a quarter of the memory" : "auto");
    }
}

static void fill_loader_opts(struct run_parts *p, const struct run_opts *o)
{
    struct pp_loader_opts *l = &p->loader;
    struct pp_device_info dev;
    uint64_t filling = (uint64_t)l->workers * (uint64_t)l->prefetch + 1, quarter = (uint64_t)o->steps / 4;
    pp_device_info(p->device, &dev);
    l->dataset = p->dataset;
    l->sampler = p->sampler;
    l->transform = p->transform;
    l->device = p->device;
    l->faults = p->faults;
    l->in_order = !o->out_of_order;
    l->drop_last_batch = o->drop_last;
    l->exif_rotate = o->exif_rotate;
    l->seed = (uint64_t)o->seed;
    l->max_epochs = (uint64_t)o->epochs;
    l->max_steps = (uint64_t)o->steps;
    l->max_ns = o->duration_ns          ? o->duration_ns
                : o->quick              ? UINT64_C(5000000000)
                : o->steps || o->epochs ? 0
                                        : UINT64_C(30000000000);
    l->warmup_steps = o->warmup >= 0                  ? (uint64_t)o->warmup
                      : o->steps && filling > quarter ? quarter
                                                      : filling;
    l->on_error = (enum pp_on_error)o->on_error;
    l->sample_memory = o->max_sample_memory;
    l->inflight = (int)o->inflight;
    l->retries = (int)o->retries;
    l->retry_backoff_ns = (uint64_t)(o->retry_backoff_ms * 1e6);
    l->step_ns = (uint64_t)(o->step_ms * 1e6);
    /* The stand-in has no stream to take turns on: one buffer gives the same order. */
    l->copy_buffers = o->h2d && strcmp(dev.kind, "host") == 0 ? 1 : (int)o->copy_buffers;
    l->sync_every_step = o->sync_every_step;
    l->collective = p->collective;
    l->lease = p->lease;
    l->cached_batches = o->cached_batches;
    l->ballast_cpus = o->cpu_ballast;
    l->streaming = run_shards(o)->stream;
    l->shuffle_shards = run_shards(o)->shuffle_shards;
    l->shuffle_buffer = (uint64_t)run_shards(o)->shuffle_buffer;
    l->rank = (uint64_t)o->rank;
    l->world_size = (uint64_t)o->world_size;
}

/* What the process takes besides slots: libraries, SQLite and its log, threads' stacks, buffers of the
 * decoders, rings (files, but on a tmpfs memory). Measured: 26 MiB with two workers and a recording, 0.9 MiB
 * a worker. */
#define WORKER_BYTES (2 << 20)
#define RECORDER_BYTES (12 << 20)

/* Refuses what the machine or the control group cannot hold, before anything is allocated: beyond a group's
 * limit the kernel ends the run without a word. */
static pp_status check_memory(const struct run_parts *p, int record, struct pp_err *err)
{
    const struct pp_loader_opts *l = &p->loader;
    double row = (double)p->row_bytes,
           slots = (double)l->workers * l->prefetch + (l->decode_on_device ? l->copy_buffers : 1),
           recorder = record ? RECORDER_BYTES : 0, others = recorder + (double)WORKER_BYTES * l->workers,
           need = slots * (double)l->batch_size * row, least = 2 * row + recorder + WORKER_BYTES;
    struct pp_cgroup_memory group;
    uint64_t memory = pp_memory_available();
    char a[32], b[32], c[32];
    int in_group = pp_cgroup_memory(NULL, &group) && group.left_bytes <= memory;
    /* In a small group what is not slots counts; it runs already, so its libraries are there. */
    if (in_group && need + others > (double)group.left_bytes * 0.9) {
        pp_text_bytes(a, sizeof(a), need + others);
        pp_text_bytes(b, sizeof(b), (double)group.left_bytes);
        pp_text_bytes(c, sizeof(c), (double)group.limit_bytes);
        if (least > (double)group.left_bytes * 0.9)
            return pp_fail(
                err, PP_E_NO_MEMORY,
                "the control group's memory limit is %s, and %s of it is left; the smallest run needs %s: raise %s",
                c, b, pp_text_bytes(a, sizeof(a), least),
                group.is_soft ? "memory.high" : "memory.max (docker --memory, Slurm --mem)");
        return pp_fail(
            err, PP_E_USAGE,
            "%.0f slots (%d workers x prefetch %d + 1) of %llu samples and the recorder need %s, and %s is left of the control group's memory limit of %s; lower --batch-size, --prefetch or --workers, or raise the limit",
            slots, l->workers, l->prefetch, (unsigned long long)l->batch_size, a, b, c);
    }
    if (!memory || need < (double)memory * 0.9)
        return PP_OK;
    return pp_fail(
        err, PP_E_USAGE,
        "%.0f slots (%d workers x prefetch %d + 1) of %llu samples need %s, and %s of memory is available; lower --batch-size, --prefetch or --workers",
        slots, l->workers, l->prefetch, (unsigned long long)l->batch_size, pp_text_bytes(a, sizeof(a), need),
        pp_text_bytes(b, sizeof(b), (double)memory));
}

/* ---- all of it ---- */

pp_status run_parts_make(struct run_parts *p, const struct run_request *asked, struct pp_progress *progress,
                         struct pp_err *err)
{
    const struct run_opts *o = &asked->o;
    /* What workers do with a sample and, with --wire u8, what the device does afterwards. */
    const char *spec = o->transform              ? o->transform
                       : o->dtype == PP_DTYPE_U8 ? "rrc:224,hflip"
                                                 : "rrc:224,hflip,normalize=imagenet";
    pp_status st = pp_transform_parse(spec, (enum pp_dtype)o->dtype, &p->transform, err);
    if (st == PP_OK && o->wire == RUN_WIRE_U8 && o->dtype != PP_DTYPE_U8) {
        p->delivered = p->transform;
        p->transform = NULL;
        st = pp_transform_until_normalize(p->delivered, &p->transform, err);
    }
    if (st == PP_OK && o->inject.n)
        st = pp_faults_parse(o->inject.item, o->inject.n, (uint64_t)o->seed, &p->faults, err);
    if (st == PP_OK)
        st = open_device(p, o, err);
    if (st == PP_OK &&
        o->collective) /* the others wait for a rank that has begun, however long its data takes */
        st = pp_collective_join(&(struct pp_collective_opts){.path = o->collective,
                                                             .rank = (uint32_t)o->rank,
                                                             .world_size = (uint32_t)o->world_size,
                                                             .limit_ns = o->collective_limit_ns},
                                &p->collective, err);
    if (st == PP_OK)
        st = open_dataset(p, asked, progress, err);
    if (st == PP_OK)
        st = make_order(p, o, err);
    if (st == PP_OK && o->lease) {
        /* The list of shards is known by the last parts of their names: hosts may have the directory mounted
         * elsewhere. */
        uint64_t shards = pp_shards_of(p->dataset)->n, list = shards;
        for (uint64_t i = 0; i < shards; i++) {
            const char *name = basename(pp_shards_of(p->dataset)->path[i]);
            list = XXH3_64bits_withSeed(name, strlen(name), list);
        }
        st = pp_lease_join(&(struct pp_lease_opts){.dir = o->lease,
                                                   .shards = shards,
                                                   .list = list,
                                                   .seed = (uint64_t)o->seed,
                                                   .shuffled = run_shards(o)->shuffle_shards,
                                                   .job = asked->identity.job,
                                                   .expiry_ns = o->lease_expiry_ns,
                                                   .epochs = (uint64_t)o->epochs},
                           &p->lease, err);
    }
    if (st != PP_OK)
        return st;
    choose_sizes(p, o);
    fill_loader_opts(p, o);
    st = pp_loader_check(&p->loader, err);
    if (st == PP_OK)
        st = run_decode_open(p, o, err);
    return st == PP_OK ? check_memory(p, o->record, err) : st;
}

void run_parts_free(struct run_parts *p)
{
    pp_sampler_destroy(p->sampler);
    pp_transform_destroy(p->transform);
    pp_transform_destroy(p->delivered);
    pp_collective_leave(p->collective);
    pp_lease_leave(p->lease);
    if (p->device)
        pp_device_close(p->device);
    pp_dataset_close(p->dataset);
    pp_faults_destroy(p->faults);
}
