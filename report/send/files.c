/* Metrics in files: one for node_exporter's textfile collector, replaced as a whole, so that a reader never
 * sees half of it; and an event file of TensorBoard's that grows: each text is whole records behind the
 * others. One that cannot be written whole is taken back, so that the file stays one. */
#include "report/send/sink.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct file {
    char path[PATH_MAX];
    int fd; /* -1: none is kept open */
    off_t size;
    struct pp_sink_count count;
    struct pp_err last;
};

static struct pp_sink_count file_count(void *self)
{
    return ((struct file *)self)->count;
}

static void file_trouble(void *self, char *text, size_t size)
{
    const struct file *f = self;
    snprintf(text, size, "%s", f->count.lost ? f->last.text : "");
}

static int append(struct file *f, const char *text, size_t n)
{
    if (pp_io_write_full(f->fd, text, n) == 0) {
        f->size += (off_t)n;
        return 1;
    }
    pp_fail_errno(&f->last, errno, "writing %s failed", f->path);
    if (ftruncate(f->fd, f->size) != 0)
        pp_fail_errno(&f->last, errno, "%s ends in half a record", f->path);
    return 0;
}

/* One that is kept open grows; another is replaced. */
static void file_put(void *self, const char *text, size_t n, int last)
{
    struct file *f = self;
    int taken = f->fd >= 0 ? append(f, text, n) : pp_io_replace(f->path, text, n, 0, &f->last) == PP_OK;
    f->count.sent += taken;
    f->count.lost += !taken;
}

static void file_close(void *self)
{
    struct file *f = self;
    if (f && f->fd >= 0)
        close(f->fd);
    free(f);
}

/* ---- a text file ---- */

static pp_status textfile_check(const struct pp_sink_kind *kind, const char *target, struct pp_err *err)
{
    const char *name = basename(target);
    size_t n = strlen(name);
    struct stat st;
    if (n <= 5 || strcmp(name + n - 5, ".prom") != 0)
        return pp_fail(err, PP_E_USAGE,
                       "--metrics-textfile %s: the name must end in .prom; node_exporter reads no other file",
                       target);
    if (stat(target, &st) == 0 && !S_ISREG(st.st_mode))
        return pp_fail(err, PP_E_USAGE, "--metrics-textfile %s is no regular file", target);
    return PP_OK;
}

static pp_status textfile_open(const struct pp_sink_kind *kind, const struct pp_sink_opts *o, void **self,
                               struct pp_err *err)
{
    struct file *f = calloc(1, sizeof(*f));
    if (!f)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", o->target);
    f->fd = -1;
    if ((size_t)snprintf(f->path, sizeof(f->path), "%s", o->target) >= sizeof(f->path)) {
        free(f);
        return pp_fail(err, PP_E_USAGE, "the name is too long: %s", o->target);
    }
    *self = f;
    return PP_OK;
}

const struct pp_sink_kind pp_sink_textfile = {
    .option = "metrics-textfile",
    .takes = PP_SINK_PROMETHEUS,
    .check = textfile_check,
    .open = textfile_open,
    .put = file_put,
    .count = file_count,
    .trouble = file_trouble,
    .close = file_close,
};

/* ---- an event file ---- */

static pp_status events_check(const struct pp_sink_kind *kind, const char *target, struct pp_err *err)
{
    struct stat st;
    if (stat(target, &st) == 0 && !S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_USAGE, "--tensorboard %s is no directory; name one for the event file",
                       target);
    return PP_OK;
}

/* The name is as TensorFlow has it: seconds, host, process. */
static pp_status events_open(const struct pp_sink_kind *kind, const struct pp_sink_opts *o, void **self,
                             struct pp_err *err)
{
    size_t n = 0;
    char *head = o->fetch(o->ctx, PP_SINK_EVENTS_HEAD, &n), host[64];
    struct file *f = calloc(1, sizeof(*f));
    pp_status st = PP_OK;
    if (f)
        f->fd = -1;
    snprintf(host, sizeof(host), "%s", o->instance ? o->instance : "localhost");
    for (char *c = host; *c; c++)
        *c = *c == '/' || (unsigned char)*c <= ' ' ? '_' : *c;
    const char *slash = strrchr(o->target, '/');
    int made = head && f && mkdir(o->target, 0777) == 0;
    if (head && f && !made && errno == ENOENT && slash && slash != o->target) {
        /* With the one that it is in, for DIR/rank0003. */
        snprintf(f->path, sizeof(f->path), "%.*s", (int)(slash - o->target), o->target);
        made = (mkdir(f->path, 0777) == 0 || errno == EEXIST) && mkdir(o->target, 0777) == 0;
    }
    if (!head || !f)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to write to %s", o->target);
    else if (!made && errno != EEXIST)
        st = pp_fail_errno(err, errno, "cannot make the directory %s", o->target);
    else if ((size_t)snprintf(f->path, sizeof(f->path), "%s/events.out.tfevents.%010lld.%s.%ld.pipeprobe",
                              o->target, (long long)time(NULL), host, (long)getpid()) >= sizeof(f->path))
        st = pp_fail(err, PP_E_USAGE, "the name is too long: %s", o->target);
    if (st == PP_OK && (f->fd = pp_io_open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666)) < 0)
        st = pp_fail_errno(err, errno, "cannot create %s", f->path);
    if (st == PP_OK && !append(f, head, n)) {
        unlink(f->path);
        st = pp_fail(err, PP_E_IO, "%s", f->last.text);
    }
    free(head);
    if (st == PP_OK)
        *self = f;
    else
        file_close(f);
    return st;
}

const struct pp_sink_kind pp_sink_tensorboard = {
    .option = "tensorboard",
    .takes = PP_SINK_EVENTS,
    .check = events_check,
    .open = events_open,
    .put = file_put,
    .count = file_count,
    .trouble = file_trouble,
    .close = file_close,
};
