#include "report/rules/rules.h"
#include "probe/base/text.h"

const char *const pp_phase_words[] = {
    [PP_PHASE_NONE] = "the hand-off",
#define PP_PHASE(id, sym, name, lane, kind, colour, text) \
    [id] = (id) == PP_PHASE_PUT_WAIT                                      ? "handing over" \
           : (id) == PP_PHASE_DISPATCH_WAIT || (id) == PP_PHASE_SLOT_WAIT ? "idle time" \
                                                                          : name,
#include <pipeprobe/phases.def>
#undef PP_PHASE
    [PP_PHASE_COUNT] = NULL,
};

/* ---- which rules hold ---- */

unsigned pp_fact_find(const struct pp_values *v, const char *name, size_t len)
{
    unsigned i = 0;
    while (i < v->n && (strncmp(v->facts[i].name, name, len) != 0 || v->facts[i].name[len]))
        i++;
    return i;
}

int pp_fact_is_known(const struct pp_values *v, unsigned fact)
{
    int is_text = v->facts[fact].unit == PP_UNIT_NONE && !v->facts[fact].words;
    return is_text ? v->text[fact] && *v->text[fact] : !isnan(v->number[fact]);
}

int pp_condition_holds(const struct pp_condition *c, const struct pp_values *v)
{
    double number = v->number[c->fact];
    switch (c->compare) {
    case PP_AT_LEAST: return number >= c->limit;
    case PP_BELOW: return number < c->limit;
    case PP_AT_MOST: return number <= c->limit;
    case PP_ONE_OF: return number >= 0 && number < 32 && (uint32_t)c->limit >> (unsigned)number & 1;
    case PP_KNOWN: return pp_fact_is_known(v, c->fact);
    case PP_UNKNOWN: return !pp_fact_is_known(v, c->fact);
    case PP_NO_CONDITION: break;
    }
    return 1;
}

const struct pp_condition *pp_rule_missed(const struct pp_rule *r, const struct pp_values *v)
{
    for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++)
        if (!pp_condition_holds(&r->when[k], v))
            return &r->when[k];
    return NULL;
}

const struct pp_condition *pp_rule_asks(const struct pp_rule *r, unsigned fact)
{
    for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++)
        if (r->when[k].fact == fact)
            return &r->when[k];
    return NULL;
}

const struct pp_rule *pp_rules_first(const struct pp_rule *rules, size_t n, const struct pp_values *v)
{
    for (size_t i = 0; i < n; i++)
        if (!pp_rule_missed(&rules[i], v))
            return &rules[i];
    return NULL;
}

/* ---- what is said ---- */

/* As in a sentence: a share has two digits. */
static const char *short_text(enum pp_field_unit unit, double number, char *buf, size_t size)
{
    int is_share = unit == PP_UNIT_SHARE || (unit == PP_UNIT_GAIN && number <= 1);
    return is_share ? pp_text_share(buf, size, number) : pp_unit_text(unit, number, buf, size);
}

const char *pp_fact_value(const struct pp_values *v, unsigned fact, char *buf, size_t size)
{
    const struct pp_fact *f = &v->facts[fact];
    double number = v->number[fact];
    if (f->unit == PP_UNIT_NONE && !f->words)
        return v->text[fact] ? v->text[fact] : "";
    if (f->words) {
        size_t n = 0;
        while (f->words[n])
            n++;
        return number >= 0 && number < (double)n ? f->words[(size_t)number] : "-";
    }
    return short_text(f->unit, number, buf, size);
}

const char *pp_condition_text(const struct pp_condition *c, const struct pp_fact *facts, char *buf,
                              size_t size)
{
    static const char *const signs[] = {[PP_AT_LEAST] = ">=", [PP_BELOW] = "<", [PP_AT_MOST] = "<="};
    const char *const *words = facts[c->fact].words;
    char limit[48];
    *buf = '\0';
    if (c->compare == PP_KNOWN || c->compare == PP_UNKNOWN)
        snprintf(buf, size, "%s", c->compare == PP_KNOWN ? "known" : "unknown");
    else if (c->compare == PP_ONE_OF)
        for (unsigned i = 0; i < 32 && words && words[i]; i++)
            pp_text_add(buf, size, "%s%s", (uint32_t)c->limit >> i & 1 && *buf ? ", " : "",
                        (uint32_t)c->limit >> i & 1 ? words[i] : "");
    else
        snprintf(buf, size, "%s %s", signs[c->compare],
                 short_text(facts[c->fact].unit, c->limit, limit, sizeof(limit)));
    return buf;
}

/* What is written so far, up to size bytes; at counts on beyond them. */
struct text {
    char *to;
    size_t size, at;
};

static void write_text(struct text *t, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++, t->at++)
        if (t->at < t->size)
            t->to[t->at] = text[i];
}

/* A value, from behind its '{'; returns what follows its '}'. A name that is none stays as it is, so that a
 * wrong row shows in its text. *lacks: nothing is known of it. */
static const char *write_value(struct text *t, const char *p, const struct pp_values *v, int *lacks)
{
    size_t all = strcspn(p, "}"), len = strcspn(p, "|}");
    unsigned fact = pp_fact_find(v, p, len);
    char buf[64];
    if (fact == v->n) {
        write_text(t, "{", 1);
        return p;
    }
    const char *value = pp_fact_value(v, fact, buf, sizeof(buf)), *one = p + len + 1;
    *lacks |= !pp_fact_is_known(v, fact);
    write_text(t, value, strlen(value));
    if (len < all) {
        size_t n = strcspn(one, "|");
        const char *many = one + n + 1;
        write_text(t, " ", 1);
        write_text(t, v->number[fact] == 1 ? one : many, v->number[fact] == 1 ? n : strcspn(many, "}"));
    }
    return p + all + (p[all] == '}');
}

/* Up to the end or the next ']', at which it returns. */
static const char *write_sentence(struct text *t, const char *p, const struct pp_values *v, int *lacks)
{
    while (*p && *p != ']') {
        size_t before = t->at;
        int lacks_inside = 0;
        if (*p == '{') {
            p = write_value(t, p + 1, v, lacks);
        } else if (*p == '[') {
            p = write_sentence(t, p + 1, v, &lacks_inside);
            p += *p == ']';
            t->at = lacks_inside ? before : t->at;
        } else {
            write_text(t, p++, 1);
        }
    }
    return p;
}

const char *pp_rules_fill(const char *sentence, const struct pp_values *v, struct pp_arena *arena)
{
    struct text t = {0};
    int ignored = 0;
    if (!sentence)
        return NULL;
    write_sentence(&t, sentence, v, &ignored);
    t = (struct text){.to = pp_arena_alloc(arena, t.at + 1), .size = t.at};
    if (t.to) {
        write_sentence(&t, sentence, v, &ignored);
        /* A sentence that begins with a value begins with a capital letter all the same; what is no plain
         * word (a path, a host) stays as it is. */
        for (char *p = strstr(t.to, ". "); p; p = strstr(p + 2, ". ")) {
            size_t n = strspn(p + 2, "abcdefghijklmnopqrstuvwxyz");
            if (n && (p[2 + n] == ' ' || p[2 + n] == ','))
                p[2] = (char)(p[2] - 'a' + 'A');
        }
    }
    return t.to;
}
