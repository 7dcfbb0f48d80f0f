#include "tui/cli/tune/tune_keys.h"

#include "probe/base/err.h"
#include "probe/base/opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct tune_key_row tune_keys[TUNE_KEYS] = {
    [TUNE_WORKERS] = {"workers", "num_workers", 1, 1024, "workers=%d", -1},
    [TUNE_PREFETCH] = {"prefetch", "prefetch_factor", 1, 1024, "prefetch=%d", -1},
    [TUNE_PIN] = {"pin", "pin_memory", 0, 1, "pinned=yes", 1},
    [TUNE_PERSISTENT] = {"persistent", "persistent_workers", 0, 1, "persistent-workers=yes", 1},
    [TUNE_IN_ORDER] = {"in_order", "in_order", 0, 1, "order=out-of-order", 0},
};

/* Fixes of the report that are arguments of a DataLoader; value -1: the fix's own. */
static const struct {
    const char *knob;
    enum tune_key key;
    int value;
} fixes[] = {{"workers", TUNE_WORKERS, -1},   {"fewer-workers", TUNE_WORKERS, -1},
             {"prefetch", TUNE_PREFETCH, -1}, {"order", TUNE_IN_ORDER, 0},
             {"pinned", TUNE_PIN, 1},         {"persistent-workers", TUNE_PERSISTENT, 1}};

static struct tune_set none(void)
{
    struct tune_set set;
    for (int k = 0; k < TUNE_KEYS; k++)
        set.value[k] = -1;
    return set;
}

static int is(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

int tune_key_of(const char *name, size_t length)
{
    for (int k = 0; k < TUNE_KEYS; k++)
        if (is(tune_keys[k].name, name, length) || is(tune_keys[k].argument, name, length))
            return k;
    return -1;
}

/* As DataLoader's arguments have it, or as a number. -1: neither. */
static int64_t value_of(const struct tune_key_row *key, const char *text, size_t length)
{
    char number[24];
    int64_t n;
    if (key->to == 1 && (is("True", text, length) || is("False", text, length)))
        return is("True", text, length);
    snprintf(number, sizeof(number), "%.*s", (int)length, text);
    return pp_parse_int(number, &n) == PP_OK && n >= key->from && n <= key->to ? n : -1;
}

static pp_status parse_pair(const char *pair, size_t length, struct tune_set *set, struct pp_err *err)
{
    const char *eq = memchr(pair, '=', length);
    int key = eq ? tune_key_of(pair, (size_t)(eq - pair)) : -1;
    if (key < 0)
        return pp_fail(
            err, PP_E_USAGE,
            "--try '%.*s' is not valid; use workers=N, prefetch=N, pin=1, persistent=1 or in_order=0",
            (int)length, pair);
    const struct tune_key_row *row = &tune_keys[key];
    int64_t value = value_of(row, eq + 1, length - (size_t)(eq + 1 - pair));
    if (value < 0 && row->to == 1)
        return pp_fail(err, PP_E_USAGE, "--try '%.*s': %s is True or False (1 or 0)", (int)length, pair,
                       row->name);
    if (value < 0)
        return pp_fail(err, PP_E_USAGE, "--try '%.*s': %s is a whole number from %d to %d", (int)length, pair,
                       row->name, row->from, row->to);
    set->value[key] = (int)value;
    return PP_OK;
}

pp_status tune_set_parse(const char *text, struct tune_set *set, struct pp_err *err)
{
    pp_status st = PP_OK;
    *set = none();
    for (const char *p = text; st == PP_OK; p++) {
        p += strspn(p, " ");
        size_t length = strcspn(p, ",");
        st = parse_pair(p, length, set, err);
        p += length;
        if (!*p)
            break;
    }
    return st;
}

int tune_set_of_fix(const char *knob, const char *to, struct tune_set *set)
{
    int64_t n = 0;
    for (size_t i = 0; i < sizeof(fixes) / sizeof(*fixes); i++) {
        if (strcmp(fixes[i].knob, knob) != 0)
            continue;
        const struct tune_key_row *row = &tune_keys[fixes[i].key];
        *set = none();
        if (fixes[i].value < 0 && (pp_parse_int(to, &n) != PP_OK || n < row->from || n > row->to))
            return 0;
        set->value[fixes[i].key] = fixes[i].value < 0 ? (int)n : fixes[i].value;
        return 1;
    }
    return 0;
}

int tune_set_equal(const struct tune_set *a, const struct tune_set *b)
{
    return memcmp(a->value, b->value, sizeof(a->value)) == 0;
}

char *tune_value(enum tune_key key, int value, char *text, size_t size)
{
    if (tune_keys[key].to == 1)
        snprintf(text, size, "%s", value ? "True" : "False");
    else
        snprintf(text, size, "%d", value);
    return text;
}

static char *join(const struct tune_set *set, char text[TUNE_TEXT], int as_arguments)
{
    char value[16];
    size_t n = 0;
    text[0] = '\0';
    for (int k = 0; k < TUNE_KEYS && n < TUNE_TEXT; k++) {
        if (set->value[k] < 0)
            continue;
        snprintf(value, sizeof(value), "%d", set->value[k]);
        n += (size_t)snprintf(text + n, TUNE_TEXT - n, "%s%s=%s", n ? (as_arguments ? ", " : ",") : "",
                              as_arguments ? tune_keys[k].argument : tune_keys[k].name,
                              as_arguments ? tune_value((enum tune_key)k, set->value[k], value, sizeof(value))
                                           : value);
    }
    return text;
}

char *tune_set_words(const struct tune_set *set, char text[TUNE_TEXT])
{
    return join(set, text, 0);
}

char *tune_set_arguments(const struct tune_set *set, char text[TUNE_TEXT])
{
    return join(set, text, 1);
}
