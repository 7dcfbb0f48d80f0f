/* tests/fake/fake_nvjpeg.h: how a test speaks to the fake nvJPEG (libnvjpeg.so.12 of this folder).
 *
 * It decodes with libjpeg-turbo, into the memory of the fake driver (libcuda.so.1, which must be loaded) and
 * on its streams: the pixels are there at once, and the stream is done when an engine would be. Unlike the
 * CPU path it does no fancy upsampling, as the engines do none. It is strict where the real one is undefined:
 * a state that two threads use aborts the process, a destination that is not on the device or too small, and
 * a batch without Initialize, are INVALID_PARAMETER.
 *
 * Everything starts from the environment variable PP_FAKE_NVJPEG, or from fake_nvjpeg_reset: words apart by
 * ';':
 *   version=MAJOR.MINOR  (12.4)
 *   engines=N, cores=N   (1, 5); engines=0: creating HARDWARE gives ARCH_MISMATCH
 *   create=RC            creating HARDWARE gives RC; create-any=RC: any back end
 *   batch-us=N           a batch takes so long at least (200); image-us=N: each image so long of a core (20)
 *   burst=N              after every N batches N others take no time
 *   steal=SHARE          what decodes without engines takes that share of the multiprocessors meanwhile (0)
 *   fancy=1              upsampling as on the CPU
 *   off=N                pixels are brighter by N of 255
 *   red=1                grey images have their values in red alone
 *   roi=0                no image is supported with a region of interest; roi-rc=RC: decoding any returns RC
 *   refuse=WIDTH         images of that width are not supported by the engines
 *   refuse-from=WIDTH    nor those of that width or more
 *   bad=WIDTH:RC         a call with an image of that width returns RC, alone or in a batch
 *   poison=WIDTH         an image of that width makes every later call of the driver return 700
 *   fail=NTH:RC          the NTH decoding call (1: the first), and every one after it, returns RC */
#pragma once

#include <stddef.h>

void fake_nvjpeg_reset(const char *words);
unsigned fake_nvjpeg_batches(void); /* DecodeBatched calls; _singles: Decode */
unsigned fake_nvjpeg_singles(void);
unsigned fake_nvjpeg_images(void);  /* decoded */
unsigned fake_nvjpeg_regions(void); /* of them, as a region of interest */
/* Encoded images of batches that are not in page-locked memory or on the device with their padding; whose
 * padding is not zero; and how many batches were under way at the same time at most. */
unsigned fake_nvjpeg_unpinned(void);
unsigned fake_nvjpeg_unpadded(void);
unsigned fake_nvjpeg_most_at_once(void);
size_t fake_nvjpeg_leaks(void); /* handles, states, parsed headers that are alive */
