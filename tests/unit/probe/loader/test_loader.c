/* The whole loader on synthetic images and on a small damaged folder: what is delivered, in which order,
 * whatever the number of workers. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/device.h"
#include "probe/loader/fault.h"
#include "probe/loader/loader.h"
#include "probe/ranks/collective.h"
#include "probe/sampler/sampler.h"
#include "probe/trace/trace.h"
#include "probe/transform/transform.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <cmocka.h>

#define MAX_SAMPLES 4096

/* What a run delivered. Written by the copy lane, read after the run. */
struct delivered {
    size_t n, batches;
    uint64_t index[MAX_SAMPLES], epoch[MAX_SAMPLES];
    uint64_t digest; /* of data, labels and indexes, batch after batch */
    size_t row_bytes;
    uint64_t errors, stop_after;
    char first_kind[32], first_action[32];
};

struct rig {
    struct pp_dataset *dataset;
    struct pp_sampler *sampler;
    struct pp_transform *transform;
    struct pp_device *device;
    struct pp_loader_opts opts;
};

static void on_deliver(void *ctx, const struct pp_loader_delivery *got)
{
    struct delivered *d = ctx;
    d->digest = XXH3_64bits_withSeed(got->data, got->samples * d->row_bytes, d->digest + got->batch);
    d->digest = XXH3_64bits_withSeed(got->labels, got->samples * sizeof(*got->labels), d->digest);
    for (size_t i = 0; i < got->samples && d->n < MAX_SAMPLES; i++) {
        d->index[d->n] = got->indexes[i];
        d->epoch[d->n++] = got->epoch;
    }
    d->batches++;
}

static void on_error(void *ctx, const struct pp_loader_error *e)
{
    struct delivered *d = ctx;
    if (__atomic_fetch_add(&d->errors, 1, __ATOMIC_RELAXED) == 0) {
        snprintf(d->first_kind, sizeof(d->first_kind), "%s", e->kind);
        snprintf(d->first_action, sizeof(d->first_action), "%s", e->action);
    }
}

static int on_tick(void *ctx, const struct pp_loader_progress *p)
{
    const struct delivered *d = ctx;
    return d->stop_after && p->batches >= d->stop_after;
}

/* fault: one to inject, or NULL */
static void make_faulty_rig(struct rig *r, const char *spec, int synthetic, enum pp_sampler_kind kind,
                            const char *fault)
{
    struct pp_err err = {0};
    struct pp_faults *faults = NULL;
    memset(r, 0, sizeof(*r));
    if (fault && pp_faults_parse(&fault, 1, 7, &faults, &err) != PP_OK)
        fail_msg("%s", err.text);
    const struct pp_dataset_opts data = {.spec = spec,
                                         .format = synthetic ? "synthetic" : NULL,
                                         .read_faults = pp_faults_reads(faults)};
    if (pp_dataset_open(&data, &r->dataset, &err) != PP_OK)
        fail_msg("%s", err.text);
    if (pp_sampler_create(&(struct pp_sampler_opts){.kind = kind, .n = pp_dataset_len(r->dataset), .seed = 7},
                          &r->sampler, &err) != PP_OK)
        fail_msg("%s", err.text);
    if (pp_transform_parse("rrc:32,hflip,normalize=imagenet", PP_DTYPE_F32, &r->transform, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "host"}, &r->device, &err), PP_OK);
    r->opts = (struct pp_loader_opts){.dataset = r->dataset,
                                      .sampler = r->sampler,
                                      .transform = r->transform,
                                      .device = r->device,
                                      .faults = faults,
                                      .workers = 2,
                                      .prefetch = 2,
                                      .batch_size = 8,
                                      .in_order = 1,
                                      .seed = 7,
                                      .max_epochs = 1,
                                      .copy_buffers = 2,
                                      .world_size = 1};
}

static void make_rig(struct rig *r, const char *spec, int synthetic, enum pp_sampler_kind kind)
{
    make_faulty_rig(r, spec, synthetic, kind, NULL);
}

static void free_rig(struct rig *r)
{
    pp_sampler_destroy(r->sampler);
    pp_transform_destroy(r->transform);
    pp_device_close(r->device);
    pp_dataset_close(r->dataset);
}

static pp_status run(struct rig *r, struct delivered *d, struct pp_loader_result *res, struct pp_err *err)
{
    struct pp_loader *l;
    d->row_bytes = pp_transform_bytes(r->transform);
    r->opts.events = (struct pp_loader_events){.ctx = d,
                                               .error = on_error,
                                               .tick = on_tick,
                                               .deliver = on_deliver};
    pp_status st = pp_loader_create(&r->opts, &l, err);
    if (st != PP_OK)
        return st;
    st = pp_loader_run(l, res, err);
    pp_loader_destroy(l);
    return st;
}

static struct delivered *must_run(struct rig *r, struct pp_loader_result *res)
{
    struct delivered *d = calloc(1, sizeof(*d));
    struct pp_err err = {0};
    if (run(r, d, res, &err) != PP_OK)
        fail_msg("%s", err.text);
    return d;
}

/* The delivered order is the sampler's, epoch after epoch. */
static void assert_follows_sampler(const struct rig *r, const struct delivered *d, uint64_t epoch,
                                   uint64_t position)
{
    struct pp_order *o = NULL;
    uint64_t len = pp_sampler_len(r->sampler);
    for (size_t i = 0; i < d->n; i++, position++) {
        if (position == len || !o) {
            if (position == len)
                epoch++, position = 0;
            pp_order_destroy(o);
            assert_int_equal(pp_order_create(r->sampler, epoch, &o, NULL), PP_OK);
        }
        assert_int_equal(d->epoch[i], epoch);
        assert_int_equal(d->index[i], pp_order_at(o, position));
    }
    pp_order_destroy(o);
}

/* Every read takes 20 ms more: at that rate 400 samples are 4 s of two workers. Once the five slots are full,
 * no sample is read again. */
static void cached_batches_are_delivered_without_reading_them_again(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    struct pp_err err = {0};
    make_faulty_rig(&r, "n=400,size=40x30,unique=4", 1, PP_SAMPLER_SEQUENTIAL, "read-latency=20ms");
    r.opts.cached_batches = 1;
    r.opts.ballast_cpus = 0.1;
    uint64_t before = pp_now_ns();
    struct delivered *d = must_run(&r, &res);
    double s = (double)(pp_now_ns() - before) / 1e9;
    assert_int_equal(res.samples, 400);
    assert_int_equal(d->n, 400);
    assert_true(s >= 5 * 8 * 0.020 / 2); /* the first round is read */
    assert_true(s < 2.5);
    size_t different = 0;
    for (size_t i = 0; i < d->n; i++) {
        size_t k = 0;
        while (k < i && d->index[k] != d->index[i])
            k++;
        different += k == i;
    }
    assert_in_range(different, 8, 5 * 8); /* what the slots hold, and no more */
    free(d);
    pp_faults_destroy(r.opts.faults);
    r.opts.streaming = 1;
    assert_int_equal(pp_loader_check(&r.opts, &err), PP_E_USAGE);
    free_rig(&r);
}

static void batches_are_bit_identical_for_any_number_of_workers(void **state)
{
    (void)state;
    static const int workers[] = {1, 2, 7};
    uint64_t digest[3];
    for (int i = 0; i < 3; i++) {
        struct rig r;
        struct pp_loader_result res;
        make_rig(&r, "n=100,size=40x30..160x120,unique=16", 1, PP_SAMPLER_RANDOM);
        r.opts.workers = workers[i];
        r.opts.max_epochs = 2;
        struct delivered *d = must_run(&r, &res);
        assert_int_equal(d->n, 200);
        assert_int_equal(res.samples, 200);
        assert_int_equal(d->batches, 26); /* 12 of 8 and one of 4, twice */
        assert_follows_sampler(&r, d, 0, 0);
        digest[i] = d->digest;
        free(d);
        free_rig(&r);
    }
    assert_int_equal(digest[0], digest[1]);
    assert_int_equal(digest[0], digest[2]);
}

/* The smallest number of slots, so that a worker that waited for one with rows in hand would wait for ever.
 */
static void reads_ahead_change_no_batch(void **state)
{
    (void)state;
    static const struct {
        int workers, inflight, in_order, drop;
    } rows[] = {{1, 1, 1, 0}, {1, 2, 1, 0}, {3, 5, 1, 0}, {2, 64, 1, 0}, {3, 5, 1, 1}, {3, 5, 0, 0}};
    uint64_t digest[6];
    for (int i = 0; i < 6; i++) {
        struct rig r;
        struct pp_loader_result res;
        make_faulty_rig(&r, "n=100,size=40x30..160x120,unique=16", 1, PP_SAMPLER_RANDOM,
                        "read-errors=0.3,fails=1");
        r.opts.workers = rows[i].workers;
        r.opts.inflight = rows[i].inflight;
        r.opts.in_order = rows[i].in_order;
        r.opts.drop_last_batch = rows[i].drop;
        r.opts.prefetch = 1;
        r.opts.max_epochs = 2;
        r.opts.retries = 2;
        struct delivered *d = must_run(&r, &res);
        assert_int_equal(d->n, rows[i].drop ? 192 : 200);
        assert_int_equal(d->errors, 0);
        assert_true(res.retries > 20);
        if (rows[i].in_order && !rows[i].drop)
            assert_follows_sampler(&r, d, 0, 0);
        digest[i] = d->digest;
        free(d);
        pp_faults_destroy(r.opts.faults);
        free_rig(&r);
    }
    for (int i = 1; i < 4; i++)
        assert_int_equal(digest[0], digest[i]);
}

static void resume_at_every_offset_repeats_and_skips_nothing(void **state)
{
    (void)state;
    for (uint64_t steps = 1; steps <= 9; steps++) {
        struct rig r;
        struct pp_loader_result first, second;
        make_rig(&r, "n=33,size=32x32,unique=4", 1, PP_SAMPLER_RANDOM);
        r.opts.batch_size = 5; /* 7 batches an epoch, the last of 3 */
        r.opts.max_epochs = 2;
        r.opts.max_steps = steps;
        struct delivered *a = must_run(&r, &first);
        assert_int_equal(first.batches, steps);
        r.opts.max_steps = 0;
        r.opts.start_epoch = first.epoch;
        r.opts.start_position = first.position;
        r.opts.workers = 3;
        struct delivered *b = must_run(&r, &second);
        assert_int_equal(a->n + b->n, 66);
        memcpy(a->index + a->n, b->index, b->n * sizeof(*b->index));
        memcpy(a->epoch + a->n, b->epoch, b->n * sizeof(*b->epoch));
        a->n += b->n;
        assert_follows_sampler(&r, a, 0, 0);
        free(a);
        free(b);
        free_rig(&r);
    }
}

static void deliver_out_of_order_and_stop(int inflight)
{
    struct rig r;
    struct pp_loader_result first, second;
    unsigned char seen[128] = {0};
    make_rig(&r, "n=128,size=16x16..400x300,unique=32", 1, PP_SAMPLER_RANDOM);
    r.opts.in_order = 0;
    r.opts.workers = 4;
    r.opts.inflight = inflight;
    struct delivered *a = calloc(1, sizeof(*a));
    a->stop_after = 3;
    assert_int_equal(run(&r, a, &first, NULL), PP_OK);
    assert_true(first.batches >= 3 && first.batches < 16);
    assert_int_equal(first.position, a->n); /* a whole prefix of the epoch: nothing in flight was lost */
    r.opts.start_position = first.position;
    struct delivered *b = must_run(&r, &second);
    for (size_t i = 0; i < a->n; i++)
        seen[a->index[i]]++;
    for (size_t i = 0; i < b->n; i++)
        seen[b->index[i]]++;
    for (int i = 0; i < 128; i++)
        assert_int_equal(seen[i], 1);
    free(a);
    free(b);
    free_rig(&r);
}

static void out_of_order_delivers_each_sample_once_even_when_stopped(void **state)
{
    (void)state;
    deliver_out_of_order_and_stop(1);
    deliver_out_of_order_and_stop(4);
}

static void drop_last_drops_the_short_batch(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    make_rig(&r, "n=30,size=32x32,unique=2", 1, PP_SAMPLER_SEQUENTIAL);
    r.opts.drop_last_batch = 1;
    r.opts.max_epochs = 3;
    struct delivered *d = must_run(&r, &res);
    assert_int_equal(d->batches, 9);
    assert_int_equal(d->n, 72);
    assert_int_equal(d->index[24], 0);
    free(d);
    r.opts.batch_size = 31;
    struct pp_err err;
    struct pp_loader *l;
    assert_int_equal(pp_loader_create(&r.opts, &l, &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "31"));
    free_rig(&r);
}

static void every_batch_flows_with_one_device_buffer_and_sync(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    make_rig(&r, "n=40,size=32x32,unique=2", 1, PP_SAMPLER_SEQUENTIAL);
    r.opts.copy_buffers = 1;
    r.opts.sync_every_step = 1;
    r.opts.step = PP_STEP_SLEEP;
    r.opts.step_ns = 2000000;
    struct delivered *d = must_run(&r, &res);
    assert_int_equal(res.batches, 5);
    assert_true(res.end_ns - res.start_ns >= 5 * 2000000u);
    assert_string_equal(res.ended_by, "epochs");
    for (size_t i = 0; i < res.queues; i++) {
        assert_true(res.queue[i].share_empty >= 0 && res.queue[i].share_empty <= 1.0001);
        assert_true(res.queue[i].mean_depth <= (double)res.queue[i].capacity);
    }
    free(d);
    free_rig(&r);
}

static void duration_ends_a_run_that_gets_no_batch(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    make_rig(&r, "n=64,size=32x32,unique=2,read=200ms", 1, PP_SAMPLER_SEQUENTIAL);
    r.opts.max_epochs = 0;
    r.opts.max_ns = 100000000;
    struct delivered *d = must_run(&r, &res);
    assert_int_equal(res.batches, 0);
    assert_string_equal(res.ended_by, "duration");
    free(d);
    free_rig(&r);
}

/* The backoff doubles: the last of these tries would come after eleven days. */
static void retries_end_with_the_run(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    make_faulty_rig(&r, "n=64,size=32x32,unique=2", 1, PP_SAMPLER_SEQUENTIAL, "read-errors=1,fails=100");
    r.opts.retries = 20;
    r.opts.retry_backoff_ns = 1000000000;
    r.opts.max_ns = 100000000;
    struct delivered *d = calloc(1, sizeof(*d));
    uint64_t began = pp_now_ns();
    assert_int_equal(run(&r, d, &res, NULL), PP_OK);
    assert_true(pp_now_ns() - began < 5000000000u);
    assert_int_equal(res.batches, 0);
    assert_true(res.retries > 0);
    assert_string_equal(res.ended_by, "duration");
    free(d);
    pp_faults_destroy(r.opts.faults);
    free_rig(&r);
}

/* ---- errors are data ---- */

static char folder[64];

static void write_bytes(const char *name, const void *bytes, size_t n)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/c/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* Twelve files, of which 3 (empty), 5 (text) and 11 (cut JPEG) cannot be used. */
static int make_folder(void **state)
{
    struct pp_dataset *syn;
    struct pp_sample s = {0};
    char name[32], sub[96];
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/pp-test-loader-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(sub, sizeof(sub), "%s/c", folder);
    if (mkdir(sub, 0700) != 0 ||
        pp_dataset_open(&(struct pp_dataset_opts){.spec = "n=12,size=48x48,unique=12", .format = "synthetic"},
                        &syn, NULL) != PP_OK)
        return -1;
    for (uint64_t i = 0; i < 12; i++) {
        assert_int_equal(pp_dataset_read(syn, i, &s, NULL), PP_OK);
        snprintf(name, sizeof(name), "%02d.jpg", (int)i);
        write_bytes(name, i == 5 ? (const void *)"not an image" : s.data,
                    i == 3    ? 0
                    : i == 5  ? 12
                    : i == 11 ? s.size / 2
                              : s.size);
    }
    pp_sample_free(&s);
    pp_dataset_close(syn);
    return 0;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void skipping_shortens_batches_and_counts(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    static const uint64_t want[] = {0, 1, 2, 4, 6, 7, 8, 9, 10};
    make_rig(&r, folder, 0, PP_SAMPLER_SEQUENTIAL);
    r.opts.batch_size = 4;
    struct delivered *d = must_run(&r, &res);
    assert_int_equal(res.errors, 3);
    assert_int_equal(res.skipped, 3);
    assert_int_equal(d->errors, 3);
    assert_int_equal(d->n, 9);
    assert_memory_equal(d->index, want, sizeof(want));
    assert_int_equal(res.position,
                     12); /* consumed counts what was skipped: a resume does not meet it again */
    free(d);
    free_rig(&r);
}

static void substitutes_do_not_depend_on_workers(void **state)
{
    (void)state;
    uint64_t digest[2];
    static const uint64_t want[] = {0, 1, 2, 4, 4, 6, 6, 7, 8, 9, 10, 0};
    for (int i = 0; i < 2; i++) {
        struct rig r;
        struct pp_loader_result res;
        make_rig(&r, folder, 0, PP_SAMPLER_SEQUENTIAL);
        r.opts.on_error = PP_ON_ERROR_SUBSTITUTE;
        r.opts.workers = i ? 5 : 1;
        r.opts.inflight = i ? 3 : 1;
        struct delivered *d = must_run(&r, &res);
        assert_int_equal(res.substituted, 3);
        assert_int_equal(d->n, 12);
        assert_memory_equal(d->index, want, sizeof(want));
        digest[i] = d->digest;
        free(d);
        free_rig(&r);
    }
    assert_int_equal(digest[0], digest[1]);
}

static void fail_ends_the_run_with_the_reason(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    struct pp_err err = {0};
    struct delivered *d = calloc(1, sizeof(*d));
    make_rig(&r, folder, 0, PP_SAMPLER_SEQUENTIAL);
    r.opts.on_error = PP_ON_ERROR_FAIL;
    r.opts.workers = 1;
    assert_int_equal(run(&r, d, &res, &err), PP_E_EMPTY);
    assert_non_null(strstr(err.text, "03.jpg"));
    assert_string_equal(d->first_action, "failed");
    assert_string_equal(res.ended_by, "error");
    free(d);
    free_rig(&r);
}

/* ---- streaming ---- */

static char shards[80];

/* Five shards of 23 samples; a batch of 7 does not divide a shard, a rank's share or the epoch. */
static void make_shards(void)
{
    struct pp_dataset *syn;
    struct pp_sample s = {0};
    struct archive *a = NULL;
    snprintf(shards, sizeof(shards), "%s/shards", folder);
    assert_int_equal(mkdir(shards, 0700), 0);
    assert_int_equal(pp_dataset_open(&(struct pp_dataset_opts){.spec = "n=115,size=24x24,unique=8",
                                                               .format = "synthetic"},
                                     &syn, NULL),
                     PP_OK);
    for (uint64_t i = 0; i < 115; i++) {
        char path[160], name[64];
        snprintf(path, sizeof(path), "%s/s-%d.tar", shards, (int)(i / 23));
        if (i % 23 == 0) {
            a = archive_write_new();
            archive_write_set_format_ustar(a);
            assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
        }
        assert_int_equal(pp_dataset_read(syn, i, &s, NULL), PP_OK);
        snprintf(name, sizeof(name), "%05d.jpg", (int)i);
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, name);
        archive_entry_set_size(e, (int64_t)s.size);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, s.data, s.size), (ssize_t)s.size);
        archive_entry_free(e);
        if (i % 23 == 22)
            assert_int_equal(archive_write_free(a), ARCHIVE_OK);
    }
    pp_sample_free(&s);
    pp_dataset_close(syn);
}

static void make_stream_rig(struct rig *r)
{
    make_rig(r, shards, 0, PP_SAMPLER_SEQUENTIAL);
    r->opts.sampler = NULL;
    r->opts.streaming = 1;
    r->opts.shuffle_shards = 1;
    r->opts.shuffle_buffer = 10;
    r->opts.batch_size = 7;
    r->opts.max_epochs = 2;
}

/* Few slots and many workers: most claims wait for a slot, and what they saw before waiting is stale
 * afterwards. */
static void streamed_batches_do_not_depend_on_workers_or_slots(void **state)
{
    (void)state;
    static const struct {
        int workers, prefetch;
    } rows[] = {{1, 1}, {2, 1}, {3, 2}, {8, 1}, {16, 1}, {8, 1}, {16, 1}, {8, 1}};
    uint64_t digest = 0;
    make_shards();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig r;
        struct pp_loader_result res;
        unsigned char seen[2][115] = {{0}};
        make_stream_rig(&r);
        r.opts.workers = rows[i].workers;
        r.opts.prefetch = rows[i].prefetch;
        struct delivered *d = must_run(&r, &res);
        assert_int_equal(d->n, 230);
        assert_int_equal(d->batches, 34); /* 16 of 7 and one of 3, twice */
        for (size_t k = 0; k < d->n; k++)
            seen[d->epoch[k]][d->index[k]]++;
        for (int k = 0; k < 230; k++)
            assert_int_equal(seen[k / 115][k % 115], 1);
        if (i)
            assert_int_equal(d->digest, digest);
        digest = d->digest;
        free(d);
        free_rig(&r);
    }
}

static void stream_resumes_exactly_and_drops_its_short_batch(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    make_stream_rig(&r);
    struct delivered *all = must_run(&r, &res);
    for (uint64_t steps = 1; steps <= 33; steps += 4) {
        struct pp_loader_result first, second;
        r.opts.max_steps = steps;
        struct delivered *a = must_run(&r, &first);
        assert_int_equal(first.batches, steps);
        r.opts.max_steps = 0;
        r.opts.workers = 5;
        r.opts.start_epoch = first.epoch;
        r.opts.start_position = first.position;
        struct delivered *b = must_run(&r, &second);
        assert_int_equal(a->n + b->n, 230);
        assert_memory_equal(all->index, a->index, a->n * sizeof(*a->index));
        assert_memory_equal(all->index + a->n, b->index, b->n * sizeof(*b->index));
        r.opts.start_epoch = r.opts.start_position = 0;
        free(a);
        free(b);
    }
    free(all);
    r.opts.drop_last_batch = 1;
    r.opts.max_steps = 20; /* the batch that is dropped at the end of epoch 0 is no step */
    struct delivered *d = must_run(&r, &res);
    assert_int_equal(res.batches, 20);
    assert_int_equal(d->n, 140);
    free(d);
    free_rig(&r);
}

static void a_run_without_a_batch_stands_where_it_began(void **state)
{
    (void)state;
    struct rig r;
    struct pp_loader_result res;
    make_stream_rig(&r);
    r.opts.max_epochs = r.opts.start_epoch = 1; /* over before it begins */
    r.opts.start_position = 14;
    r.opts.start_cursor = (struct pp_stream_cursor){.shard = 2, .offset = 512, .delivered = 14, .number = 46};
    struct delivered *d = must_run(&r, &res);
    assert_int_equal(res.batches, 0);
    assert_int_equal(res.epoch, 1);
    assert_int_equal(res.position, 14);
    assert_memory_equal(&res.cursor, &r.opts.start_cursor, sizeof(res.cursor));
    free(d);
    free_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_bit_identical_for_any_number_of_workers),
        cmocka_unit_test(reads_ahead_change_no_batch),
        cmocka_unit_test(resume_at_every_offset_repeats_and_skips_nothing),
        cmocka_unit_test(out_of_order_delivers_each_sample_once_even_when_stopped),
        cmocka_unit_test(drop_last_drops_the_short_batch),
        cmocka_unit_test(every_batch_flows_with_one_device_buffer_and_sync),
        cmocka_unit_test(duration_ends_a_run_that_gets_no_batch),
        cmocka_unit_test(retries_end_with_the_run),
        cmocka_unit_test(skipping_shortens_batches_and_counts),
        cmocka_unit_test(substitutes_do_not_depend_on_workers),
        cmocka_unit_test(cached_batches_are_delivered_without_reading_them_again),
        cmocka_unit_test(fail_ends_the_run_with_the_reason),
        cmocka_unit_test(streamed_batches_do_not_depend_on_workers_or_slots),
        cmocka_unit_test(stream_resumes_exactly_and_drops_its_short_batch),
        cmocka_unit_test(a_run_without_a_batch_stands_where_it_began),
    };
    return cmocka_run_group_tests_name("loader", tests, make_folder, remove_folder);
}
