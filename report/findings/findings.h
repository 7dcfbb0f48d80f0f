/* report/findings/findings.h: what every run is checked for, apart from the wait of its steady state, as rows
 * of the model: each found, not found, or not measured.
 *
 *   periodic-stalls    stalls at a fixed interval (periodic.h)
 *   first-batch        15 % or more of a run of given length passes before its first batch, or 10 s of any
 *                      run
 *   epoch-boundaries   5 % or more of the steady state passes at the first batches of epochs, beyond what
 *                      other batches wait
 *   epoch-order        an epoch reads its samples in the order of the one before, and not by number
 *                      (visits.h)
 *   samples-repeated   a sample came again in an epoch
 *   samples-skipped    a whole epoch left samples out
 *   late-rank          one rank came last to most collective steps
 *   lockstep-waits     the long waits come every num_workers batches (patterns.h)
 *   worker-restarts    workers begin anew for every epoch
 *   worker-hang        a worker's work was open at the end, or took a hundred times as long as usual
 *   memory-growth      the memory of a process grows and goes on growing (memory.h)
 *   buffer-debt        the prefetched batches ran out after they had been many, and the trainer stalled
 *   remote-latency     requests wait for their first byte, and too few are in flight (remote.h)
 *   remote-throttled   a server refused 1 % of the requests with 429 or 503
 *   remote-connections opening connections takes 10 % of the requests' time
 *   cache-hits         10 % of the reads were in the cache's data before, and are not in it (cache.h)
 *   cache-thrash       1 % of the reads fetch again what had made room for other data
 *   cache-trouble      the cache could not be written, or had damaged entries
 *   stream-shuffle     a batch of a streamed run has more of one shard than a full shuffle gives (shuffle.h)
 *   lease-waits        waiting for shards that other ranks hold takes 5 % of the run (leases.h)
 *   read-amplification pages or chunks are decoded for a part of their bytes (pages.h)
 *   gpu-node           the CPUs of the job are on another NUMA node than its GPU (numa.h)
 *   reader-lock        workers wait for a library that reads for one thread at a time (pages.h)
 *   decode-offload     the CPU still decodes 5 % of the images of a run that decodes on the GPU (device_decode.h)
 *   decode-engine      the GPU's decoder is busy 90 % of the time, and the trainer waits
 *   decode-steps       steps are 5 % longer while the GPU decodes
 *   partly-recorded    hooks of a Python job were left out, or its reads are not timed (hooks.h)
 *   several-loaders    the training thread waited a second or more for several DataLoaders (hooks.h)
 *   decode-copies      half of the bytes of pixels are copied although the GPU decodes
 *
 * A finding does not change the verdict; thresholds are the verdict's own where it has them
 * (verdict_rules.h). */
#ifndef PP_REPORT_FINDINGS_FINDINGS_H
#define PP_REPORT_FINDINGS_FINDINGS_H

#include "report/findings/checks.h"

/* Appends them to r, whose times are set. given_length: the run ended by itself, so that its start is a part
 * of what it takes. */
void pp_findings_add(const struct pp_source *source, const struct pp_timeline *timeline,
                     const struct pp_checks *checks, int given_length, struct pp_arena *arena,
                     struct pp_report *r);

#endif
