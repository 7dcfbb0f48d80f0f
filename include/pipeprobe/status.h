/* pipeprobe/status.h: what a call can come back with, in code and in words.
 *
 * Every function that can fail returns a pp_status (0 is fine) and fills a caller-owned struct pp_err with
 * one sentence: what was attempted, on what, why it failed, what to try. Only tui/cli turns a status into an
 * exit code. Everything here may be called from any thread. */
#ifndef PIPEPROBE_STATUS_H
#define PIPEPROBE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(symbol, name, exit code, meaning) */
/* clang-format off */
#define PP_STATUS_MAP(X)                                                                   \
    X(PP_OK, "ok", 0, "success")                                                              \
    X(PP_E_USAGE, "usage", 2, "an option or argument is not valid")                 \
    X(PP_E_NOT_FOUND, "not-found", 2, "a file, directory or name does not exist")          \
    X(PP_E_EXISTS, "exists", 2, "the output already exists")                             \
    X(PP_E_ACCESS, "access", 4, "the system denied access")                                \
    X(PP_E_EMPTY, "empty", 4, "there is no input")                               \
    X(PP_E_CORRUPT, "corrupt", 4, "the data is damaged or not of this format")                  \
    X(PP_E_UNSUPPORTED, "unsupported", 4, "well-formed, but not supported")  \
    X(PP_E_IO, "io", 4, "a read or write failed")                                          \
    X(PP_E_TRANSIENT, "transient", 4, "a read failed and may succeed later (EIO, ESTALE, EAGAIN)") \
    X(PP_E_NO_SPACE, "no-space", 4, "the disk or the quota is full")                       \
    X(PP_E_NO_MEMORY, "no-memory", 4, "out of memory")            \
    X(PP_E_SYSTEM, "system", 4, "a system call failed")                       \
    X(PP_E_INTERRUPTED, "interrupted", 130, "stopped by the user")                         \
    X(PP_E_INCONCLUSIVE, "inconclusive", 3, "too little was measured for a verdict")              \
    X(PP_E_VERSION, "version", 4, "written by a newer or unknown version")                 \
    X(PP_E_LIMIT, "limit", 4, "a limit of the process or the system is reached (open files)")  \
    X(PP_END, "end", 0, "no more items; not an error")
/* clang-format on */

typedef enum pp_status {
#define PP_STATUS_ENUM(sym, name, exit_code, text) sym,
    PP_STATUS_MAP(PP_STATUS_ENUM)
#undef PP_STATUS_ENUM
        PP_STATUS_COUNT
} pp_status;

/* Caller-owned; text is always terminated, empty after pp_err_clear. Passing NULL where a pp_err is taken is
 * fine. */
struct pp_err {
    pp_status code;
    char text[480];
};

const char *pp_status_name(pp_status s); /* "not-found"; "unknown" for a value outside the table */
const char *pp_status_text(pp_status s); /* the meaning column */
int pp_status_exit_code(pp_status s);

#ifdef __cplusplus
}
#endif
#endif
