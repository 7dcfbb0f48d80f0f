#include "report/replay/shards.h"

#include <math.h>
#include <stddef.h>

enum { LEAST_SHARDS = 4 }; /* of fewer the mean size is not known: the first and the last are parts */

const char *pp_shards_unknown(const struct pp_costs *c)
{
    const struct pp_requests *q = &c->requests;
    if (!c->streaming)
        return "this loader reads samples by themselves, however large their shards are; pack a part of the "
               "data (pipeprobe pack) and record it with --stream";
    if (!(q->answers > 0))
        return "there are no requests to a remote storage in the recording";
    if (!(c->piece_bytes > 0))
        return "the recording does not say how large the pieces are that a shard is asked for in; record it "
               "again";
    if (q->shards < LEAST_SHARDS)
        return "fewer than 4 shards were opened in the steady state; record a longer run";
    return NULL;
}

double pp_shards_bytes(const struct pp_costs *c)
{
    return pp_shards_unknown(c) ? NAN : c->requests.bytes / c->requests.shards;
}

double pp_shards_requests(const struct pp_costs *c)
{
    return pp_shards_unknown(c) ? NAN : (double)c->requests.answers / c->requests.shards;
}

double pp_shards_factor(const struct pp_costs *c, double shard_bytes)
{
    double own = pp_shards_bytes(c), opening = c->requests.openings / c->requests.shards, bytes = shard_bytes;
    if (!(own > 0))
        return 1;
    if (c->stream_shards > 0)
        bytes = fmin(bytes, own * c->stream_shards);
    return (opening + ceil(bytes / c->piece_bytes)) / bytes / (pp_shards_requests(c) / own);
}
