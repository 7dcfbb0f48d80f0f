/* tui/cli/exec/exec_python.h: what exec does for Python programs: where the hooks lie, and what the
 * environment needs for them. */
#pragma once

#include "collectors/store/writer.h"

struct exec_python {
    char hooks[PATH_MAX];         /* the directory with sitecustomize.py; "": there is none */
    char reads[PATH_MAX];         /* the library that times reads; "": there is none, or it is not wanted */
    char *set_path, *set_preload; /* NAME=value; NULL: leave it */
};

/* Finds both and makes the two settings for program. with_reads 0: no library is preloaded. */
void exec_python_prepare(struct exec_python *p, const char *program, int with_reads);
void exec_python_free(struct exec_python *p);
/* Before the program starts; it runs already when it is served. */
void exec_python_store_config(struct pp_store *store, const struct exec_python *p, int served);
