#include "probe/storage/ini.h"

#include <string.h>
#include <strings.h>

struct piece {
    const char *at;
    size_t size;
};

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct piece trimmed(struct piece p)
{
    while (p.size && is_space(p.at[0])) {
        p.at++;
        p.size--;
    }
    while (p.size && is_space(p.at[p.size - 1]))
        p.size--;
    return p;
}

/* Of "[default]" and "[profile dev]" what is inside; size 0: the line begins no section. */
static struct piece section_of(struct piece line)
{
    if (line.size < 2 || line.at[0] != '[' || line.at[line.size - 1] != ']')
        return (struct piece){line.at, 0};
    struct piece inside = trimmed((struct piece){line.at + 1, line.size - 2});
    if (inside.size > 8 && memcmp(inside.at, "profile", 7) == 0 && is_space(inside.at[7]))
        inside = trimmed((struct piece){inside.at + 8, inside.size - 8});
    return inside;
}

/* key NULL: the section alone. An indented line belongs to a value above it. */
static int find_value(struct piece text, const char *name, const char *key, struct piece *value)
{
    int inside = 0;
    while (text.size) {
        const char *end = memchr(text.at, '\n', text.size);
        struct piece raw = {text.at, end ? (size_t)(end - text.at) : text.size}, line = trimmed(raw);
        struct piece section = section_of(line);
        const char *equals = memchr(raw.at, '=', raw.size);
        text.at += raw.size + (end != NULL);
        text.size -= raw.size + (end != NULL);
        if (!line.size || line.at[0] == '#' || line.at[0] == ';')
            continue;
        if (section.size) {
            inside = section.size == strlen(name) && memcmp(section.at, name, section.size) == 0;
            if (inside && !key)
                return 1;
            continue;
        }
        if (!inside || !key || !equals || is_space(raw.at[0]))
            continue;
        struct piece word = trimmed((struct piece){raw.at, (size_t)(equals - raw.at)});
        if (word.size != strlen(key) || strncasecmp(word.at, key, word.size) != 0)
            continue;
        *value = trimmed((struct piece){equals + 1, raw.size - (size_t)(equals - raw.at) - 1});
        for (size_t i = 1; i < value->size; i++) /* a comment begins behind a space */
            if ((value->at[i] == '#' || value->at[i] == ';') && is_space(value->at[i - 1]))
                *value = trimmed((struct piece){value->at, i});
        return 1;
    }
    return 0;
}

int pp_ini_get(const char *text, size_t size, const char *name, const char *key, char *out, size_t out_size)
{
    struct piece value;
    if (!find_value((struct piece){text, size}, name, key, &value) || !value.size || value.size >= out_size)
        return 0;
    for (size_t i = 0; i < value.size; i++)
        if ((unsigned char)value.at[i] < ' ')
            return 0;
    memcpy(out, value.at, value.size);
    out[value.size] = '\0';
    return 1;
}

int pp_ini_has(const char *text, size_t size, const char *name)
{
    return find_value((struct piece){text, size}, name, NULL, NULL);
}
