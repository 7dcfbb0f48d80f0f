#include "tests/support/json_schema.h"

static int schema_type(const char *name, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return strcmp(name, "object") == 0;
    case JSON_ARRAY: return strcmp(name, "array") == 0;
    case JSON_STRING: return strcmp(name, "string") == 0;
    case JSON_INTEGER: return strcmp(name, "integer") == 0 || strcmp(name, "number") == 0;
    case JSON_REAL: return strcmp(name, "number") == 0;
    case JSON_TRUE:
    case JSON_FALSE: return strcmp(name, "boolean") == 0;
    case JSON_NULL: return strcmp(name, "null") == 0;
    }
    return 0;
}

static int schema_any_type(const json_t *type, const json_t *value)
{
    if (json_is_string(type))
        return schema_type(json_string_value(type), value);
    for (size_t i = 0; i < json_array_size(type); i++)
        if (schema_type(json_string_value(json_array_get(type, i)), value))
            return 1;
    return 0;
}

static int schema_listed(const json_t *allowed, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(allowed); i++)
        if (json_equal(json_array_get(allowed, i), value))
            return 1;
    return 0;
}

static void schema_check(const json_t *root, const json_t *schema, json_t *value, const char *path)
{
    char sub[256];
    const char *ref = json_string_value(json_object_get(schema, "$ref")), *key;
    json_t *part, *name;
    size_t i;
    if (ref) {
        schema = json_object_get(json_object_get(root, "$defs"), strrchr(ref, '/') + 1);
        assert_non_null(schema);
    }
    json_t *type = json_object_get(schema, "type"), *allowed = json_object_get(schema, "enum"),
           *constant = json_object_get(schema, "const");
    json_t *low = json_object_get(schema, "minimum"), *high = json_object_get(schema, "maximum");
    json_t *properties = json_object_get(schema, "properties"), *items = json_object_get(schema, "items");
    if (!type && !allowed && !constant)
        fail_msg("%s: the schema says nothing of it", path);
    if (type && !schema_any_type(type, value))
        fail_msg("%s has the wrong type", path);
    if (allowed && !schema_listed(allowed, value))
        fail_msg("%s is none of the listed values", path);
    if (constant && !json_equal(constant, value))
        fail_msg("%s is not the constant", path);
    if (json_is_number(value) && ((low && json_number_value(value) < json_number_value(low)) ||
                                  (high && json_number_value(value) > json_number_value(high))))
        fail_msg("%s is out of range", path);
    json_array_foreach(json_object_get(schema, "required"), i,
                       name) if (json_is_object(value) && !json_object_get(value, json_string_value(name)))
        fail_msg("%s lacks %s", path, json_string_value(name));
    if (json_is_object(value) && properties)
        json_object_foreach(value, key, part)
        {
            snprintf(sub, sizeof(sub), "%.180s.%.60s", path, key);
            if (!json_object_get(properties, key))
                fail_msg("%s is not in the schema", sub);
            schema_check(root, json_object_get(properties, key), part, sub);
        }
    if (json_is_array(value) && items)
        json_array_foreach(value, i, part)
        {
            snprintf(sub, sizeof(sub), "%.180s[%zu]", path, i);
            schema_check(root, items, part, sub);
        }
}

void schema_check_file(const char *file, json_t *document)
{
    json_error_t why;
    json_t *schema = json_load_file(file, JSON_REJECT_DUPLICATES, &why);
    if (!schema)
        fail_msg("%s: line %d: %s", file, why.line, why.text);
    schema_check(schema, schema, document, "$");
    json_decref(schema);
}
