/* fuzz.h: what a fuzz target gives, and what drives it: libFuzzer where it was linked (make fuzz CC=clang),
 * else driver.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Never fails: it is the sanitizers that do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Valid inputs to start from: the i-th into *data (malloc), or 0 when there are no more. */
int fuzz_seed(unsigned i, uint8_t **data, size_t *size);

/* Of libFuzzer, before the first input. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
