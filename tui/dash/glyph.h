/* dash/glyph.h: the marks bars and sparklines are made of, one set per kind of terminal. */
#ifndef PP_DASH_GLYPH_H
#define PP_DASH_GLYPH_H

enum pp_glyph_set { PP_GLYPHS_ASCII, PP_GLYPHS_BLOCK, PP_GLYPHS_BRAILLE, PP_GLYPH_SETS };

/* Cells of a bar: parts of time differ by mark, not by colour alone. spark[0] is nothing, spark[8] full; not
 * used by braille, which packs two values of four levels into a cell. */
struct pp_glyphs {
    const char *cpu, *queued, *blocked, *starved, *empty, *fill, *spark[9], *rule;
    int braille;
};
extern const struct pp_glyphs pp_glyph_sets[PP_GLYPH_SETS];

/* Two values, 0..4 dots high each, as a UTF-8 braille cell. */
const char *pp_glyph_braille(int left, int right, char buf[4]);

/* The set for the locale that is in force (setlocale): blocks where it is UTF-8, plain ASCII elsewhere. */
enum pp_glyph_set pp_glyphs_of_locale(void);

#endif
