#include "probe/base/err.h"

#include <pipeprobe/phase.h>
#include <stdarg.h>
#include <sys/resource.h>

static const struct {
    const char *name;
    int exit_code;
    const char *text;
} status_table[PP_STATUS_COUNT] = {
#define ROW(sym, name, exit_code, text) [sym] = {name, exit_code, text},
    PP_STATUS_MAP(ROW)
#undef ROW
};

const char *pp_status_name(pp_status s)
{
    return (unsigned)s < PP_STATUS_COUNT ? status_table[s].name : "unknown";
}

const char *pp_status_text(pp_status s)
{
    return (unsigned)s < PP_STATUS_COUNT ? status_table[s].text : "unknown status";
}

int pp_status_exit_code(pp_status s)
{
    return (unsigned)s < PP_STATUS_COUNT ? status_table[s].exit_code : 4;
}

void pp_err_clear(struct pp_err *err)
{
    if (err) {
        err->code = PP_OK;
        err->text[0] = '\0';
    }
}

static void fill(struct pp_err *err, const char *fmt, va_list ap, const char *tail)
{
    size_t size = sizeof(err->text);
    int n = vsnprintf(err->text, size, fmt, ap);
    if (n >= 0 && (size_t)n < size && tail)
        n += snprintf(err->text + n, size - (size_t)n, ": %s", tail);
    if (n < 0 || (size_t)n >= size)
        memcpy(err->text + size - 4, "...", 4);
}

pp_status pp_fail(struct pp_err *err, pp_status code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->code = code;
        fill(err, fmt, ap, NULL);
        va_end(ap);
    }
    return code;
}

static pp_status status_of_errno(int e)
{
    switch (e) {
    case 0: return PP_OK;
    case ENOENT:
    case ENOTDIR: return PP_E_NOT_FOUND;
    case EEXIST: return PP_E_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS: return PP_E_ACCESS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return PP_E_NO_SPACE;
    case ENOMEM: return PP_E_NO_MEMORY;
    case EMFILE:
    case ENFILE: return PP_E_LIMIT;
    case EIO:
    case ESTALE:
    case EAGAIN:
    case ETIMEDOUT: return PP_E_TRANSIENT;
    case EINTR: return PP_E_INTERRUPTED;
    case EINVAL: return PP_E_UNSUPPORTED;
    default: return PP_E_SYSTEM;
    }
}

/* strerror, and of a limit what it is and what to do. */
static const char *why_of(int e, char *buf, size_t size)
{
    struct rlimit files;
    if (e == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0) {
        snprintf(buf, size,
                 "Too many open files: the limit is %llu (ulimit -n); raise it, or use fewer workers",
                 (unsigned long long)files.rlim_cur);
        return buf;
    }
    if (e == ENFILE)
        return "Too many open files in the system (fs.file-max); raise it, or end other programs";
    return strerror_r(e, buf, size);
}

pp_status pp_fail_errno(struct pp_err *err, int e, const char *fmt, ...)
{
    pp_status code = status_of_errno(e);
    if (err) {
        char why[128];
        va_list ap;
        va_start(ap, fmt);
        err->code = code;
        fill(err, fmt, ap, why_of(e, why, sizeof(why)));
        va_end(ap);
    }
    return code;
}

pp_status pp_fail_sample_memory(struct pp_err *err, const char *what, uint64_t need, uint64_t limit)
{
    /* Rounded up: what needs more says more. */
    return pp_fail(err, PP_E_UNSUPPORTED,
                   "%s: needs %llu MiB, limit %llu MiB; raise it with --max-sample-memory", what,
                   (unsigned long long)((need + (1 << 20) - 1) >> 20), (unsigned long long)(limit >> 20));
}

static const struct pp_phase_info phases[PP_PHASE_COUNT] = {
#define PP_PHASE(i, sym, n, l, k, c, t) \
    [i] = {.id = PP_PHASE_##sym, \
           .name = n, \
           .lane = PP_LANE_##l, \
           .kind = PP_KIND_##k, \
           .colour = PP_COLOUR_##c, \
           .text = t},
#include <pipeprobe/phases.def>
#undef PP_PHASE
};

const struct pp_phase_info *pp_phase_info(unsigned id)
{
    return id < PP_PHASE_COUNT && phases[id].name ? &phases[id] : NULL;
}

const char *pp_lane_name(pp_lane lane)
{
    static const char *const names[PP_LANE_COUNT] = {
        [PP_LANE_MAIN] = "main", [PP_LANE_READER] = "reader",   [PP_LANE_WORKER] = "worker",
        [PP_LANE_COPY] = "copy", [PP_LANE_TRAINER] = "trainer", [PP_LANE_DEVICE] = "device",
    };
    return (unsigned)lane < PP_LANE_COUNT ? names[lane] : "unknown";
}
