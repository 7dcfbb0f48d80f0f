#include "tui/cli/run/run_record.h"
#include "collectors/store/amend.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/storage/model.h"
#include "report/build/build.h"
#include "tui/cli/recording_name.h"
#include <libgen.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* 1 MiB a thread: 2 s of a worker at 2,500 samples/s before anything could be lost, and the drain looks every
 * 100 ms */
#define RING_SPANS 16384

int run_gpu_expected(void)
{
    return getenv("CUDA_VISIBLE_DEVICES") || access("/dev/nvidia0", F_OK) == 0 ||
           access("/dev/dxg", F_OK) == 0;
}

/* Refuses where the rings of all threads find no room: a thread without one is not recorded, and the report
 * would be about the others. */
static pp_status check_room(const struct run_record *r, int workers, struct pp_err *err)
{
    enum { OTHERS = 4 }; /* main, reader, copy, trainer */
    double ring = RING_SPANS * sizeof(struct pp_span) + 4096, need = (workers + OTHERS) * ring;
    char copy[sizeof(r->path)], a[32], b[32];
    struct rlimit limit;
    struct statvfs fs;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (double)limit.rlim_cur < ring)
        return pp_fail(
            err, PP_E_IO,
            "recording needs files of %s, and the file-size limit (ulimit -f) is %s; raise it, or use --no-record",
            pp_text_bytes(a, sizeof(a), ring), pp_text_bytes(b, sizeof(b), (double)limit.rlim_cur));
    memcpy(copy, r->path, sizeof(copy));
    const char *dir = dirname(copy);
    if (statvfs(dir, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize < need)
        return pp_fail(
            err, PP_E_IO,
            "recording %d workers into %s needs %s, and %s is free in %s; free some space or choose another directory with -o",
            workers, r->path, pp_text_bytes(a, sizeof(a), need),
            pp_text_bytes(b, sizeof(b), (double)fs.f_bavail * (double)fs.f_frsize), dir);
    return PP_OK;
}

static void store_config(struct pp_store *s, const struct pp_opt_set *set, const struct run_parts *p,
                         const char *data_path)
{
    const struct pp_loader_opts *l = &p->loader;
    struct pp_device_info dev;
    char text[512], shown[512];
    pp_store_meta_text(s, "config", "dataset", data_path);
    pp_store_meta_text(s, "config", "format", pp_dataset_format_name(p->dataset));
    pp_dataset_describe(p->dataset, text, sizeof(text));
    pp_store_meta_text(s, "config", "dataset_description", text);
    pp_store_meta_num(s, "config", "dataset_samples", (double)pp_dataset_len(p->dataset), "samples");
    if (l->streaming) {
        double shards = (double)pp_shards_of(p->dataset)->n,
               ranks = l->world_size ? (double)l->world_size : 1;
        pp_store_meta_num(s, "config", "stream_shards", l->lease ? shards : shards / ranks, "shards");
        pp_store_meta_num(s, "config", "request_bytes",
                          (double)pp_storage_request_bytes(pp_shards_of(p->dataset)->storage), "bytes");
    }
    for (int i = 0; set->table[i].name; i++) {
        char key[64];
        snprintf(key, sizeof(key), "%s", set->table[i].name);
        for (char *c = key; *c; c++)
            *c = *c == '-' ? '_' : *c;
        pp_store_meta_text(s, "config", key,
                           pp_text_no_secrets(shown, sizeof(shown),
                                              pp_opts_value(set, i, text, sizeof(text))));
    }
    /* What was asked for as "auto" is stored as what it became. */
    pp_store_meta_num(s, "config", "workers", l->workers, "threads");
    pp_store_meta_num(s, "config", "batch_size", (double)l->batch_size, "samples");
    pp_store_meta_num(s, "config", "prefetch", l->prefetch, "batches");
    pp_store_meta_num(s, "config", "warmup", (double)l->warmup_steps, "batches");
    pp_store_meta_num(s, "config", "duration", (double)l->max_ns, "ns");
    pp_store_meta_num(s, "config", "row_bytes", (double)p->row_bytes, "bytes");
    pp_store_meta_num(s, "config", "step_ns", (double)l->step_ns, "ns");
    pp_store_meta_text(s, "config", "step", pp_step_name(l->step));
    pp_store_meta_text(s, "config", "transform",
                       p->delivered   ? pp_transform_text(p->delivered)
                       : p->transform ? pp_transform_text(p->transform)
                                      : "none");
    pp_store_meta_text(s, "config", "wire", p->delivered ? "u8" : "dtype");
    pp_store_meta_text(s, "config", "simd", pp_transform_simd());
    static const char *const keys[] = {"workers", "batch_size", "prefetch"};
    for (int i = 0; i < 3; i++)
        if (p->chosen[i][0])
            pp_store_meta_text(s, "chosen", keys[i], p->chosen[i]);
    if (p->model) {
        snprintf(text, sizeof(text), "an assumption, and no measurement: %s", p->model->text);
        pp_store_meta_text(s, "chosen", "like", text);
    }
    pp_device_info(p->device, &dev);
    pp_store_meta_text(s, "config", "device", dev.kind);
    pp_store_meta_text(s, "config", "device_kind", dev.kind);
    pp_store_meta_text(s, "config", "device_name", dev.name);
    if (dev.passed_over && run_gpu_expected()) {
        snprintf(text, sizeof(text), "auto: %s", dev.passed_over);
        pp_store_meta_text(s, "chosen", "device", text);
    }
    run_decode_store(s, p);
    pp_store_meta_num(s, "config", "copy_buffers", l->copy_buffers, "batches");
    pp_store_meta_num(s, "config", "pinned", dev.pinned, NULL);
}

static int sample_path(void *ctx, uint64_t sample, char *buf, size_t size)
{
    struct run_record *r = ctx;
    if (r->dataset) {
        if (sample >= pp_dataset_len(r->dataset))
            return 0;
        pp_dataset_path(r->dataset, sample, buf, size);
        return 1;
    }
    pthread_mutex_lock(&r->naming);
    int known = r->loader && pp_loader_sample_path(r->loader, sample, buf, size);
    pthread_mutex_unlock(&r->naming);
    return known;
}

void run_record_follow(struct run_record *r, struct pp_loader *loader)
{
    if (!r->recording)
        return;
    pthread_mutex_lock(&r->naming);
    r->loader = loader;
    pthread_mutex_unlock(&r->naming);
}

pp_status run_record_begin(struct run_record *r, const struct run_request *asked,
                           const struct run_parts *parts, struct pp_err *err)
{
    const struct run_opts *o = &asked->o;
    const char *data_path = run_synthetic(o) ? run_synthetic(o) : asked->operands[0];
    struct pp_recording_opts opts = {
        .store = {.force = o->force,
                  .max_rows = o->max_rows,
                  .detail = (enum pp_detail)o->detail,
                  .max_bytes = o->max_bytes},
        .ring_spans = RING_SPANS,
        .resources = 1,
        .tool = "pipeprobe",
        .started_ns = asked->started_ns,
        .data_path = asked->operands[0],
        .sample_path = sample_path,
        .sample_ctx = r,
        .device = parts->device,
        .gpu_activity = o->gpu_activity,
        .identity = asked->identity,
    };
    pthread_mutex_init(&r->naming, NULL);
    r->dataset = o->loader == RUN_LOADER_PYTORCH ? parts->dataset : NULL;
    pp_status st = check_room(r, parts->loader.workers, err);
    if (st == PP_OK)
        st = pp_recording_create_named(o->output, asked->named_by_rank ? &asked->identity : NULL, &opts,
                                       r->path, &r->recording, err);
    if (st != PP_OK)
        return st;
    struct pp_store *store = pp_recording_store(r->recording);
    struct pp_session *session = pp_recording_session(r->recording);
    store_config(store, &asked->set, parts, data_path);
    if (asked->o.resume)
        pp_store_meta_num(store, "config", "start_position", (double)parts->loader.start_position, "samples");
    /* What opening the data set met is among the errors of the file too: a shard cut short is data that the
     * run did not see. */
    const char *text;
    for (size_t i = 0; (text = pp_dataset_warning(parts->dataset, i)); i++)
        pp_store_error(store, &(struct pp_store_error){.t_ns = pp_now_ns(),
                                                       .batch = PP_NO_BATCH,
                                                       .sample = PP_NO_SAMPLE,
                                                       .path = data_path,
                                                       .kind = "warning",
                                                       .action = "noted",
                                                       .reason = text});
    pp_store_meta_num(store, "result", "span_cost_ns", (double)pp_lap_cost_ns(session), "ns");
    /* What went by before there was a ring. */
    struct pp_thread *main_thread = pp_thread_register(session, PP_LANE_MAIN, "pp-main");
    pp_span_put(main_thread,
                &(struct pp_span){.start_ns = asked->started_ns,
                                  .dur_ns = (r->opened_ns ? r->opened_ns : pp_now_ns()) - asked->started_ns,
                                  .phase = PP_PHASE_STARTUP,
                                  .sample = PP_NO_SAMPLE,
                                  .batch = PP_NO_BATCH});
    pp_thread_retire(main_thread);
    return pp_recording_start(r->recording, asked->command_line, err);
}

static void store_loader(struct pp_store *s, const struct pp_loader_result *res)
{
    pp_store_meta_num(s, "result", "retries", (double)res->retries, "reads");
    pp_store_meta_num(s, "result", "skipped", (double)res->skipped, "samples");
    pp_store_meta_num(s, "result", "substituted", (double)res->substituted, "samples");
    pp_store_meta_num(s, "result", "opens", (double)res->opens, "files");
    pp_store_meta_num(s, "result", "reads", (double)res->reads, "reads");
    pp_store_meta_num(s, "result", "allocations_warm", (double)res->allocations_warm, "allocations");
    pp_store_meta_num(s, "result", "slots", (double)res->slots, "slots");
    pp_store_meta_num(s, "result", "slot_bytes", (double)res->slot_bytes, "bytes");
    pp_store_meta_num(s, "result", "footprint_bytes", (double)res->footprint_bytes, "bytes");
    pp_store_meta_num(s, "result", "position", (double)res->position, "samples");
    if (res->images) {
        pp_store_meta_num(s, "result", "images", (double)res->images, "images");
        pp_store_meta_num(s, "result", "images_baseline_jpeg", (double)res->images_baseline_jpeg, "images");
        pp_store_meta_num(s, "result", "image_pixels", (double)res->image_pixels, "pixels");
    }
    if (res->leases) {
        pp_store_meta_num(s, "result", "leases", (double)res->leases, "shards");
        pp_store_meta_num(s, "result", "leases_stolen", (double)res->leases_stolen, "shards");
        pp_store_meta_num(s, "result", "leases_lost", (double)res->leases_lost, "shards");
        if (res->leases_holder[0])
            pp_store_meta_text(s, "result", "leases_holder", res->leases_holder);
    }
    if (res->meetings)
        pp_store_meta_num(s, "result", "meetings", (double)res->meetings, "steps");
    for (size_t i = 0; i < res->queues; i++) {
        const struct pp_loader_queue *q = &res->queue[i];
        pp_store_queue(s, &(struct pp_store_queue){.name = q->name,
                                                   .capacity = q->capacity,
                                                   .puts = q->puts,
                                                   .gets = q->gets,
                                                   .put_wait_ns = q->put_wait_ns,
                                                   .get_wait_ns = q->get_wait_ns,
                                                   .mean_depth = q->mean_depth,
                                                   .share_empty = q->share_empty,
                                                   .share_full = q->share_full});
    }
}

pp_status run_record_end(struct run_record *r, const struct pp_loader_result *result, const char *outcome,
                         struct pp_err *err)
{
    pp_recording_stop(r->recording);
    /* What any loader's trainer knows. */
    struct pp_store *s = pp_recording_store(r->recording);
    uint64_t first_ns = result->first_batch_ns ? result->first_batch_ns - result->start_ns : 0;
    pp_store_meta_num(s, "result", "batches", (double)result->batches, "batches");
    pp_store_meta_num(s, "result", "samples", (double)result->samples, "samples");
    pp_store_meta_num(s, "result", "errors", (double)result->errors, "errors");
    pp_store_meta_num(s, "result", "trainer_start_mono_ns", (double)result->start_ns, "ns");
    pp_store_meta_num(s, "result", "trainer_end_mono_ns", (double)result->end_ns, "ns");
    pp_store_meta_num(s, "result", "first_batch_ns", (double)first_ns, "ns");
    pp_store_meta_num(s, "result", "samples_per_s", pp_loader_rate(result), "samples/s");
    pp_store_meta_num(s, "result", "epoch", (double)result->epoch, "epochs");
    pp_store_meta_text(s, "result", "ended_by", result->ended_by);
    if (result->given_up)
        pp_store_loss(
            s, "reads", result->given_up,
            "they had not returned half a second after the run was interrupted; their spans are unfinished");
    if (!r->dataset) {
        store_loader(s, result);
        run_decode_store_result(s, &result->decode);
    }
    return pp_recording_finish(r->recording, outcome, 0, err);
}

void run_record_name_slow(const char *path, const struct pp_dataset *data)
{
    enum { NAME = 300 };
    struct pp_note notes[PP_REPORT_SLOW_SAMPLES];
    char key[PP_REPORT_SLOW_SAMPLES][16], value[PP_REPORT_SLOW_SAMPLES][NAME + 64], name[NAME];
    size_t n = 0;
    struct pp_err err;
    struct pp_report *r = NULL;
    if (!data || pp_report_build(path, &r, &err) != PP_OK)
        return;
    for (size_t i = 0; i < r->n_slow_samples && i < PP_REPORT_SLOW_SAMPLES; i++) {
        const struct pp_report_slow_sample *s = &r->slow_samples[i];
        if (isnan(s->sample) || s->name || pp_dataset_streams(data) ||
            s->sample >= (double)pp_dataset_len(data))
            continue;
        snprintf(key[n], sizeof(key[n]), "0.0.%zu", n); /* PID.NUMBER.ROW, as of a job's loaders */
        snprintf(value[n], sizeof(value[n]), "%.0f %.0f 0 %s", s->sample, isnan(s->batch) ? 0 : s->batch,
                 pp_dataset_path(data, (uint64_t)s->sample, name, sizeof(name)));
        notes[n] = (struct pp_note){key[n], value[n]};
        n++;
    }
    pp_report_free(r);
    if (n)
        pp_note_write(path, "slow_sample", notes, n, NULL);
}
