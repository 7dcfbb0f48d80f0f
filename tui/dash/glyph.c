#include "tui/dash/glyph.h"

#include <langinfo.h>
#include <strings.h>

const struct pp_glyphs pp_glyph_sets[PP_GLYPH_SETS] = {
    [PP_GLYPHS_ASCII] = {.cpu = "#",
                         .queued = "~",
                         .blocked = "-",
                         .starved = "x",
                         .empty = ".",
                         .fill = "#",
                         .spark = {" ", "_", ".", ":", "-", "=", "+", "*", "#"},
                         .rule = "-"},
    [PP_GLYPHS_BLOCK] = {.cpu = "█",
                         .queued = "▓",
                         .blocked = "▒",
                         .starved = "▚",
                         .empty = "·",
                         .fill = "█",
                         .spark = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                         .rule = "─"},
    [PP_GLYPHS_BRAILLE] = {.cpu = "█",
                           .queued = "▓",
                           .blocked = "▒",
                           .starved = "▚",
                           .empty = "·",
                           .fill = "█",
                           .spark = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                           .rule = "─",
                           .braille = 1},
};

/* Unicode, Braille Patterns: dots 7 3 2 1 stand on the left, 8 6 5 4 on the right, from the bottom up. */
const char *pp_glyph_braille(int left, int right, char buf[4])
{
    static const unsigned char up_left[] = {0, 0x40, 0x44, 0x46, 0x47},
                               up_right[] = {0, 0x80, 0xa0, 0xb0, 0xb8};
    unsigned c = 0x2800u + up_left[left] + up_right[right];
    buf[0] = (char)(0xe0 | c >> 12);
    buf[1] = (char)(0x80 | (c >> 6 & 0x3f));
    buf[2] = (char)(0x80 | (c & 0x3f));
    buf[3] = '\0';
    return buf;
}

enum pp_glyph_set pp_glyphs_of_locale(void)
{
    const char *codeset = nl_langinfo(CODESET);
    return strcasecmp(codeset, "UTF-8") == 0 || strcasecmp(codeset, "UTF8") == 0 ? PP_GLYPHS_BLOCK
                                                                                 : PP_GLYPHS_ASCII;
}
