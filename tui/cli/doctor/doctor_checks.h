/* tui/cli/doctor/doctor_checks.h: what this machine and this build can do, one row per capability. Each check
 * looks by itself, changes nothing, and says so when it cannot tell. */
#pragma once

#include "probe/decode/image.h"

#include <pipeprobe/status.h>

struct pp_collector;
struct pp_reach_root;
struct pp_sink_kind;
struct pp_topology;

enum pp_answer { PP_NO, PP_YES, PP_CANNOT_TELL };

struct pp_finding {
    const char *name;
    enum pp_answer answer;
    char value[240];     /* what was found: a version, a limit, why not */
    const char *meaning; /* of this answer */
};

/* What is looked for in a Python (doctor_exec.c). */
enum pp_python_look {
    PP_PYTHON_NONE,
    PP_PYTHON_STARTS,
    PP_PYTHON_TORCH,
    PP_PYTHON_HOOKS,
    PP_PYTHON_READS,
    PP_PYTHON_ATTACH
};

/* A capability: a check of its own, or that of a collector (collectors/collector.h), which names itself. */
struct pp_check {
    const struct pp_collector *collector; /* NULL: the other fields hold */
    const char *name;
    void (*look)(struct pp_finding *f);
    const char *with, *without; /* what it means to have it, or not */
    /* In place of look: what pp_look_python looks for; what this build has, and whether that is enough;
     * whether it is there, and what was found or why not; what of a GPU is within reach, -1: that cannot be
     * told; or a sink that needs a library. */
    enum pp_python_look of_python;
    const char *built;
    enum pp_answer has;
    int (*available)(char *text, size_t size);
    int (*reach)(const struct pp_reach_root *root, char *text, size_t size);
    const struct pp_sink_kind *sink;
    const char *library;
};
extern const struct pp_check pp_checks[];
extern const size_t pp_checks_n;

/* Checks of doctor.c. The first is of a given topology. */
void pp_describe_numa(const struct pp_topology *t, struct pp_finding *f);
void pp_look_numa(struct pp_finding *f);
void pp_look_nvjpeg(struct pp_finding *f);
void pp_look_container(struct pp_finding *f);

/* Checks of doctor_exec.c: what `pipeprobe exec -- python3 train.py` needs, found by doing it: a DataLoader
 * of that Python with one worker reads a file, under exec. One probe per process, made when the first row
 * asks; it imports torch, which takes seconds. Nothing is left. One thread. */
void pp_look_python(enum pp_python_look what, struct pp_finding *f);
/* A path or a name in PATH, borrowed; set before the first row. */
extern const char *pp_doctor_python;

/* Runs the check if `only` names it (NULL: names none), and fills f; 0, with f unchanged, if it does not run.
 */
int pp_check_run(const struct pp_check *c, const char *only, struct pp_finding *f);

/* `doctor --nvjpeg`: how quickly the first CUDA device decodes JPEG, by back end and batch, beside one CPU
 * thread; and how far its pixels are off libjpeg-turbo's. Of images that are made here, as large as a data
 * set's of photographs usually are. */

enum { PP_DECODE_BACKENDS = 4, PP_DECODE_BATCHES = 4, PP_DECODE_KINDS = 4 };

struct pp_json;

struct pp_decode_rates {
    int width, height, quality;
    size_t batch[PP_DECODE_BATCHES];
    struct pp_decode_backend_rates {
        const char *name;                       /* "HARDWARE" */
        double images_per_s[PP_DECODE_BATCHES]; /* two batches under way; 0: not measured */
        double least_batch_ns;                  /* one image alone, the fastest of several */
        char why_not[320];                      /* "" or why nothing was measured */
    } backend[PP_DECODE_BACKENDS];
    const char *usual;       /* the back end that run --decode takes for the largest of the batches */
    double cpu_images_per_s; /* libjpeg-turbo, one thread */
    struct {
        const char *sampling;     /* "4:2:0" */
        struct pp_pixels_off off; /* images 0: not compared */
        double mean;              /* of off */
    } kind[PP_DECODE_KINDS];
};

/* Some seconds. PP_E_UNSUPPORTED: no device, no nvJPEG; a back end that cannot be used is no failure. */
pp_status pp_decode_rates(struct pp_decode_rates *out, struct pp_err *err);

/* As a table for people, with a what-if for what was measured; as the member "nvjpeg" of a document, null
 * where nothing was. */
void pp_decode_rates_text(FILE *out);
void pp_decode_rates_json(struct pp_json *j);
