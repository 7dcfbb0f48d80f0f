/* transform_dump SPEC DTYPE EXIF_ROTATE SEED OUT FILE...: what the loader makes of each file, for comparison
 * with PIL and torchvision.
 *
 * Per file one line on stdout: "ok WIDTH HEIGHT CROP_X CROP_Y CROP_W CROP_H BOX_X BOX_Y BOX_W BOX_H OUT_W
 * OUT_H OFF_X OFF_Y FLIP" (box: in source coordinates) or "STATUS SENTENCE". OUT receives, per ok file, the
 * whole decoded image as RGB and then the transformed sample. */
#include "probe/decode/decode.h"
#include "probe/transform/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return NULL;
    *size = (size_t)ftell(f);
    rewind(f);
    data = malloc(*size + 1);
    if (fread(data, 1, *size, f) != *size)
        *size = 0;
    fclose(f);
    return data;
}

static void write_rgb(FILE *out, const struct pp_pixels *p)
{
    for (int y = 0; y < p->height; y++) {
        for (int x = 0; x < p->width; x++)
            fwrite(p->data + (size_t)y * p->stride + (size_t)x * 4, 1, 3, out);
    }
}

struct tools {
    struct pp_decoder *decoder;
    struct pp_transform *transform;
    struct pp_buffer scratch;
};

static pp_status dump(struct tools *t, const uint8_t *data, size_t size, uint64_t seed, uint64_t sample,
                      FILE *out, struct pp_err *err)
{
    struct pp_image_info info;
    struct pp_pixels pixels;
    struct pp_transform_plan plan;
    pp_status status = pp_decoder_open(t->decoder, &(struct pp_encoded){.data = data, .size = size}, &info,
                                       err);
    if (status != PP_OK)
        return status;
    if ((status = pp_decoder_region(t->decoder, (struct pp_rect){0, 0, info.width, info.height}, &pixels,
                                    err)) != PP_OK)
        return status;
    write_rgb(out, &pixels);
    void *result = malloc(pp_transform_bytes(t->transform));
    pp_transform_draw(t->transform, info.width, info.height, (struct pp_sample_key){seed, 0, sample}, &plan);
    if ((status = pp_decoder_region(t->decoder, plan.crop, &pixels, err)) == PP_OK)
        status = pp_transform_apply(t->transform, &plan, &pixels, &t->scratch, result, err);
    if (status == PP_OK) {
        fwrite(result, 1, pp_transform_bytes(t->transform), out);
        printf("ok %d %d %d %d %d %d %g %g %g %g %d %d %d %d %d\n", info.width, info.height, plan.crop.x,
               plan.crop.y, plan.crop.width, plan.crop.height, plan.crop.x + plan.x0, plan.crop.y + plan.y0,
               plan.w, plan.h, plan.out_w, plan.out_h, plan.off_x, plan.off_y, plan.flip);
    }
    free(result);
    return status;
}

int main(int argc, char **argv)
{
    struct tools t = {0};
    struct pp_err err = {0};
    if (argc < 7)
        return 2;
    enum pp_dtype dtype = strcmp(argv[2], "u8") == 0    ? PP_DTYPE_U8
                          : strcmp(argv[2], "f16") == 0 ? PP_DTYPE_F16
                                                        : PP_DTYPE_F32;
    FILE *out = fopen(argv[5], "wb");
    if (!out || pp_transform_parse(argv[1], dtype, &t.transform, &err) != PP_OK ||
        pp_decoder_create(&(struct pp_decoder_opts){.exif_rotate = atoi(argv[3])}, &t.decoder, &err) !=
            PP_OK) {
        fprintf(stderr, "transform_dump: %s\n", err.text);
        return 2;
    }
    for (int i = 6; i < argc; i++) {
        size_t size = 0;
        uint8_t *data = read_all(argv[i], &size);
        pp_status status = data ? dump(&t, data, size, strtoull(argv[4], NULL, 10), (uint64_t)i, out, &err)
                                : PP_E_NOT_FOUND;
        if (status != PP_OK)
            printf("%s %s\n", pp_status_name(status), err.text);
        free(data);
    }
    pp_buffer_free(&t.scratch);
    pp_decoder_destroy(t.decoder);
    pp_transform_destroy(t.transform);
    return fclose(out) == 0 ? 0 : 4;
}
