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

static int is_word(struct piece p, const char *word)
{
    return p.size == strlen(word) && memcmp(p.at, word, p.size) == 0;
}

/* "[default]", "[profile dev]" */
static int is_section(struct piece line, const char *name)
{
    struct piece inside = trimmed((struct piece){line.at + 1, line.size - 2});
    if (inside.size > 8 && memcmp(inside.at, "profile", 7) == 0 && is_space(inside.at[7]))
        inside = trimmed((struct piece){inside.at + 8, inside.size - 8});
    return is_word(inside, name);
}

static int copy_value(struct piece value, char *out, size_t out_size)
{
    if (value.size >= out_size)
        return 0;
    for (size_t i = 0; i < value.size; i++)
        if ((unsigned char)value.at[i] < ' ')
            return 0;
    memcpy(out, value.at, value.size);
    out[value.size] = '\0';
    return value.size > 0;
}

/* "key = value": 1 when it is key, with its value. An indented line belongs to a value above it. */
static int take_pair(struct piece raw, const char *key, struct piece *value)
{
    const char *equals = memchr(raw.at, '=', raw.size);
    if (!equals || raw.size == 0 || is_space(raw.at[0]))
        return 0;
    struct piece name = trimmed((struct piece){raw.at, (size_t)(equals - raw.at)});
    if (name.size != strlen(key) || strncasecmp(name.at, key, name.size) != 0)
        return 0;
    *value = trimmed((struct piece){equals + 1, raw.size - (size_t)(equals - raw.at) - 1});
    for (size_t i = 1; i < value->size; i++) /* a comment begins behind a space */
        if ((value->at[i] == '#' || value->at[i] == ';') && is_space(value->at[i - 1])) {
            *value = trimmed((struct piece){value->at, i});
            break;
        }
    return 1;
}

/* key NULL: the section alone */
static int find(struct piece text, const char *name, const char *key, struct piece *value)
{
    int inside = 0;
    while (text.size) {
        const char *end = memchr(text.at, '\n', text.size);
        struct piece raw = {text.at, end ? (size_t)(end - text.at) : text.size}, line = trimmed(raw);
        text.at += raw.size + (end != NULL);
        text.size -= raw.size + (end != NULL);
        if (!line.size || line.at[0] == '#' || line.at[0] == ';')
            continue;
        if (line.at[0] == '[' && line.size >= 2 && line.at[line.size - 1] == ']') {
            inside = is_section(line, name);
            if (inside && !key)
                return 1;
        } else if (inside && key && take_pair(raw, key, value)) {
            return 1;
        }
    }
    return 0;
}

int pp_ini_get(const char *text, size_t size, const char *name, const char *key, char *out, size_t out_size)
{
    struct piece value;
    return find((struct piece){text, size}, name, key, &value) && copy_value(value, out, out_size);
}

int pp_ini_has(const char *text, size_t size, const char *name)
{
    return find((struct piece){text, size}, name, NULL, NULL);
}
