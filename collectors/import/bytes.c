#include "collectors/import/bytes.h"

#include "probe/base/allowance.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { IN = 128 << 10, OUT = 512 << 10, GZIP = 16 };

struct pp_bytes {
    int fd, zipped, at_end; /* at_end: of the file */
    z_stream z;
    struct pp_allowance allowed; /* of what is unpacked */
    enum pp_bytes_end end;
    int failed; /* errno of a read */
    uint8_t in[IN], out[OUT];
};

pp_status pp_bytes_open(const char *path, struct pp_bytes **out, struct pp_err *err)
{
    struct stat st = {0};
    uint8_t magic[2] = {0, 0};
    pp_status status = PP_OK;
    struct pp_bytes *b = calloc(1, sizeof(*b));
    *out = NULL;
    if (!b)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    b->fd = pp_io_open(path, O_RDONLY | O_NONBLOCK, 0); /* a pipe is not waited for */
    if (b->fd < 0 || fstat(b->fd, &st) != 0)
        status = pp_fail_errno(err, errno, "the trace %s cannot be opened", path);
    else if (!S_ISREG(st.st_mode))
        status = pp_fail(err, PP_E_UNSUPPORTED, "the trace %s is not a regular file", path);
    else if (st.st_size == 0)
        status = pp_fail(err, PP_E_EMPTY,
                         "the trace %s is empty: the profiler ended before it wrote; export the trace again",
                         path);
    else if (pp_io_pread_full(b->fd, magic, 2, 0) < 0)
        status = pp_fail_errno(err, errno, "the trace %s cannot be read", path);
    b->allowed = pp_allowance_of(PP_ALLOWED_TRACE, (uint64_t)st.st_size);
    b->zipped = magic[0] == 0x1f && magic[1] == 0x8b;
    if (status == PP_OK && b->zipped && inflateInit2(&b->z, MAX_WBITS + GZIP) != Z_OK) {
        b->zipped = 0;
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory to unpack %s", path);
    }
    if (status != PP_OK) {
        pp_bytes_close(b);
        return status;
    }
    *out = b;
    return PP_OK;
}

void pp_bytes_close(struct pp_bytes *b)
{
    if (!b)
        return;
    if (b->zipped)
        inflateEnd(&b->z);
    if (b->fd >= 0)
        close(b->fd);
    free(b);
}

/* More of the file into b->in; 0 at its end. A read that fails ends the trace as a cut one. */
static size_t read_more(struct pp_bytes *b)
{
    ssize_t n = b->at_end ? 0 : pp_io_read(b->fd, b->in, IN);
    if (n <= 0) {
        b->failed = n < 0 ? errno : 0;
        b->at_end = 1;
        return 0;
    }
    return (size_t)n;
}

static int packed_bytes_left(struct pp_bytes *b)
{
    if (b->z.avail_in == 0) {
        b->z.avail_in = (uInt)read_more(b);
        b->z.next_in = b->in;
    }
    return b->z.avail_in != 0;
}

const uint8_t *pp_bytes_next(struct pp_bytes *b, size_t *n)
{
    *n = 0;
    if (b->end != PP_BYTES_MORE)
        return b->out;
    if (b->zipped) {
        b->z.next_out = b->out;
        b->z.avail_out = OUT;
        while (b->z.avail_out == OUT && b->end == PP_BYTES_MORE) {
            if (!packed_bytes_left(b)) {
                b->end = PP_BYTES_CUT;
                break;
            }
            int z = inflate(&b->z, Z_NO_FLUSH);
            if (z == Z_STREAM_END) {
                /* gzip files may follow each other; what follows and is none is padding. */
                if (!packed_bytes_left(b) || *b->z.next_in != 0x1f || inflateReset(&b->z) != Z_OK)
                    b->end = PP_BYTES_WHOLE;
            } else if (z != Z_OK && z != Z_BUF_ERROR) {
                b->end = PP_BYTES_DAMAGED;
            }
        }
        *n = OUT - b->z.avail_out;
        if (b->end == PP_BYTES_MORE && !pp_allowance_take(&b->allowed, *n))
            b->end = PP_BYTES_TOO_MANY;
    } else if ((*n = read_more(b)) == 0) {
        b->end = b->failed ? PP_BYTES_CUT : PP_BYTES_WHOLE;
    }
    return b->zipped ? b->out : b->in;
}

enum pp_bytes_end pp_bytes_ended(const struct pp_bytes *b, const char **why)
{
    *why = b->end == PP_BYTES_DAMAGED    ? "its compressed data is damaged"
           : b->end == PP_BYTES_TOO_MANY ? pp_allowances[b->allowed.kind].said
                                         : NULL;
    return b->end;
}
