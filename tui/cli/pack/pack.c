/* `pipeprobe pack`: writes shards from a folder of images, so that the advice "pack into shards" can be
 * followed. The shards are made in a directory beside DST, read back and compared with what was written, and
 * only then called DST. */
#include "tui/cli/cli.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/pack/pack_writer.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset.h"
#include "probe/dataset/options.h"
#include "probe/sampler/sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

struct options {
    const char *output;
    int format, shuffle, skip_errors, quiet;
    int64_t seed;
    uint64_t shard_bytes;
};

#define AT(field) offsetof(struct options, field)

static const struct pack_format *const writers[] = {&pack_tar, &pack_mds};
/* What reads them: names of probe/dataset's formats. */
static const char *const readers[] = {"webdataset", "mds"};

/* clang-format off */
static const struct pp_opt_choice formats[] = {
    {"tar", "WebDataset shards: .tar"},
    {"mds", "MosaicML Streaming shards: .mds and index.json"},
    {NULL, NULL},
};
static const struct pp_opt opts[] = {
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "DST",
     .group = "Options", .help = "the directory to make; it must not exist"},
    {.name = "format", .type = PP_OPT_CHOICE, .offset = AT(format), .arg = "FORMAT", .choices = formats,
     .dflt = "tar", .help = "what to write"},
    {.name = "shard-size", .type = PP_OPT_SIZE, .offset = AT(shard_bytes), .min = 4096, .max = 2147483648.0,
     .arg = "SIZE", .dflt = "256MiB", .help = "bytes from which on a shard is full"},
    {.name = "shuffle", .type = PP_OPT_FLAG, .offset = AT(shuffle), .dflt = "1",
     .help = "write in a random order, so that each shard holds all classes"},
    {.name = "seed", .type = PP_OPT_INT, .offset = AT(seed), .min = 0, .max = 9e15, .arg = "N", .dflt = "0",
     .help = "seed of that order"},
    {.name = "skip-errors", .type = PP_OPT_FLAG, .offset = AT(skip_errors), .dflt = "0",
     .help = "leave out what cannot be read or is no JPEG, PNG or WebP"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet),
     .help = "only errors on standard error"},
    {.name = NULL},
};
/* clang-format on */

/* What a sample must be when it is read back. */
struct kept {
    uint64_t hash;
    int64_t label;
};

struct pack {
    const struct options *o;
    const char *source;
    char *output, *partial; /* partial: exists once it is not "" */
    struct pp_dataset *dataset;
    struct pp_sampler *sampler;
    struct pp_order *order;
    struct kept *kept;
    uint64_t samples, left_out, bytes, shards;
    struct pp_sample sample;
    struct pp_progress progress;
};

static pp_status go_on(struct pack *p, const char *what, uint64_t done, struct pp_err *err)
{
    char a[32], b[32];
    if (interrupt_asked())
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted: nothing was left behind");
    if (done % 64 == 0)
        pp_progress_line(&p->progress, "%s: %s of %s", what, pp_text_count(a, sizeof(a), (double)done),
                         pp_text_count(b, sizeof(b), (double)pp_dataset_len(p->dataset)));
    return PP_OK;
}

/* ---- write ---- */

static pp_status write_shards(struct pack *p, struct pp_err *err)
{
    static const struct {
        const char *kind, *bytes;
        size_t size;
    } magic[] = {{"jpg", "\xff\xd8\xff", 3}, {"png", "\x89PNG\r\n\x1a\n", 8}};
    const struct pack_format *f = writers[p->o->format];
    struct pack_into *writer = calloc(1, f->state_bytes);
    uint64_t n = pp_sampler_len(p->sampler);
    pp_status st = PP_OK, ended;
    if (!writer)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write shards");
    *writer = (struct pack_into){.dir = p->partial, .shard_bytes = p->o->shard_bytes};
    for (uint64_t i = 0; st == PP_OK && i < n; i++) {
        const char *kind = NULL;
        struct pp_err why = {0};
        if ((st = go_on(p, "packing", i, err)) != PP_OK)
            break;
        /* A sample, and what it is by its first bytes. */
        uint64_t index = pp_order_at(p->order, i);
        char path[PATH_MAX];
        const uint8_t *data;
        st = pp_dataset_read(p->dataset, index, &p->sample, &why);
        data = p->sample.data;
        if (st == PP_OK && p->sample.size >= 12 && memcmp(data, "RIFF", 4) == 0 &&
            memcmp(data + 8, "WEBP", 4) == 0)
            kind = "webp";
        for (size_t k = 0; st == PP_OK && k < sizeof(magic) / sizeof(*magic); k++)
            if (p->sample.size >= magic[k].size && memcmp(data, magic[k].bytes, magic[k].size) == 0)
                kind = magic[k].kind;
        if (st == PP_OK && !kind)
            st = pp_fail(&why, PP_E_UNSUPPORTED,
                         "%s is neither JPEG, PNG nor WebP, which shards are read for",
                         pp_dataset_path(p->dataset, index, path, sizeof(path)));
        if (st != PP_OK && p->o->skip_errors && st != PP_E_NO_MEMORY) {
            p->left_out++;
            st = PP_OK;
            continue;
        }
        if (st != PP_OK) {
            st = pp_fail(err, why.code, "%s; nothing was left behind (--skip-errors leaves such samples out)",
                         why.text);
            break;
        }
        const struct pack_sample s = {.data = p->sample.data,
                                      .size = p->sample.size,
                                      .label = p->sample.label,
                                      .number = p->samples,
                                      .kind = kind};
        p->kept[p->samples++] = (struct kept){XXH3_64bits(s.data, s.size), s.label};
        p->bytes += s.size;
        st = f->add(writer, &s, err);
    }
    if (st == PP_OK && p->samples == 0)
        st = pp_fail(err, PP_E_EMPTY, "no sample of %s can be packed: all %llu are left out", p->source,
                     (unsigned long long)p->left_out);
    ended = f->end(writer, st != PP_OK, &p->shards, err);
    free(writer);
    return st != PP_OK ? st : ended;
}

/* ---- read back ---- */

/* Tar shards are streamed, which makes no index of them. */
static pp_status read_back(struct pack *p, struct pp_err *err)
{
    struct pp_dataset_options o = {0};
    struct pp_dataset *d = NULL;
    struct pp_stream *stream = NULL;
    uint64_t i = 0;
    o.shards.stream = 1;
    const struct pp_dataset_opts how = {.spec = p->partial, .format = readers[p->o->format], .options = &o};
    pp_status st = pp_dataset_open(&how, &d, err);
    if (st == PP_OK && pp_dataset_streams(d))
        st = pp_stream_open(d, &(struct pp_stream_opts){0}, &stream, err);
    for (; st == PP_OK && i < p->samples; i++) {
        st = go_on(p, "reading back", i, err);
        if (st == PP_OK)
            st = stream ? pp_stream_next(stream, &p->sample, NULL, 0, err)
                        : pp_dataset_read(d, i, &p->sample, err);
        if (st == PP_END)
            st = pp_fail(err, PP_E_IO, "only %llu of %llu samples can be read back", (unsigned long long)i,
                         (unsigned long long)p->samples);
        const struct pp_sample *s = &p->sample;
        if (st == PP_OK && (XXH3_64bits(s->data, s->size) != p->kept[i].hash || s->label != p->kept[i].label))
            st = pp_fail(err, PP_E_IO,
                         "sample %llu is not what was written: the disk or its driver changed it",
                         (unsigned long long)i);
    }
    pp_stream_close(stream);
    pp_dataset_close(d);
    return st;
}

/* ---- the command ---- */

static pp_status pack_all(struct pack *p, struct pp_err *err)
{
    struct stat there;
    size_t n = strlen(p->o->output);
    while (n > 1 && p->o->output[n - 1] == '/')
        n--;
    p->output = strndup(p->o->output, n);
    if (!p->output)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory");
    if (lstat(p->output, &there) == 0)
        return pp_fail(err, PP_E_EXISTS, "%s exists already: name a directory that does not", p->output);
    if (asprintf(&p->partial, "%s.partial-XXXXXX", p->output) < 0)
        return p->partial = NULL, pp_fail(err, PP_E_NO_MEMORY, "no memory");
    if (!mkdtemp(p->partial)) {
        int e = errno;
        free(p->partial);
        p->partial = NULL;
        return pp_fail_errno(err, e, "cannot make a directory beside %s", p->output);
    }
    /* What is packed, and in which order. */
    const struct pp_dataset_opts d = {.spec = p->source};
    const char *warning;
    struct pp_sampler_opts s = {.kind = p->o->shuffle ? PP_SAMPLER_RANDOM : PP_SAMPLER_SEQUENTIAL,
                                .seed = (uint64_t)p->o->seed};
    pp_status st = pp_dataset_open(&d, &p->dataset, err);
    if (st != PP_OK)
        return st;
    if (pp_dataset_content(p->dataset) != PP_CONTENT_IMAGE)
        return pp_fail(err, PP_E_USAGE, "%s holds no images, and pack is for images", p->source);
    for (size_t i = 0; !p->o->quiet && (warning = pp_dataset_warning(p->dataset, i)); i++)
        pp_cli_note("warning", warning);
    s.n = pp_dataset_len(p->dataset);
    st = pp_sampler_create(&s, &p->sampler, err);
    if (st == PP_OK)
        st = pp_order_create(p->sampler, 0, &p->order, err);
    if (st == PP_OK && !(p->kept = calloc(s.n, sizeof(*p->kept))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %llu samples", (unsigned long long)s.n);
    if (st == PP_OK)
        st = write_shards(p, err);
    if (st == PP_OK)
        st = read_back(p, err);
    pp_progress_clear(&p->progress);
    if (st != PP_OK)
        return st;
    mode_t mask = umask(0);
    umask(mask);
    chmod(p->partial, 0777 & ~mask);
    int failed = renameat2(AT_FDCWD, p->partial, AT_FDCWD, p->output, RENAME_NOREPLACE);
    if (failed && (errno == EINVAL || errno == ENOSYS))
        failed = rename(p->partial, p->output);
    if (failed)
        return pp_fail_errno(err, errno, "cannot rename %s to %s", p->partial, p->output);
    free(p->partial);
    p->partial = NULL;
    return PP_OK;
}

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    struct pack p = {.o = o};
    pp_status st = PP_OK;
    if (n != 1)
        st = pp_fail(err, PP_E_USAGE,
                     n ? "one data set at a time: remove \"%s\"" : "name the data set to pack%s",
                     n ? operands[1] : "");
    else if (!o->output || !*o->output)
        st = pp_fail(err, PP_E_USAGE, "say where the shards go: -o DST");
    p.source = operands[0];
    pp_progress_begin(&p.progress, o->quiet);
    interrupt_catch(INTERRUPT_ONCE, NULL); /* one that is stopped takes its directory along */
    if (st == PP_OK)
        st = pack_all(&p, err);
    if (st == PP_OK) {
        char samples[32], shards[32], bytes[32], left[32];
        pp_cli_say(stdout, "%s (%s) in %s in %s; all of them were read back and are equal",
                   pp_text_counted(samples, sizeof(samples), (double)p.samples, "sample", "samples"),
                   pp_text_bytes(bytes, sizeof(bytes), (double)p.bytes),
                   pp_text_counted(shards, sizeof(shards), (double)p.shards, "shard", "shards"), p.output);
        if (p.left_out)
            printf("%s left out\n",
                   pp_text_counted(left, sizeof(left), (double)p.left_out, "sample", "samples"));
    }
    /* What was written so far goes; it holds nothing but our files. */
    struct dirent *e;
    DIR *dir = p.partial ? opendir(p.partial) : NULL;
    while (dir && (e = readdir(dir)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
    if (p.partial)
        rmdir(p.partial);
    pp_order_destroy(p.order);
    pp_sampler_destroy(p.sampler);
    pp_dataset_close(p.dataset);
    pp_sample_free(&p.sample);
    free(p.kept);
    free(p.output);
    free(p.partial);
    return st;
}

const struct pp_command pp_cmd_pack = {
    .name = "pack",
    .summary = "write shards from a folder of images",
    .usage = "pack SRC -o DST [options]",
    .opts = opts,
    .notes = "Bytes and labels are those of SRC: a folder, or another data set of images. The\n"
             "label is the number of the class directory in byte order, as ImageFolder of\n"
             "torchvision has it. The shards are read back and compared before they are\n"
             "called DST.",
    .examples = {"pipeprobe pack ~/imagenet/train -o ~/imagenet/shards",
                 "pipeprobe pack ~/imagenet/train -o ~/mds --format mds --shard-size 64MiB"},
    .fields = sizeof(struct options),
    .act = act,
};
