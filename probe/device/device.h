/* device/device.h: what the loader asks of a device, behind one table of functions. Two are behind it: CUDA
 * (driver opened at run time), and the host device: page-locked memory and a link of stated bandwidth (a GPU
 * stand-in that costs no CPU, as a copy engine costs none).
 *
 * A device belongs to the loader that opened it. copy_* are called by the copy lane alone, step_* by the
 * trainer alone; alloc and free by the thread that makes the loader. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_device;

/* Samples are copied as interleaved bytes (NHWC, 3 channels) and become normalised planes (NCHW) on the
 * device. */
struct pp_device_normalize {
    size_t plane;       /* pixels of a sample */
    size_t value_bytes; /* 4: floats, 2: halves */
    const void *table;  /* value v of channel c becomes table[c * 256 + v]; read by open alone */
};

struct pp_device_opts {
    const char *kind;        /* "host", "cuda"; NULL or "auto": CUDA when a device is usable, else the host */
    double link_bytes_per_s; /* host: of the stand-in link; 0: 25e9 (measured PCIe 4 x16 rate for pinned
                                memory) */
    int pageable;            /* batch memory is pageable batch memory through a staging buffer first */
    int copy_buffers; /* cuda: batches on the device at a time, used in turn; 0: 2. Copy k + copy_buffers
                         starts after the step on k */
    int sync_copies;  /* cuda: a copy blocks its thread and waits for the step under way (cudaMemcpy as a
                         script would call it) */
    int step_work; /* cuda: a step is as much work on all multiprocessors as takes its time alone, and longer
                      beside others; else it takes its time in any case */
    const struct pp_device_normalize *normalize; /* NULL: batches arrive as they are copied. host: no time of
                                                    its own, as it takes a GPU microseconds */
};

/* The strings belong to the device. */
struct pp_device_info {
    const char *kind;        /* "host" or "cuda" */
    const char *name;        /* "host device, simulated 25.0 GB/s link, pinned" */
    int pinned;              /* slots are really page-locked */
    const char *note;        /* NULL or what to know ("RLIMIT_MEMLOCK is 8 MiB: slots are not page-locked") */
    const char *passed_over; /* NULL or, under "auto", why it is not CUDA */
    const char *pci_bus_id;  /* NULL or "0000:3b:00.0", by which NVML knows it */
    int driver_version;      /* cuda: of CUDA the driver speaks: 12020 is 12.2; else 0 */
    int runs_steps;          /* pp_device_step_* do a step on the device */
};

pp_status pp_device_open(const struct pp_device_opts *opts, struct pp_device **out, struct pp_err *err);
void pp_device_close(struct pp_device *d);
void pp_device_info(const struct pp_device *d, struct pp_device_info *out);

/* Memory for batch slots, page-locked if the device can, zero-filled, touched. Freed by pp_device_free. */
pp_status pp_device_alloc(struct pp_device *d, size_t size, void **out, struct pp_err *err);
void pp_device_free(struct pp_device *d, void *p, size_t size);

/* Starts copying; *ticket identifies the copy. With pageable memory the bounce copy is part of this call. */
pp_status pp_device_copy_start(struct pp_device *d, const void *src, size_t size, uint64_t *ticket,
                               struct pp_err *err);
/* Blocks until the copy, and the normalisation after it, is done (an event wait). The source may then be
 * reused. */
pp_status pp_device_copy_wait(struct pp_device *d, uint64_t ticket, struct pp_err *err);

/* Told by the thread that is about to start work on the device for a batch, and again when that work is done
 * or has failed: how a profiler joins the device's work to batches. Set before the loader's threads start; w
 * is copied. */
struct pp_device_watch {
    void *ctx;
    void (*begin)(void *ctx, uint64_t batch);
    void (*end)(void *ctx);
};
void pp_device_watch(struct pp_device *d, const struct pp_device_watch *w);
void pp_device_begin(struct pp_device *d, uint64_t batch);
void pp_device_end(struct pp_device *d);

/* A trainer step of ns on the device (see step_work): started without waiting, then waited for; one at a
 * time. PP_E_UNSUPPORTED where the device runs none. */
pp_status pp_device_step_start(struct pp_device *d, uint64_t ns, struct pp_err *err);
pp_status pp_device_step_wait(struct pp_device *d, struct pp_err *err);

/* Blocks until everything issued so far is done (--sync-every-step). Any thread. */
pp_status pp_device_sync(struct pp_device *d, struct pp_err *err);
