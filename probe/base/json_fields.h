/* base/json_fields.h: key and value in one call, under short names, for the .c files that write documents of
 * many fields. */
#ifndef PP_BASE_JSON_FIELDS_H
#define PP_BASE_JSON_FIELDS_H

#include "probe/base/json.h"

static inline void str(struct pp_json *j, const char *key, const char *value)
{
    pp_json_key(j, key);
    pp_json_str(j, value);
}

static inline void num(struct pp_json *j, const char *key, double value)
{
    pp_json_key(j, key);
    pp_json_num(j, value);
}

static inline void whole(struct pp_json *j, const char *key, uint64_t value)
{
    pp_json_key(j, key);
    pp_json_uint(j, value);
}

static inline void boolean(struct pp_json *j, const char *key, int value)
{
    pp_json_key(j, key);
    pp_json_bool(j, value);
}

#endif
