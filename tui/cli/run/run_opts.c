#include "tui/cli/run/run_opts.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/format.h"
#include "probe/sampler/sampler.h"
#include "probe/storage/cache/cache.h"
#include <assert.h>
#include <libgen.h>
#include <unistd.h>

static const struct pp_opt_choice loader_choices[] = {
    {"pipeprobe", "pipeprobe's own"},
    {"pytorch", "PyTorch's DataLoader, then pipeprobe's own beside it"},
    {NULL, NULL},
};
static const struct pp_opt_choice dtype_choices[] = {
    {"f32", "float32 NCHW"},
    {"f16", "float16 NCHW"},
    {"u8", "uint8 NHWC, not normalised"},
    {NULL, NULL},
};
static const struct pp_opt_choice wire_choices[] = {
    {"dtype", "batches as delivered"},
    {"u8", "bytes, normalised on the device: a quarter of f32 to copy"},
    {NULL, NULL},
};
static const struct pp_opt_choice on_error_choices[] = {
    {"skip", "leave the sample out"},
    {"substitute", "take the next sample instead"},
    {"fail", "end the run"},
    {NULL, NULL},
};
/* In the order of enum pp_detail. */
static const struct pp_opt_choice detail_choices[] = {
    {"sample", "every span"},
    {"batch", "spans of samples summed per batch"},
    {"rollup", "spans except the trainer's summed per phase"},
    {NULL, NULL},
};
/* In the order of enum pp_cache_policy_id. */
static const struct pp_opt_choice cache_choices[] = {
    {"keep", "what each epoch reads stays, the rest is not stored: the most hits of epochs"},
    {"clock", "what was not read for the longest goes"},
    {"fifo", "what was stored first goes"},
    {NULL, NULL},
};
static const struct pp_opt_choice step_choices[] = {
    {"auto", "with --step-ms: cuda on a CUDA device, else sleep; without: none"},
    {"none", "no step: measures the ceiling"},
    {"sleep", "simulated GPU step: takes --step-ms and no CPU"},
    {"spin", "takes --step-ms of CPU time"},
    {"cuda", "a kernel that keeps the GPU busy for --step-ms, on one thread of it"},
    {"cuda-work", "work on all multiprocessors: --step-ms alone, longer beside other kernels"},
    {NULL, NULL},
};
static const struct pp_opt_choice device_choices[] = {
    {"auto", "cuda when a device is usable, else host"},
    {"host", "simulated GPU: a link of given bandwidth"},
    {"cuda", "an NVIDIA GPU"},
    {NULL, NULL},
};
/* In the order of enum run_decode. */
static const struct pp_opt_choice decode_choices[] = {
    {"cpu", "JPEG by libjpeg-turbo, in the workers"},
    {"nvjpeg", "JPEG, resize and normalise on the GPU, a batch at a time"},
    {"auto", "nvjpeg where it can be used, else cpu"},
    {NULL, NULL},
};
/* In the order of run_decode.c's table. */
static const struct pp_opt_choice backend_choices[] = {
    {"auto", "engines where there are any, else what the batch size is for"},
    {"hardware", "the device's JPEG engines"},
    {"hardware-device", "engines that read encoded bytes from the device's memory"},
    {"gpu-hybrid", "the GPU's multiprocessors; for batches above 50"},
    {"gpu-hybrid-device", "the same from the device's memory"},
    {"hybrid", "the CPU decodes Huffman codes, the GPU the rest"},
    {NULL, NULL},
};
static const struct pp_opt_choice h2d_choices[] = {
    {"async", "copies overlap the step"},
    {"sync", "copy and step do not overlap, as with a blocking copy"},
    {NULL, NULL},
};
/* As the table of storage/model.h has them. */
static const struct pp_opt_choice like_choices[] = {
    {"none", NULL},   {"s3", NULL},      {"s3-express", NULL}, {"nfs", NULL},
    {"lustre", NULL}, {"aistore", NULL}, {NULL, NULL},
};
static const struct pp_opt_choice color_choices[] = {
    {"auto", "when stdout is a terminal"},
    {"always", NULL},
    {"never", NULL},
    {NULL, NULL},
};

#define AT(field) offsetof(struct run_opts, field)
#define MANY 9e15
#define STEP_MS_LEAST 0.001
#define STEP_MS_MOST 1e7

/* clang-format off */
static const struct pp_opt own_rows[] = {
    {.name = "exif-rotate", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(exif_rotate), .dflt = "0",
     .help = "apply EXIF orientation (PIL and torchvision do not)"},

    {.name = "loader", .type = PP_OPT_CHOICE, .offset = AT(loader), .choices = loader_choices, .arg = "KIND",
     .dflt = "pipeprobe", .group = "Loader", .help = "pipeprobe, or pytorch: PyTorch's DataLoader beside it"},
    {.name = "python", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(python), .arg = "PATH",
     .help = "--loader pytorch: interpreter (default $VIRTUAL_ENV, python3)"},
    {.name = "against", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(against), .arg = "FILE",
     .help = "--loader pytorch: compare with FILE, or none; run nothing else"},
    {.name = "workers", .letter = 'w', .type = PP_OPT_INT, .offset = AT(workers), .min = 1, .max = 1024,
     .arg = "N", .dflt = "auto", .has_auto = 1,
     .help = "decoding threads (auto: usable CPUs)"},
    {.name = "batch-size", .letter = 'b', .type = PP_OPT_INT, .offset = AT(batch_size), .min = 1, .max = 1e6,
     .arg = "N", .dflt = "auto", .has_auto = 1,
     .help = "samples per batch (auto: 64, fewer for small data sets)"},
    {.name = "prefetch", .type = PP_OPT_INT, .offset = AT(prefetch), .min = 1, .max = 1024, .arg = "N",
     .dflt = "auto", .has_auto = 1,
     .help = "batches in flight per worker (auto: 2, or 1 if memory is short)"},
    {.name = "inflight", .advanced = 1, .type = PP_OPT_INT, .offset = AT(inflight), .min = 1, .max = 256,
     .arg = "N", .dflt = "1", .help = "reads in flight per worker, for storage with latency"},
    {.name = "cache", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(cache), .arg = "DIR",
     .help = "keep what is read of http, s3 or a slow disk in DIR, for later epochs and runs"},
    {.name = "cache-bytes", .advanced = 1, .type = PP_OPT_SIZE, .offset = AT(cache_bytes), .arg = "SIZE",
     .dflt = "10GiB", .help = "what the cache may take, at least 1MiB"},
    {.name = "cache-policy", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(cache_policy),
     .choices = cache_choices, .arg = "POLICY", .dflt = "keep", .help = "a full cache: keep, clock or fifo"},
    {.name = "transform", .letter = 't', .type = PP_OPT_STRING, .offset = AT(transform), .arg = "SPEC",
     .help = "default rrc:224,hflip,normalize=imagenet (u8: not normalised)"},
    {.name = "dtype", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(dtype), .choices = dtype_choices,
     .arg = "f32|f16|u8", .dflt = "f32", .help = "data type of the batches"},
    {.name = "wire", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(wire), .choices = wire_choices,
     .arg = "dtype|u8", .dflt = "dtype", .help = "what is copied to the device"},
    {.name = "out-of-order", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(out_of_order), .dflt = "0",
     .help = "deliver batches in order of completion"},
    {.name = "drop-last", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(drop_last), .dflt = "0",
     .help = "drop the short last batch (and the ranks' padding)"},

    {.name = "sampler", .type = PP_OPT_CHOICE, .offset = AT(sampler), .choices = pp_cli_samplers,
     .arg = "KIND", .dflt = "random", .group = "Order",
     .help = "sequential, random, torch, weighted or stratified"},
    {.name = "weights", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(weights), .arg = "FILE",
     .help = "one weight per line, for --sampler weighted"},
    {.name = "classes", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(classes), .arg = "FILE",
     .help = "one class per line, for --sampler stratified (default: the labels)"},
    {.name = "seed", .type = PP_OPT_INT, .offset = AT(seed), .min = 0, .max = MANY, .arg = "N", .dflt = "0",
     .help = "seed of order and augmentation"},
    {.name = "rank", .advanced = 1, .type = PP_OPT_INT, .offset = AT(rank), .min = 0, .max = 1e6, .arg = "R",
     .dflt = "0", .help = "this rank of --world-size (default: the launcher's)"},
    {.name = "world-size", .advanced = 1, .type = PP_OPT_INT, .offset = AT(world_size), .min = 1, .max = 1e6,
     .arg = "W", .dflt = "1", .help = "ranks that share an epoch (default: the launcher's)"},
    {.name = "ranks", .advanced = 1, .type = PP_OPT_INT, .offset = AT(ranks), .min = 1, .max = 64, .arg = "N",
     .dflt = "1", .help = "start N ranks here, into NAME.rank0.sqlite, ..."},
    {.name = "collective", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(collective), .arg = "FILE",
     .help = "synchronise with the other ranks after each step; a shared file"},
    {.name = "collective-limit", .advanced = 1, .type = PP_OPT_DURATION, .offset = AT(collective_limit_ns),
     .arg = "TIME", .dflt = "60s", .help = "timeout for a missing rank"},
    {.name = "lease", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(lease), .arg = "DIR",
     .help = "--stream: ranks lease shards in a shared directory; uneven ranks"},
    {.name = "lease-expiry", .advanced = 1, .type = PP_OPT_DURATION, .offset = AT(lease_expiry_ns),
     .arg = "TIME", .dflt = "60s", .help = "a rank without a heartbeat for so long is dead"},

    {.name = "duration", .letter = 'd', .type = PP_OPT_DURATION, .offset = AT(duration_ns), .arg = "TIME",
     .group = "End of the run",
     .help = "30s (the default without --steps or --epochs), 2m, 1h"},
    {.name = "quick", .type = PP_OPT_FLAG, .offset = AT(quick), .dflt = "0",
     .help = "a first answer in three sentences, after 5 s (a verdict needs 1 s and 10 batches after warm-up)"},
    {.name = "steps", .type = PP_OPT_INT, .offset = AT(steps), .min = 1, .max = MANY, .arg = "N",
     .help = "stop after N batches"},
    {.name = "epochs", .type = PP_OPT_INT, .offset = AT(epochs), .min = 1, .max = 65535, .arg = "N",
     .help = "stop after epoch N"},
    {.name = "warmup", .advanced = 1, .type = PP_OPT_INT, .offset = AT(warmup), .min = 0, .max = MANY,
     .arg = "N", .dflt = "auto", .has_auto = 1,
     .help = "first batches not judged (auto: one filling of the prefetch)"},
    {.name = "save-state", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(save_state), .arg = "FILE",
     .help = "write the position at the end of the run"},
    {.name = "resume", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(resume), .arg = "FILE",
     .help = "continue from a saved position"},
    {.name = "resume-cursor", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(resume_cursor), .dflt = "0",
     .help = "--stream: from the saved shard and offset"},

    {.name = "step-ms", .type = PP_OPT_DOUBLE, .offset = AT(step_ms), .min = STEP_MS_LEAST,
     .max = STEP_MS_MOST, .arg = "MS", .group = "Trainer and device",
     .help = "your GPU's time per batch, without waiting"},
    {.name = "step", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(step),
     .length_offset = AT(step_length_ns), .choices = step_choices, .arg = "KIND", .dflt = "auto",
     .help = "none, sleep, spin, cuda or cuda-work; cuda:20ms sets the length too"},
    {.name = "device", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(device), .choices = device_choices,
     .arg = "KIND", .dflt = "auto", .help = "auto, host or cuda"},
    {.name = "decode", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(decode), .choices = decode_choices,
     .arg = "WHERE", .dflt = "cpu", .help = "where JPEG is decoded: cpu, nvjpeg or auto"},
    {.name = "nvjpeg-backend", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(nvjpeg_backend),
     .choices = backend_choices, .arg = "NAME", .dflt = "auto",
     .help = "of nvJPEG: auto, hardware, gpu-hybrid, hybrid, ..."},
    {.name = "link-gbps", .advanced = 1, .type = PP_OPT_DOUBLE, .offset = AT(link_gbps), .min = 0.001,
     .max = 10000, .arg = "GB/s", .dflt = "25", .help = "bandwidth of the host device's link, in 1e9 bytes/s"},
    {.name = "pageable", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(pageable), .dflt = "0",
     .help = "pageable batch memory"},
    {.name = "h2d", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(h2d), .choices = h2d_choices,
     .arg = "async|sync", .dflt = "async", .help = "how batches are copied to the device"},
    {.name = "copy-buffers", .advanced = 1, .type = PP_OPT_INT, .offset = AT(copy_buffers), .min = 1,
     .max = 64, .arg = "N", .dflt = "2", .help = "batches on the device (1: copy and step do not overlap)"},
    {.name = "sync-every-step", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(sync_every_step),
     .dflt = "0", .help = "wait for the device after every step"},
    {.name = "gpu-activity", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(gpu_activity), .dflt = "1",
     .help = "CUDA: record GPU activity with CUPTI"},

    {.name = "cached-batches", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(cached_batches), .dflt = "0",
     .help = "repeat finished batches: an infinitely fast loader"},
    {.name = "cpu-ballast", .advanced = 1, .type = PP_OPT_DOUBLE, .offset = AT(cpu_ballast), .min = 0,
     .max = 1024, .arg = "CPUS", .dflt = "0", .help = "use as much CPU meanwhile as the input pipeline would"},

    {.name = "inject", .type = PP_OPT_LIST, .offset = AT(inject), .arg = "FAULT",
     .group = "Fault injection",
     .help = "read-latency=20ms, decode-cost=3, ...; --inject list shows all"},

    {.name = "on-error", .type = PP_OPT_CHOICE, .offset = AT(on_error), .choices = on_error_choices,
     .arg = "POLICY", .dflt = "skip", .group = "Errors",
     .help = "for an unusable sample: skip, substitute or fail"},
    {.name = "retries", .advanced = 1, .type = PP_OPT_INT, .offset = AT(retries), .min = 0, .max = 100,
     .arg = "N", .dflt = "3", .help = "retries of a read that failed and may succeed later: EIO, ESTALE, 503, a cut connection"},
    {.name = "retry-backoff-ms", .advanced = 1, .type = PP_OPT_DOUBLE, .offset = AT(retry_backoff_ms),
     .min = 0, .max = 60000, .arg = "MS", .dflt = "10", .help = "wait before the first retry; doubles with each retry"},
    {.name = "remote-timeout", .advanced = 1, .type = PP_OPT_DOUBLE, .offset = AT(remote_timeout), .min = 1,
     .max = 3600, .arg = "S", .dflt = "30", .help = "http, s3: a request that brings nothing for so long fails"},

    {.name = "like", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(like), .choices = like_choices,
     .arg = "KIND", .dflt = "none",
     .help = "for planning: reads take the time of s3, s3-express, nfs, lustre or aistore (an assumption)"},

    {.name = "max-sample-memory", .advanced = 1, .type = PP_OPT_SIZE, .offset = AT(max_sample_memory),
     .arg = "SIZE", .dflt = "512MiB",
     .help = "memory of one sample: file and decode; one that needs more is unusable"},

    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .group = "Output",
     .help = "the recording (default pipeprobe-DATE-TIME.sqlite)"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force), .dflt = "0",
     .help = "replace FILE"},
    {.name = "record", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(record), .dflt = "1",
     .help = "--no-record: throughput only, no file"},
    {.name = "max-rows", .advanced = 1, .type = PP_OPT_SIZE, .offset = AT(max_rows), .arg = "N",
     .help = "plain span rows in FILE (default 5M)"},
    {.name = "detail", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(detail), .choices = detail_choices,
     .arg = "LEVEL", .dflt = "sample", .help = "sample, batch or rollup: the spans kept in FILE"},
    {.name = "max-bytes", .advanced = 1, .type = PP_OPT_SIZE, .offset = AT(max_bytes), .arg = "N",
     .help = "size limit of FILE, at least 1MiB; details are dropped first"},
    {.name = "prove", .type = PP_OPT_FLAG, .offset = AT(prove), .dflt = "0",
     .help = "also run the best change, and an infinitely fast loader"},
    {.name = "prove-rounds", .advanced = 1, .type = PP_OPT_INT, .offset = AT(prove_rounds), .min = 1,
     .max = 100, .arg = "N", .dflt = "1", .help = "rounds of --prove; 2 or more give an interval"},
    {.name = "keep-proof", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(keep_proof), .dflt = "0",
     .help = "keep the recordings of --prove next to FILE"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .dflt = "0",
     .help = "the report as JSON on stdout"},
    {.name = "digest", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(digest), .dflt = "0",
     .help = "print a digest of every batch delivered"},
    {.name = "list-delivered", .advanced = 1, .type = PP_OPT_STRING, .offset = AT(list_delivered),
     .arg = "FILE", .help = "write batch<TAB>index of every sample delivered"},
    {.name = "top", .type = PP_OPT_FLAG, .offset = AT(top), .dflt = "0",
     .help = "show the run live; q leaves the display, the run continues"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet), .dflt = "0",
     .help = "no progress, no notes on stderr"},
    {.name = "color", .advanced = 1, .type = PP_OPT_CHOICE, .offset = AT(color), .choices = color_choices,
     .arg = "WHEN", .dflt = "auto", .help = "auto, always or never"},

    DIGEST_OPT_ROWS(AT(digest_to), 1),
    METRICS_OPT_ROWS(AT(metrics), 1),
    {.name = NULL},
};
/* clang-format on */

struct pp_opt run_opt_table[PP_OPTS_MAX + 1];

/* Before main: --help, completion and the manual page read the table too. */
__attribute__((constructor)) static void make_table(void)
{
    struct pp_opt *end = pp_dataset_options_rows(run_opt_table, 0, SIZE_MAX, 1, AT(formats));
    assert((size_t)(end - run_opt_table) + sizeof(own_rows) / sizeof(*own_rows) <= PP_OPTS_MAX + 1);
    memcpy(end, own_rows, sizeof(own_rows));
}

enum pp_opt_source run_opt_source(const struct pp_opt_set *set, const char *name)
{
    for (int i = 0; set->table[i].name; i++)
        if (!strcmp(set->table[i].name, name))
            return (enum pp_opt_source)set->source[i];
    return PP_OPT_DEFAULT;
}

int run_opt_given(const struct pp_opt_set *set, const char *name)
{
    return run_opt_source(set, name) != PP_OPT_DEFAULT;
}

/* A file that is written when the run ends: a name that cannot be written must not cost the run first. */
static pp_status check_destination(const char *option, const char *path, struct pp_err *err)
{
    char copy[PATH_MAX];
    if (!path)
        return PP_OK;
    if (strlen(path) >= sizeof(copy))
        return pp_fail(err, PP_E_USAGE, "--%s: the name is too long (%zu bytes)", option, strlen(path));
    if (pp_is_directory(path))
        return pp_fail(err, PP_E_USAGE, "--%s: %s is a directory; name a file in it", option, path);
    const char *dir = dirname(strcpy(copy, path));
    if (access(dir, W_OK | X_OK) != 0)
        return pp_fail_errno(err, errno, "--%s: %s cannot be written: directory %s", option, path, dir);
    return PP_OK;
}

static pp_status check_pair(const struct pp_opt_set *set, const char *option, const char *needs,
                            struct pp_err *err)
{
    if (run_opt_source(set, option) != PP_OPT_GIVEN || run_opt_given(set, needs))
        return PP_OK;
    return pp_fail(err, PP_E_USAGE, "--%s goes with --%s; give both, or leave it out", option, needs);
}

int run_opts_read(struct run_request *asked, const struct pp_command *cmd, int argc, char **argv)
{
    struct pp_err err;
    asked->argc = argc;
    asked->argv = argv;
    asked->set = (struct pp_opt_set){.table = run_opt_table, .fields = &asked->o};
    asked->operands = calloc((size_t)argc + 1, sizeof(*asked->operands));
    char *line = NULL, *stored = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&line, &n);
    for (int i = 0; f && i < argc; i++)
        fprintf(f, "%s %s", i ? "" : "pipeprobe", argv[i]);
    if (f && fclose(f) == 0 && (stored = malloc(n + 1)))
        pp_text_no_secrets(stored, n + 1, line);
    free(line);
    asked->command_line = stored;
    if (!asked->operands || !asked->command_line) {
        pp_fail(&err, PP_E_NO_MEMORY, "no memory");
        return pp_cli_fail(cmd, &err);
    }
    int code = pp_cli_parse(cmd, &asked->set, argc, argv, asked->operands, &asked->n_operands);
    if (code < 0) {
        /* Rank and world size, unless told, from the launcher's environment. */
        struct run_opts *o = &asked->o;
        struct pp_identity *id = &asked->identity;
        int told = run_opt_given(&asked->set, "rank") || run_opt_given(&asked->set, "world-size"),
            known = pp_identity_read(id);
        if (!told && known && o->ranks < 2) {
            o->rank = id->rank;
            o->world_size = id->world_size;
            asked->named_by_rank = 1;
        } else if (!known || id->rank != o->rank || id->world_size != o->world_size) {
            *id = pp_identity_of(told ? "options" : NULL, o->rank, o->world_size);
            /* The name of the directory that the ranks of one `run --ranks` meet in is random, and so the
             * job's own. */
            const char *at = o->collective ? strstr(o->collective, "/" RUN_MEETING_PREFIX) : NULL;
            if (at)
                snprintf(id->job, sizeof(id->job), "%.*s", (int)strcspn(at + 1, "/"), at + 1);
        }
    }
    return code;
}

/* Options that do not go together, or mean nothing. */
static pp_status check_together(const struct run_opts *o, const struct pp_opt_set *set, int operands,
                                struct pp_err *err)
{
    const struct {
        int broken;
        const char *why;
    } rules[] = {
        {!operands && !run_synthetic(o),
         "no DATASET given: name a directory of images, tar shards, a token file, or --synthetic SPEC"},
        {operands && run_synthetic(o), "--synthetic replaces DATASET; leave out one of the two"},
        {run_opt_source(set, "digest-to") == PP_OPT_GIVEN && o->digest_to.directory[0] && o->world_size < 2 &&
             o->ranks < 2,
         "--digest-to is for the ranks of a job: start it with a launcher, or give --ranks, or leave it out"},
        {o->digest_to.directory && o->digest_to.directory[0] && !o->record,
         "a digest is of the recording: leave out --digest-to, or --no-record"},
        {o->collective && o->prove,
         "--prove runs this rank alone, and --collective waits for other ranks; leave out one of the two"},
        {o->step == RUN_STEP_NONE && o->step_ms > 0,
         "--step none has no length; leave out --step-ms or use --step sleep"},
        {o->step == RUN_STEP_CUDA && o->device == RUN_DEVICE_HOST,
         "--step cuda runs on the GPU: use it with --device cuda, or --step sleep with the host"},
        {o->step == RUN_STEP_CUDA_WORK && o->device == RUN_DEVICE_HOST,
         "--step cuda-work runs on the GPU: use it with --device cuda, or --step sleep with the host"},
        {o->decode == RUN_DECODE_NVJPEG && o->device == RUN_DEVICE_HOST,
         "--decode nvjpeg decodes on the GPU: use it with --device cuda, or leave it out"},
        {o->decode == RUN_DECODE_NVJPEG && o->loader == RUN_LOADER_PYTORCH,
         "--decode is of pipeprobe's own loader; leave it out, or --loader pytorch"},
        {run_shards(o)->stream && run_opt_given(set, "sampler"),
         "--stream reads shards in their own order: --sampler does not apply; use --shuffle-buffer, or leave out --stream"},
        {o->lease && !run_shards(o)->stream,
         "--lease deals out shards that are streamed: give --stream, or leave out --lease"},
        {o->lease && !o->lease[0], "--lease needs a directory that all ranks see"},
        {o->lease && o->collective,
         "--collective makes ranks take equally many steps, and --lease as many as they can; leave out one of the two"},
        {o->lease && (o->resume || o->save_state),
         "--lease DIR itself keeps what is done: a run with the same DIR goes on; leave out --resume and --save-state"},
        {o->lease && o->drop_last,
         "--drop-last leaves samples out, and --lease hands each to a rank; leave out one of the two"},
        {o->lease && o->out_of_order,
         "--lease finds by the order of the batches which shards are done; leave out --out-of-order"},
        {o->lease && o->prove,
         "--prove runs the loader twice, and --lease DIR deals out its shards once; leave out one of the two"},
        {o->lease && o->lease_expiry_ns < 1000000000,
         "--lease-expiry: 1s at least; a heartbeat may be late on a busy machine"},
        {o->resume_cursor && !(run_shards(o)->stream && o->resume),
         "--resume-cursor goes with --stream and --resume FILE"},
        {(o->sampler == PP_SAMPLER_WEIGHTED) != (o->weights != NULL),
         "--sampler weighted and --weights FILE go together"},
        {o->classes && o->sampler != PP_SAMPLER_STRATIFIED, "--classes FILE goes with --sampler stratified"},
        {o->max_sample_memory < 1 << 20,
         "--max-sample-memory: 1 MiB at least; leave it out for 512 MiB per sample"},
        {o->max_bytes && o->max_bytes < 1 << 20, "--max-bytes: a recording needs 1 MiB at least"},
        {!o->record && o->prove, "--prove needs a recording to predict from: leave out --no-record"},
        {o->prove && (o->save_state || o->list_delivered),
         "--prove runs the loader twice, and the second run would overwrite --save-state and --list-delivered; leave them out"},
        {o->cached_batches && (o->save_state || o->list_delivered || o->digest),
         "--cached-batches repeats samples: --save-state, --list-delivered and --digest do not apply; leave them out"},
        {o->prove && (o->cached_batches || o->cpu_ballast > 0),
         "--prove runs the infinitely fast loader itself: leave out --cached-batches and --cpu-ballast"},
        {!o->record && (o->output || o->force), "--no-record writes no file: leave out --output and --force"},
        {o->top && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)),
         "--top needs a terminal; leave it out, and use 'pipeprobe top FILE' in another terminal"},
        {o->top && !o->record, "--top reads the recording: leave out --no-record"},
        {o->cache && o->cache_bytes < PP_CACHE_LEAST_BYTES, "--cache-bytes: a cache needs 1 MiB at least"},
        {o->cache && run_synthetic(o), "--synthetic is made in memory: leave out --cache"},
        {o->cache && o->loader == RUN_LOADER_PYTORCH,
         "--cache is for pipeprobe's own loader: leave out --loader pytorch"},
        {o->cache && o->prove,
         "--prove compares runs over the same storage, and --cache makes each faster than the one before; leave out one of the two"},
        {run_opt_given(set, "duration") && o->duration_ns == 0,
         "--duration 0 is too short; leave it out, or give a time such as 30s"},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (rules[i].broken)
            return pp_fail(err, PP_E_USAGE, "%s", rules[i].why);
    return PP_OK;
}

pp_status run_opts_check(struct run_opts *o, const struct pp_opt_set *set, int operands, struct pp_err *err)
{
    double ms = (double)o->step_length_ns / 1e6; /* --step KIND:TIME is --step KIND --step-ms TIME */
    if (o->step_length_ns && run_opt_given(set, "step-ms") && o->step_ms != ms)
        return pp_fail(err, PP_E_USAGE, "--step %s:%gms and --step-ms %g give two lengths; leave out one",
                       step_choices[o->step].name, ms, o->step_ms);
    if (o->step_length_ns && !(ms >= STEP_MS_LEAST && ms <= STEP_MS_MOST))
        return pp_fail(err, PP_E_USAGE, "--step %s:%gms is out of range; allowed are %gms to %gms",
                       step_choices[o->step].name, ms, STEP_MS_LEAST, STEP_MS_MOST);
    if (o->step_length_ns)
        o->step_ms = ms;
    pp_status st = check_together(o, set, operands, err);
    if (st != PP_OK)
        return st;
    if (operands > 1)
        return pp_fail(
            err, PP_E_USAGE,
            "one DATASET at a time, but %d were given; name shards as a range: 'shard-{000000..000009}.tar'",
            operands);
    if (o->rank >= o->world_size && o->ranks < 2)
        return pp_fail(err, PP_E_USAGE, "--rank %lld: with --world-size %lld, ranks are numbered 0 to %lld",
                       (long long)o->rank, (long long)o->world_size, (long long)o->world_size - 1);
    if (o->collective && o->world_size < 2 && o->ranks < 2)
        return pp_fail(
            err, PP_E_USAGE,
            "--collective %s: needs at least 2 ranks; give each process its --rank, and all the same --world-size",
            o->collective);
    st = pp_dataset_options_check(&o->formats, err);
    if (st != PP_OK)
        return st;
    if (o->step != RUN_STEP_AUTO && o->step != RUN_STEP_NONE && !(o->step_ms > 0))
        return pp_fail(err, PP_E_USAGE, "--step %s needs its length: for example --step %s:20ms",
                       step_choices[o->step].name, step_choices[o->step].name);
    if (o->quick && (o->duration_ns || o->steps || o->epochs))
        return pp_fail(err, PP_E_USAGE, "--quick ends after 5 s: leave out --%s, or --quick",
                       o->duration_ns ? "duration"
                       : o->steps     ? "steps"
                                      : "epochs");
    if (!o->record && metrics_opts_any(&o->metrics))
        return pp_fail(err, PP_E_USAGE, "metrics are those of the recording: leave out --no-record");
    /* Options that need another one, such as --shuffle-buffer without --stream. */
    static const struct {
        const char *option, *needs;
    } rows[] = {{"prove-rounds", "prove"}, {"keep-proof", "prove"},   {"cache-bytes", "cache"},
                {"cache-policy", "cache"}, {"lease-expiry", "lease"}, {"nvjpeg-backend", "decode"}};
    const struct pp_dataset_format *f;
    for (size_t i = 0; st == PP_OK && (f = pp_dataset_format_at(i)); i++)
        for (const struct pp_opt *opt = f->stream_opts; st == PP_OK && opt && opt->name; opt++)
            if (opt != f->stream_opts)
                st = check_pair(set, opt->name, f->stream_opts->name, err);
    for (size_t i = 0; st == PP_OK && i < sizeof(rows) / sizeof(*rows); i++)
        st = check_pair(set, rows[i].option, rows[i].needs, err);
    if (st == PP_OK)
        st = metrics_opts_check(&o->metrics, err);
    if (st == PP_OK)
        st = check_destination("save-state", o->save_state, err);
    return st == PP_OK ? check_destination("list-delivered", o->list_delivered, err) : st;
}
