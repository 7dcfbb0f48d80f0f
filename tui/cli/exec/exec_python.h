/* tui/cli/exec/exec_python.h: what exec does for Python programs: where the hooks lie, what the environment
 * needs for them, and what the recorded processes said of their DataLoaders. */
#ifndef PP_TUI_CLI_EXEC_EXEC_PYTHON_H
#define PP_TUI_CLI_EXEC_EXEC_PYTHON_H

#include "collectors/store/writer.h"

#include <limits.h>
#include <stddef.h>

struct exec_python {
    char hooks[PATH_MAX]; /* the directory with sitecustomize.py; "": there is none */
    char reads[PATH_MAX]; /* the library that times reads; "": there is none, or it is not wanted */
    char set_path[2 * PATH_MAX], set_preload[2 * PATH_MAX]; /* NAME=value; "": leave it */
    unsigned loaders; /* DataLoaders found at the end, in all processes */
    unsigned workers, batch_size;
};

/* Finds both and makes the two settings for program. with_reads 0: no library is preloaded. */
void exec_python_prepare(struct exec_python *p, const char *program, int with_reads);
/* Before the program starts. */
void exec_python_store_config(struct pp_store *store, const struct exec_python *p);
/* At the end: takes the files of the session directory and removes them. store NULL: only removes. */
void exec_python_take(struct exec_python *p, struct pp_store *store, const char *session_dir);

#endif
