/* tui/cli/jobs/interrupt.h: SIGINT, SIGTERM and SIGHUP ask a command to end. A command says once how it takes
 * them; a SIGHUP that the process was started to ignore (nohup) stays ignored.
 *
 * One process, one command. interrupt_asked from any thread, the rest from the main thread. */
#pragma once

#include <pipeprobe/status.h>
#include <signal.h>
#include <sys/types.h>

enum {
    INTERRUPT_WAKES = 1,    /* calls that wait end with EINTR; without it they go on */
    INTERRUPT_ONCE = 2,     /* the second one ends the process, as if none was caught */
    INTERRUPT_BESIDE = 4,   /* they are for the command that we run beside: ignored here */
    INTERRUPT_AS_FOUND = 8, /* one that we were started to ignore stays ignored, also SIGINT and SIGTERM */
};

/* From now on; one that came before is forgotten. hook is called in the signal handler, with the three
 * signals blocked; NULL: nothing is done but to note it. */
void interrupt_catch(unsigned flags, void (*hook)(int sig));
/* They do again what they did before interrupt_catch. */
void interrupt_catch_no_more(void);
/* The newest that came; 0: none. */
int interrupt_asked(void);
/* PP_OK, or PP_E_INTERRUPTED with a sentence. */
pp_status interrupt_status(struct pp_err *err);

/* A child that is to end with us: from now on SIGTERM is passed on to it, at once if a signal came already.
 * What a terminal sends (Ctrl-C, its end) reaches it by itself; twice would make it leave without finishing
 * its file.
 */
void interrupt_passes_to(pid_t child);
/* All of them have ended. */
void interrupt_passes_no_more(void);

/* Writing to what nobody reads is an error from now on, and no end. */
void interrupt_ignore_pipe(void);
/* What we ignore for ourselves and were not started to ignore: a child is to have it as we found it. */
void interrupt_restores(sigset_t *set);
