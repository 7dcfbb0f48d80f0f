/* export/gpu_tracks.h: where a timeline draws what CUPTI recorded, and what it says there; for the formats
 * whose viewers have tracks.
 *
 * A track per stream of a device (kernels, copies, memsets), one per thread for its calls of the driver, one
 * per context for waits on it, one for CUPTI's own overhead. What overlaps on one of them in part gets a
 * track beside it, as spans do (tracks.h). Categories, and flows from a call to the work done for it, are
 * those that Kineto, PyTorch's profiler, made customary in chrome://tracing and Perfetto. */
#ifndef PP_EXPORT_GPU_TRACKS_H
#define PP_EXPORT_GPU_TRACKS_H

#include "report/export/export.h"

struct pp_gpu_tracks {
    const struct pp_export_run *run;
    struct pp_gpu_lane *lane;
    size_t n, cap;
    uint64_t devices; /* a bit each, that was met */
};

#define PP_GPU_SLICE_NOTES 7

/* A row as it is drawn. Its strings are valid as long as the row and this. */
struct pp_gpu_slice {
    uint64_t start_ns, end_ns;
    const char *name, *category;
    char text[96];     /* what name may point to */
    enum pp_flow flow; /* START: a call; STEP: what was done for it; by correlation */
    uint64_t flow_id;  /* no batch has it */
    struct {
        const char *key;
        uint64_t value;
    } note[PP_GPU_SLICE_NOTES];
    size_t n_notes;

    unsigned track;                     /* its number, which no other track of the run has */
    unsigned beside;                    /* 0, or the how many-th beside the track of that name */
    int new_track, new_device;          /* met for the first time */
    uint32_t device;                    /* UINT32_MAX: the track is of the process */
    const struct pp_thread_row *thread; /* that called; NULL: none that the recording knows */
    char track_name[96];                /* of a new track: "stream 7", "pp-copy (CUDA calls)" */
    char device_name[160];              /* of a new device: "GPU 0: NVIDIA H100 ..." */
};

/* run is borrowed; {0} may be freed. */
void pp_gpu_tracks_begin(struct pp_gpu_tracks *t, const struct pp_export_run *run);
void pp_gpu_tracks_free(struct pp_gpu_tracks *t);
/* Rows come in the order of their starts. PP_END: a kind of row that is not drawn; PP_E_NO_MEMORY. */
pp_status pp_gpu_tracks_place(struct pp_gpu_tracks *t, const struct pp_gpu_row *row,
                              struct pp_gpu_slice *out);

#endif
