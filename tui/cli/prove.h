/* cli/prove.h: `run --prove`: the best fix that an option makes is run for real, and stands beside its prediction. */
#ifndef PP_CLI_PROVE_H
#define PP_CLI_PROVE_H

#include <pipeprobe/status.h>

#include <stdio.h>

/* Runs this command line once more with the first fix of the recording's report that is an option (workers, prefetch, order, pinned, buffers, sync) and at least
 * 3 % better, recorded beside it as NAME-proved.sqlite, and says on out what was predicted and what came of it. A run that has no such fix says so: that is no
 * failure. argv: of the command `run`, argv[0] being its name. */
pp_status pp_prove(int argc, char **argv, const char *recording, FILE *out, struct pp_err *err);

#endif
