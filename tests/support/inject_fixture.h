/* The injection library in a process of its own: this program run again, doing a scenario
 * (inject_scenarios.h), with a session that this one made; then what is in its rings and process files. */
#pragma once

#include "collectors/attach/process_file.h"
#include "collectors/attach/namemap.h"
#include "probe/base/err.h"
#include "probe/trace/drain_side.h"
#include "tests/support/here.h"
#include "tests/support/inject_scenarios.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pipeprobe/ring.h>

struct inject_seen {
    struct pp_span span;
    struct pp_ring_info thread;
    char name[PP_NAME_BYTES];
};

struct inject_result {
    struct pp_session *session;
    char dir[64];
    struct inject_seen *seen;
    size_t n;
    struct pp_process_file process[64];
    size_t processes;
    int status;
};

/* In a forked child: this program again, doing the scenario. */
_Noreturn void inject_become(const char *scenario);

/* Runs a scenario to its end and reads what it left. map: contents of a name map, or NULL; next: another
 * injection library to chain to, or NULL. The caller ends the result with inject_done. */
struct inject_result *inject_run_with(const char *scenario, const char *map, const char *next,
                                      size_t ring_spans);
/* The same without both; fails the test unless the scenario ended with 0. */
struct inject_result *inject_run(const char *scenario);
/* Frees it; fails when the session leaves anything behind. */
void inject_done(struct inject_result *r);
/* Spans of that name; and the first of them, which must be there. */
size_t inject_count(const struct inject_result *r, const char *name);
const struct inject_seen *inject_find(const struct inject_result *r, const char *name);
int inject_inside(const struct inject_seen *inner, const struct inject_seen *outer);

/* The main of such a program: a scenario when it was run again for one, its tests otherwise. */
#define INJECT_MAIN(tests) \
    int main(int argc, char **argv) \
    { \
        if (argc == 3 && strcmp(argv[1], "--scenario") == 0) \
            return inject_run_scenario(argv[2]); \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    }
