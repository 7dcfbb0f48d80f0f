/* A file for node_exporter's textfile collector: replaced as a whole, so that a reader never sees half of it.
 */
#include "report/send/sink.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct textfile {
    char *path;
    struct pp_sink_count count;
    struct pp_err last;
};

static const char *nothing_missing(void)
{
    return NULL;
}

static pp_status check(const char *target, struct pp_err *err)
{
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
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

static pp_status open_textfile(const struct pp_sink_opts *o, void **self, struct pp_err *err)
{
    struct textfile *f = calloc(1, sizeof(*f));
    if (!f || !(f->path = strdup(o->target))) {
        free(f);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", o->target);
    }
    *self = f;
    return PP_OK;
}

static enum pp_sink_format format(void *self)
{
    return PP_SINK_PROMETHEUS;
}

static void put(void *self, const char *text, size_t n)
{
    struct textfile *f = self;
    if (pp_io_replace(f->path, text, n, &f->last) == PP_OK)
        f->count.sent++;
    else
        f->count.lost++;
}

static void finish(void *self, const char *text, size_t n)
{
    put(self, text, n);
}

static struct pp_sink_count count(void *self)
{
    return ((struct textfile *)self)->count;
}

static void trouble(void *self, char *text, size_t size)
{
    struct textfile *f = self;
    snprintf(text, size, "%s", f->count.lost ? f->last.text : "");
}

static void close_textfile(void *self)
{
    struct textfile *f = self;
    if (f)
        free(f->path);
    free(f);
}

const struct pp_sink_kind pp_sink_textfile = {
    .option = "metrics-textfile",
    .missing = nothing_missing,
    .check = check,
    .open = open_textfile,
    .format = format,
    .put = put,
    .finish = finish,
    .count = count,
    .trouble = trouble,
    .close = close_textfile,
};
