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

pp_status pp_fail_errno(struct pp_err *err, int e, const char *fmt, ...)
{
    static const unsigned char codes[] = {
        [ENOENT] = PP_E_NOT_FOUND,    [ENOTDIR] = PP_E_NOT_FOUND, [EEXIST] = PP_E_EXISTS,
        [EACCES] = PP_E_ACCESS,       [EPERM] = PP_E_ACCESS,      [EROFS] = PP_E_ACCESS,
        [ENOSPC] = PP_E_NO_SPACE,     [EDQUOT] = PP_E_NO_SPACE,   [EFBIG] = PP_E_NO_SPACE,
        [ENOMEM] = PP_E_NO_MEMORY,    [EMFILE] = PP_E_LIMIT,      [ENFILE] = PP_E_LIMIT,
        [EIO] = PP_E_TRANSIENT,       [ESTALE] = PP_E_TRANSIENT,  [EAGAIN] = PP_E_TRANSIENT,
        [ETIMEDOUT] = PP_E_TRANSIENT, [EINTR] = PP_E_INTERRUPTED, [EINVAL] = PP_E_UNSUPPORTED,
    };
    pp_status code = e > 0 && e < (int)sizeof(codes) && codes[e] ? codes[e] : e ? PP_E_SYSTEM : PP_OK;
    if (err) {
        char text[128];
        const char *why = text;
        struct rlimit files;
        if (e == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0)
            snprintf(text, sizeof(text),
                     "Too many open files: the limit is %llu (ulimit -n); raise it, or use fewer workers",
                     (unsigned long long)files.rlim_cur);
        else if (e == ENFILE)
            why = "Too many open files in the system (fs.file-max); raise it, or end other programs";
        else
            why = strerror_r(e, text, sizeof(text));
        va_list ap;
        va_start(ap, fmt);
        err->code = code;
        fill(err, fmt, ap, why);
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
