#include "collectors/stacks/code.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"

#define CODES_MAX 16384u
#define LINES_BYTES (64u << 10) /* of a table that is kept: some thousand lines of one function */
#define LOCALS_MAX 64u
#define STATE_AT 32 /* of a str: its kind */
#define TYPE_AT 8
#define TYPE_NAME_AT 24
#define SIZE_AT 16 /* of bytes, str, tuple: how many */

/* ---- texts ---- */

int pp_python_text(struct pp_memory *memory, const struct pp_layout *layout, uint64_t at,
                   char text[PP_CODE_TEXT])
{
    /* A compact str: its characters follow its header, in 1, 2 or 4 bytes each. */
    const unsigned ascii_at = layout->minor >= 12 ? 40 : 48, wide_at = layout->minor >= 12 ? 56 : 72;
    uint8_t head[STATE_AT + 4], raw[PP_CODE_TEXT * 4];
    char *out = text;
    strcpy(text, "?");
    if (!at || !pp_memory_get(memory, head, sizeof(head), at))
        return 0;
    uint64_t n = pp_word_at(head, SIZE_AT);
    uint32_t state = pp_half_at(head, STATE_AT), kind = state >> 2 & 7;
    int is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    if (!is_compact || n >= 4096 || (kind != 1 && kind != 2 && kind != 4))
        return 0;
    uint64_t most = n < PP_CODE_TEXT ? n : PP_CODE_TEXT; /* the end of a longer one is what names it */
    if (!pp_memory_get(memory, raw, most * kind, at + (is_ascii ? ascii_at : wide_at) + (n - most) * kind))
        return 0;
    for (uint64_t i = 0; i < most && out - text < PP_CODE_TEXT - 5; i++) {
        uint16_t half;
        memcpy(&half, raw + 2 * i * (kind == 2), sizeof(half));
        uint32_t c = kind == 1 ? raw[i] : kind == 2 ? half : pp_half_at(raw, 4 * i);
        int odd = c < 32 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || pp_text_is_deceptive(c);
        out += pp_utf8_put(odd ? '?' : c, out);
    }
    *out = '\0';
    return 1;
}

/* ---- the objects ---- */

void pp_codes_free(struct pp_codes *codes)
{
    for (uint32_t i = 0; i < codes->slots; i++) {
        if (codes->slot[i])
            free(codes->slot[i]->lines);
        free(codes->slot[i]);
    }
    free(codes->slot);
    codes->slot = NULL;
    codes->n = codes->slots = 0;
}

/* The slot of the address, or the free one for it. */
static struct pp_code **slot_of(const struct pp_codes *codes, uint64_t at)
{
    uint32_t i = (uint32_t)((at >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    while (codes->slot[i & (codes->slots - 1)] && codes->slot[i & (codes->slots - 1)]->at != at)
        i++;
    return &codes->slot[i & (codes->slots - 1)];
}

void pp_codes_forget(struct pp_codes *codes, struct pp_code *code)
{
    uint32_t hole = (uint32_t)(slot_of(codes, code->at) - codes->slot);
    codes->slot[hole] = NULL;
    codes->n--;
    free(code->lines);
    free(code);
    /* Those behind it, up to a gap, are put where they are looked for now. */
    for (uint32_t i = (hole + 1) & (codes->slots - 1); codes->slot[i]; i = (i + 1) & (codes->slots - 1)) {
        struct pp_code *moved = codes->slot[i];
        codes->slot[i] = NULL;
        *slot_of(codes, moved->at) = moved;
    }
}

/* With room for it; of very many all are forgotten, and read again as they are met. NULL: no memory. */
static struct pp_code *read_code(struct pp_codes *codes, uint64_t at, const uint8_t *object)
{
    const struct pp_layout *l = codes->layout;
    if (codes->n >= CODES_MAX)
        pp_codes_free(codes);
    if (2 * codes->n >= codes->slots) {
        struct pp_codes larger = *codes;
        larger.slots = codes->slots ? 2 * codes->slots : 256;
        larger.slot = calloc(larger.slots, sizeof(*larger.slot));
        if (!larger.slot)
            return NULL;
        for (uint32_t i = 0; i < codes->slots; i++)
            if (codes->slot[i])
                *slot_of(&larger, codes->slot[i]->at) = codes->slot[i];
        free(codes->slot);
        *codes = larger;
    }
    struct pp_code *code = calloc(1, sizeof(*code));
    if (!code)
        return NULL;
    int32_t first = (int32_t)pp_half_at(object, l->code_first_line),
            arguments = (int32_t)pp_half_at(object, l->code_arguments);
    *code = (struct pp_code){.at = at,
                             .file_at = pp_word_at(object, l->code_file),
                             .name_at = pp_word_at(object, l->code_name),
                             .lines_at = pp_word_at(object, l->code_lines),
                             .first_line = first > 0 ? (uint32_t)first : 0,
                             .arguments = (int16_t)(arguments > 0 && arguments < 256 ? arguments : 0),
                             .member = -1,
                             .last_offset = -1};
    uint64_t bytes = pp_layout_has_heap_frames(l)
                         ? pp_memory_word(codes->memory, pp_word_at(object, l->code_instructions) + SIZE_AT)
                         : UINT64_C(2) * pp_half_at(object, SIZE_AT); /* units of two */
    code->bytes = bytes < (1u << 30) ? (uint32_t)bytes : 0;
    uint64_t size = pp_memory_word(codes->memory, code->lines_at + SIZE_AT);
    code->lines_bytes = size <= LINES_BYTES ? (uint32_t)size : 0;
    code->lines = malloc(code->lines_bytes + 1);
    if (!code->lines || !pp_memory_get(codes->memory, code->lines, code->lines_bytes, code->lines_at + 32))
        code->lines_bytes = 0;
    return code;
}

struct pp_code *pp_codes_get(struct pp_codes *codes, uint64_t at, uint64_t now_ns)
{
    uint8_t object[512];
    char name[PP_CODE_TEXT], file[PP_CODE_TEXT];
    const struct pp_layout *l = codes->layout;
    struct pp_code *code = codes->slots ? *slot_of(codes, at) : NULL;
    if (code && now_ns - code->sure_ns < PP_CODE_SURE_NS)
        return code;
    int is_there = !(at & 7) && at >= 4096 && l->code_bytes <= sizeof(object) && l->code_bytes >= 64 &&
                   pp_memory_get(codes->memory, object, l->code_bytes, at);
    uint64_t type = is_there ? pp_word_at(object, TYPE_AT) : 0;
    if (type && !codes->type) { /* the first of all: by the name of its type */
        uint64_t called = pp_memory_word(codes->memory, type + TYPE_NAME_AT);
        if (called && pp_memory_get(codes->memory, name, sizeof("code"), called) &&
            memcmp(name, "code", sizeof("code")) == 0)
            codes->type = type;
    }
    is_there = is_there && codes->type && type == codes->type;
    if (code && is_there && pp_word_at(object, l->code_file) == code->file_at &&
        pp_word_at(object, l->code_name) == code->name_at &&
        pp_word_at(object, l->code_lines) == code->lines_at &&
        pp_half_at(object, l->code_first_line) == code->first_line) {
        code->sure_ns = now_ns;
        return code;
    }
    if (code)
        pp_codes_forget(codes, code);
    if (!is_there || !(code = read_code(codes, at, object)))
        return NULL;
    code->sure_ns = now_ns;
    pp_python_text(codes->memory, codes->layout, code->name_at, name);
    pp_python_text(codes->memory, codes->layout, code->file_at, file);
    codes->on_new(codes->ctx, codes, code, name, file);
    *slot_of(codes, at) = code;
    codes->n++;
    return code;
}

int pp_codes_local(struct pp_codes *codes, const struct pp_code *code, const char *name)
{
    uint64_t names = pp_memory_word(codes->memory, code->at + codes->layout->code_locals);
    uint64_t n = names ? pp_memory_word(codes->memory, names + SIZE_AT) : 0, item[LOCALS_MAX];
    char text[PP_CODE_TEXT];
    n = n < LOCALS_MAX ? n : LOCALS_MAX;
    if (!n || !pp_memory_get(codes->memory, item, n * sizeof(*item), names + 24))
        return -1;
    for (uint64_t i = 0; i < n; i++)
        if (pp_python_text(codes->memory, codes->layout, item[i], text) && strcmp(text, name) == 0)
            return (int)i;
    return -1;
}

/* ---- lines ---- */

static uint32_t read_varint(const struct pp_code *code, uint32_t *i)
{
    uint32_t v = 0, byte = 64;
    for (unsigned shift = 0; byte & 64 && shift < 32; shift += 6) {
        byte = *i < code->lines_bytes ? code->lines[(*i)++] : 0;
        v |= (byte & 63) << shift;
    }
    return v;
}

/* Since 3.11 (Objects/locations.md of CPython): entries of a byte with kind and length in units, and what the
 * kind needs. */
static int64_t line_of_locations(const struct pp_code *code, int32_t offset)
{
    int64_t line = code->first_line, at = 0;
    for (uint32_t i = 0; i < code->lines_bytes;) {
        uint8_t head = code->lines[i++];
        int kind = head >> 3 & 15;
        uint32_t step = kind == 14 || kind == 13 ? read_varint(code, &i) : 0;
        line += step & 1 ? -(int64_t)(step >> 1) : (int64_t)(step >> 1);
        for (int k = 0; kind == 14 && k < 3; k++)
            read_varint(code, &i);
        if (kind >= 10 && kind <= 12)
            line += kind - 10, i += 2;
        else if (kind < 10)
            i += 1;
        at += 2 * ((head & 7) + 1);
        if (offset < at)
            return kind == 15 ? 0 : line;
    }
    return 0;
}

/* Of 3.10 (PEP 626): pairs of bytes of bytecode and difference in lines, -128: no line. Up to 3.9: pairs of a
 * step in bytecode and one in lines, which holds from there on. */
static int64_t line_of_pairs(const struct pp_code *code, int32_t offset, int are_ranges)
{
    int64_t line = code->first_line, at = 0;
    for (uint32_t i = 0; i + 1 < code->lines_bytes; i += 2) {
        int8_t step = (int8_t)code->lines[i + 1];
        int is_none = are_ranges && step == -128;
        if (are_ranges && !is_none)
            line += step;
        at += code->lines[i];
        if (offset < at)
            return is_none ? 0 : line;
        if (!are_ranges)
            line += step;
    }
    return are_ranges ? 0 : line;
}

uint32_t pp_code_line(const struct pp_layout *layout, struct pp_code *code, int32_t offset)
{
    if (offset == code->last_offset)
        return code->last_line;
    int64_t line = layout->minor >= 11 ? line_of_locations(code, offset)
                                       : line_of_pairs(code, offset, layout->minor == 10);
    code->last_offset = offset;
    return code->last_line = line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
}

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
