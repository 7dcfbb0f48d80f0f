/* collectors/attach/python_runtime.h: where the Python of another process has its runtime (_PyRuntime), which
 * leads to all the rest: by the file of its program or library, without reading its memory. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_python_runtime {
    uint64_t at;    /* in the process; 0: no file of a Python with a runtime is mapped */
    uint64_t size;  /* the interpreter's lock is in it */
    unsigned minor; /* as file names tell it; 0: they do not */
    int is_debug;   /* likewise: a debug build (python3.11d) */
    int is_denied;  /* its mappings may not be read: whether there is a Python is not known */
};

/* The section .PyRuntime, from 3.10 on, and before that the symbol. */
struct pp_python_runtime pp_python_runtime_find(int64_t pid);

/* Why the memory of a process may not be read or written from here, as a clause: "kernel.yama.ptrace_scope is
 * 2: only root may". Returns ptrace_scope, 0 where there is none. */
int pp_python_denied(int64_t pid, char *why, size_t size);

/* The file of the mapping that this line of /proc/PID/maps is of, and where it begins, when it is the first
 * of a program or library of Python. The path is in line. NULL: it is not. */
const char *pp_python_map_line(char *line, uint64_t *start);

/* Where a section or a symbol of a program or library lies once it is mapped. The file is another program's:
 * what does not fit is refused, and no more than a few MiB of it are read. 64-bit files of this machine's
 * byte order. */

/* How far behind the file's first mapping the section begins. 0: there is no such section in it. */
int pp_elf_section(int fd, const char *name, uint64_t *distance, uint64_t *size);
/* The same of what a symbol names, that is exported or was not stripped. */
int pp_elf_symbol(int fd, const char *name, uint64_t *distance, uint64_t *size);
