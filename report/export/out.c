#include "report/export/out.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pp_out_begin(struct pp_out *o, int fd, const char *label)
{
    o->fd = fd;
    o->err_no = 0;
    o->label = label;
    o->used = 0;
}

static void flush(struct pp_out *o)
{
    if (!o->err_no && o->used && pp_io_write_full(o->fd, o->buf, o->used) != 0)
        o->err_no = errno ? errno : EIO;
    o->used = 0;
}

void pp_out_bytes(struct pp_out *o, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;
    while (n) {
        size_t room = sizeof(o->buf) - o->used, k = n < room ? n : room;
        memcpy(o->buf + o->used, from, k);
        o->used += k;
        from += k;
        n -= k;
        if (o->used == sizeof(o->buf))
            flush(o);
    }
}

void pp_out_str(struct pp_out *o, const char *s)
{
    pp_out_bytes(o, s, strlen(s));
}

void pp_out_char(struct pp_out *o, char c)
{
    pp_out_bytes(o, &c, 1);
}

void pp_out_uint(struct pp_out *o, uint64_t v)
{
    char digits[20], *at = digits + sizeof(digits);
    do {
        *--at = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    pp_out_bytes(o, at, (size_t)(digits + sizeof(digits) - at));
}

void pp_out_int(struct pp_out *o, int64_t v)
{
    if (v < 0)
        pp_out_char(o, '-');
    pp_out_uint(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void pp_out_us(struct pp_out *o, uint64_t ns)
{
    unsigned rest = (unsigned)(ns % 1000);
    char decimals[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
    pp_out_uint(o, ns / 1000);
    pp_out_bytes(o, decimals, sizeof(decimals));
}

void pp_out_double(struct pp_out *o, double v)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    pp_out_str(o, text);
}

pp_status pp_out_check(const struct pp_out *o, struct pp_err *err)
{
    return o->err_no ? pp_fail_errno(err, o->err_no, "writing %s failed", o->label) : PP_OK;
}

pp_status pp_out_end(struct pp_out *o, struct pp_err *err)
{
    flush(o);
    return pp_out_check(o, err);
}
