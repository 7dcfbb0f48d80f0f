/* stacks/code.h: code objects of a Python process, read once and kept: name, file, bytecode, table of lines.
 * An object may die and another one take its address: what is kept is compared with the process again after
 * PP_CODE_SURE_NS, and where an instruction does not fit. Texts end, have at most PP_CODE_TEXT bytes, and are
 * plain (base/text.h). */
#pragma once

#include "collectors/stacks/memory.h"

#include <pipeprobe/status.h>

/* Where things lie in a CPython of one minor version: from the runtime to the stacks of its
 * threads. Up to 3.12 a row of a table, made from the headers of that version (a minor keeps its layout from
 * its release candidates on); from 3.13 on what Python publishes of itself (_Py_DebugOffsets), whose words
 * have another order in each minor. A version that has no row is refused: nothing is guessed.
 *
 * Whether the process is laid out so is checked when it is opened (frames.h): a debug build is not. */

/* Offsets in bytes; of a heap frame (up to 3.10) thread_native, thread_chunk, cframe_frame and frame_owner
 * are not used. */
struct pp_layout {
    unsigned minor;
    uint16_t head, next, threads; /* of the runtime: its newest interpreter; of an interpreter */
    uint16_t thread_next, thread_id, thread_native, thread_chunk, thread_frame;
    int has_cframe; /* thread_frame leads to a cframe, and that to the frame */
    uint16_t cframe_frame;
    uint16_t frame_code, frame_previous, frame_instruction, frame_owner, frame_locals;
    uint16_t code_name, code_file, code_first_line, code_lines, code_instructions, code_locals,
        code_arguments;
    uint16_t code_bytes; /* read of a code object */
};

enum { PP_LAYOUT_WORDS = 64 }; /* of the runtime's beginning that decide it */

/* words: the beginning of the runtime; minor: as the name of its file tells it, 0: not, for a runtime that
 * does not say it. PP_E_UNSUPPORTED: the sentence begins with "Python 3.N". */
pp_status pp_layout_of(const uint64_t words[PP_LAYOUT_WORDS], unsigned minor, struct pp_layout *out,
                       struct pp_err *err);

/* Frames are objects of the heap, each found by the one it called, and not parts of a stack of the thread. */
static inline int pp_layout_has_heap_frames(const struct pp_layout *l)
{
    return l->minor < 11;
}

/* The lowest bits of a reference in a frame are marks from 3.14 on. */
static inline uint64_t pp_layout_object(const struct pp_layout *l, uint64_t reference)
{
    return l->minor >= 14 ? reference & ~UINT64_C(7) : reference;
}

#define PP_CODE_SURE_NS UINT64_C(4000000000)
#define PP_CODE_TEXT 512

struct pp_code {
    uint64_t at, file_at, lines_at, name_at; /* addresses there */
    uint64_t sure_ns;                        /* when it was last compared */
    uint32_t bytes;                          /* of bytecode */
    uint32_t first_line;
    uint32_t function; /* a number of the caller's for it; 0: none yet */
    int16_t arguments;
    int16_t member;      /* of its locals the one with the member that a Compose is running; -1: none */
    int32_t last_offset; /* whose line is last_line */
    uint32_t last_line;
    uint32_t lines_bytes;
    uint8_t *lines;
};

/* Called when one is new. Fills function and member of the code; names: of its locals. */
struct pp_codes;
typedef void pp_code_new_fn(void *ctx, struct pp_codes *codes, struct pp_code *code, const char *name,
                            const char *file);

struct pp_codes {
    struct pp_memory *memory;
    const struct pp_layout *layout;
    pp_code_new_fn *on_new;
    void *ctx;
    uint64_t type; /* of code objects; 0: not known yet */
    struct pp_code **slot;
    uint32_t n, slots; /* a power of two */
};

/* The code object at `at`; NULL: there is none. Belongs to codes, until the next call at the latest. */
struct pp_code *pp_codes_get(struct pp_codes *codes, uint64_t at, uint64_t now_ns);
/* The address of its object does not hold it any more. */
void pp_codes_forget(struct pp_codes *codes, struct pp_code *code);
/* The line of the instruction at this byte of the bytecode; 0: none. */
uint32_t pp_code_line(const struct pp_layout *layout, struct pp_code *code, int32_t offset);
/* The number of the local of that name; -1: it has none. Of a code that is new. */
int pp_codes_local(struct pp_codes *codes, const struct pp_code *code, const char *name);
void pp_codes_free(struct pp_codes *codes);

/* The Python string at `at`, as text; 0: there is none, text is "?". */
int pp_python_text(struct pp_memory *memory, const struct pp_layout *layout, uint64_t at,
                   char text[PP_CODE_TEXT]);
