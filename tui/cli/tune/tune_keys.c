#include "tui/cli/tune/tune_keys.h"

#include "probe/base/err.h"
#include "probe/base/opts.h"

#include <stdio.h>
#include <string.h>

static struct tune_set none(void)
{
    struct tune_set set;
    for (int k = 0; k < PP_KNOBS_TUNED; k++)
        set.value[k] = -1;
    return set;
}

int tune_key_of(const char *name, size_t length)
{
    const struct pp_knob *knob = pp_knob_find(name, length);
    return knob && knob - pp_knob_rows < PP_KNOBS_TUNED ? (int)(knob - pp_knob_rows) : -1;
}

/* -1: the knob does not take it. */
static int value_of(const struct pp_knob *knob, const char *text, size_t length)
{
    char value[24];
    snprintf(value, sizeof(value), "%.*s", (int)length, text);
    if (knob->kind == PP_KNOB_SWITCH)
        return pp_knob_truth(knob, value);
    int n = pp_knob_count(knob, value);
    return !n ? -1 : n == knob->zero ? 0 : n;
}

static pp_status parse_pair(const char *pair, size_t length, struct tune_set *set, struct pp_err *err)
{
    char name[40];
    const char *eq = memchr(pair, '=', length);
    snprintf(name, sizeof(name), "%.*s", (int)(eq ? (size_t)(eq - pair) : length), pair);
    int key = tune_key_of(name, strlen(name));
    if (key < 0) {
        char all[TUNE_TEXT] = "";
        const char *near = pp_knob_nearest(name);
        for (int k = 0; k < PP_KNOBS_TUNED; k++)
            snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", k ? ", " : "",
                     pp_knob_rows[k].name);
        if (near && tune_key_of(near, strlen(near)) < 0)
            near = NULL;
        return pp_fail(err, PP_E_USAGE, "--try '%.*s': tune sets %s%s%s%s", (int)length, pair, all,
                       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    const struct pp_knob *knob = &pp_knob_rows[key];
    int value = eq ? value_of(knob, eq + 1, length - (size_t)(eq + 1 - pair)) : -1;
    if (value < 0 && knob->kind == PP_KNOB_SWITCH)
        return pp_fail(err, PP_E_USAGE, "--try '%.*s': %s is True or False (1 or 0)", (int)length, pair,
                       knob->name);
    if (value < 0)
        return pp_fail(err, PP_E_USAGE, "--try '%.*s': %s is a whole number from %d to %.0f", (int)length,
                       pair, knob->name, !knob->zero, knob->most);
    set->value[key] = value;
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

int tune_set_of_change(const char *change, struct tune_set *set)
{
    struct pp_err err;
    return change && tune_set_parse(change, set, &err) == PP_OK;
}

int tune_set_equal(const struct tune_set *a, const struct tune_set *b)
{
    return memcmp(a->value, b->value, sizeof(a->value)) == 0;
}

char *tune_value(int knob, int value, char *text, size_t size)
{
    if (pp_knob_rows[knob].kind == PP_KNOB_SWITCH)
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
    for (int k = 0; k < PP_KNOBS_TUNED && n < TUNE_TEXT; k++) {
        if (set->value[k] < 0)
            continue;
        if (as_arguments)
            tune_value(k, set->value[k], value, sizeof(value));
        else
            snprintf(value, sizeof(value), "%d", set->value[k]);
        n += (size_t)snprintf(text + n, TUNE_TEXT - n, "%s%s=%s", n ? (as_arguments ? ", " : ",") : "",
                              pp_knob_rows[k].name, value);
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
