/* store/note.h: facts of a finished recording that were known only afterwards, put into its table meta. */
#ifndef PP_STORE_NOTE_H
#define PP_STORE_NOTE_H

#include <pipeprobe/status.h>

#include <stddef.h>

struct pp_note {
    const char *key, *value;
};

/* The notes as rows of section, each in place of one of that key. All or nothing. */
pp_status pp_note_write(const char *path, const char *section, const struct pp_note *notes, size_t n,
                        struct pp_err *err);

#endif
