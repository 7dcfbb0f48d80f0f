#include "report/metrics/tfevents.h"

#include "probe/base/crc32c.h"
#include "probe/base/proto.h"
#include "report/metrics/curves.h"

#include <string.h>

/* TFRecord's: a checksum over data that has checksums in it would be weak. */
static uint32_t masked(const void *data, size_t n)
{
    uint32_t c = pp_crc32c(data, n);
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

static void put_word(FILE *out, uint64_t v, int n)
{
    for (int i = 0; i < n; i++, v >>= 8)
        fputc((int)(v & 0xff), out);
}

/* Without memory the record is missing. */
static void write_frame(struct pp_proto *data, FILE *out)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)data->n >> (8 * i));
    if (!data->failed) {
        fwrite(length, 1, sizeof(length), out);
        put_word(out, masked(length, sizeof(length)), 4);
        fwrite(data->buf, 1, data->n, out);
        put_word(out, masked(data->buf, data->n), 4);
    }
    pp_proto_free(data);
}

/* ---- events: Event{wall_time=1, step=2, file_version=3, summary=5{value=1{tag=1, simple_value=2}}} ---- */

void pp_tfevents_begin(FILE *out, double utc_s)
{
    struct pp_proto event = {0};
    pp_proto_double(&event, 1, utc_s);
    pp_proto_str(&event, 3, "brain.Event:2");
    write_frame(&event, out);
}

void pp_tfevents_scalar(FILE *out, double utc_s, int64_t step, const char *tag, float value)
{
    struct pp_proto event = {0};
    pp_proto_double(&event, 1, utc_s);
    pp_proto_int(&event, 2, step);
    size_t summary = pp_proto_begin(&event, 5), scalar = pp_proto_begin(&event, 1);
    pp_proto_bytes(&event, 1, tag, strnlen(tag, PP_CURVE_NAME));
    pp_proto_float(&event, 2, value);
    pp_proto_end(&event, scalar);
    pp_proto_end(&event, summary);
    write_frame(&event, out);
}

/* ---- a moment ---- */

struct moment {
    FILE *out;
    double utc_s;
    int64_t step;
};

static void write_curve(void *ctx, const char *name, double value)
{
    struct moment *at = ctx;
    pp_tfevents_scalar(at->out, at->utc_s, at->step, name, (float)value);
}

void pp_tfevents_write(const struct pp_metrics_view *v, double utc_s, FILE *out)
{
    struct moment at = {.out = out, .utc_s = utc_s, .step = (int64_t)v->totals->batches};
    pp_metrics_curves(v, write_curve, &at);
}
