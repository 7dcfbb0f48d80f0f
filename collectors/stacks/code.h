/* stacks/code.h: code objects of a Python process, read once and kept: name, file, bytecode, table of lines.
 * An object may die and another one take its address: what is kept is compared with the process again after
 * PP_CODE_SURE_NS, and where an instruction does not fit. Texts end, have at most PP_CODE_TEXT bytes, and are
 * plain (base/text.h). */
#ifndef PP_STACKS_CODE_H
#define PP_STACKS_CODE_H

#include "collectors/stacks/layout.h"
#include "collectors/stacks/memory.h"

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
/* The name of the type of the object at `at` is this. */
int pp_python_is_a(struct pp_memory *memory, uint64_t type, const char *name);

#endif
