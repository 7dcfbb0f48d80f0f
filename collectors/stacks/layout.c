#include "collectors/stacks/layout.h"

#include "probe/base/err.h"

#include <string.h>

#define OLDEST 8u

/* Made by compiling offsetof() with the headers of each version: 3.8.18, 3.9.18, 3.10.13, 3.11.7 (and
 * 3.11.2), 3.12.1. */
static const struct pp_layout rows[] = {
    {8, 32, 0, 8, 8, 176, 0, 0, 24, 0, 0, 32, 24, 104, 0, 360, 112, 104, 40, 120, 48, 72, 16, 176},
    {9, 32, 0, 8, 8, 176, 0, 0, 24, 0, 0, 32, 24, 104, 0, 360, 112, 104, 40, 120, 48, 72, 16, 176},
    {10, 32, 0, 8, 8, 176, 0, 0, 24, 0, 0, 32, 24, 96, 0, 352, 112, 104, 40, 120, 48, 72, 16, 176},
    {11, 40, 0, 16, 8, 152, 160, 296, 56, 1, 8, 32, 48, 56, 69, 72, 128, 112, 72, 136, 184, 96, 56, 184},
    {12, 40, 0, 72, 8, 136, 144, 232, 56, 1, 0, 0, 8, 56, 70, 72, 128, 112, 68, 136, 192, 96, 52, 192},
};

/* Words of _Py_DebugOffsets: these in all versions, */
enum { COOKIE, VERSION, FREE_THREADED, HEAD = 5, NEXT = 8, THREADS = 9 };

/* and these groups, each of which begins with the size of its structure (Include/internal/
 * pycore_debug_offsets.h of each version, counted). after_frame: words of a thread between its frame and its
 * id. */
static const struct groups {
    unsigned minor, thread, after_frame, frame, code;
} groups[] = {{13, 19, 0, 28, 34}, {14, 22, 0, 31, 39}, {15, 22, 3, 39, 47}};

enum { THREAD_PREVIOUS = 1, THREAD_NEXT, THREAD_INTERPRETER, THREAD_FRAME };
enum { FRAME_PREVIOUS = 1, FRAME_CODE, FRAME_INSTRUCTION, FRAME_LOCALS, FRAME_OWNER };
enum {
    CODE_FILE = 1,
    CODE_NAME,
    CODE_QUALNAME,
    CODE_LINES,
    CODE_FIRST_LINE,
    CODE_ARGUMENTS,
    CODE_LOCALS,
    CODE_KINDS,
    CODE_INSTRUCTIONS
};

/* Each offset lies within the structure whose size the group says; a thread begins with its neighbours. */
static int published(const uint64_t *words, const struct groups *g, struct pp_layout *l)
{
    const uint64_t *t = words + g->thread, *f = words + g->frame, *c = words + g->code;
    const uint64_t *id = t + THREAD_FRAME + 1 + g->after_frame;
    int sound = t[0] < 16384 && f[0] < 512 && c[0] < 512 && t[THREAD_PREVIOUS] == 0 && t[THREAD_NEXT] == 8 &&
                t[THREAD_INTERPRETER] == 16 && words[HEAD] < 32768 && words[NEXT] < 65536 - 8 &&
                words[THREADS] < 65536 - 8;
    for (const uint64_t *w = t + THREAD_FRAME; w <= id + 2; w++)
        sound &= *w < t[0];
    for (const uint64_t *w = f + 1; w <= f + FRAME_OWNER; w++)
        sound &= *w < f[0] || (w == f + FRAME_LOCALS && *w == f[0]);
    for (const uint64_t *w = c + 1; w <= c + CODE_INSTRUCTIONS; w++)
        sound &= *w <= c[0];
    *l = (struct pp_layout){.minor = g->minor,
                            .head = (uint16_t)words[HEAD],
                            .next = (uint16_t)words[NEXT],
                            .threads = (uint16_t)words[THREADS],
                            .thread_next = (uint16_t)t[THREAD_NEXT],
                            .thread_id = (uint16_t)id[0],
                            .thread_native = (uint16_t)id[1],
                            .thread_chunk = (uint16_t)id[2],
                            .thread_frame = (uint16_t)t[THREAD_FRAME],
                            .frame_code = (uint16_t)f[FRAME_CODE],
                            .frame_previous = (uint16_t)f[FRAME_PREVIOUS],
                            .frame_instruction = (uint16_t)f[FRAME_INSTRUCTION],
                            .frame_owner = (uint16_t)f[FRAME_OWNER],
                            .frame_locals = (uint16_t)f[FRAME_LOCALS],
                            .code_name = (uint16_t)c[CODE_QUALNAME],
                            .code_file = (uint16_t)c[CODE_FILE],
                            .code_first_line = (uint16_t)c[CODE_FIRST_LINE],
                            .code_lines = (uint16_t)c[CODE_LINES],
                            .code_instructions = (uint16_t)c[CODE_INSTRUCTIONS],
                            .code_locals = (uint16_t)c[CODE_LOCALS],
                            .code_arguments = (uint16_t)c[CODE_ARGUMENTS],
                            .code_bytes = (uint16_t)c[CODE_INSTRUCTIONS]};
    return sound;
}

pp_status pp_layout_of(const uint64_t words[PP_LAYOUT_WORDS], unsigned minor, struct pp_layout *out,
                       struct pp_err *err)
{
    const int says = memcmp(&words[COOKIE], "xdebugpy", sizeof(words[COOKIE])) == 0;
    unsigned major = says ? (unsigned)(words[VERSION] >> 24) & 0xff : 3;
    minor = says ? (unsigned)(words[VERSION] >> 16) & 0xff : minor;
    if (says && words[FREE_THREADED])
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "Python %u.%u is a free-threaded build, whose stacks cannot be read yet", major,
                       minor);
    for (size_t i = 0; !says && i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].minor == minor) {
            *out = rows[i];
            return PP_OK;
        }
    for (size_t i = 0; says && major == 3 && i < sizeof(groups) / sizeof(*groups); i++)
        if (groups[i].minor == minor)
            return published(words, &groups[i], out)
                       ? PP_OK
                       : pp_fail(
                             err, PP_E_UNSUPPORTED,
                             "Python 3.%u is laid out otherwise than its release: a pre-release, or one that was changed",
                             minor);
    return pp_fail(err, PP_E_UNSUPPORTED, "Python %u.%u %s", major, minor,
                   major == 3 && minor && minor < OLDEST
                       ? "is too old for its stacks to be read: 3.8 is the oldest"
                       : "is not a version whose stacks this pipeprobe can read");
}
