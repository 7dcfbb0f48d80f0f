#include "collectors/record/collect.h"

#include "collectors/record/recording.h"
#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "probe/trace/presence.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_NS 50000000u /* how often to look whether a process is left */

static const char *command_line_of(int64_t pid, char *line, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%lld/cmdline", (long long)pid);
    int fd = pp_io_open(path, O_RDONLY, 0);
    ssize_t n = fd >= 0 ? pp_io_pread_full(fd, line, size - 1, 0) : 0;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return NULL; /* it has gone already: unknown is absent */
    for (ssize_t i = 0; i + 1 < n; i++)
        line[i] = line[i] ? line[i] : ' ';
    line[n] = '\0';
    return line;
}

/* Holds off newcomers from the moment that all have gone. */
static int wait_for_all(const struct pp_session *s)
{
    int fd;
    while (!pp_presence_end(pp_session_dir(s), &fd))
        pp_sleep_until_ns(pp_now_ns() + LOOK_NS);
    return fd;
}

/* A process that closes retires its threads; one that ends without closing does not, nor does one that is
 * killed. */
static int all_retired(const struct pp_session *s)
{
    uint32_t n = pp_session_threads(s);
    int all = 1;
    for (uint32_t i = 0; i < n; i++) {
        struct pp_ring_info info;
        pp_session_ring_info(s, i, &info);
        all &= !info.pid || info.retired;
    }
    return all;
}

pp_status pp_collect(const char *path, int lock_fd, pp_collect_ready_fn *ready, void *ctx, struct pp_err *err)
{
    struct pp_recording *r;
    char line[4096];
    int presence = -1;
    struct pp_recording_opts opts = {.store.path = path,
                                     .rings = PP_RINGS_ADOPTED,
                                     .lock_fd = lock_fd,
                                     .tool = "libpipeprobe"};
    pp_identity_read(&opts.identity); /* the program started us: its environment is ours */
    pp_status st = pp_recording_create(&opts, &r, err);
    struct pp_session *session = st == PP_OK ? pp_recording_session(r) : NULL;
    if (st == PP_OK)
        st = pp_recording_start(r, command_line_of(pp_session_owner_pid(session), line, sizeof(line)), err);
    ready(ctx, st == PP_OK ? NULL : err);
    if (st == PP_OK) {
        presence = wait_for_all(session);
        st = pp_recording_finish(r, all_retired(session) ? "finished" : "ended without closing", 0, err);
    }
    pp_recording_free(r);
    if (presence >= 0)
        close(presence); /* newcomers may come again: the session has gone */
    return st;
}
