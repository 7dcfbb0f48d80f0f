/* One request of tests/e2e/sampler_equals_pytorch.py answered; for the helper program and the golden test. */
#pragma once

#include "probe/base/err.h"
#include "probe/sampler/sampler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int order_digest_parse(const char *line, struct pp_sampler_opts *opts, uint64_t *epoch)
{
    char kind[32];
    int k = 0;
    if (sscanf(line, "%31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %d", kind, &opts->n,
               &opts->seed, epoch, &opts->world_size, &opts->rank, &opts->drop_last) != 7)
        return 0;
    while (k < PP_SAMPLER_KIND_COUNT && strcmp(kind, pp_sampler_kind_name((enum pp_sampler_kind)k)) != 0)
        k++;
    opts->kind = (enum pp_sampler_kind)k;
    return k < PP_SAMPLER_KIND_COUNT;
}

static pp_status order_digest_answer(const char *line, char *answer, size_t size, struct pp_err *err)
{
    struct pp_sampler_opts opts = {0};
    uint64_t epoch = 0, digest = 0xcbf29ce484222325u;
    struct pp_sampler *s = NULL;
    struct pp_order *o = NULL;
    pp_status status;

    if (!order_digest_parse(line, &opts, &epoch))
        return pp_fail(err, PP_E_USAGE, "not a request: %s", line);
    status = pp_sampler_create(&opts, &s, err);
    if (status == PP_OK)
        status = pp_order_create(s, epoch, &o, err);
    if (status == PP_OK) {
        uint64_t len = pp_sampler_len(s);
        for (uint64_t p = 0; p < len; p++)
            digest = (digest ^ pp_order_at(o, p)) * 0x100000001b3u;
        size_t at = (size_t)snprintf(answer, size,
                                     "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                                     " %d %" PRIu64 " %016" PRIx64,
                                     pp_sampler_kind_name(opts.kind), opts.n, opts.seed, epoch,
                                     opts.world_size, opts.rank, opts.drop_last, len, digest);
        for (uint64_t p = 0; p < len && p < 8; p++)
            at += (size_t)snprintf(answer + at, size - at, " %" PRIu64, pp_order_at(o, p));
    }
    pp_order_destroy(o);
    pp_sampler_destroy(s);
    return status;
}
