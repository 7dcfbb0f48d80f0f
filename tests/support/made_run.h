/* A run's file made up through the store's writer: the same spans at the same nanoseconds every time, so that
 * screens can be compared with kept ones. Sixty seconds, three workers; the trainer waits from second 30 to
 * 35, and a few things happen. */
#pragma once

#include "collectors/store/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MADE_MS UINT64_C(1000000)
#define MADE_S UINT64_C(1000000000)
#define MADE_T0 (UINT64_C(1000) * MADE_S)

enum {
    MADE_SECONDS = 60,
    MADE_WORKERS = 3,
    MADE_TRAINER = 1,
    MADE_COPY = 2,
    MADE_WORKER0 = 3,
    MADE_BATCH = 8,
    MADE_STALL_FROM = 30,
    MADE_STALL_TO = 35
};

struct made_run {
    char dir[64], path[96];
    struct pp_store *store;
    uint64_t at[MADE_WORKERS], sample[MADE_WORKERS], trainer_at;
    uint32_t batch;
    uint64_t begins[2048]; /* of the trainer's batches */
};

/* Creates the recording in a directory of its own; made_free removes both. */
struct made_run *made_begin(void);

/* Seconds [from, to) of the run, each committed as a recorder does. */
void made_seconds(struct made_run *r, int from, int to);

/* As a recorder ends its file. */
void made_finish(struct made_run *r);
void made_free(struct made_run *r);
