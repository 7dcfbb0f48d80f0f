/* report/render/answer.h: the answer of a report in a dozen sentences: whose pipeline, how much it stalls,
 * why, what to do, what that gains, and the numbers that show it. The short text, Markdown and HTML print
 * these sentences; each has a function, so that what it says is changed in one place. The first two, how much
 * and why, are the model's own (verdict.head, verdict.cause_line).
 *
 * Every function writes into buf and returns it, or NULL where there is nothing to say. */
#ifndef PP_REPORT_RENDER_ANSWER_H
#define PP_REPORT_RENDER_ANSWER_H

#include "probe/base/page.h"
#include "report/model/model.h"

enum { PP_ANSWER_TEXT = 1024, PP_ANSWER_EVIDENCE = 3 };

/* "run.sqlite: pipeprobe's loader" */
char *pp_answer_subject(const struct pp_report *r, char buf[PP_ANSWER_TEXT]);
/* Of a run that did not finish: "INTERRUPTED after 3.60 s: ..." */
char *pp_answer_outcome(const struct pp_report *r, char buf[PP_ANSWER_TEXT]);
/* What PyTorch's DataLoader is expected to do on this data; NULL: not known, or the next step says it. */
const char *pp_answer_pytorch(const struct pp_report *r);
/* What to change where there is no line to paste, and in which program ("PyTorch"); NULL: nothing. */
const char *pp_answer_words(const struct pp_report *r, const char **program);
/* "num_workers=16: 396 samples/s, +148 % (80 % interval +141 to +155 %)", or why nothing is predicted. */
char *pp_answer_predicted(const struct pp_report *r, char buf[PP_ANSWER_TEXT]);
/* What that takes for granted beyond the recording: "storage serves 16 parallel reads as fast as ..." */
const char *pp_answer_assumes(const struct pp_report *r);
/* A gain with its interval: "+148 % (+141 to +155 %)". */
char *pp_answer_gain(const struct pp_report_fix *f, char buf[PP_ANSWER_TEXT]);
/* Numbers that were counted, those that decided first; at most PP_ANSWER_EVIDENCE of them, returns how many.
 */
size_t pp_answer_evidence(const struct pp_report *r, const struct pp_report_evidence *e[PP_ANSWER_EVIDENCE]);
/* "Errors: 10 (3 corrupt, skipped; 7 ...), 30 retries" */
char *pp_answer_errors(const struct pp_report *r, char buf[PP_ANSWER_TEXT]);
/* "workers -> 8: predicted 380, measured 400 samples/s, off by -5.0 %" */
char *pp_answer_proof(const struct pp_report_proof *p, char buf[PP_ANSWER_TEXT]);
/* "2 counter samples: the monitor fell behind" */
char *pp_answer_losses(const struct pp_report *r, char buf[PP_ANSWER_TEXT]);
/* What a GPU decoded: "back end HARDWARE of libnvjpeg.so.12 (7 engines of 1 cores): 4,950 images; ..." */
char *pp_answer_decode(const struct pp_report *r, char buf[PP_ANSWER_TEXT]);
/* Of a run that began to decode on a GPU and ended without: since when what is measured is another pipeline.
 */
char *pp_answer_gpu_gone(const struct pp_report *r, char buf[PP_ANSWER_TEXT]);
/* What was found beside the verdict, each with what to do. */
char *pp_answer_findings(const struct pp_report *r, char buf[PP_ANSWER_TEXT]);
/* 1: change a is listed before b: settings first, then what needs work, then amounts, each by gain. */
int pp_answer_fix_before(const void *a, const void *b);
/* Changes in that order, those that gain least or more. order has room for all fixes; returns how many. */
size_t pp_answer_fixes(const struct pp_report *r, double least, const struct pp_report_fix **order);
const char *pp_answer_change(const struct pp_report_fix *f, char buf[PP_ANSWER_TEXT]);

/* All of it on a page of text. FULL: no sentence is cut, and what the sections below show is left to them.
 * The others end in three numbers, errors and where more is. WIDE cuts none either; the rest have each fewer
 * lines than the one before: TIGHT has at most 20 at 80 columns. */
enum pp_answer_room {
    PP_ANSWER_FULL,
    PP_ANSWER_WIDE,
    PP_ANSWER_ROOMY,
    PP_ANSWER_CLOSE,
    PP_ANSWER_SNUG,
    PP_ANSWER_DENSE, /* without what PyTorch is expected to do, but cause and action whole */
    PP_ANSWER_TIGHT
};
void pp_answer_put(const struct pp_page *p, const struct pp_report *r, enum pp_answer_room room);

#endif
