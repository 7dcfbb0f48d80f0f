/* collectors/attach/namemap.h: which of our phases a foreign program's range means, by its name: a text
 * table, one row per line:
 *
 *     # comment
 *     decode*        = decode        a shell pattern (fnmatch: * ? [...]), then a phase of phases.def, or
 *                                    `ignore`
 *     DALI:*Reader*  = read          with the NVTX domain, a pattern too; without one the row is for every
 *                                    domain
 *     run_batch*     = decode of process
 *                                    the thread hands the work to others of its process and waits for them
 *     "a = b"        = transform     quotes for a name with '=' or '#' or spaces at its ends; "\:" is a
 *                                    colon of the name itself
 *
 * The first row that matches wins; `ignore` ends the search without a phase (the range keeps its name and
 * phase `user`), so that a range that only encloses mapped ones does not count their time twice. A map is
 * built once and then only read: any thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/status.h>

struct pp_namemap;

/* An empty map; NULL: no memory. */
struct pp_namemap *pp_namemap_new(void);
void pp_namemap_free(struct pp_namemap *m); /* NULL is fine */

/* Adds the rows of text behind those that are there. name is what errors call it: "FILE:LINE: sentence". On
 * an error nothing is added. */
pp_status pp_namemap_add_text(struct pp_namemap *m, const char *text, const char *name, struct pp_err *err);
pp_status pp_namemap_add_file(struct pp_namemap *m, const char *path, struct pp_err *err);

/* The phase of a range, PP_PHASE_USER when no row (or an `ignore` row) matches or m is NULL. domain "" is
 * NVTX's default domain. of_process: whether the row says that; NULL: not asked. */
pp_phase pp_namemap_find(const struct pp_namemap *m, const char *domain, const char *name, int *of_process);
size_t pp_namemap_rows(const struct pp_namemap *m);
