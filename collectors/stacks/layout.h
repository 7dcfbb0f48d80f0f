/* stacks/layout.h: where things lie in a CPython of one minor version: from the runtime to the stacks of its
 * threads. Up to 3.12 a row of a table, made from the headers of that version (a minor keeps its layout from
 * its release candidates on); from 3.13 on what Python publishes of itself (_Py_DebugOffsets), whose words
 * have another order in each minor. A version that has no row is refused: nothing is guessed.
 *
 * Whether the process is laid out so is checked when it is opened (interpreter.h): a debug build is not. */
#ifndef PP_STACKS_LAYOUT_H
#define PP_STACKS_LAYOUT_H

#include <pipeprobe/status.h>

#include <stdint.h>

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

#endif
