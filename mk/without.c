/* mk/without.c: what stands for the subjects that a build leaves out (mk/without.mk). Where somebody asks for
 * one, a sentence says that this build has none; what only the subject itself leads to is never called. */
#include "probe/base/counters.h"
#include "probe/base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define LEFT_OUT(err, what) pp_fail(err, PP_E_UNSUPPORTED, "this pipeprobe was built without " what)

/* Another name of the function below, whose declaration has other arguments. */
#define UNREACHED(name) __asm__(".globl " #name "\n.set " #name ", without_unreached");
void without_unreached(void);
void without_unreached(void)
{
    abort();
}

#ifdef WITHOUT_cache
#include "probe/storage/cache/cache.h"
const struct pp_cache_policy pp_cache_policies[PP_CACHE_POLICIES];
PP_COUNTER_SET(pp_cache_counters, PP_CACHE_COUNTS_LIST)

pp_status pp_storage_wrap_cache(struct pp_storage *inner, const char *place, const struct pp_cache_opts *o,
                                struct pp_storage **out, struct pp_err *err)
{
    *out = inner;
    return o ? LEFT_OUT(err, "its cache: leave --cache away") : PP_OK;
}

int pp_cache_trouble(char *out, size_t size)
{
    *out = '\0';
    return 0;
}
#endif

#ifdef WITHOUT_leases
#include "probe/ranks/lease.h"
UNREACHED(pp_lease_counts)
UNREACHED(pp_lease_delivered)
UNREACHED(pp_lease_is_lost)
UNREACHED(pp_lease_look_ns)
UNREACHED(pp_lease_news)
UNREACHED(pp_lease_take)
pp_status pp_lease_join(const struct pp_lease_opts *opts, struct pp_lease **out, struct pp_err *err)
{
    return LEFT_OUT(err, "leases: leave --lease away");
}

void pp_lease_leave(struct pp_lease *l)
{
}
#endif

#ifdef WITHOUT_gpu_decode
#include "probe/device/cuda_decode.h"
UNREACHED(pp_device_decode_finish)
UNREACHED(pp_device_decode_pixels)
UNREACHED(pp_device_decode_settle)
UNREACHED(pp_device_decode_start)
UNREACHED(pp_device_decode_trim)
UNREACHED(pp_device_decode_wait)
pp_status pp_cuda_decode_make(struct pp_cuda_decode *c, const struct pp_cuda_driver *cu, pp_cu_module module,
                              size_t flights, const struct pp_device_decode_opts *opts, struct pp_err *err)
{
    return LEFT_OUT(err, "GPU decode");
}

void pp_cuda_decode_free(struct pp_cuda_decode *c)
{
}

pp_status pp_nvjpeg_look(size_t batch, struct pp_nvjpeg_found *out, struct pp_err *err)
{
    return LEFT_OUT(err, "GPU decode");
}

const char *pp_nvjpeg_backend_name(enum pp_nvjpeg_backend backend)
{
    return "none";
}
#endif

#ifdef WITHOUT_samplers
#include "probe/sampler/sampler.h"
#include "probe/sampler/sampler_alias.h"
#include "probe/sampler/sampler_strata.h"
UNREACHED(pp_alias_create)
UNREACHED(pp_alias_pick)
UNREACHED(pp_strata_create)
UNREACHED(pp_strata_order)

pp_status pp_weights_load(const char *path, uint64_t n, double **out, struct pp_err *err)
{
    return LEFT_OUT(err, "the sampler weighted");
}

pp_status pp_classes_load(const char *path, uint64_t n, int64_t **out, struct pp_err *err)
{
    return LEFT_OUT(err, "the sampler stratified");
}

void pp_alias_destroy(struct pp_alias *a)
{
}

void pp_strata_destroy(struct pp_strata *s)
{
}
#endif

#if defined(WITHOUT_columns) || defined(WITHOUT_mds) || defined(WITHOUT_tokens)
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/format.h"
/* A file whose name ends so, or a directory with one and without images. */
static int ends_so(const struct pp_dataset_place *place, struct pp_err *why)
{
    const struct pp_names *in = place->info.kind == PP_PLACE_DIRECTORY ? &place->listing->others : NULL;
    int is = pp_has_suffix(place->spec, place->format->kind);
    for (size_t i = 0; in && i < in->n && !place->listing->images.n; i++)
        is |= pp_has_suffix(in->bytes + in->at[i], place->format->kind);
    return is ? 60 : 0;
}

static pp_status say_left_out(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    return pp_fail(err, PP_E_UNSUPPORTED, "this pipeprobe was built without the format %s",
                   place->format->name);
}

#define LEFT_OUT_FORMAT(format, endings) \
    const struct pp_dataset_format pp_format_##format = {.name = #format, \
                                                         .help = "(not in this build)", \
                                                         .kind = endings, \
                                                         .probe = ends_so, \
                                                         .open = say_left_out};
#endif
#ifdef WITHOUT_columns
#include "probe/columns/codec.h"
#include "probe/columns/pages.h"
#include "probe/columns/table.h"
LEFT_OUT_FORMAT(arrow, ".arrow .feather .ipc")
LEFT_OUT_FORMAT(hdf5, ".h5 .hdf5 .he5")
LEFT_OUT_FORMAT(parquet, ".parquet .pq")
PP_COUNTER_SET(pp_pages_counters, PP_PAGES_COUNTS_LIST)
const char *const pp_label_names[] = {"label", "class", "cls", "target", NULL};

pp_status pp_codec_ready(enum pp_codec codec, struct pp_err *err)
{
    return LEFT_OUT(err, "files of columns");
}

int pp_hdf5_available(char *text, size_t size)
{
    snprintf(text, size, "not in this build");
    return 0;
}
#endif
#ifdef WITHOUT_mds
LEFT_OUT_FORMAT(mds, "index.json")
#endif
#ifdef WITHOUT_tokens
LEFT_OUT_FORMAT(tokens, ".npy .bin")
#endif
