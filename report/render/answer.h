/* report/render/answer.h: the answer of a report as a list of parts, each of a sentence or two: whose
 * pipeline, how much it stalls, why, what to do, what that gains, and the numbers that show it. The short
 * text, Markdown and HTML go through the list and print it each in its own way, so that what a part says is
 * changed in one place. */
#pragma once

#include "probe/base/page.h"
#include "report/model/model.h"

enum { PP_ANSWER_TEXT = 1024, PP_ANSWER_EVIDENCE = 3 };

/* In the order in which they are told. */
enum pp_answer_part {
    PP_ANSWER_SUBJECT,  /* "run.sqlite: pipeprobe's loader" */
    PP_ANSWER_OUTCOME,  /* of a run that did not finish: "INTERRUPTED after 3.60 s: ..." */
    PP_ANSWER_GPU_GONE, /* of a run that began to decode on a GPU and ended without: since when what is
                           measured is another pipeline */
    PP_ANSWER_HEAD,     /* how much it stalls; this and why are the model's own */
    PP_ANSWER_COST,     /* what the wait costs, where the price of an hour was stated */
    PP_ANSWER_FIRST,    /* samples that are repeated, left out or not shuffled: before any speed */
    PP_ANSWER_CAUSE,
    PP_ANSWER_DO,
    PP_ANSWER_PREDICTED, /* "num_workers=16: 396 samples/s, +148 % (80 % interval +141 to +155 %)", or why
                            nothing is predicted */
    PP_ANSWER_THEN,  /* where others take the CPUs: what holds the job up once they do not, and what to do */
    PP_ANSWER_OTHER, /* beside a setting a change in the code that gains, or the other way round */
    PP_ANSWER_ASSUMES,  /* what that takes for granted beyond the recording: "storage serves 16 ..." */
    PP_ANSWER_CODE,     /* a line to paste */
    PP_ANSWER_WORDS,    /* what to change where there is no line to paste */
    PP_ANSWER_COMMAND,  /* the same with pipeprobe's loader */
    PP_ANSWER_PYTORCH,  /* what PyTorch's DataLoader is expected to do on this data; not if the next step says
                           it */
    PP_ANSWER_EXPLAIN,  /* "pipeprobe explain storage/latency": what the cause means, what refutes it */
    PP_ANSWER_FINDINGS, /* what was found beside the verdict, each with what to do */
    PP_ANSWER_FIRST_FINDING, /* the others by name: "the order is the same in each epoch; worker-restarts" */
    PP_ANSWER_ERRORS,        /* "10 (3 corrupt, skipped; 7 ...), 30 retries" */
    PP_ANSWER_LOSSES,        /* "2 counter samples: the monitor fell behind" */
    PP_ANSWER_DECODE, /* "back end HARDWARE of libnvjpeg.so.12 (7 engines of 1 cores): 4,950 images; ..." */
};
/* In buf, or as it lies in the report; NULL where there is nothing to say. */
const char *pp_answer(const struct pp_report *r, enum pp_answer_part part, char buf[PP_ANSWER_TEXT]);
/* What stands before it in a text that has paragraphs: "Assumes that ", "In PyTorch: "; "" for most. */
const char *pp_answer_lead(const struct pp_report *r, enum pp_answer_part part);

/* Numbers that were counted, those that decided first; PP_ANSWER_EVIDENCE at most, returns how many. */
size_t pp_answer_evidence(const struct pp_report *r, const struct pp_report_evidence *e[PP_ANSWER_EVIDENCE]);
/* "workers -> 8: predicted 380, measured 400 samples/s, off by -5.0 %" */
const char *pp_answer_proof(const struct pp_report_proof *p, char buf[PP_ANSWER_TEXT]);
const char *pp_answer_change(const struct pp_report_fix *f, char buf[PP_ANSWER_TEXT]);
