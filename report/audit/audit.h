/* report/audit/audit.h: was each sample used exactly once per epoch, over all ranks of a job; if not, how
 * often, on which ranks, and why.
 *
 *   recordings -> parts (audit_read.h) -> epoch by epoch, rank by rank: uses -> facts -> causes -> document
 *
 * A use is a sample in a batch that the trainer took. Exact for sample numbers below PP_AUDIT_EXACT: a bit
 * per sample in each of three maps (seen by any rank, by this rank, in this part of a rank's recordings), 384
 * MiB at the most. Larger numbers, those of leased shards, have bits in pages (seen.c): exact up to some 1e9
 * of them in shards of 500 samples and more, an estimate with a stated scale beyond. Besides, some hundred
 * bytes per rank and epoch.
 *
 * What a sampler may do (world W, n samples, b per batch):
 *   padding    every rank draws ceil(n / W): W ceil(n / W) - n samples come twice, the second time in the
 *              last batch of a rank (of a stratified sampler in any batch)
 *   drop_last  every rank draws floor(n / W) or ceil(n / W), cut to a multiple of b; what is cut is left out
 *
 * Of leased shards (run --lease) a sample's number is shard x 2^32 + place on all ranks. Ranks have as many
 * as they can take; what comes again because a lease was taken over from a rank that died or left is by
 * design; and the epoch of a rank that was killed counts as whole where another one ended, which it does only
 * when all shards are done.
 *
 * Samples of an iterable data set have no numbers. What is told of the first ones of each worker and epoch is
 * their content: workers, or ranks, that all give the same do not divide the data set. Nothing else is said.
 *
 * A PyTorch job that was killed and resumed has parts whose processes number epochs from 0. What belongs to
 * which epoch of the job is told by the order of samples and the checkpoints that were seen (place.c); where
 * they do not tell, the parts behind are audited by themselves and the answer is "inconclusive".
 *
 * Anything else that is used twice or not at all in an epoch that all ranks ran from its start to its end is
 * a finding, named after the first of the causes (rules/audit.def) that explains it. */
#pragma once

#include "probe/base/arena.h"
#include "probe/base/fields.h"
#include "report/rules/audit_rules.h"

#include <pipeprobe/status.h>

#define PP_AUDIT_EXACT (UINT64_C(1) << 30)
#define PP_AUDIT_SHARD 4294967296.0 /* from the numbers of a leased shard to those of the next one */
enum {
    PP_AUDIT_EXAMPLES = 5,
    PP_AUDIT_FACTS = 1 << 22, /* epochs x ranks that are audited */
    PP_AUDIT_PRINTS = 16      /* samples of a worker and epoch whose content is compared */
};

/* ---- what is audited ---- */

struct pp_audit_use {
    uint64_t sample;
    uint32_t batch;  /* of the epoch, from 0; UINT32_MAX: not known */
    uint32_t worker; /* that made it; any numbers */
};

/* What a part has of an epoch. */
struct pp_audit_span {
    uint16_t epoch;
    int begun, ended; /* from its first sample; to its last, as far as the recording says */
    uint32_t batches; /* 0: not known */
    /* Of a PyTorch job: */
    uint32_t from, to; /* of the batches that are fed those from `from` up to `to` count; to 0: all of them */
    uint64_t given;    /* samples that the sampler gave, also of batches that nobody took */
    uint32_t trained;  /* the first batch that was trained on; PP_AUDIT_NONE: none, or it is not known */
    int32_t first;     /* where batch 0 stands in the epoch of the job */
    int32_t moved;     /* the process calls the epoch `epoch` - moved */
    int order_of;      /* it has the order of that epoch, plus 1, which is not its own; 0: its own */
};
#define PP_AUDIT_NONE UINT32_MAX

/* A checkpoint, behind that many batches that were taken of an epoch. */
struct pp_audit_save {
    uint16_t epoch;
    uint32_t batches; /* 0: there is none */
    int at_end;       /* the loader had said that it has no more */
};

/* A lease that the rank took over. */
struct pp_audit_lease {
    uint64_t shard;
    uint16_t epoch;
    char from[96]; /* the rank that had it */
};

/* What the first samples of an epoch are that a worker made of an iterable data set: their content as a
 * number each, in their order. */
struct pp_audit_prints {
    uint16_t epoch;
    uint32_t worker, n;
    uint64_t print[PP_AUDIT_PRINTS];
};

/* One recording. A rank that was resumed has several. */
struct pp_audit_part {
    int64_t rank, world_size; /* 0 and 1 for a job without ranks */
    const char *file;
    const char *unknown;         /* why nothing is known of its samples; NULL: it is */
    double samples;              /* of the data set; NAN: not known */
    double batch_size;           /* NAN: not known */
    double started_ns, ended_ns; /* UTC, of the parts of a rank; 0: not known */
    int drop_last;               /* -1: not known */
    int with_replacement;        /* samples repeat by design */
    int stratified;              /* a sample that pads may stand anywhere in a rank's order */
    int numbers_are_local; /* streamed: a number says when this rank read the sample, not which one it is */
    int incomplete;        /* some of its uses are not in it */
    int unlisted;          /* nor is it known of all batches that were taken which samples they had */
    int by_content;        /* of a PyTorch job: its process numbers epochs from 0, resumed or not (place.c) */
    struct pp_audit_save save; /* the newest one of such a job */
    int leased;                /* numbers are of leased shards */
    int finished;              /* and the run went on until all epochs were done */
    double shards;             /* in all; NAN: not known */
    struct pp_audit_lease *taken_over;
    size_t n_taken_over;
    struct pp_audit_prints *prints; /* rising by epoch, then by worker; where samples have no numbers */
    size_t n_prints;
    struct pp_audit_span *epochs;
    size_t n_epochs; /* rising */
};

/* Non-zero stops: no memory. */
typedef int pp_audit_use_fn(void *ctx, const struct pp_audit_use *uses, size_t n);
/* Hands all uses of an epoch of a part, as its process numbers them, to fn, in any order; of a PyTorch job
 * all samples of its list, in their order. Called more than once for the same. */
typedef pp_status pp_audit_feed_fn(void *ctx, size_t part, uint16_t epoch, pp_audit_use_fn *fn, void *fn_ctx,
                                   struct pp_err *err);

struct pp_audit_input {
    const struct pp_audit_part *parts; /* rising by rank, then by start */
    size_t n_parts;
    pp_audit_feed_fn *feed;
    void *ctx;
};

/* ---- the answer: unknown is NAN or NULL ---- */

struct pp_audit_epoch {
    double epoch, ranks;          /* ranks: with a use in it */
    double used, distinct;        /* uses; different samples */
    double repeated;              /* uses of a sample that the epoch had had already, without padding */
    double padding;               /* by design */
    double taken_over;            /* by design: uses of samples of leases that changed hands */
    double shards, shards_left;   /* leased ones with a use, and without; NAN: there are no leases */
    double left_out, dropped;     /* of the data set: used by no rank; by design. NAN: not a whole epoch */
    double least_used, most_used; /* of the ranks that have it whole */
    int whole;                    /* all ranks have it from start to end */
};

struct pp_audit_cause {
    enum pp_audit_cause_id id;
    const char *name, *sentence, *fix, *ranks; /* ranks: "0, 3-7" */
    double epochs, first_epoch, samples;       /* samples: uses too many, or samples left out; NAN: none */
    int by_design;
};

struct pp_audit_example {
    double sample, epoch, uses; /* uses 0: left out */
    const char *where;          /* "rank 0 batch 3, rank 2 batch 17" */
};

struct pp_audit {
    struct pp_arena arena;
    enum pp_audit_kind kind;
    const char *kind_name, *sentence, *note;          /* note: what limits it */
    double ranks, world_size, missing_ranks, samples; /* samples: of the data set */
    int leased;                                       /* numbers are shard x 2^32 + place */
    double used, whole_epochs, scale;                 /* scale 1: exact; else counts are estimates */
    struct pp_audit_epoch *epochs;
    size_t n_epochs;
    struct pp_audit_cause *causes;
    size_t n_causes;
    struct pp_audit_example examples[PP_AUDIT_EXAMPLES];
    size_t n_examples;
};

/* PP_E_NO_MEMORY, or what feed returned. Free out->arena, also after a failure. */
pp_status pp_audit_judge(const struct pp_audit_input *in, struct pp_audit *out, struct pp_err *err);

/* The document of schema pipeprobe.audit/1 (pp_fields_json), one row a member: docs/audit.schema.json and
 * docs/reference/audit-fields.md follow from it; `make golden` writes the two again. */
extern const struct pp_field pp_audit_fields[];
/* all: every epoch; else the first 8 that are not clean, or the first 3. */
void pp_audit_text(const struct pp_audit *a, int all, FILE *out);
