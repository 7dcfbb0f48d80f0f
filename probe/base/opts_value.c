#include "probe/base/opts_value.h"

#include "probe/base/err.h"
#include "probe/base/text.h"

#include <assert.h>
#include <inttypes.h>

enum { MAX_ROWS = sizeof(((struct pp_opt_set *)0)->source) };

int pp_opt_find(const struct pp_opt *table, const char *name, int len)
{
    size_t n = len < 0 ? strlen(name) : (size_t)len;
    for (int i = 0; table[i].name; i++) {
        size_t same = 0;
        while (same < n &&
               (table[i].name[same] == name[same] || (table[i].name[same] == '-' && name[same] == '_')))
            same++;
        if (same == n && table[i].name[n] == '\0')
            return i;
    }
    return -1;
}

int pp_opt_find_also(const struct pp_opt_set *set, const char *name, int len, const char **value)
{
    char word[64];
    int i = pp_opt_find(set->table, name, len);
    snprintf(word, sizeof(word), "%.*s", len < 0 ? (int)strlen(name) : len, name);
    const char *option = i < 0 && set->also ? set->also(word, value) : NULL;
    return option ? pp_opt_find(set->table, option, -1) : i;
}

int pp_opt_find_letter(const struct pp_opt *table, char letter)
{
    for (int i = 0; table[i].name; i++)
        if (table[i].letter == letter)
            return i;
    return -1;
}

const char *pp_opt_nearest(const struct pp_opt *table, const char *name)
{
    const char *names[MAX_ROWS + 3];
    int n = 0;
    for (; table[n].name; n++) {
        assert(n < MAX_ROWS);
        names[n] = table[n].name;
    }
    names[n] = "help";
    names[n + 1] = "help-all";
    names[n + 2] = NULL;
    return pp_nearest(name, names);
}

/* ---- from text to field; a failure is a sentence ---- */

static pp_status store_number(const struct pp_opt *o, void *field, const char *where, const char *text,
                              struct pp_err *err)
{
    static const char *const kinds[] = {[PP_OPT_INT] = "a whole number",
                                        [PP_OPT_SIZE] = "a size such as 512, 64KiB or 2GB",
                                        [PP_OPT_DURATION] = "a duration such as 30, 250ms, 1.5s or 2m",
                                        [PP_OPT_DOUBLE] = "a number"};
    int has_range = o->min != 0 || o->max != 0;
    int64_t whole = -1;
    uint64_t amount = 0;
    double number = 0;
    pp_status status = PP_OK;
    if (o->type == PP_OPT_INT && !(o->has_auto && strcmp(text, "auto") == 0)) {
        status = pp_parse_int(text, &whole);
        number = (double)whole;
    } else if (o->type == PP_OPT_INT) {
        *(int64_t *)field = -1;
        return PP_OK;
    } else if (o->type == PP_OPT_DOUBLE) {
        status = pp_parse_double(text, &number);
    } else {
        status = o->type == PP_OPT_SIZE ? pp_parse_size(text, &amount) : pp_parse_duration(text, &amount);
        number = (double)amount;
    }
    if (status == PP_E_UNSUPPORTED && !has_range)
        return pp_fail(err, PP_E_USAGE, "%s: %s is too large", where, text);
    if (status != PP_OK && status != PP_E_UNSUPPORTED)
        return pp_fail(err, PP_E_USAGE, "%s: '%s' is not %s%s", where, text, kinds[o->type],
                       o->has_auto ? " or auto" : "");
    if (status != PP_OK || (has_range && !(number >= o->min && number <= o->max))) {
        char bound[2][48]; /* in the unit of the type: "1024", "64.0 KiB", "1h00m" */
        const char *or_auto = o->has_auto ? ", or auto" : "";
        for (int k = 0; k < 2; k++) {
            double v = k ? o->max : o->min;
            if (o->type == PP_OPT_SIZE)
                pp_text_bytes(bound[k], sizeof(bound[k]), v);
            else if (o->type == PP_OPT_DURATION)
                pp_text_duration(bound[k], sizeof(bound[k]), v);
            else
                snprintf(bound[k], sizeof(bound[k]), "%.15g", v);
        }
        if (isinf(o->max))
            return pp_fail(err, PP_E_USAGE, "%s: %s is out of range; at least %s is needed%s", where, text,
                           bound[0], or_auto);
        return pp_fail(err, PP_E_USAGE, "%s: %s is out of range; allowed are %s to %s%s", where, text,
                       bound[0], bound[1], or_auto);
    }
    if (o->type == PP_OPT_INT)
        *(int64_t *)field = whole;
    else if (o->type == PP_OPT_DOUBLE)
        *(double *)field = number;
    else
        *(uint64_t *)field = amount;
    return PP_OK;
}

/* "NAME", or "NAME:DURATION" where the row has a place for one; length NULL: it has none. */
static pp_status store_choice(const struct pp_opt *o, int *field, uint64_t *length, const char *where,
                              const char *text, struct pp_err *err)
{
    const char *names[64];
    char all[240] = "";
    size_t name_length = length ? strcspn(text, ":") : strlen(text);
    int n = 0;
    for (; o->choices[n].name; n++) {
        assert(n < 63);
        if (strlen(o->choices[n].name) == name_length && memcmp(o->choices[n].name, text, name_length) == 0) {
            if (length)
                *length = 0; /* of a weaker source */
            if (length && text[name_length] &&
                (pp_parse_duration(text + name_length + 1, length) != PP_OK || !*length))
                return pp_fail(err, PP_E_USAGE, "%s: '%s' has no length after %s: such as %s:20ms", where,
                               text, o->choices[n].name, o->choices[n].name);
            *field = n;
            return PP_OK;
        }
        names[n] = o->choices[n].name;
        size_t at = strlen(all);
        snprintf(all + at, sizeof(all) - at, "%s%s", n ? ", " : "", names[n]);
    }
    names[n] = NULL;
    const char *near = pp_nearest(text, names);
    return pp_fail(err, PP_E_USAGE, "%s: '%s' is not one of %s%s%s%s", where, text, all,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

pp_status pp_opt_store(struct pp_opt_set *set, int i, enum pp_opt_source source, const char *where,
                       const char *text, struct pp_err *err)
{
    static const char *const flag_words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    enum { FLAG_WORDS = sizeof(flag_words) / sizeof(*flag_words) };
    const struct pp_opt *o = &set->table[i];
    void *field = (char *)set->fields + o->offset;
    struct pp_opt_list *list = field;
    int word = 0, room = sizeof(list->item) / sizeof(list->item[0]);
    pp_status status = PP_OK;
    switch (o->type) {
    case PP_OPT_FLAG:
        while (word < FLAG_WORDS && strcmp(text, flag_words[word]) != 0)
            word++;
        if (word == FLAG_WORDS && o->choices) {
            status = store_choice(o, field, NULL, where, text, err);
            *(int *)field += status == PP_OK;
            break;
        }
        if (word == FLAG_WORDS)
            return pp_fail(err, PP_E_USAGE, "%s: '%s' is not true or false", where, text);
        *(int *)field = word % 2;
        break;
    case PP_OPT_INT:
    case PP_OPT_SIZE:
    case PP_OPT_DURATION:
    case PP_OPT_DOUBLE: status = store_number(o, field, where, text, err); break;
    case PP_OPT_STRING: *(const char **)field = text; break;
    case PP_OPT_CHOICE:
        status = store_choice(o, field,
                              o->length_offset ? (uint64_t *)((char *)set->fields + o->length_offset) : NULL,
                              where, text, err);
        break;
    case PP_OPT_LIST:
        if (set->source[i] != source)
            list->n = 0;
        if (list->n == room)
            return pp_fail(err, PP_E_USAGE, "%s: given more than %d times", where, room);
        list->item[list->n++] = text;
        break;
    }
    if (status == PP_OK)
        set->source[i] = (unsigned char)source;
    return status;
}

/* ---- and back ---- */

/* The largest unit that divides v, so that the text reads back exactly. */
static void put_exact(char *buf, size_t size, uint64_t v, const uint64_t *units, const char *const *names,
                      int n)
{
    int i = n - 1;
    while (i > 0 && (v == 0 || v % units[i] != 0))
        i--;
    snprintf(buf, size, "%" PRIu64 "%s", v / units[i], names[i]);
}

const char *pp_opts_value(const struct pp_opt_set *set, int i, char *buf, size_t size)
{
    static const uint64_t size_units[] = {1, UINT64_C(1) << 10, UINT64_C(1) << 20, UINT64_C(1) << 30,
                                          UINT64_C(1) << 40};
    static const char *const size_names[] = {"", "KiB", "MiB", "GiB", "TiB"};
    static const uint64_t time_units[] = {1, 1000, 1000000, 1000000000};
    static const char *const time_names[] = {"ns", "us", "ms", "s"};
    const struct pp_opt *o = &set->table[i];
    const void *field = (const char *)set->fields + o->offset;
    const char *text = NULL;
    const struct pp_opt_list *list = field;
    buf[0] = '\0';
    switch (o->type) {
    case PP_OPT_FLAG: {
        int on = *(const int *)field;
        text = on && o->choices ? o->choices[on - 1].name : on ? "true" : "false";
        break;
    }
    case PP_OPT_CHOICE: text = o->choices[*(const int *)field].name; break;
    case PP_OPT_STRING: text = *(const char *const *)field ? *(const char *const *)field : ""; break;
    case PP_OPT_INT:
        if (o->has_auto && *(const int64_t *)field == -1)
            text = "auto";
        else
            snprintf(buf, size, "%" PRId64, *(const int64_t *)field);
        break;
    case PP_OPT_SIZE: put_exact(buf, size, *(const uint64_t *)field, size_units, size_names, 5); break;
    case PP_OPT_DURATION: put_exact(buf, size, *(const uint64_t *)field, time_units, time_names, 4); break;
    case PP_OPT_DOUBLE: pp_text_exact(buf, size, *(const double *)field); break;
    case PP_OPT_LIST:
        for (int k = 0; k < list->n; k++)
            pp_text_add(buf, size, "%s%s", k ? " " : "", list->item[k]);
        break;
    }
    if (text)
        snprintf(buf, size, "%s", text);
    return buf;
}
