/* base/opts_value.h: one value of an option table, between its text and its field. Shared by opts.c and
 * opts_config.c; commands use opts.h. */
#pragma once

#include "probe/base/opts.h"

/* Which row; -1 when there is none. len < 0: the whole of name. '_' is '-'. */
int pp_opt_find(const struct pp_opt *table, const char *name, int len);
/* Likewise, and by set->also, which may put another value in *value's place. */
int pp_opt_find_also(const struct pp_opt_set *set, const char *name, int len, const char **value);
int pp_opt_find_letter(const struct pp_opt *table, char letter);
/* Nearest option name, or NULL. */
const char *pp_opt_nearest(const struct pp_opt *table, const char *name);

/* Stores text as the value of row i. where opens the sentence of a failure ("--workers", "PIPEPROBE_WORKERS",
 * "/etc/x/config:3: workers"). Lists append within one source and replace what a weaker source gave. text is
 * kept by pointer. */
pp_status pp_opt_store(struct pp_opt_set *set, int i, enum pp_opt_source source, const char *where,
                       const char *text, struct pp_err *err);

/* Section [command] of $XDG_CONFIG_HOME/pipeprobe/config (or ~/.config/...); a missing file is fine. */
pp_status pp_opts_config(struct pp_opt_set *set, struct pp_err *err);
