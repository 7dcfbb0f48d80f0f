/* import/names.h: names of ranges that mean the same in traces of several profilers, as rows of a map
 * (attach/namemap.h). */
#ifndef PP_IMPORT_NAMES_H
#define PP_IMPORT_NAMES_H

/* What people call the range around next(), where nothing better names the wait. */
extern const char pp_import_maybe_waits[];

#endif
