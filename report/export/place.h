/* export/place.h: where an export goes. A file is written under a temporary name beside its own, synced and
 * renamed, so that the name never shows half an export and a failure leaves what was there before. Standard
 * output and devices are written as they are. */
#ifndef PP_EXPORT_PLACE_H
#define PP_EXPORT_PLACE_H

#include <pipeprobe/status.h>

#include <stdint.h>

struct pp_export_place {
    const char *out; /* as given */
    char *path;      /* the file to write: a temporary name, or out itself; NULL for standard output */
    int fd;          /* open for streams, else -1 */
    int temporary;
    int force;
};

/* PP_E_EXISTS without force; PP_E_USAGE when out is the input (same file), a directory, or a device and the
 * format does not stream. */
pp_status pp_place_open(struct pp_export_place *p, const char *out, const char *input, int force, int streams,
                        struct pp_err *err);
/* Syncs and renames. After a failure pp_place_discard is still due. */
pp_status pp_place_commit(struct pp_export_place *p, struct pp_err *err);
/* Removes what is temporary, closes, frees; to be called in any case. */
void pp_place_discard(struct pp_export_place *p);

#endif
