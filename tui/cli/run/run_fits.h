/* tui/cli/run/run_fits.h: options of `pipeprobe run` that act on something which this run does not have.
 * Typed, they are a misunderstanding that would pass silently, and are refused; from the environment or the
 * configuration file they are meant for other runs too, and do nothing here. */
#ifndef PP_TUI_CLI_RUN_RUN_FITS_H
#define PP_TUI_CLI_RUN_RUN_FITS_H

#include "probe/base/opts.h"
#include "probe/dataset/dataset.h"

/* Options for another kind of data set than this one at path: PP_E_USAGE with a sentence. Options that need
 * another option are run_opts_check's. */
pp_status run_fits_dataset(const struct pp_opt_set *set, const struct pp_dataset *d, const char *path,
                           struct pp_err *err);

#endif
