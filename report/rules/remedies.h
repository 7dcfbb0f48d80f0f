/* report/rules/remedies.h: what to change, as one table. A rule, a ranked fix and a finding refer to a row
 * and hold no advice of their own; the reference of verdicts (docs/reference/verdicts.md) is made from the
 * same rows.
 *
 * Texts are constants. Sentences may hold {name} where a metric's value goes (verdict_rules.h). */
#pragma once

enum pp_remedy_id {
    PP_REMEDY_NONE, /* of a rule that has none: a row without words */
    /* what a fix offers, and the rules whose sentence is about the same change */
    PP_REMEDY_MORE_WORKERS,
    PP_REMEDY_FEWER_WORKERS,
    PP_REMEDY_NO_WORKERS,
    PP_REMEDY_HAND_LESS,
    PP_REMEDY_INNER_LOADER,
    PP_REMEDY_PREFETCH,
    PP_REMEDY_ASK_AHEAD,
    PP_REMEDY_OUT_OF_ORDER,
    PP_REMEDY_PINNED,
    PP_REMEDY_KEEP_WORKERS,
    PP_REMEDY_COPY_AS_PINNED,
    PP_REMEDY_COPY_BUFFERS,
    PP_REMEDY_NO_SYNC,
    PP_REMEDY_COPY_LESS,
    PP_REMEDY_CACHED,
    PP_REMEDY_LESS_WORK,
    PP_REMEDY_LESS_WORK_THREADS, /* where no phase is known */
    PP_REMEDY_OP,
    PP_REMEDY_ERRORS,
    PP_REMEDY_LOCK,
    PP_REMEDY_HOLD_LESS,
    PP_REMEDY_OTHER_LOAD,
    PP_REMEDY_AFFINITY,
    PP_REMEDY_SLOW_RANK,
    PP_REMEDY_SLOW_WORKER,
    PP_REMEDY_GPU_DECODE,
    /* likewise, where the sentence differs or no fix is offered */
    PP_REMEDY_WORKER_THREADS,
    PP_REMEDY_FEWER_WORKERS_AUTO,
    PP_REMEDY_FEWER_WORKERS_LESS_WORK,
    PP_REMEDY_PREFETCH_OR_ORDER,
    PP_REMEDY_ASYNC_COPY,
    PP_REMEDY_LESS_OR_OVERLAPPED,
    PP_REMEDY_LARGER_BATCH,
    PP_REMEDY_CUPTI,
    PP_REMEDY_RECORD_LONGER,
    PP_REMEDY_EVEN_RANKS,
    PP_REMEDY_RECORD_RANKS,
    PP_REMEDY_QUOTA,
    PP_REMEDY_OTHER_LOAD_OR_QUOTA,
    PP_REMEDY_OTHER_LOAD_THEN_WORKERS,
    PP_REMEDY_SUBPROCESSES, /* in place of those of other load, where most of that is the job's own */
    PP_REMEDY_SLOW_SHARD,
    PP_REMEDY_STORAGE_CHANGE,
    PP_REMEDY_READ_TAIL,
    PP_REMEDY_MEMORY_LIMIT,
    PP_REMEDY_DISK_LIMIT,
    PP_REMEDY_READS_LIMIT,
    PP_REMEDY_FEWER_BYTES,
    PP_REMEDY_READ_AHEAD,
    PP_REMEDY_PACK,
    PP_REMEDY_WARM_CACHE,
    PP_REMEDY_READS_IN_FLIGHT,
    PP_REMEDY_STORAGE,
    PP_REMEDY_COLLATE,
    PP_REMEDY_AUGMENT,
    PP_REMEDY_SAMPLE_CODE,
    PP_REMEDY_SAMPLE_HELD,
    PP_REMEDY_BY_BATCH,
    PP_REMEDY_ONE_ITERATOR,
    PP_REMEDY_ONE_LOADER,
    PP_REMEDY_MAKE_ONCE,
    PP_REMEDY_BETWEEN,
    PP_REMEDY_WHAT_BLOCKS,
    PP_REMEDY_PIN_LESS,
    PP_REMEDY_UNPICKLE_LESS,
    PP_REMEDY_SAMPLER,
    PP_REMEDY_READ_LESS,
    PP_REMEDY_MORE_SHARDS,
    PP_REMEDY_CLONE,
    PP_REMEDY_SHM,
    PP_REMEDY_PICKLE_LESS,
    PP_REMEDY_DECODE_ELSEWHERE,
    PP_REMEDY_ERRORS_FIRST,
    PP_REMEDY_KEEP_WORKERS_PREFETCH,
    PP_REMEDY_START_ONCE,
    /* of findings (report/findings/findings.h) */
    PP_REMEDY_PERIODIC_CHECKPOINT,
    PP_REMEDY_PERIODIC_EPOCH,
    PP_REMEDY_PERIODIC_IO,
    PP_REMEDY_PERIODIC_STORAGE,
    PP_REMEDY_PERIODIC_ERRORS,
    PP_REMEDY_PERIODIC_STEP,
    PP_REMEDY_PERIODIC_SYNC,
    PP_REMEDY_PERIODIC_RANK,
    PP_REMEDY_PERIODIC_OTHER,
    PP_REMEDY_FIRST_PROGRAM,
    PP_REMEDY_FIRST_OPENING,
    PP_REMEDY_FIRST_WORKERS,
    PP_REMEDY_FIRST_RANKS,
    PP_REMEDY_FIRST_BATCH,
    PP_REMEDY_FIRST_SAMPLER,
    PP_REMEDY_SKIP,
    PP_REMEDY_PREFETCH_ACROSS,
    PP_REMEDY_SET_EPOCH,
    PP_REMEDY_ALIKE,
    PP_REMEDY_REPEATED,
    PP_REMEDY_SKIPPED,
    /* of a verdict that is inconclusive */
    PP_REMEDY_MORE_BATCHES,
    PP_REMEDY_RUN_LONGER,
    PP_REMEDY_LESS_DETAIL,
    PP_REMEDY_ANNOTATE,
    PP_REMEDY_MAIN_LINE,
    PP_REMEDY_CHECK_SPANS,
    PP_REMEDY_CHECK_WORKERS,
    PP_REMEDY_RECORD_AGAIN,
    PP_REMEDY_MORE_DATA,
    PP_REMEDY_THIS_RANK,
    PP_REMEDY_THAT_RANK,
    PP_REMEDY_LOCKSTEP,
    PP_REMEDY_HUNG_OPEN,
    PP_REMEDY_HUNG_ENDED,
    PP_REMEDY_MEMORY_GROWTH,
    PP_REMEDY_MEMORY_COPIES,
    PP_REMEDY_MEMORY_LEAK,
    PP_REMEDY_BUFFER_DEBT,
    PP_REMEDY_REMOTE_IN_FLIGHT,
    PP_REMEDY_REMOTE_THROTTLED,
    PP_REMEDY_REMOTE_CONNECTIONS,
    PP_REMEDY_REMOTE_ASK_ONCE,
    PP_REMEDY_CACHE_SIZE,
    PP_REMEDY_CACHE_THRASH,
    PP_REMEDY_CACHE_TROUBLE,
    PP_REMEDY_LEASES,
    PP_REMEDY_REMOTE_DNS,
    PP_REMEDY_REMOTE_HOST,
    PP_REMEDY_REMOTE_PREFIX,
    PP_REMEDY_REMOTE_HEDGE,
    PP_REMEDY_REMOTE_STREAM,
    PP_REMEDY_REMOTE_PACK,
    PP_REMEDY_LARGER_SHARDS,
    PP_REMEDY_AMPLIFIED,
    PP_REMEDY_SHUFFLE,
    PP_REMEDY_READER_LOCK,
    PP_REMEDY_STREAM_READER,
    PP_REMEDY_STEP_LINE,
    PP_REMEDY_NUMA,
    PP_REMEDY_PLAIN_JPEG,
    PP_REMEDY_DECODE_STEALS,
    PP_REMEDY_HOOKS,
    PP_REMEDY_TIMED_READS,
    PP_REMEDY_SEVERAL_LOADERS,
    PP_REMEDY_MIXED_LOADERS,
    /* of the audit and of the ranks of a job */
    PP_REMEDY_SAMPLER_OF_RANKS,
    PP_REMEDY_SPLIT_BY_RANK,
    PP_REMEDY_OWN_RANK,
    PP_REMEDY_SPLIT_BY_WORKER,
    PP_REMEDY_SAVE_POSITION,
    PP_REMEDY_RESUME_EPOCH,
    PP_REMEDY_SAVE_TRAINED,
    PP_REMEDY_SAVE_WHOLE,
    PP_REMEDY_SORT_FILES,
    PP_REMEDY_SEED_AUGMENTATION,
    PP_REMEDY_SAVE_SAMPLES,
    PP_REMEDY_STATE_OF_RANK,
    PP_REMEDY_END_OF_EPOCH,
    PP_REMEDY_OFFSET_ONCE,
    PP_REMEDY_RNG_OF_EPOCH,
    PP_REMEDY_COUNT_SAMPLES,
    PP_REMEDY_SAME_TAIL,
    PP_REMEDY_SAVE_GENERATOR,
    PP_REMEDY_SAME_WORKERS,
    PP_REMEDY_SAVE_BUFFER,
    PP_REMEDY_EVEN_SHARDS,
    PP_REMEDY_SPLIT_ALIKE,
    PP_REMEDY_SHARDS_LEFT,
    PP_REMEDY_PROFILE_RANKS,
    PP_REMEDY_REPORT_OF_RANK,
    PP_REMEDY_EQUAL_WORK,
    PP_REMEDY_ANY_RANK,
    PP_REMEDIES
};

struct pp_remedy {
    const char *knob;     /* of the fix and the what-if; NULL: it is not offered as a fix */
    const char *offer;    /* as a ranked fix says it, what changes before its ':'; NULL without a knob */
    const char *sentence; /* as the next step of a verdict or finding; NULL: only offered. It is read under
                             recordings of any program: it names PyTorch's arguments, and no option of ours */
    const char
        *in_step;   /* the sentence where workers wait in step: no deeper prefetch helps; NULL: the same */
    int of_workers; /* of a finding: pointless without workers */
    const char *amount;  /* a value of the what-if to try where the fix is only an amount; NULL: it is none */
    const char *by;      /* knobs of other fixes that carry it out, separated by spaces; NULL: only its own */
    int only_listed;     /* its prediction rests on what others published: no next step promises its gain */
    int looks_first;     /* what to change is found first: no other fix's gain is promised in its place */
    const char *set;     /* the change as data, for pp_knobs_set_all (report/replay/knobs.h), which knows the
                            arguments and options that do it; {to}: the fix's value. NULL: it is no knob's */
    const char *line;    /* to paste into the training loop, in Python; NULL: nothing */
    const char *options; /* of pipeprobe run, where it is no knob's; NULL: none */
    int of_each_worker;  /* it sets what each worker has: in a DataLoader, whose workers have one each, that
                            many  more workers do it */
    /* The change in each program, as its documentation calls it; NULL: there is nothing to set in it. */
    const char *pipeprobe, *pytorch, *webdataset, *dali;
};
extern const struct pp_remedy pp_remedies[PP_REMEDIES];
/* The change of that knob is the remedy, or one that carries it out. */
int pp_remedy_is_done_by(const struct pp_remedy *remedy, const char *knob);
