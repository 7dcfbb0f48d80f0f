/* loader/fault.h: stalls of known cause and size, made on purpose: `--inject FAULT=ARGS`. Product and test at
 * once: a user sees what his own pipeline would look like on a slow disk, and every verdict is held against
 * runs whose cause is known. No root needed.
 *
 * An injected cause acts where the real one would: a latency is slept inside the read, a cost is CPU time
 * burnt inside the decode, a bandwidth is a token bucket that all workers share. What a sample gets depends
 * on (seed, epoch, sample) only. Nothing is marked in the spans: in the recording an injected cause
 * shows by its effect alone. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_read_context; /* probe/storage/storage.h */
struct pp_read_faults;
struct pp_stop;
struct pp_faults; /* immutable but for the token bucket, the lock and what has been touched, which have their
                     own synchronisation; any thread */

/* specs: n texts "NAME=ARGS", ARGS "VALUE[,KEY=VALUE...]"; see pp_faults_help. PP_E_USAGE names what is wrong
 * and the nearest fault. */
pp_status pp_faults_parse(const char *const *specs, int n, uint64_t seed, struct pp_faults **out,
                          struct pp_err *err);
void pp_faults_destroy(struct pp_faults *f);
/* Waits end within PP_STOP_CHECK_NS (stop.h) of a request to stop. While no thread uses f; NULL: none. */
void pp_faults_set_stop(struct pp_faults *f, const struct pp_stop *stop);
/* How many samples the data has: what slow-shard takes a part of and cold-cache remembers. Before the first
 * worker starts; f may be NULL. */
pp_status pp_faults_set_dataset(struct pp_faults *f, uint64_t samples, struct pp_err *err);
/* One line per fault: name, arguments, what it does; NULL after the last. */
const char *pp_faults_help(int i, const char **name, const char **args);

/* f may be NULL in every call below, which then does nothing. What the storage is to do to the reads
 * (probe/storage/fault.h), for pp_dataset_opts; NULL: nothing. Belongs to f. It makes the three calls below
 * for each read. */
const struct pp_read_faults *pp_faults_reads(struct pp_faults *f);
/* ctx: f. Inside the read span, before the bytes are asked for. PP_E_TRANSIENT when a failed read was
 * injected: the caller treats it as its own. */
pp_status pp_fault_before_read(void *ctx, const struct pp_read_context *at, struct pp_err *err);
/* Around the decode: returns a token to hand to pp_fault_decode_end in the same thread. */
uint64_t pp_fault_decode_begin(struct pp_faults *f);
void pp_fault_decode_end(struct pp_faults *f, const struct pp_read_context *at, uint64_t token);
enum pp_fault_place {
    PP_FAULT_TRANSFORM, /* inside the transform's span */
    PP_FAULT_COLLATE,   /* inside the collate's */
    PP_FAULT_START,     /* on a worker thread, before its first sample */
    PP_FAULT_EPOCH,     /* on a worker thread, before its first sample of another epoch */
    PP_FAULT_SYNC       /* inside the trainer's device_sync span */
};
void pp_fault_pass(struct pp_faults *f, enum pp_fault_place place);
/* Inside the h2d span, before the copy. */
void pp_fault_copy(struct pp_faults *f, size_t bytes, int pinned);

/* Ballast: CPU time taken for nothing. A run whose input is free tells what input costs only if the CPUs are
 * as busy as they were with the input: otherwise the trainer gains what the decoding took from it, too. (SPDL
 * calls its cached loader's gain without this the noisy neighbour's.) It takes CPU time alone: what decoding
 * does to caches and memory bandwidth is not made up for. */
struct pp_ballast;

/* Threads that take `cpus` CPUs together, evenly and in slices of 10 ms; what one does not get in a slice is
 * not made up for. cpus <= threads. */
pp_status pp_ballast_start(double cpus, int threads, struct pp_ballast **out, struct pp_err *err);
/* Ends and joins them. NULL is fine. */
void pp_ballast_stop(struct pp_ballast *b);
