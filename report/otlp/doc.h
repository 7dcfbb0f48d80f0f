/* otlp/doc.h: a message of OTLP (opentelemetry-proto 1.x), as protocol buffers or as JSON, from the same
 * calls. A call names a field by its number, for protocol buffers, and by its name in JSON. JSON's mapping is
 * OTLP's own: ids in hexadecimal digits, numbers of 64 bits as decimal strings, enums as numbers.
 *
 * Repeated messages stand between pp_otlp_list and pp_otlp_list_end, each between pp_otlp_item and
 * pp_otlp_end. Running out of memory sticks; pp_otlp_finish says it. Not for several threads. */
#pragma once

#include "probe/base/json.h"
#include "probe/base/proto.h"

struct pp_otlp {
    int is_json;
    struct pp_proto proto;
    size_t opened[16];
    int depth;
    struct pp_json json;
    FILE *out; /* of the JSON */
    char *text;
    size_t size;
};

void pp_otlp_begin(struct pp_otlp *o, int is_json);
/* The message, malloc'd; NULL without memory. JSON ends with a newline. */
char *pp_otlp_finish(struct pp_otlp *o, size_t *n);
/* Bytes up to here, about. */
size_t pp_otlp_size(const struct pp_otlp *o);
/* One that is not to be finished; nothing after pp_otlp_finish. */
void pp_otlp_drop(struct pp_otlp *o);

void pp_otlp_list(struct pp_otlp *o, const char *name);
void pp_otlp_item(struct pp_otlp *o, unsigned number);
void pp_otlp_list_end(struct pp_otlp *o);
void pp_otlp_message(struct pp_otlp *o, unsigned number, const char *name);
void pp_otlp_end(struct pp_otlp *o); /* of an item or a message */

/* A text of others is escaped where it is not plain (probe/base/text.h), and cut to 1,000 bytes. */
void pp_otlp_text(struct pp_otlp *o, unsigned number, const char *name, const char *text);
void pp_otlp_id(struct pp_otlp *o, unsigned number, const char *name, const uint8_t *id, size_t n);
void pp_otlp_enum(struct pp_otlp *o, unsigned number, const char *name, unsigned value); /* uint32 too */
void pp_otlp_bool(struct pp_otlp *o, unsigned number, const char *name, int value);
void pp_otlp_fixed64(struct pp_otlp *o, unsigned number, const char *name, uint64_t value);
void pp_otlp_double(struct pp_otlp *o, unsigned number, const char *name, double value);
/* Repeated, packed. */
void pp_otlp_counts(struct pp_otlp *o, unsigned number, const char *name, const uint64_t *v, size_t n);
void pp_otlp_doubles(struct pp_otlp *o, unsigned number, const char *name, const double *v, size_t n);

/* An attribute, inside the list "attributes", whose number depends on the message. */
void pp_otlp_attribute(struct pp_otlp *o, unsigned number, const char *key, const char *text);
void pp_otlp_attribute_number(struct pp_otlp *o, unsigned number, const char *key, int64_t value);

/* What sends: Resource.attributes. Beside these OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME, which win. */
struct pp_otlp_attr {
    const char *key, *text;
};
void pp_otlp_resource(struct pp_otlp *o, const struct pp_otlp_attr *attrs, size_t n);
/* "pipeprobe" and its version: field 1 of a scope's things. */
void pp_otlp_scope(struct pp_otlp *o);
