/* cli/topic.h: the guides that an installation has, as text of a terminal: `pipeprobe help TOPIC`. Offline,
 * from the Markdown pages beside the program (share/doc/pipeprobe/docs), or of the source tree that it was
 * built in. */
#pragma once

#include "probe/base/std.h"
#include <pipeprobe/status.h>

/* The names of the guides, ended by NULL; a reference page is "reference/NAME", or NAME where no guide has
 * that name. */
extern const char *const pp_topics[];

/* Prints the page of that name. PP_E_USAGE: there is no such topic, and nothing is printed; PP_E_UNSUPPORTED:
 * the pages are not installed here. */
pp_status pp_topic_print(const char *name, FILE *out, struct pp_err *err);
