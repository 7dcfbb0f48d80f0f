/* tests/fake/fake_cupti.h: how a test speaks to the fake CUPTI (libcupti.so.13 of this folder), which is told
 * by the fake driver what is done.
 *
 * It starts from the environment variable PP_FAKE_CUPTI, or from fake_cupti_reset: words apart by ';':
 *   version=N      130001; below 100000 the records have the shorter tails of CUDA 11.8
 *   enable=RC      cuptiActivityEnable fails; callbacks=RC: cuptiActivityRegisterCallbacks does;
 *                  subscribe=RC: cuptiSubscribe does, as when another profiler was there first
 *   clock=RC       cuptiActivityRegisterTimestampCallback fails (0: it is taken)
 *   skew-ns=N      its own clock stands N ns after CLOCK_MONOTONIC (5e9)
 *   drift-ppm=N    and runs so much faster
 *   jump-ns=N      and is put forward by N ns 8 ms after the first kind was turned on, as when NTP
 *                  sets the wall clock
 *   odd=1          every record is followed by one of a kind that was not asked for
 *   small=1        only 256 bytes of each buffer are used, and none is handed over before a flush: the
 *                  pool runs out */
#pragma once

#include <stdint.h>

void fake_cupti_reset(const char *words);
uint32_t fake_cupti_enabled(void); /* kinds that are on */
uint64_t fake_cupti_records(void); /* written so far, without the dropped */
uint64_t fake_cupti_dropped(void);
