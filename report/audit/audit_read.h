/* report/audit/audit_read.h: recordings as parts of an audit. Each is read twice when it is added, and once
 * more per epoch, the chunks of that epoch alone. Nothing is kept of it but some tens of bytes per epoch; up
 * to PP_AUDIT_OPEN files stay open, of more one is open at a time. */
#ifndef PP_REPORT_AUDIT_AUDIT_READ_H
#define PP_REPORT_AUDIT_AUDIT_READ_H

#include "report/audit/audit.h"

#include "report/source/source.h"

enum { PP_AUDIT_OPEN = 32 };

struct pp_audit_file {
    struct pp_audit_part part;
    char *path;
    const struct pp_source *source; /* NULL: path is opened when it is needed */
    struct pp_source own;           /* what is open of it */
    int is_open;
    struct audit_window *windows; /* by the part's epochs */
    int visit_phase;              /* whose spans name its samples */
    int has_order;                /* lists name them: of this loader of a PyTorch job */
    struct pp_order_row loader;
};

struct pp_audit_files {
    struct pp_audit_file *file;
    size_t n, room;
};

/* Zero-initialised *f. A recording without a rank is rank 0 of 1. As pp_source_open. */
pp_status pp_audit_files_add(struct pp_audit_files *f, const char *path, struct pp_err *err);
/* The same for a source that stays open until the end: for tests. */
pp_status pp_audit_files_add_source(struct pp_audit_files *f, const struct pp_source *source,
                                    struct pp_err *err);
/* PP_E_USAGE, naming both files: they are of different data sets, of one rank at the same time, or of
 * different world sizes, unless they are PyTorch jobs, which are placed by content (place.h). */
pp_status pp_audit_files_judge(struct pp_audit_files *f, struct pp_audit *out, struct pp_err *err);
void pp_audit_files_free(struct pp_audit_files *f);

#endif
