/* base/json.h: JSON emission: a small writer that cannot produce a malformed document. Numbers are numbers
 * (NaN and infinities become null), strings are escaped, invalid UTF-8 bytes become U+FFFD. The state is a
 * stack of at most 32 levels; misuse (value without key in an object) is an assertion. Not thread-safe. */
#pragma once

#include "probe/base/std.h"

struct pp_json {
    FILE *out;
    int indent; /* spaces per level, 0: one line */
    int depth;
    struct {
        char in_object, has_items, key_open;
    } level[32];
};

void pp_json_begin(struct pp_json *j, FILE *out, int indent);
void pp_json_object(struct pp_json *j);
void pp_json_object_end(struct pp_json *j);
void pp_json_array(struct pp_json *j);
void pp_json_array_end(struct pp_json *j);
void pp_json_key(struct pp_json *j, const char *key);
void pp_json_str(struct pp_json *j, const char *s); /* NULL: null */
void pp_json_num(struct pp_json *j, double v);      /* shortest form that reads back the same */
void pp_json_int(struct pp_json *j, int64_t v);
void pp_json_uint(struct pp_json *j, uint64_t v);
void pp_json_bool(struct pp_json *j, int v);
void pp_json_null(struct pp_json *j);
/* A key and its value; an object or an array stays open. */
void pp_json_put_str(struct pp_json *j, const char *key, const char *s);
void pp_json_put_num(struct pp_json *j, const char *key, double v);
void pp_json_put_int(struct pp_json *j, const char *key, int64_t v);
void pp_json_put_uint(struct pp_json *j, const char *key, uint64_t v);
void pp_json_put_bool(struct pp_json *j, const char *key, int v);
void pp_json_put_object(struct pp_json *j, const char *key);
void pp_json_put_array(struct pp_json *j, const char *key);
/* Closes the document with a newline; 0, or -1 when a write to out failed. */
int pp_json_end(struct pp_json *j);
