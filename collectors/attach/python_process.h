/* collectors/attach/python_process.h: a Python interpreter that runs in another process, and the request that
 * it run a script: the protocol of PEP 768, which sys.remote_exec speaks. The script runs in the
 * interpreter's main thread, where that next looks for signals: between two bytecodes, never inside a C call.
 * Its memory is that which it had when it was found: a program that it executes since, with the rights of
 * another user perhaps, has another. The process is neither stopped nor traced; what is written into it is
 * the path of the script, a flag, and a bit of the word that makes the interpreter look.
 *
 * Python publishes where these lie in a table at the beginning of its section .PyRuntime; each minor version
 * has its own. What is read from the process is believed of that process alone: as addresses in it. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_python {
    int64_t pid;
    int64_t user;                 /* whose it is */
    int memory;                   /* descriptor of its memory, -1: none */
    uint64_t started;             /* as pp_watch_look has it: with the pid it names one process for good */
    unsigned major, minor;        /* of its version */
    uint64_t script, script_size; /* where the path goes, and how many bytes with its end */
    uint64_t pending;             /* the flag, an int */
    uint64_t breaker;             /* the word */
};

/* Close it with pp_python_close, also after a failure. PP_E_UNSUPPORTED: no Python that takes requests: an
 * older one, one that knows no request of ours, one with them switched off, a free-threaded one. PP_E_ACCESS:
 * its memory is not to be had. The sentence begins with "process PID". A program that runs with the rights of
 * another user than its own is refused (PP_E_ACCESS). */
pp_status pp_python_find(int64_t pid, struct pp_python *out, struct pp_err *err);

/* Asks it to run the script, a path that it can read. One request at a time. */
pp_status pp_python_ask(const struct pp_python *p, const char *script, struct pp_err *err);
/* 1: asked, and not begun. */
int pp_python_is_asked(const struct pp_python *p);
/* Takes a request back that was not begun. */
void pp_python_withdraw(const struct pp_python *p);
void pp_python_close(struct pp_python *p);
