/* collectors/attach/activity_file.h: what the GPU does for a recorded Python job: one mapped file in the
 * session directory (PP_ACTIVITY_FILE_NAME), a ring of rows. The collector (activity.c) makes the file and
 * takes the rows while the job runs; the first process that takes batches and has used the GPU claims it, and
 * fills it with CUPTI's records. A full ring drops and counts.
 *
 * Whoever reads it from outside trusts nothing in it: numbers are bounded and texts end here. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/ring.h>

#define PP_ACTIVITY_MAGIC "PPGPUAC"
enum {
    PP_ACTIVITY_ROWS = 1 << 18, /* 16 MiB, of which only what is used takes memory */
    PP_ACTIVITY_NAMES = 2048,
    PP_ACTIVITY_NAME = 248,
};

enum pp_activity_state { PP_ACTIVITY_FREE, PP_ACTIVITY_ON, PP_ACTIVITY_REFUSED, PP_ACTIVITY_ENDED };

/* As struct pp_store_gpu has it; texts by their number in the table of names, 0: none. A row without a kind
 * is a comparison of clocks: start_ns, bytes as the offset, dur_ns as the error. */
struct pp_activity_row {
    uint64_t start_ns, dur_ns, bytes;
    uint32_t correlation, device, context, stream, thread;
    uint32_t batch; /* that the call was made for; PP_NO_BATCH: not known */
    int32_t result;
    uint16_t kind, name, source, target;
    int8_t asynchronous;
    uint8_t none[3];
};
_Static_assert(sizeof(struct pp_activity_row) == 64, "a line of the cache");

struct pp_activity_file {
    char magic[8];
    /* the collector's */
    uint32_t stop; /* no more rows are wanted: the process ends its recording at its next batch */
    uint32_t none;
    uint64_t tail; /* rows taken; released after they were read */
    /* the process's */
    int64_t pid;               /* of the one that has claimed it; 0: none has */
    uint32_t state;            /* enum pp_activity_state; released after the texts */
    uint32_t names;            /* of the table, from 1 on; released after the name */
    uint64_t head;             /* rows written; released after the row */
    uint64_t no_room, dropped; /* rows that met a full ring; by CUPTI, known at the end */
    char text[512];            /* what records it, or why it was refused */
    char until[128];           /* PP_ACTIVITY_ENDED: what ended it before the job did; "": nothing */
    char device[128];
    char name[PP_ACTIVITY_NAMES][PP_ACTIVITY_NAME];
    struct pp_activity_row row[PP_ACTIVITY_ROWS];
};
