#include "probe/base/rng.h"
#include "samples/dataset/encode.h"
#include "samples/dataset/extras.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *in_dir(char *buf, size_t size, const char *dir, const char *name)
{
    snprintf(buf, size, "%s/odd_%s.jpg", dir, name);
    return buf;
}

/* Flips one bit in every 64 bytes of the second half: the header stays good, the entropy-coded data does not.
 */
static void flip_bits(uint8_t *data, size_t size, uint64_t seed)
{
    struct pp_rng r = pp_rng_key(seed, 0, 0, STREAM_ODD);
    for (size_t at = size / 2; at + 64 < size; at += 64)
        data[at + pp_rng_below(&r, 64)] ^= (uint8_t)(1u << pp_rng_below(&r, 8));
}

static pp_status write_damaged(const char *dir, uint8_t *jpeg, size_t size, uint64_t seed, struct pp_err *err)
{
    static const char text[] = "404 Not Found: this was meant to be a picture.\n";
    char path[4096];
    pp_status s;
    if ((s = write_file(in_dir(path, sizeof path, dir, "truncated"), jpeg, size / 2, err)) ||
        (s = write_file(in_dir(path, sizeof path, dir, "empty"), jpeg, 0, err)) ||
        (s = write_file(in_dir(path, sizeof path, dir, "text"), text, sizeof text - 1, err)) ||
        (s = write_file(in_dir(path, sizeof path, dir, "unreadable"), jpeg, size, err)))
        return s;
    if (chmod(path, 0) != 0)
        return pp_fail_errno(err, errno, "cannot take away the permissions of %s", path);
    if (symlink("nowhere", in_dir(path, sizeof path, dir, "dangling")) != 0 && errno != EEXIST)
        return pp_fail_errno(err, errno, "cannot make the link %s", path);
    flip_bits(jpeg, size, seed);
    return write_file(in_dir(path, sizeof path, dir, "bitflip"), jpeg, size, err);
}

static pp_status write_mislabelled(const char *dir, const struct picture_field *f, uint64_t seed,
                                   struct pp_err *err)
{
    enum { WIDTH = 120, HEIGHT = 90 };
    static const struct sample_plan dot = {
        .kind = KIND_444, .width = 1, .height = 1, .quality = 90, .orientation = 1};
    static uint8_t rgb[WIDTH * HEIGHT * 3];
    char path[4096];
    uint8_t *data;
    size_t size = 0;
    pp_status s;

    picture_draw(f, seed, UINT32_MAX, WIDTH, HEIGHT, rgb);
    data = encode_png(rgb, WIDTH, HEIGHT, &size);
    s = data ? write_file(in_dir(path, sizeof path, dir, "png"), data, size, err)
             : pp_fail(err, PP_E_NO_MEMORY, "no memory for a PNG");
    free(data);
    if (s)
        return s;
    data = encode_jpeg(&dot, rgb, &size);
    s = data ? write_file(in_dir(path, sizeof path, dir, "1x1"), data, size, err)
             : pp_fail(err, PP_E_NO_MEMORY, "no memory for a JPEG");
    free(data);
    return s;
}

pp_status write_odd(const char *dir, const struct picture_field *f, const struct plan_opts *opts,
                    struct pp_err *err)
{
    struct plan_opts plain = *opts;
    struct sample_plan plan;
    uint8_t *jpeg = NULL;
    size_t size = 0;
    plain.skewed = 0;
    pp_status s = make_sample(f, &plain, UINT32_MAX, &plan, &jpeg, &size, err);
    if (!s)
        s = write_damaged(dir, jpeg, size, opts->seed, err);
    if (!s)
        s = write_mislabelled(dir, f, opts->seed, err);
    free(jpeg);
    return s;
}
