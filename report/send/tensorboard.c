/* An event file of TensorBoard's that grows: each text is whole records behind the others. One that cannot be
 * written whole is taken back, so that the file stays one. */
#include "report/send/sink.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct events {
    char path[PATH_MAX];
    int fd;
    off_t size;
    struct pp_sink_count count;
    struct pp_err last;
};

static const char *nothing_missing(void)
{
    return NULL;
}

static pp_status check(const char *target, struct pp_err *err)
{
    struct stat st;
    if (stat(target, &st) == 0 && !S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_USAGE, "--tensorboard %s is no directory; name one for the event file",
                       target);
    return PP_OK;
}

/* And the one that it is in, for DIR/rank0003. */
static int make_directory(const char *path)
{
    char parent[PATH_MAX];
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return 1;
    const char *slash = strrchr(path, '/');
    if (errno != ENOENT || !slash || slash == path)
        return 0;
    snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
    return (mkdir(parent, 0777) == 0 || errno == EEXIST) && (mkdir(path, 0777) == 0 || errno == EEXIST);
}

/* As TensorFlow names them: seconds, host, process. */
static pp_status make_path(struct events *e, const struct pp_sink_opts *o, struct pp_err *err)
{
    char host[64];
    snprintf(host, sizeof(host), "%s", o->instance ? o->instance : "localhost");
    for (char *c = host; *c; c++)
        *c = *c == '/' || (unsigned char)*c <= ' ' ? '_' : *c;
    if (!make_directory(o->target))
        return pp_fail_errno(err, errno, "cannot make the directory %s", o->target);
    if ((size_t)snprintf(e->path, sizeof(e->path), "%s/events.out.tfevents.%010lld.%s.%ld.pipeprobe",
                         o->target, (long long)time(NULL), host, (long)getpid()) >= sizeof(e->path))
        return pp_fail(err, PP_E_USAGE, "the name is too long: %s", o->target);
    return PP_OK;
}

static int append(struct events *e, const char *text, size_t n)
{
    if (pp_io_write_full(e->fd, text, n) == 0) {
        e->size += (off_t)n;
        return 1;
    }
    pp_fail_errno(&e->last, errno, "writing %s failed", e->path);
    if (ftruncate(e->fd, e->size) != 0)
        pp_fail_errno(&e->last, errno, "%s ends in half a record", e->path);
    return 0;
}

static void close_events(void *self)
{
    struct events *e = self;
    if (e && e->fd >= 0)
        close(e->fd);
    free(e);
}

static pp_status open_events(const struct pp_sink_opts *o, void **self, struct pp_err *err)
{
    size_t n = 0;
    char *head = o->fetch(o->ctx, PP_SINK_EVENTS_HEAD, &n);
    struct events *e = calloc(1, sizeof(*e));
    pp_status st = PP_OK;
    if (e)
        e->fd = -1;
    if (!head || !e)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to write to %s", o->target);
    if (st == PP_OK)
        st = make_path(e, o, err);
    if (st == PP_OK && (e->fd = pp_io_open(e->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666)) < 0)
        st = pp_fail_errno(err, errno, "cannot create %s", e->path);
    if (st == PP_OK && !append(e, head, n)) {
        unlink(e->path);
        st = pp_fail(err, PP_E_IO, "%s", e->last.text);
    }
    free(head);
    if (st == PP_OK)
        *self = e;
    else
        close_events(e);
    return st;
}

static enum pp_sink_format format(void *self)
{
    return PP_SINK_EVENTS;
}

static void put(void *self, const char *text, size_t n)
{
    struct events *e = self;
    if (append(e, text, n))
        e->count.sent++;
    else
        e->count.lost++;
}

static struct pp_sink_count count(void *self)
{
    return ((struct events *)self)->count;
}

static void trouble(void *self, char *text, size_t size)
{
    struct events *e = self;
    snprintf(text, size, "%s", e->count.lost ? e->last.text : "");
}

const struct pp_sink_kind pp_sink_tensorboard = {
    .option = "tensorboard",
    .missing = nothing_missing,
    .check = check,
    .open = open_events,
    .format = format,
    .put = put,
    .finish = put,
    .count = count,
    .trouble = trouble,
    .close = close_events,
};
