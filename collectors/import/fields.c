#include "collectors/import/fields.h"

uint64_t pp_fields_at(const struct pp_fields *f)
{
    return f->before + (uint64_t)(f->at - f->run);
}

static int stop_reading(struct pp_fields *f, const char *why)
{
    if (!f->ended)
        f->ended = why;
    return 0;
}

/* 1: there is another byte. */
static int refill(struct pp_fields *f)
{
    size_t n;
    if (f->at < f->end)
        return 1;
    f->before += (uint64_t)(f->end - f->run);
    f->run = f->at = pp_bytes_next(f->bytes, &n);
    f->end = f->run + n;
    return n != 0;
}

/* The end of the file inside of something. */
static int stop_cut(struct pp_fields *f)
{
    const char *why;
    pp_bytes_ended(f->bytes, &why);
    return stop_reading(f, why ? why : "it ends inside of a message");
}

static int read_varint(struct pp_fields *f, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!refill(f))
            return stop_cut(f);
        *value |= (uint64_t)(*f->at & 0x7f) << shift;
        if (!(*f->at++ & 0x80))
            return 1;
    }
    return stop_reading(f, "a number of more than 64 bits");
}

int pp_fields_next(struct pp_fields *f)
{
    uint64_t tag;
    if (f->ended)
        return 0;
    for (uint64_t here = pp_fields_at(f); here < f->body_ends; here = pp_fields_at(f)) {
        if (!refill(f))
            return stop_cut(f);
        uint64_t n = (uint64_t)(f->end - f->at), left = f->body_ends - here;
        f->at += n < left ? n : left;
    }
    f->body_ends = 0;
    if (pp_fields_at(f) >= f->ends[f->depth]) {
        f->depth -= f->depth > 0;
        return 0;
    }
    const char *why;
    if (f->depth == 0 && !refill(f)) /* between fields of the file itself */
        return pp_bytes_ended(f->bytes, &why) == PP_BYTES_WHOLE ? 0 : stop_cut(f);
    if (!read_varint(f, &tag))
        return 0;
    f->number = (uint32_t)(tag >> 3);
    f->wire = (enum pp_wire)(tag & 7);
    if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return stop_reading(f, "a field without a number");

    int ok = 1, fixed = f->wire == PP_WIRE_FIXED64 ? 8 : f->wire == PP_WIRE_FIXED32 ? 4 : 0;
    f->value = 0;
    if (f->wire == PP_WIRE_VARINT || f->wire == PP_WIRE_BYTES)
        ok = read_varint(f, &f->value);
    else if (!fixed)
        ok = stop_reading(f, "a field of no known kind");
    for (int i = 0; i < fixed && ok; i++) {
        ok = refill(f) || stop_cut(f);
        if (ok)
            f->value |= (uint64_t)*f->at++ << (8 * i);
    }
    uint64_t here = pp_fields_at(f), body = f->wire == PP_WIRE_BYTES ? f->value : 0;
    if (ok && (here > f->ends[f->depth] || body > f->ends[f->depth] - here))
        ok = stop_reading(f, "a field that is longer than its message");
    f->body_ends = ok ? here + body : 0;
    return ok;
}

void pp_fields_enter(struct pp_fields *f)
{
    if (f->ended || f->wire != PP_WIRE_BYTES)
        return;
    if (f->depth + 1 == PP_FIELDS_DEPTH) {
        stop_reading(f, "more than 8 levels of messages");
        return;
    }
    f->ends[++f->depth] = f->body_ends;
    f->body_ends = 0;
}

void pp_fields_text(struct pp_fields *f, char *text, size_t size)
{
    size_t n = 0;
    while (!f->ended && n + 1 < size && pp_fields_at(f) < f->body_ends && f->wire == PP_WIRE_BYTES) {
        if (!refill(f)) {
            stop_cut(f);
            break;
        }
        text[n++] = *f->at ? (char)*f->at : ' ';
        f->at++;
    }
    text[n] = '\0';
}
