/* scratch.h: a directory in memory for targets that read files, removed at the end; and files as inputs. */
#pragma once

#include "probe/dataset/dataset.h"

#include <stddef.h>
#include <stdint.h>

const char *scratch_dir(void);
/* dir/name, in one of four buffers in turn. */
const char *scratch_path(const char *name);
void scratch_write(const char *path, const uint8_t *data, size_t size);
uint8_t *scratch_read(const char *path, size_t *size);
/* A small run: recorder threads, spans, errors, counters; its rings are left behind unless finished. */
void scratch_run(const char *path, int finished);

/* The input as a run's file, alone: its name. */
const char *scratch_input(const uint8_t *data, size_t size);
/* A fuzz_seed of one finished run. */
int scratch_seed(unsigned i, uint8_t **data, size_t *size);

/* Samples of a data set: each is bytes that can be read, or a sentence. */
enum { SCRATCH_SAMPLES = 256 }; /* the most that are read of one */
void scratch_look_at(pp_status st, const struct pp_sample *s, const struct pp_err *err);
void scratch_read_samples(const struct pp_dataset *d, struct pp_sample *s);
