/* collectors/gpu/reach.h: what of an NVIDIA GPU this process can reach, as far as environment, procfs and
 * files tell without a driver: capabilities that a container was given, MIG instances, cuFile. */
#ifndef PP_COLLECTORS_GPU_REACH_H
#define PP_COLLECTORS_GPU_REACH_H

#include <stddef.h>

/* Where it is looked for: "" for this machine, or a test's folder in front of each path. */
struct pp_reach_root {
    const char *folder;
    const char *capabilities; /* NVIDIA_DRIVER_CAPABILITIES; NULL: not set */
    const char *cufile_json;  /* CUFILE_ENV_PATH_JSON; NULL: /etc/cufile.json */
    const char *visible;      /* CUDA_VISIBLE_DEVICES; NULL: not set */
    const char *library_path; /* LD_LIBRARY_PATH, where libcufile is looked for first; NULL */
    const char *kubernetes;   /* KUBERNETES_SERVICE_HOST: in a pod, whose runtime leaves no file; NULL */
    const char *force_compat; /* CUFILE_FORCE_COMPAT_MODE; NULL */
};
/* Of this process. */
struct pp_reach_root pp_reach_here(void);

/* A program that is started here may find a GPU: there is a device, and CUDA_VISIBLE_DEVICES does not hide
 * all. */
int pp_reach_a_gpu(const struct pp_reach_root *root);
/* 1: all that pipeprobe and nvJPEG need; 0: something is missing; -1: there is no device to reach. What was
 * found, and what cannot be reached, in text. */
int pp_reach_capabilities(const struct pp_reach_root *root, char *text, size_t size);
/* 1: there are MIG instances; 0: there are none; -1: no device, or not told. */
int pp_reach_mig(const struct pp_reach_root *root, char *text, size_t size);
/* 1: files can be read into GPU memory; 0: only through host memory (compatibility mode), or not at all. */
int pp_reach_cufile(const struct pp_reach_root *root, char *text, size_t size);

#endif
