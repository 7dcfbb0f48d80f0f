/* The JPEG decoder, through the libjpeg API of libjpeg-turbo.
 *
 * Region decode: every bit before the crop's last row still has to be entropy-decoded, but inverse DCT,
 * upsampling and colour conversion run only on the MCU columns and rows that are asked for. Fancy upsampling
 * looks one chroma sample to each side, so one MCU of margin left and right makes the result identical to the
 * full decode; above and below, jpeg_skip_scanlines keeps the context rows itself. */
#include "probe/base/err.h"
#include "probe/decode/decode.h"

#include <setjmp.h>

#include <jpeglib.h>

#include <jerror.h>

/* A hostile progressive file can carry thousands of nearly empty scans, each a pass over the whole image.
 * Encoders write about ten. Small images may have many; of a large one, so many that its blocks are passed
 * over MAX_VISITS times, and 32 at least. */
#define MAX_SCANS 500
#define LARGE_MAX_SCANS 32
#define MAX_VISITS ((uint64_t)1 << 24) /* seconds: 64 empty scans of 16 Mpixel grey take 3 s */
/* Above this a file must hold at least a bit per block of its smallest component before we allocate for it;
 * below, it is decoded as PIL does, however little is there. */
#define TRUSTED_PIXELS ((uint64_t)1 << 24)
/* Row pointers per call; any small number does. */
#define ROWS_PER_CALL 16

/* ---- libjpeg's per-image memory, served from an arena ----
 *
 * libjpeg reaches all memory through the method pointers of cinfo->mem, virtual arrays (the coefficients of a
 * progressive image) included, and nothing looks behind them; so replacing the methods for JPOOL_IMAGE is
 * sound. What is permanent (tables, the marker reader) stays with libjpeg's own manager and is allocated
 * once. Virtual sample arrays serve two-pass colour quantisation only, which we never ask for; they stay with
 * libjpeg too. */

/* jpeglib.h leaves this type to the memory manager. */
struct jvirt_barray_control {
    JBLOCKARRAY rows; /* NULL until realised */
    JDIMENSION blocks_per_row, row_count;
    boolean pre_zero;
    struct jvirt_barray_control *next;
};

struct jpeg_memory {
    struct pp_image_arena *arena;        /* borrowed */
    struct jpeg_memory_mgr original;     /* libjpeg's methods, for permanent objects and destruction */
    struct jvirt_barray_control *arrays; /* requested for the image at hand, newest first */
};

/* Small and large ones. What is permanent is small. */
static void *alloc_object(j_common_ptr cinfo, int pool, size_t size)
{
    const struct jpeg_memory *m = cinfo->client_data;
    if (pool != JPOOL_IMAGE)
        return m->original.alloc_small(cinfo, pool, size);
    void *p = pp_image_arena_alloc(m->arena, size);
    if (!p)
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 1);
    return p;
}

/* Every row is padded to PP_MEMORY_ALIGN, as libjpeg-turbo's own manager does for its SIMD code, which reads
 * and writes whole vectors past a row's end. */
static JSAMPARRAY alloc_sarray(j_common_ptr cinfo, int pool, JDIMENSION samples_per_row, JDIMENSION row_count)
{
    const struct jpeg_memory *m = cinfo->client_data;
    if (pool != JPOOL_IMAGE)
        return m->original.alloc_sarray(cinfo, pool, samples_per_row, row_count);
    size_t stride = pp_memory_aligned(samples_per_row);
    JSAMPARRAY rows = alloc_object(cinfo, JPOOL_IMAGE, row_count * sizeof(JSAMPROW));
    JSAMPROW samples = alloc_object(cinfo, JPOOL_IMAGE, stride * row_count);
    for (JDIMENSION i = 0; i < row_count; i++)
        rows[i] = samples + i * stride;
    return rows;
}

static JBLOCKARRAY alloc_barray(j_common_ptr cinfo, int pool, JDIMENSION blocks_per_row, JDIMENSION row_count)
{
    const struct jpeg_memory *m = cinfo->client_data;
    if (pool != JPOOL_IMAGE)
        return m->original.alloc_barray(cinfo, pool, blocks_per_row, row_count);
    JBLOCKARRAY rows = alloc_object(cinfo, JPOOL_IMAGE, row_count * sizeof(JBLOCKROW));
    JBLOCKROW blocks = alloc_object(cinfo, JPOOL_IMAGE, (size_t)blocks_per_row * row_count * sizeof(JBLOCK));
    for (JDIMENSION i = 0; i < row_count; i++)
        rows[i] = blocks + (size_t)i * blocks_per_row;
    return rows;
}

static jvirt_barray_ptr request_virt_barray(j_common_ptr cinfo, int pool, boolean pre_zero,
                                            JDIMENSION blocks_per_row, JDIMENSION row_count,
                                            JDIMENSION max_access)
{
    struct jpeg_memory *m = cinfo->client_data;
    if (pool != JPOOL_IMAGE) /* libjpeg's own manager refuses others as well */
        ERREXIT1(cinfo, JERR_BAD_POOL_ID, pool);
    struct jvirt_barray_control *v = alloc_object(cinfo, JPOOL_IMAGE, sizeof(*v));
    *v = (struct jvirt_barray_control){.blocks_per_row = blocks_per_row,
                                       .row_count = row_count,
                                       .pre_zero = pre_zero,
                                       .next = m->arrays};
    m->arrays = v;
    return v;
}

static void realize_virt_arrays(j_common_ptr cinfo)
{
    struct jpeg_memory *m = cinfo->client_data;
    size_t need = 0;
    for (struct jvirt_barray_control *v = m->arrays; v; v = v->next)
        if (!v->rows)
            need += (size_t)v->blocks_per_row * v->row_count * sizeof(JBLOCK);
    if (!pp_image_budget_allows(m->arena->budget,
                                need)) /* all of it at once, so that the sentence has it all */
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 1);
    for (struct jvirt_barray_control *v = m->arrays; v; v = v->next) {
        if (v->rows)
            continue;
        v->rows = alloc_barray(cinfo, JPOOL_IMAGE, v->blocks_per_row, v->row_count);
        for (JDIMENSION i = 0; v->pre_zero && i < v->row_count; i++)
            memset(v->rows[i], 0, v->blocks_per_row * sizeof(JBLOCK));
    }
    m->original.realize_virt_arrays(cinfo);
}

static JBLOCKARRAY access_virt_barray(j_common_ptr cinfo, jvirt_barray_ptr v, JDIMENSION start_row,
                                      JDIMENSION row_count, boolean writable)
{
    if (!v->rows || start_row > v->row_count || row_count > v->row_count - start_row)
        ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    return v->rows + start_row;
}

static void free_pool(j_common_ptr cinfo, int pool)
{
    struct jpeg_memory *m = cinfo->client_data;
    m->original.free_pool(cinfo, pool);
    if (pool == JPOOL_IMAGE) {
        m->arrays = NULL;
        pp_image_arena_reset(m->arena);
    }
}

/* ---- the decoder ---- */

struct jpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    struct jpeg_memory memory;
    jmp_buf on_error;
    pp_status status; /* of the error that jumped */
    char reason[JMSG_LENGTH_MAX];
    const uint8_t *data;
    size_t size;
    int started; /* decoding has begun, so another region begins again with the header */
    int max_scans;
};

static _Noreturn void give_up(struct jpeg *j, pp_status status)
{
    j->status = status;
    longjmp(j->on_error, 1);
}

static void error_exit(j_common_ptr cinfo)
{
    struct jpeg *j = (struct jpeg *)cinfo;
    cinfo->err->format_message(cinfo, j->reason);
    switch (cinfo->err->msg_code) {
    case JERR_OUT_OF_MEMORY: give_up(j, PP_E_NO_MEMORY);
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED: give_up(j, PP_E_UNSUPPORTED);
    default: give_up(j, PP_E_CORRUPT);
    }
}

/* Warnings (extraneous bytes, a scan that ends early but properly) are accepted, as PIL does; nothing is ever
 * printed. */
static void emit_message(j_common_ptr cinfo, int level)
{
    if (level < 0)
        cinfo->err->num_warnings++;
}

static void output_message(j_common_ptr cinfo)
{
}

static void source_noop(j_decompress_ptr cinfo)
{
}

/* libjpeg's memory source would invent an end-of-image marker here and let the rest be grey; PIL calls the
 * file truncated. */
static boolean source_ended(j_decompress_ptr cinfo)
{
    struct jpeg *j = (struct jpeg *)cinfo;
    strcpy(j->reason, "the file is truncated: its data ends before the image does");
    give_up(j, PP_E_CORRUPT);
}

static void source_skip(j_decompress_ptr cinfo, long bytes)
{
    struct jpeg_source_mgr *src = cinfo->src;
    if (bytes <= 0)
        return;
    if ((size_t)bytes > src->bytes_in_buffer)
        source_ended(cinfo);
    src->next_input_byte += bytes;
    src->bytes_in_buffer -= (size_t)bytes;
}

static void limit_scans(j_common_ptr cinfo)
{
    struct jpeg *j = (struct jpeg *)cinfo;
    if (j->cinfo.input_scan_number > j->max_scans) {
        snprintf(j->reason, sizeof(j->reason),
                 "it has more than %d scans, more than any real image of its size", j->max_scans);
        give_up(j, PP_E_UNSUPPORTED);
    }
}

static void destroy(void *state)
{
    struct jpeg *j = state;
    if (!j)
        return;
    jpeg_destroy_decompress(&j->cinfo); /* takes a half-created one as well */
    free(j);
}

static pp_status create(struct pp_image_arena *arena, void **out, struct pp_err *err)
{
    struct jpeg *j = calloc(1, sizeof(*j));
    if (!j)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a JPEG decoder (%zu bytes)", sizeof(*j));
    j->cinfo.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = error_exit;
    j->errors.emit_message = emit_message;
    j->errors.output_message = output_message;
    j->memory.arena = arena;
    if (setjmp(j->on_error)) {
        pp_status status = pp_fail(err, j->status, "cannot set up libjpeg: %s", j->reason);
        destroy(j);
        return status;
    }
    jpeg_create_decompress(&j->cinfo);
    j->cinfo.client_data = &j->memory;
    /* After jpeg_create_decompress. cinfo->client_data must point to m from now on. */
    struct jpeg_memory_mgr *mem = j->cinfo.mem;
    j->memory.original = *mem;
    j->memory.arrays = NULL;
    mem->alloc_small = mem->alloc_large = alloc_object;
    mem->alloc_sarray = alloc_sarray;
    mem->alloc_barray = alloc_barray;
    mem->request_virt_barray = request_virt_barray;
    mem->realize_virt_arrays = realize_virt_arrays;
    mem->access_virt_barray = access_virt_barray;
    mem->free_pool = free_pool;
    j->source = (struct jpeg_source_mgr){
        .init_source = source_noop,
        .fill_input_buffer = source_ended,
        .skip_input_data = source_skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = source_noop,
    };
    j->cinfo.src = &j->source;
    j->progress.progress_monitor = limit_scans;
    j->cinfo.progress = &j->progress;
    jpeg_save_markers(&j->cinfo, JPEG_APP0 + 1, 0xffff);
    *out = j;
    return PP_OK;
}

static void leave(void *state)
{
    struct jpeg *j = state;
    jpeg_abort_decompress(&j->cinfo);
    j->started = 0;
}

static void read_header(struct jpeg *j)
{
    leave(j);
    j->source.next_input_byte = j->data;
    j->source.bytes_in_buffer = j->size;
    jpeg_read_header(&j->cinfo, TRUE);
}

static pp_status open_image(void *state, const struct pp_encoded *in, struct pp_image_info *info,
                            struct pp_err *err)
{
    struct jpeg *j = state;
    j->data = in->data;
    j->size = in->size;
    if (setjmp(j->on_error))
        return pp_fail(err, j->status, "cannot read the JPEG header: %s", j->reason);
    j->max_scans = MAX_SCANS;
    read_header(j);
    const struct jpeg_decompress_struct *c = &j->cinfo;
    uint64_t blocks = 0, fewest = UINT64_MAX; /* of all components; of the one that has fewest */
    for (int i = 0; i < c->num_components; i++) {
        uint64_t n = (uint64_t)c->comp_info[i].width_in_blocks * c->comp_info[i].height_in_blocks;
        blocks += n;
        fewest = n < fewest ? n : fewest;
    }
    uint64_t scans = blocks ? MAX_VISITS / blocks : MAX_SCANS;
    j->max_scans = scans > MAX_SCANS ? MAX_SCANS : scans < LARGE_MAX_SCANS ? LARGE_MAX_SCANS : (int)scans;
    /* The first such marker counts, with five bytes of signature, as in PIL. */
    jpeg_saved_marker_ptr m = c->marker_list;
    while (m && (m->marker != JPEG_APP0 + 1 || m->data_length < 5 || memcmp(m->data, "Exif", 5) != 0))
        m = m->next;
    *info = (struct pp_image_info){
        .width = (int)c->image_width,
        .height = (int)c->image_height,
        .channels = c->num_components,
        .progressive = c->progressive_mode,
        .orientation = m && m->data_length > 6 ? pp_exif_orientation(m->data + 6, m->data_length - 6) : 1,
    };
    pp_status status = pp_image_check_size(c->image_width, c->image_height, err);
    if (status != PP_OK)
        return status;
    if (c->num_components != 1 && c->num_components != 3 && c->num_components != 4)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "a JPEG with %d components; grey (1), colour (3) and CMYK (4) are decoded",
                       c->num_components);
    if ((uint64_t)c->image_width * c->image_height > TRUSTED_PIXELS && !c->arith_code && fewest / 8 > j->size)
        return pp_fail(err, PP_E_CORRUPT, "the JPEG claims %ux%u pixels, but its %zu bytes cannot hold them",
                       c->image_width, c->image_height, j->size);
    return PP_OK;
}

/* Entropy decoding stops at any marker, so a file that has an end-of-image marker ahead cannot run out of
 * data. Without one, only decoding to the last row tells whether something is missing. Looks from the end: a
 * sound file has it there. */
static int has_end_marker(const struct jpeg_source_mgr *src)
{
    const uint8_t *start = src->next_input_byte;
    size_t size = src->bytes_in_buffer;
    while (size >= 2) {
        const uint8_t *p = memrchr(start + 1, JPEG_EOI, size - 1);
        if (!p)
            return 0;
        if (p[-1] == 0xff)
            return 1;
        size = (size_t)(p - start);
    }
    return 0;
}

/* Columns to decode for the crop: whole iMCUs with one more on each side. All, of a progressive image whose
 * later scans are missing: libjpeg smooths its blocks by their neighbours', and does so differently at the
 * edge of a region (libjpeg-turbo 2.1.5). */
static void columns_with_margin(const struct jpeg_decompress_struct *c, struct pp_rect crop, JDIMENSION *x,
                                JDIMENSION *width)
{
    int smooths = 0;
    for (int i = 0; c->progressive_mode && c->coef_bits && i < c->num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            smooths |= c->coef_bits[i][k] != 0;
    if (smooths) {
        *x = 0;
        *width = c->output_width;
        return;
    }
    JDIMENSION mcu = DCTSIZE * (JDIMENSION)(c->num_components == 1 ? 1 : c->max_h_samp_factor);
    JDIMENSION first = (JDIMENSION)crop.x / mcu, last = (JDIMENSION)(crop.x + crop.width - 1) / mcu;
    JDIMENSION begin = (first ? first - 1 : 0) * mcu, end = (last + 2) * mcu;
    *x = begin;
    *width = (end < c->output_width ? end : c->output_width) - begin;
}

static pp_status decode_region(void *state, struct pp_rect crop, struct pp_buffer *buf, struct pp_pixels *out,
                               struct pp_err *err)
{
    struct jpeg *j = state;
    struct jpeg_decompress_struct *c = &j->cinfo;
    if (setjmp(j->on_error))
        return pp_fail(err, j->status, "cannot decode the JPEG: %s", j->reason);
    if (j->started)
        read_header(j);
    j->started = 1;
    c->out_color_space = c->num_components == 4 ? JCS_CMYK : JCS_EXT_RGBX;
    c->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(c);

    int complete = jpeg_input_complete(c) || has_end_marker(&j->source);
    JDIMENSION x, width;
    columns_with_margin(c, crop, &x, &width);
    jpeg_crop_scanline(c, &x, &width);
    size_t stride = pp_memory_aligned((size_t)width * 4), bytes = stride * ((size_t)crop.height + 1);
    if (pp_buffer_reserve(buf, bytes) != 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the decoded region (%zu bytes)", bytes);
    if (crop.y > 0)
        jpeg_skip_scanlines(c, (JDIMENSION)crop.y);
    JDIMENSION rows = (JDIMENSION)crop.height;
    JSAMPROW row[ROWS_PER_CALL];
    for (JDIMENSION done = 0; done < rows;) {
        JDIMENSION want = rows - done < ROWS_PER_CALL ? rows - done : ROWS_PER_CALL;
        for (JDIMENSION i = 0; i < want; i++)
            row[i] = buf->data + (done + i) * stride;
        done += jpeg_read_scanlines(&j->cinfo, row, want);
    }
    if (!complete) {
        /* Reads what is below the crop only to learn whether it is there. */
        uint8_t *spare_row = buf->data + stride * (size_t)crop.height;
        while (j->cinfo.output_scanline < j->cinfo.output_height)
            jpeg_read_scanlines(&j->cinfo, &spare_row, 1);
    }

    /* PIL takes every four-component JPEG as Adobe's inverted CMYK and converts without a profile: channel =
     * (255 - K) - C * (255 - K) / 255, where inverted values v' = 255 - v make 255 - K the byte as stored. */
    for (int y = 0; c->num_components == 4 && y < crop.height; y++) {
        uint8_t *pixel = buf->data + (size_t)y * stride;
        for (const uint8_t *end = pixel + (size_t)width * 4; pixel < end; pixel += 4)
            for (int k = 0; k < 3; k++) {
                unsigned white = pixel[3], t = (255u - pixel[k]) * white + 128;
                pixel[k] = (uint8_t)(white - ((t + (t >> 8)) >> 8)); /* rounded, as PIL's MULDIV255 */
            }
    }
    *out = (struct pp_pixels){
        .data = buf->data + ((size_t)crop.x - x) * 4,
        .width = crop.width,
        .height = crop.height,
        .stride = stride,
    };
    return PP_OK;
}

const struct pp_decode_ops pp_decode_jpeg = {
    .name = "JPEG",
    .content = PP_CONTENT_IMAGE,
    .result = PP_DECODED_PIXELS,
    .signature = {{0, 3, "\xff\xd8\xff"}},
    .create = create,
    .destroy = destroy,
    .open = open_image,
    .region = decode_region,
    .close = leave,
};
