/* cli/merge_follow.h: `pipeprobe merge --every TIME`: the digest of recordings that are still written, anew
 * each TIME until all of them have ended, and then once more with what a complete recording tells. Each look
 * costs what came since the one before; where that is more than a 1,000th of the time between looks, the
 * looks are further apart. */
#ifndef PP_CLI_MERGE_FOLLOW_H
#define PP_CLI_MERGE_FOLLOW_H

#include <pipeprobe/status.h>

#include <stdint.h>

struct merge_follow_opts {
    const char *const *operands; /* recordings and directories of them, which are listed at every look */
    int n;
    int beside; /* names come by standard input, one a line, until it ends: which is the end of all */
    const char *output;
    uint64_t every_ns;
};

/* Signals end it after a last look; beside another command its end does. PP_E_USAGE: nothing of a rank came.
 */
pp_status merge_follow(const struct merge_follow_opts *o, struct pp_err *err);

#endif
