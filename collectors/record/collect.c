#include "collectors/record/collectors.h"

#include "collectors/record/recording.h"
#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "probe/trace/join.h"

#include <fcntl.h>
#include <unistd.h>

#define LOOK_NS 50000000u /* how often to look whether a process is left */

pp_status pp_collect(const char *path, int lock_fd, pp_collect_ready_fn *ready, void *ctx, struct pp_err *err)
{
    struct pp_recording *r;
    char path_of_line[64], line[4096];
    int presence = -1;
    struct pp_recording_opts opts = {.store.path = path,
                                     .rings = PP_RINGS_ADOPTED,
                                     .lock_fd = lock_fd,
                                     .tool = "libpipeprobe"};
    pp_identity_read(&opts.identity); /* the program started us: its environment is ours */
    pp_status st = pp_recording_create(&opts, &r, err);
    struct pp_session *session = st == PP_OK ? pp_recording_session(r) : NULL;
    if (st == PP_OK) {
        snprintf(path_of_line, sizeof(path_of_line), "/proc/%lld/cmdline",
                 (long long)pp_session_facts(session).owner_pid);
        int fd = pp_io_open(path_of_line, O_RDONLY, 0);
        ssize_t n = fd >= 0 ? pp_io_pread_full(fd, line, sizeof(line) - 1, 0) : 0;
        if (fd >= 0)
            close(fd);
        for (ssize_t i = 0; i + 1 < n; i++)
            line[i] = line[i] ? line[i] : ' ';
        line[n > 0 ? n : 0] = '\0';
        st = pp_recording_start(r, n > 0 ? line : NULL, err); /* gone already: unknown is absent */
    }
    ready(ctx, st == PP_OK ? NULL : err);
    if (st == PP_OK) {
        while (!pp_presence_end(pp_session_dir(session), &presence)) /* then it holds off newcomers */
            pp_sleep_until_ns(pp_now_ns() + LOOK_NS);
        /* A process that closes retires its threads; one that ends without closing does not, nor does one
         * that is killed. */
        int all_retired = 1;
        for (uint32_t i = 0, n = pp_session_threads(session); i < n; i++) {
            struct pp_ring_info info;
            pp_session_ring_info(session, i, &info);
            all_retired &= !info.pid || info.retired;
        }
        st = pp_recording_finish(r, all_retired ? "finished" : "ended without closing", 0, err);
    }
    pp_recording_free(r);
    if (presence >= 0)
        close(presence); /* newcomers may come again: the session has gone */
    return st;
}
