/* report/verdict/loader_words.h: the advice on a loader that is not PyTorch's DataLoader, in its own words:
 * what its settings are called, what they are without being set, how they are written. One table; the report,
 * the what-if's changes, the answer and the patch read it through what pp_loader_words_speak leaves in the
 * report.
 *
 * Which loader it is, the recording says: `config` `loader`, the module that has it ("grain"), or "own" for
 * batches that threads and processes of the job make; a pipeline is DALI's also where its ranges were read by
 * the map `dali`. A job whose DataLoader gave batches speaks of that one. */
#pragma once

#include "probe/base/arena.h"
#include "report/model/model.h"

/* What a setting is for. A thread of Python that computes holds the interpreter's lock: where a loader's
 * threads run Python, more of them overlap reads and no work, and work has a setting of its own. */
enum pp_loader_for { PP_FOR_READS, PP_FOR_WORK, PP_FOR_PREFETCH, PP_LOADER_SETTINGS };

struct pp_loader_setting {
    const char *argument; /* "num_threads" */
    const char *dflt;     /* without it */
    const char *write;    /* with {to} where the number goes: "grain.ReadOptions(num_threads={to})" */
};

struct pp_loader_words {
    const char *module, *name; /* "grain", "Grain" */
    const char *noun;          /* what makes batches: "threads" */
    struct pp_loader_setting setting[PP_LOADER_SETTINGS];
    const char *lacks; /* changes of the what-if that it cannot make or no replay is of, by spaces */
    int has_torch;     /* the job is one of PyTorch: what is said of the training loop holds */
};

extern const struct pp_loader_words pp_loader_words[];
extern const size_t pp_loader_words_n;

/* NULL: PyTorch's DataLoader, pipeprobe's own, or not known. */
const struct pp_loader_words *pp_loader_words_of(const struct pp_report *r);
/* A change of that knob is none of this loader's. */
int pp_loader_words_lack(const struct pp_loader_words *w, const char *knob);
/* When all of the report is there: next steps, of findings too, changes, and r->verdict.action. */
void pp_loader_words_speak(struct pp_report *r, struct pp_arena *arena);
/* A sentence of remedies.h in its words. reads: of a cause that is storage. */
const char *pp_loader_words_sentence(const struct pp_loader_words *w, int reads, const char *sentence,
                                     struct pp_arena *arena);
