#include "tui/cli/trace_report.h"

#include "collectors/import/import.h"
#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/source/source.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
enum { TAILS = sizeof(tails) / sizeof(*tails) };

/* For the signal handler, which may only unlink. */
static struct {
    char dir[1024], file[TAILS][1200];
    volatile sig_atomic_t made;
} temporary;

static void remove_temporary(void)
{
    if (!temporary.made)
        return;
    for (int i = 0; i < TAILS; i++)
        unlink(temporary.file[i]);
    rmdir(temporary.dir);
    temporary.made = 0;
}

static void on_signal(int sig)
{
    remove_temporary();
    signal(sig, SIG_DFL);
    raise(sig);
}

static pp_status make_temporary(struct pp_err *err)
{
    const char *where = getenv("TMPDIR");
    char dir[sizeof(temporary.dir)];
    int n = snprintf(dir, sizeof(dir), "%s/pipeprobe-trace-XXXXXX", where && *where ? where : "/tmp");
    if ((size_t)n >= sizeof(dir))
        return pp_fail(err, PP_E_USAGE, "the name of TMPDIR is too long");
    if (!mkdtemp(dir))
        return pp_fail_errno(err, errno, "no temporary directory can be made (%s)", dir);
    memcpy(temporary.dir, dir, sizeof(dir));
    for (int i = 0; i < TAILS; i++)
        snprintf(temporary.file[i], sizeof(temporary.file[i]), "%s/trace.sqlite%s", dir, tails[i]);
    temporary.made = 1;
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGHUP, &sa, NULL);
    return PP_OK;
}

pp_status pp_trace_report(const char *path, struct pp_report **out, struct pp_err *err)
{
    struct pp_import_result result;
    struct pp_source source;
    memset(&source, 0, sizeof(source));
    *out = NULL;
    pp_status st = make_temporary(err);
    if (st == PP_OK)
        st = pp_import_file(
            path, &(struct pp_import_opts){.output = temporary.file[0], .rank = -1, .world_size = -1},
            &result, err);
    if (st == PP_OK && (st = pp_source_open(temporary.file[0], &source, err)) == PP_OK) {
        source.path = path; /* the recording has no name that lasts */
        st = pp_report_from(&source, out, err);
    }
    pp_source_close(&source);
    remove_temporary();
    return st;
}
