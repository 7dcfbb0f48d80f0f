#include "report/metrics/tfevents.h"

#include "probe/base/crc32c.h"
#include "probe/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAG_MOST 160

/* TFRecord's: a checksum over data that has checksums in it would be weak. */
static uint32_t masked(const void *data, size_t n)
{
    uint32_t c = pp_crc32c(data, n);
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

/* ---- bytes ---- */

struct bytes {
    uint8_t at[3 * TAG_MOST];
    size_t n;
};

static void put_bytes(struct bytes *b, const void *data, size_t n)
{
    memcpy(b->at + b->n, data, n); /* the callers' texts are cut to TAG_MOST */
    b->n += n;
}

static void put_varint(struct bytes *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        b->at[b->n++] = (uint8_t)(v | 0x80);
    b->at[b->n++] = (uint8_t)v;
}

static void put_little(struct bytes *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++, v >>= 8)
        b->at[b->n++] = (uint8_t)v;
}

/* The wire types of protocol buffers. */
enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

static void put_key(struct bytes *b, unsigned field, unsigned type)
{
    put_varint(b, field << 3 | type);
}

static void put_double(struct bytes *b, unsigned field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_key(b, field, FIXED64);
    put_little(b, bits, 8);
}

static void put_text(struct bytes *b, unsigned field, const void *data, size_t n)
{
    put_key(b, field, LENGTH);
    put_varint(b, n);
    put_bytes(b, data, n);
}

static void write_frame(const struct bytes *data, FILE *out)
{
    struct bytes frame = {.n = 0};
    put_little(&frame, data->n, 8);
    put_little(&frame, masked(frame.at, 8), 4);
    fwrite(frame.at, 1, frame.n, out);
    fwrite(data->at, 1, data->n, out);
    frame.n = 0;
    put_little(&frame, masked(data->at, data->n), 4);
    fwrite(frame.at, 1, frame.n, out);
}

/* ---- events: Event{wall_time=1, step=2, file_version=3, summary=5{value=1{tag=1, simple_value=2}}} ---- */

void pp_tfevents_begin(FILE *out, double utc_s)
{
    static const char version[] = "brain.Event:2";
    struct bytes event = {.n = 0};
    put_double(&event, 1, utc_s);
    put_text(&event, 3, version, sizeof(version) - 1);
    write_frame(&event, out);
}

void pp_tfevents_scalar(FILE *out, double utc_s, int64_t step, const char *tag, float value)
{
    struct bytes event = {.n = 0}, summary = {.n = 0}, scalar = {.n = 0};
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put_text(&scalar, 1, tag, strnlen(tag, TAG_MOST));
    put_key(&scalar, 2, FIXED32);
    put_little(&scalar, bits, 4);
    put_text(&summary, 1, scalar.at, scalar.n);
    put_double(&event, 1, utc_s);
    put_key(&event, 2, VARINT);
    put_varint(&event, (uint64_t)step);
    put_text(&event, 5, summary.at, summary.n);
    write_frame(&event, out);
}

/* ---- a moment ---- */

struct moment {
    FILE *out;
    double utc_s;
    int64_t step;
};

/* Sums that only grow make no curve worth a look, and times of day none at all. */
static int is_curve(const struct pp_metric *m)
{
    return m->type == PP_METRIC_GAUGE && !strstr(m->name, "timestamp");
}

static void write_gauge(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p)
{
    struct moment *at = ctx;
    char tag[TAG_MOST];
    int n = snprintf(tag, sizeof(tag), "pipeprobe/%s", m->name + strlen("pipeprobe_"));
    for (size_t i = 0; i < p->n_labels && n < (int)sizeof(tag); i++) {
        char *plain = pp_text_plain(p->label[i].value);
        n += snprintf(tag + n, sizeof(tag) - (size_t)n, "/%s", plain ? plain : "");
        free(plain);
    }
    if (is_curve(m))
        pp_tfevents_scalar(at->out, at->utc_s, at->step, tag, (float)p->value);
}

void pp_tfevents_write(const struct pp_metrics_view *v, double utc_s, FILE *out)
{
    struct moment at = {.out = out, .utc_s = utc_s, .step = (int64_t)v->totals->batches};
    pp_metrics_each(v, write_gauge, &at);
    if (!isnan(v->snap->samples_per_s))
        pp_tfevents_scalar(out, utc_s, at.step, "pipeprobe/samples_per_s", (float)v->snap->samples_per_s);
}
