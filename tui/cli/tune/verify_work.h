/* tui/cli/tune/verify_work.h: whether two recordings of a job are of the same work. A smaller batch, a
 * shorter data set, a transform or a step that is left out are faster and no gain. */
#ifndef PP_TUI_CLI_TUNE_VERIFY_WORK_H
#define PP_TUI_CLI_TUNE_VERIFY_WORK_H

#include "report/model/model.h"

/* What a report shows of the work; NAN and "": not known. */
struct verify_work {
    char dataset[128];
    double samples, batch_size, drop_last; /* of the loader that is judged */
    double batch_bytes;                    /* tensors of a batch, as handed over */
    double sample_ns; /* of a sample: CPU time of reading, all of decoding and transforming but the wait for a
                         CPU */
    double step_ns;   /* the median step, without its wait for a CPU */
};
void verify_work_read(const struct pp_report *r, struct verify_work *w);
/* The DataLoader that the report is about; NULL: none was recorded. */
const struct pp_report_loader *verify_loader_of(const struct pp_report *r);

/* One comparison: of what, before and after as people read them. */
struct verify_check {
    const char *code; /* "batch_size" */
    const char *name; /* "samples of a batch" */
    char before[40], after[40];
    int same;    /* or not known of one of them */
    int is_less; /* it differs because less is done, which a change of code may have meant */
};
enum { VERIFY_CHECKS = 7 };
/* All of them in a fixed order; how many differ. */
int verify_work_compare(const struct verify_work *before, const struct verify_work *after,
                        struct verify_check check[VERIFY_CHECKS]);

#endif
