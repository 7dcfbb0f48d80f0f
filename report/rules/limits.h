/* report/rules/limits.h: limits that code applies too; in the tables of rules each stands with its source. */
#pragma once

#define PP_LEAST_SHARE 0.05 /* of a step: the smallest that counts */
/* A trace of another profiler needs as many: fewer have no interval; trace.h asks if it allows a level. */
#define PP_LEAST_TRACE_STEPS 3
/* A cause by shares of time explains this share of the wait: more than all else together. */
#define PP_LEAST_EXPLAINED 0.5
/* How far the replay of the run as recorded may be from it before its answers are not used: three times the
 * median error of predictions. */
#define PP_MOST_REPLAY_ERROR 0.25
/* Batches of views: bytes handed over for each byte of tensors, below less than half is for nothing; and per
 * batch, less is handed over in a millisecond. */
#define PP_VIEW_FACTOR 2
#define PP_VIEW_BYTES (1 << 20)
#define PP_WORTH_A_FIX 0.15 /* of throughput: what a fix has to gain */
/* The weight of a cause in what all of them gain: the largest, or tied for the largest. */
#define PP_LARGEST_WEIGHT 0.4
/* Share of the collective steps in which one rank is last: more than all others together. */
#define PP_MOST_MEETINGS (2.0 / 3.0)
