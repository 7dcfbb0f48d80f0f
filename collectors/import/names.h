/* import/names.h: what the names of a trace's ranges mean: by the user's map, then by the format's own rows
 * (attach/namemap.h), then by what people call the range around next(), where nothing better names the wait.
 */
#ifndef PP_IMPORT_NAMES_H
#define PP_IMPORT_NAMES_H

#include "collectors/attach/namemap.h"
#include "collectors/import/imported.h"

struct pp_import_names {
    const struct pp_namemap *user; /* borrowed; may be NULL */
    struct pp_namemap *known, *maybe;
};

/* Close it with pp_import_names_close, also after a failure. maybe: whether ranges that people call a wait
 * may be one. path: of the trace, for a sentence. */
pp_status pp_import_names_open(struct pp_import_names *n, const struct pp_namemap *user, const char *known,
                               int maybe, const char *path, struct pp_err *err);
void pp_import_names_close(struct pp_import_names *n);
/* PP_PHASE_USER: none. *role (may be NULL): PP_ROLE_MAYBE_WAIT where it may be a wait. */
pp_phase pp_import_phase(const struct pp_import_names *n, const char *domain, const char *name,
                         enum pp_import_role *role);

/* The part of a wait's name that says which loader it is, "...#_MultiProcessingDataLoaderIter.__next__", into
 * facts->loader. */
void pp_import_note_loader(struct pp_import_facts *facts, const char *name);
/* "Pageable", "pinned", ..., however it goes on; a letter's case does not matter. */
enum pp_import_memory pp_import_memory(const char *text);

#endif
