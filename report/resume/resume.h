/* report/resume/resume.h: does a job that was killed and resumed go on with the samples that it would have
 * had? Starts of the job are held against an uninterrupted one (the control), batch by batch.
 *
 *   runs (sequence.h) -> where each start should go on -> first difference, counts -> facts -> culprit (rules)
 *
 * A start should go on behind the last checkpoint of the start before; what that one did behind it is lost,
 * and done again. Where the kill fell into a save, the checkpoint before is as good. Of each start all ranks
 * are compared; at another number of ranks only the samples of all of them together, at each point at which
 * both have used as many. */
#pragma once

#include "probe/base/arena.h"
#include "probe/base/fields.h"
#include "report/resume/sequence.h"
#include "report/rules/resume_rules.h"
#include <pipeprobe/status.h>

/* The ranks of one start of the job, rising; finished (pp_resume_finish). */
struct pp_resume_start {
    struct pp_resume_run *rank;
    size_t ranks;
    const char *failed; /* "failed with exit status 1": how it ended; NULL: well, or not known */
};

/* A start that was killed, and those that resumed it, each but the last killed as well. */
struct pp_resume_chain {
    const char *name, *kill; /* "k1"; "in epoch 1, 4 batches behind a save". NULL: not known */
    const struct pp_resume_start *start;
    size_t starts;
    const char *why; /* it was not run to its end: why; NULL: it was */
};

struct pp_resume_input {
    const struct pp_resume_start *control; /* uninterrupted; a second one says what can be reproduced */
    size_t controls;
    const struct pp_resume_chain *chain;
    size_t chains;
    const char *why; /* nothing could be killed: why; NULL: it was */
};

/* Of a chain; a number NAN, a text NULL: unknown. */
struct pp_resume_answer {
    enum pp_resume_kind kind;
    const char *name, *kill, *kind_name, *sentence;
    double resume; /* which start of the chain it is about, from 1; from here to counted_to: numbers */
    double killed_at, resumed_at;   /* batches of the uninterrupted run that were done, and that counted */
    double compared, epochs_behind; /* batches; epochs of them behind the resumed one */
    double first, first_epoch, first_in_epoch, rank;
    double repeated, left_out, counted_to; /* counted_to: batches of the uninterrupted run */
    int older; /* it went on from a state before the newest checkpoint's, which is as good */
    const char *culprit, *culprit_sentence, *confidence, *evidence, *line, *fix;
};

struct pp_resume {
    struct pp_arena arena;
    enum pp_resume_kind kind;
    const char *kind_name, *sentence, *note;
    double ranks, exact, differing, untold; /* resumes */
    struct pp_resume_answer *answer;
    const struct pp_resume_answer *said; /* the first one that decides; NULL: there is none */
    size_t answers;
};

/* Behind how many batches of this start the next one goes on. 0: no checkpoint was seen; else PP_RESUME_TORN:
 * the kill may have fallen into the last one, and *before is the one before; PP_RESUME_LATE: it goes on
 * anywhere from *before on, as another thread wrote what had been before. */
int pp_resume_saved(const struct pp_resume_start *s, size_t *at, size_t *before);
/* Two starts from the beginning: the first batch in which their samples differ; SIZE_MAX: none. */
size_t pp_resume_first_unlike(const struct pp_resume_start *a, const struct pp_resume_start *b);
/* Bytes that differ in samples that do not: random changes that are not seeded are no fault of a resume. */
void pp_resume_note_bytes(struct pp_resume_start *a, const struct pp_resume_start *b);

/* PP_E_NO_MEMORY. Free out->arena, also after a failure. */
pp_status pp_resume_judge(const struct pp_resume_input *in, struct pp_resume *out, struct pp_err *err);

/* The document of schema pipeprobe.resume/1, one row a member: docs/resume.schema.json and
 * docs/reference/resume-fields.md follow from it; `make golden` writes the two again. Of struct pp_resume. */
extern const struct pp_field pp_resume_fields[];
/* JUnit, Markdown and text of a struct pp_resume. 0, or -1 with errno. */
int pp_resume_junit(void *resume, FILE *out);
int pp_resume_markdown(void *resume, FILE *out);
void pp_resume_text(const struct pp_resume *r, FILE *out);
