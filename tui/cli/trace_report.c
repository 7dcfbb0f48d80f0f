#include "tui/cli/trace_report.h"
#include "collectors/import/import.h"
#include "collectors/store/recover.h"
#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/source/source.h"
#include "tui/cli/cli.h"
#include "tui/cli/jobs/interrupt.h"
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
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

static void remove_and_end(int sig)
{
    remove_temporary();
    signal(sig, SIG_DFL);
    raise(sig); /* when the handler returns */
}

/* Into temporary.file[0]. */
static pp_status import_temporary(const struct import_trace *t, struct pp_err *err)
{
    struct pp_import_result result;
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
    interrupt_catch(INTERRUPT_ONCE, remove_and_end);
    const struct pp_import_opts o = {.output = temporary.file[0],
                                     .rank = t->rank,
                                     .world_size = t->world_size,
                                     .more = (const char *const *)t->more,
                                     .n_more = t->n_more};
    return pp_import_file(t->path, &o, &result, err);
}

pp_status pp_report_of_file(const char *path, const char *loader, struct pp_report **out, struct pp_err *err)
{
    struct pp_source source;
    if (!pp_import_trace_format(path))
        return pp_report_build_of(path, loader, out, err);
    memset(&source, 0, sizeof(source));
    *out = NULL;
    pp_status st = import_temporary(
        &(struct import_trace){.path = (char *)path, .rank = -1, .world_size = -1}, err);
    if (st == PP_OK && (st = pp_source_open(temporary.file[0], &source, err)) == PP_OK) {
        source.path = path; /* the recording has no name that lasts */
        st = pp_report_from(&source, out, err);
    }
    pp_source_close(&source);
    remove_temporary();
    return st;
}

const struct pp_report_fix *pp_report_change(const struct pp_report *r, const char *id, struct pp_err *err)
{
    char *end = NULL;
    unsigned long number = id[0] == 'c' ? strtoul(id + 1, &end, 10) : 0;
    if (number && !*end && number <= r->verdict.n_fixes)
        return &r->verdict.fixes[number - 1];
    pp_fail(err, PP_E_USAGE, "--change %s: the changes of %s are c1 to c%zu (`pipeprobe answer`)", id,
            r->path, r->verdict.n_fixes);
    return NULL;
}

pp_status pp_trace_digest(const struct import_trace *trace, struct pp_digest *out, struct pp_err *err)
{
    *out = (struct pp_digest){0};
    pp_status st = import_temporary(trace, err);
    if (st == PP_OK)
        st = pp_digest_read(temporary.file[0], 0, out, err);
    for (size_t i = 0; st == PP_OK && i < out->n_rows; i++) /* likewise */
        out->rows[i].file = pp_arena_printf(&out->arena, "%s", trace->path);
    remove_temporary();
    return st;
}

/* ---- what is there ---- */

int pp_traces_only(const char *const *operands, int n)
{
    int only = n > 0;
    for (int i = 0; i < n && only; i++) {
        DIR *d = pp_is_directory(operands[i]) ? opendir(operands[i]) : NULL;
        int traces = !pp_is_directory(operands[i]) && pp_import_trace_format(operands[i]), recordings = 0;
        for (struct dirent *e; d && !recordings && (e = readdir(d));) {
            char path[PATH_MAX];
            if (e->d_name[0] == '.' ||
                (size_t)snprintf(path, sizeof(path), "%s/%s", operands[i], e->d_name) >= sizeof(path))
                continue;
            recordings |= pp_ends_in(path, ".digest") || pp_reader_is_recording(path);
            traces = traces || pp_import_trace_format(path);
        }
        if (d)
            closedir(d);
        only = traces && !recordings;
    }
    return only;
}

pp_status pp_trace_before_reading(const char *path, struct pp_missing *missing, struct pp_err *err)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof(magic)];
    struct stat info;
    struct pp_err why;
    const struct pp_importer *format;
    pp_status st = pp_recording_recover(path, missing, err);
    if (st != PP_OK || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || pp_reader_is_recording(path))
        return st;
    pp_status trace = pp_import_format(path, &format, &why);
    if (trace == PP_E_CORRUPT)
        return pp_fail(err, PP_E_CORRUPT, "%s", why.text);
    FILE *f = trace == PP_E_UNSUPPORTED ? fopen(path, "rb") : NULL; /* what cannot be read, the reader says */
    int is_other = f &&
                   (fread(head, 1, sizeof(head), f) != sizeof(head) || memcmp(head, magic, sizeof(magic)));
    if (f)
        fclose(f);
    if (is_other)
        return pp_fail(
            err, PP_E_CORRUPT,
            "%s is neither a recording of pipeprobe, which is an SQLite file, nor a trace of a format "
            "that pipeprobe import takes",
            path);
    return trace == PP_OK
               ? pp_fail(
                     err, PP_E_UNSUPPORTED,
                     "%s is a trace of another profiler (%s) and no recording: pipeprobe report judges it, "
                     "and pipeprobe import makes a recording of it",
                     path, format->what)
               : PP_OK;
}
