#include "collectors/record/collect.h"

#include "collectors/record/drain.h"
#include "collectors/system/environment.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/trace/join.h"
#include "probe/trace/presence.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_NS 50000000u /* how often to look whether anybody is left */

struct collect {
    struct pp_session *session;
    struct pp_store *store;
    struct pp_drain *drain;
};

static void store_command_line(struct pp_store *s, int64_t pid)
{
    char path[64], line[4096];
    snprintf(path, sizeof(path), "/proc/%lld/cmdline", (long long)pid);
    int fd = pp_io_open(path, O_RDONLY, 0);
    ssize_t n = fd >= 0 ? pp_io_pread_full(fd, line, sizeof(line) - 1, 0) : 0;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return; /* it has gone already: unknown is absent */
    for (ssize_t i = 0; i + 1 < n; i++)
        line[i] = line[i] ? line[i] : ' ';
    line[n] = '\0';
    pp_store_meta_text(s, "run", "command_line", line);
}

static void store_start(const struct collect *c)
{
    uint64_t now = pp_now_ns(), created = pp_session_created_ns(c->session);
    pp_store_meta_text(c->store, "run", "tool", "libpipeprobe");
    pp_store_meta_text(c->store, "run", "version", PP_VERSION);
    store_command_line(c->store, pp_session_owner_pid(c->session));
    pp_store_meta_num(c->store, "run", "started_mono_ns", (double)created, "ns");
    pp_store_meta_num(c->store, "run", "started_utc_ns",
                      (double)(pp_clock_of(CLOCK_REALTIME) - (now - created)), "ns");
}

static pp_status begin(struct collect *c, const char *path, int lock_fd, struct pp_err *err)
{
    char dir[PATH_MAX];
    if ((size_t)snprintf(dir, sizeof(dir), "%s.rings", path) >= sizeof(dir)) {
        close(lock_fd);
        return pp_fail(err, PP_E_USAGE, "the name of the run is too long: %s", path);
    }
    pp_status st = pp_session_adopt(dir, lock_fd, &c->session, err);
    if (st == PP_OK)
        st = pp_store_create(&(struct pp_store_opts){.path = path, .session_id = pp_session_id(c->session)},
                             &c->store, err);
    if (st != PP_OK)
        return st;
    store_start(c);
    st = pp_environment_store(c->store, NULL, err);
    if (st == PP_OK)
        st = pp_drain_start(&(struct pp_drain_opts){.session = c->session, .store = c->store}, &c->drain,
                            err);
    return st;
}

/* Holds off newcomers from the moment that all have gone. */
static int wait_for_all(const struct collect *c)
{
    int fd;
    while (!pp_presence_end(pp_session_dir(c->session), &fd))
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

static pp_status end(struct collect *c, struct pp_err *err)
{
    struct pp_drain_stats stats;
    int closed = all_retired(c->session);
    pp_drain_stop(c->drain, &stats);
    c->drain = NULL;
    pp_store_meta_num(c->store, "run", "ended_mono_ns", (double)pp_now_ns(), "ns");
    pp_store_meta_text(c->store, "run", "outcome", closed ? "finished" : "ended without closing");
    pp_status st = pp_store_finish(c->store, err);
    return stats.first_failure != PP_OK ? pp_fail(err, stats.first_failure, "%s", stats.err_text) : st;
}

pp_status pp_collect(const char *path, int lock_fd, pp_collect_ready_fn *ready, void *ctx, struct pp_err *err)
{
    struct collect c = {NULL};
    int presence = -1;
    pp_status st = begin(&c, path, lock_fd, err);
    ready(ctx, st == PP_OK ? NULL : err);
    if (st == PP_OK) {
        presence = wait_for_all(&c);
        st = end(&c, err);
    }
    pp_drain_stop(c.drain, NULL);
    int lost = c.store && pp_store_lost(c.store);
    pp_store_close(c.store);
    pp_session_close(c.session, !lost);
    if (presence >= 0)
        close(presence);
    return st;
}
