#include "probe/base/page.h"

static const char *const tones[] = {[PP_TONE_PLAIN] = "",
                                    [PP_TONE_STRONG] = "\033[1m",
                                    [PP_TONE_GOOD] = "\033[1;36m",
                                    [PP_TONE_BAD] = "\033[1;33m"};
static const char plain_again[] = "\033[0m";

/* A file name must not move the cursor. */
static void put(FILE *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fputc((unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i], out);
}

int pp_page_width(const char *s, size_t n)
{
    int w = 0;
    for (size_t i = 0; i < n; i++)
        w += ((unsigned char)s[i] & 0xc0) != 0x80;
    return w;
}

/* The word at s, with the next one when that is the unit of a number: "100 ms" stays on one line. */
static size_t word_length(const char *s)
{
    static const char *const units[] = {"%",   "ns",  "us",  "ms",    "s",     "B",
                                        "KiB", "MiB", "GiB", "MiB/s", "GiB/s", "KiB/s"};
    size_t len = strcspn(s, " ");
    if (len == 0 || s[len] == '\0' || s[len - 1] < '0' || s[len - 1] > '9')
        return len;
    const char *unit = s + len + 1;
    size_t n = strcspn(unit, " ,;:.)");
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strlen(units[i]) == n && memcmp(unit, units[i], n) == 0)
            return len + 1 + strcspn(unit, " ");
    return len;
}

void pp_page_heading(const struct pp_page *p, const char *text)
{
    fputc('\n', p->out);
    pp_page_text(p, PP_TONE_STRONG, "", 0, 0, text);
}

/* A page too narrow for words beside so long a lead has them below it. */
enum { LEAST_COLUMNS = 20, BELOW_INDENT = 6 };

void pp_page_text(const struct pp_page *p, enum pp_tone tone, const char *lead, int indent, int max_lines,
                  const char *text)
{
    int lines = 1, empty = 1;
    if (indent > BELOW_INDENT && p->columns - indent < LEAST_COLUMNS && text[strspn(text, " ")]) {
        size_t n = strlen(lead);
        while (n > 0 && lead[n - 1] == ' ')
            n--;
        if (n) {
            put(p->out, lead, n);
            fputc('\n', p->out);
        }
        lead = "";
        indent = BELOW_INDENT;
    }
    int at = pp_page_width(lead, strlen(lead));
    put(p->out, lead, strlen(lead));
    if (at < indent) {
        fprintf(p->out, "%*s", indent - at, "");
        at = indent;
    }
    fputs(p->color ? tones[tone] : "", p->out);
    for (const char *s = text + strspn(text, " "); *s;) {
        size_t len = word_length(s);
        int w = pp_page_width(s, len), last_line = max_lines && lines == max_lines;
        if (!empty && at + 1 + w > p->columns - (last_line && s[len] ? 4 : 0)) {
            if (last_line) {
                fputs(" ...", p->out);
                break;
            }
            fprintf(p->out, "\n%*s", indent, "");
            at = indent;
            lines++;
            empty = 1;
        }
        for (int room = p->columns - at - 4 * (lines == max_lines); empty && room > 0 && w > room;
             w = pp_page_width(s, len))
            len--; /* a word that has no line is broken */
        while (((unsigned char)s[len] & 0xc0) == 0x80)
            len--;
        if (!empty)
            fputc(' ', p->out);
        put(p->out, s, len);
        at += w + !empty;
        empty = 0;
        s += len;
        s += strspn(s, " ");
    }
    fputs(p->color && tone != PP_TONE_PLAIN ? plain_again : "", p->out);
    fputc('\n', p->out);
}

void pp_page_row(const struct pp_page *p, enum pp_tone tone, const int *width, const char *const *cell, int n,
                 int indent, const char *text)
{
    char lead[512];
    /* Cells side by side, at least one space between two. */
    size_t at = 0;
    lead[0] = '\0';
    for (int i = 0; i < n; i++) {
        int w = pp_page_width(cell[i], strlen(cell[i])), pad = abs(width[i]) > w ? abs(width[i]) - w : 0;
        int before = width[i] > 0 ? pad : 0, after = width[i] > 0 ? 0 : pad;
        if (at && !before && lead[at - 1] != ' ' && cell[i][0] != ' ')
            before = 1;
        snprintf(lead + at, sizeof(lead) - at, "%*s%s%*s", before, "", cell[i], after, "");
        at += strlen(lead + at);
    }
    while (at && lead[at - 1] == ' ')
        lead[--at] = '\0';
    int least = lead[0] ? pp_page_width(lead, strlen(lead)) + 2 : 0;
    if (text[0]) {
        pp_page_text(p, PP_TONE_PLAIN, lead, indent > least ? indent : least, 0, text);
        return;
    }
    fputs(p->color ? tones[tone] : "", p->out);
    put(p->out, lead, at);
    fputs(p->color && tone != PP_TONE_PLAIN ? plain_again : "", p->out);
    fputc('\n', p->out);
}
