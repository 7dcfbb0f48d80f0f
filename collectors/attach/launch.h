/* collectors/attach/launch.h: running a foreign program as if we were not there: its standard streams, signal
 * mask and exit status are its own, and signals sent to us are passed on. One program at a time; from the
 * main thread, before other threads are started (they inherit the mask). */
#pragma once

#include <pipeprobe/status.h>

#include <signal.h>
#include <sys/types.h>

struct pp_launch {
    pid_t pid;
    sigset_t before; /* the signal mask we were called with: the program's */
    int blocked, child_default;
    struct sigaction child_before;
    int signalled; /* the last signal passed on that asked the program to end, or ended it; 0: none */
    int killed_by; /* the signal that ended the program; 0: none did */
};

enum { PP_LAUNCH_FAILED = 125, PP_LAUNCH_NOT_EXECUTABLE = 126, PP_LAUNCH_NOT_FOUND = 127 }; /* as env(1) */

/* Looks for the program as execvp does, before anything is made: 0, or 126/127 and a sentence. */
int pp_launch_find(const char *program, struct pp_err *err);

/* From here on signals wait for pp_launch_wait, which passes them on. pp_launch_end undoes it; those that
 * have come since the program's end are lost. */
void pp_launch_begin(struct pp_launch *l);
void pp_launch_end(struct pp_launch *l);

/* Starts argv (NULL-terminated; searched in PATH; a script without an interpreter line runs in sh). env:
 * NAME=value strings that replace or join our own environment, NULL-terminated. 0, or 125, 126, 127 and a
 * sentence. */
int pp_launch_start(struct pp_launch *l, char *const *argv, const char *const *env, struct pp_err *err);

/* Waits for the program's end, passing on SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, and SIGINT and SIGQUIT unless
 * the terminal sent them to the program as well. Its exit status, or 128 + the signal that ended it. */
int pp_launch_wait(struct pp_launch *l);

/* The end of a process that stands for a program which a signal ended: a shell's loop stops for Ctrl-C only
 * where what it has started died of it. Returns if the signal ends nothing. */
void pp_launch_die_of(int sig);
