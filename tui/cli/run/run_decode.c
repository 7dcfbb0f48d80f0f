#include "tui/cli/run/run_setup.h"
#include "collectors/store/writer.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/device/decode.h"
#include "probe/device/nvjpeg.h"

/* In the order of the option's choices. */
static const enum pp_nvjpeg_backend backends[] = {
    PP_NVJPEG_AUTO,       PP_NVJPEG_HARDWARE,          PP_NVJPEG_HARDWARE_DEVICE,
    PP_NVJPEG_GPU_HYBRID, PP_NVJPEG_GPU_HYBRID_DEVICE, PP_NVJPEG_HYBRID};

pp_status run_decode_open(struct run_parts *p, const struct run_opts *o, struct pp_err *err)
{
    struct pp_err why;
    if (o->decode == RUN_DECODE_CPU || o->loader == RUN_LOADER_PYTORCH)
        return PP_OK;
    if (!p->transform)
        return o->decode == RUN_DECODE_AUTO
                   ? PP_OK
                   : pp_fail(err, PP_E_USAGE,
                             "--decode is for images, and the data set holds none; leave it out");
    enum pp_dtype wire = p->delivered ? PP_DTYPE_U8 : (enum pp_dtype)o->dtype;
    const struct pp_device_decode_opts opts = {.backend = backends[o->nvjpeg_backend],
                                               .batch = p->loader.batch_size,
                                               .cpu_threads = p->loader.workers,
                                               .width = pp_transform_width(p->transform),
                                               .height = pp_transform_height(p->transform),
                                               .value_bytes = (int)pp_dtype_size(wire),
                                               .table = pp_transform_values(p->transform)};
    pp_err_clear(&why);
    pp_status st = pp_device_decode_open(p->device, &opts, &why);
    p->loader.decode_on_device = st == PP_OK;
    p->loader.decode_required = o->decode == RUN_DECODE_NVJPEG;
    if (st == PP_OK || o->decode == RUN_DECODE_AUTO) {
        snprintf(p->not_decoding, sizeof(p->not_decoding), "%s", st == PP_OK ? "" : why.text);
        return PP_OK;
    }
    return pp_fail(err, st, "--decode nvjpeg: %s; or use --decode auto", why.text);
}

const char *run_decode_text(const struct run_parts *p, char *buf, size_t size)
{
    struct pp_device_decode_info i;
    char engines[64] = "";
    if (!p->loader.decode_on_device && !p->not_decoding[0])
        return NULL;
    if (!p->loader.decode_on_device) {
        snprintf(buf, size, "on the CPU: %s", p->not_decoding);
        return buf;
    }
    pp_device_decode_info(p->device, &i);
    if (i.engines)
        snprintf(engines, sizeof(engines), ", %u engine%s of %u core%s", i.engines, i.engines == 1 ? "" : "s",
                 i.cores, i.cores == 1 ? "" : "s");
    snprintf(buf, size, "nvJPEG %d.%d, back end %s%s%s%s", i.version / 1000, i.version % 1000, i.backend,
             engines, i.note ? "; " : "", i.note ? i.note : "");
    return buf;
}

void run_decode_note_result(const struct pp_loader_decode *r)
{
    char a[32];
    if (r->images)
        fprintf(
            stderr,
            "decode     %s on the GPU, %llu of them only where the crop is, and %llu that it refused on the CPU\n",
            pp_text_counted(a, sizeof(a), (double)r->images, "image", "images"),
            (unsigned long long)r->regions, (unsigned long long)r->refused);
    if (r->compared)
        fprintf(
            stderr,
            "           pixels of the first %llu differ from libjpeg-turbo's by %.2f of 255 on average, %d at most\n",
            (unsigned long long)r->compared, r->mean, r->largest);
    for (size_t i = 0; i < r->differences && r->differences > 1; i++)
        fprintf(stderr, "           %-5s %3llu images: %.2f on average, %d at most\n",
                r->difference[i].sampling, (unsigned long long)r->difference[i].images, r->difference[i].mean,
                r->difference[i].largest);
}

void run_decode_store(struct pp_store *s, const struct run_parts *p)
{
    struct pp_device_decode_info i;
    pp_store_meta_text(s, "config", "decode", p->loader.decode_on_device ? "nvjpeg" : "cpu");
    if (p->not_decoding[0])
        pp_store_meta_text(s, "chosen", "decode", p->not_decoding);
    if (!p->loader.decode_on_device)
        return;
    pp_device_decode_info(p->device, &i);
    pp_store_meta_text(s, "decode", "library", i.library);
    pp_store_meta_num(s, "decode", "version", i.version, NULL);
    pp_store_meta_text(s, "decode", "backend", i.backend);
    pp_store_meta_num(s, "decode", "engines", i.engines, "engines");
    pp_store_meta_num(s, "decode", "cores", i.cores, "cores per engine");
    if (i.note)
        pp_store_meta_text(s, "decode", "passed_over", i.note);
}

void run_decode_store_result(struct pp_store *s, const struct pp_loader_decode *r)
{
    if (!r->images && !r->refused && !r->too_large && !r->gave_up[0] && !r->lost[0])
        return;
    pp_store_meta_num(s, "decode", "images", (double)r->images, "images");
    pp_store_meta_num(s, "decode", "regions", (double)r->regions, "images");
    pp_store_meta_num(s, "decode", "too_large", (double)r->too_large, "images");
    pp_store_meta_num(s, "decode", "refused", (double)r->refused, "images");
    if (r->gave_up[0]) {
        pp_store_meta_text(s, "decode", "gave_up", r->gave_up);
        pp_store_meta_num(s, "decode", "gave_up_mono_ns", (double)r->gave_up_ns, "ns");
    }
    if (r->lost[0]) {
        pp_store_meta_text(s, "decode", "lost", r->lost);
        pp_store_meta_num(s, "decode", "lost_mono_ns", (double)r->lost_ns, "ns");
    }
    if (!r->compared)
        return;
    pp_store_meta_num(s, "decode", "compared", (double)r->compared, "images");
    pp_store_meta_num(s, "decode", "difference_mean", r->mean, "of 255");
    pp_store_meta_num(s, "decode", "difference_max", r->largest, "of 255");
    for (size_t i = 0; i < r->differences; i++) {
        /* "4:2:0" is 420 in a key. */
        const struct pp_loader_difference *d = &r->difference[i];
        static const char *const names[] = {"images", "mean", "max"};
        const double values[] = {(double)d->images, d->mean, d->largest};
        char key[48], kind[16], *to = kind;
        for (const char *c = d->sampling; *c && to < kind + sizeof(kind) - 1; c++)
            if (*c != ':')
                *to++ = *c;
        *to = '\0';
        for (int k = 0; k < 3; k++) {
            snprintf(key, sizeof(key), "difference_%s_%s", kind, names[k]);
            pp_store_meta_num(s, "decode", key, values[k], k ? "of 255" : "images");
        }
    }
}
