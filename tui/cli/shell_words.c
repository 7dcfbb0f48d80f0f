#include "tui/cli/shell_words.h"

#include "probe/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds text, or nothing and returns 0 where it does not fit whole. */
static int add(char *out, size_t size, size_t *n, const char *text)
{
    size_t length = strlen(text);
    if (*n + length >= size)
        return 0;
    memcpy(out + *n, text, length + 1);
    *n += length;
    return 1;
}

static int add_quoted(char *out, size_t size, size_t *n, const char *word)
{
    char one[2] = "";
    if (pp_text_is_shell_word(word))
        return add(out, size, n, word);
    int fits = add(out, size, n, "'");
    for (; fits && *word; word++) {
        one[0] = *word;
        fits = add(out, size, n, *word == '\'' ? "'\\''" : one);
    }
    return fits && add(out, size, n, "'");
}

char *pp_shell_words(char *const *words, char *text, size_t size)
{
    const size_t room = size - sizeof(" ...");
    size_t n = 0;
    int fits = 1;
    *text = '\0';
    for (size_t i = 0; fits && words[i]; i++) {
        size_t before = n;
        char *plain = pp_text_plain(words[i]);
        fits = plain && (!i || add(text, room, &n, " ")) && add_quoted(text, room, &n, plain);
        free(plain);
        if (!fits) {
            n = before;
            text[n] = '\0';
            add(text, size, &n, n ? " ..." : "...");
        }
    }
    return text;
}
