/* import/own.h: what the timelines of `pipeprobe export` have in common, whatever their format: the name of a
 * span is one of our phases, and beside it stands what was recorded of it. The format leaves out GPU
 * activity, errors and the environment. */
#ifndef PP_IMPORT_OWN_H
#define PP_IMPORT_OWN_H

#include "collectors/attach/namemap.h"
#include "collectors/import/events.h"
#include "collectors/import/imported.h"

/* A name as what it means. */
struct pp_own_name {
    uint8_t phase;
    uint16_t name; /* of pp_imported_name; 0 for a phase */
};
/* user may be NULL: phases by the names of the program's own ranges. */
struct pp_own_name pp_own_name_of(struct pp_imported *im, const struct pp_namemap *user, const char *name);
/* Its times and what e->has of the rest; an event whose time is none is left out and counted. */
void pp_own_span(struct pp_imported *im, uint32_t thread, struct pp_own_name name, const struct pp_event *e);

#endif
