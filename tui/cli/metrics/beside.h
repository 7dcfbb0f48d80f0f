/* tui/cli/metrics/beside.h: `pipeprobe metrics` beside run, exec or top: a process of its own, so that
 * sending shares no lock, no thread and no CPU account with what is measured. It lives as long as a pipe to
 * it is open; what it has to say comes back through another one.
 *
 *   start     waits until it serves or sends, 5 s at most, and says what did not work
 *   finish    the recording is complete: the last texts are sent while we go on
 *   end       waits for that, 8 s at most, and says what was lost
 *
 * A failure of it is a sentence and nothing else. */
#pragma once

#include "tui/cli/metrics/metrics_opts.h"

#include <sys/types.h>

/* The first sign of a line of `pipeprobe metrics --beside`: what it does, what went wrong, that it began. */
enum { METRICS_DOES = 'i', METRICS_TROUBLE = '!', METRICS_READY = '.' };

struct metrics_beside {
    pid_t pid;         /* 0: none */
    int life, words;   /* pipes */
    const char *label; /* before each sentence: "pipeprobe exec: " */
    int quiet;         /* sentences about trouble alone */
    char line[800];    /* of words, not complete yet */
    size_t n;
};

/* Nothing where nothing is asked for. label is kept. */
void metrics_beside_start(struct metrics_beside *b, const struct metrics_opts *o, const char *path,
                          const char *label, int quiet);
void metrics_beside_finish(struct metrics_beside *b);
void metrics_beside_end(struct metrics_beside *b);

/* Behind other words of a command line, so that a part of another run sends nothing; ends with NULL. */
extern const char *const metrics_beside_none[];
