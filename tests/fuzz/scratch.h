/* scratch.h: a directory in memory for targets that read files, removed at the end; and files as inputs. */
#ifndef PP_TESTS_FUZZ_SCRATCH_H
#define PP_TESTS_FUZZ_SCRATCH_H

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

#endif
