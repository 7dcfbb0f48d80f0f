/* send/mlflow.h: what is read of an MLflow server's answers, a stranger's bytes, and what requests are
 * made of. MLflow's REST API 2.0. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_mlflow_run {
    char id[65];
    char artifacts[300]; /* where the server keeps files of the run, as a path of its own; "": it does not */
};

/* The run of runs/create and runs/get. 0: there is none in it. */
int pp_mlflow_read_run(const char *body, size_t n, struct pp_mlflow_run *out);
/* The id of experiments/get-by-name and experiments/create. 0: there is none. */
int pp_mlflow_read_experiment(const char *body, size_t n, char id[65]);
/* The words of a refusal, plain; "": none. */
void pp_mlflow_read_refusal(const char *body, size_t n, char *words, size_t size);

/* Bodies, malloc'd; NULL: no memory. */
char *pp_mlflow_create_experiment(const char *name);
/* {"metrics": [...]} with the run's id in it. */
char *pp_mlflow_of_run(const char *run, const char *object, size_t n);

/* A tracking server's URL, or "env": MLFLOW_TRACKING_URI. Without its last slashes; the caller frees.
 * PP_E_USAGE: it is none, or one that is not asked over HTTP. */
pp_status pp_mlflow_url(const char *target, char **out, struct pp_err *err);
