#include "probe/decode/jpeg_memory.h"

#include <jerror.h>
#include <string.h>

/* jpeglib.h leaves this type to the memory manager. */
struct jvirt_barray_control {
    JBLOCKARRAY rows; /* NULL until realised */
    JDIMENSION blocks_per_row, row_count;
    boolean pre_zero;
    struct jvirt_barray_control *next;
};

static struct pp_jpeg_memory *memory_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
}

static void *image_alloc(j_common_ptr cinfo, size_t size)
{
    void *p = pp_image_arena_alloc(memory_of(cinfo)->arena, size);
    if (!p)
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 1);
    return p;
}

static void *alloc_small(j_common_ptr cinfo, int pool, size_t size)
{
    return pool == JPOOL_IMAGE ? image_alloc(cinfo, size)
                               : memory_of(cinfo)->original.alloc_small(cinfo, pool, size);
}

static void *alloc_large(j_common_ptr cinfo, int pool, size_t size)
{
    return pool == JPOOL_IMAGE ? image_alloc(cinfo, size)
                               : memory_of(cinfo)->original.alloc_large(cinfo, pool, size);
}

/* Every row is padded to PP_MEMORY_ALIGN, as libjpeg-turbo's own manager does for its SIMD code, which reads
 * and writes whole vectors past a row's end. */
static JSAMPARRAY alloc_sarray(j_common_ptr cinfo, int pool, JDIMENSION samples_per_row, JDIMENSION row_count)
{
    if (pool != JPOOL_IMAGE)
        return memory_of(cinfo)->original.alloc_sarray(cinfo, pool, samples_per_row, row_count);
    size_t stride = ((size_t)samples_per_row + PP_MEMORY_ALIGN - 1) / PP_MEMORY_ALIGN * PP_MEMORY_ALIGN;
    JSAMPARRAY rows = image_alloc(cinfo, row_count * sizeof(JSAMPROW));
    JSAMPROW samples = image_alloc(cinfo, stride * row_count);
    for (JDIMENSION i = 0; i < row_count; i++)
        rows[i] = samples + i * stride;
    return rows;
}

static JBLOCKARRAY image_barray(j_common_ptr cinfo, JDIMENSION blocks_per_row, JDIMENSION row_count,
                                boolean zero)
{
    size_t bytes = (size_t)blocks_per_row * row_count * sizeof(JBLOCK);
    JBLOCKARRAY rows = image_alloc(cinfo, row_count * sizeof(JBLOCKROW));
    JBLOCKROW blocks = image_alloc(cinfo, bytes);
    if (zero)
        memset(blocks, 0, bytes);
    for (JDIMENSION i = 0; i < row_count; i++)
        rows[i] = blocks + (size_t)i * blocks_per_row;
    return rows;
}

static JBLOCKARRAY alloc_barray(j_common_ptr cinfo, int pool, JDIMENSION blocks_per_row, JDIMENSION row_count)
{
    if (pool != JPOOL_IMAGE)
        return memory_of(cinfo)->original.alloc_barray(cinfo, pool, blocks_per_row, row_count);
    return image_barray(cinfo, blocks_per_row, row_count, FALSE);
}

static jvirt_barray_ptr request_virt_barray(j_common_ptr cinfo, int pool, boolean pre_zero,
                                            JDIMENSION blocks_per_row, JDIMENSION row_count,
                                            JDIMENSION max_access)
{
    struct pp_jpeg_memory *m = memory_of(cinfo);
    if (pool != JPOOL_IMAGE) /* libjpeg's own manager refuses others as well */
        ERREXIT1(cinfo, JERR_BAD_POOL_ID, pool);
    struct jvirt_barray_control *v = image_alloc(cinfo, sizeof(*v));
    *v = (struct jvirt_barray_control){.blocks_per_row = blocks_per_row,
                                       .row_count = row_count,
                                       .pre_zero = pre_zero,
                                       .next = m->arrays};
    m->arrays = v;
    return v;
}

static void realize_virt_arrays(j_common_ptr cinfo)
{
    struct pp_jpeg_memory *m = memory_of(cinfo);
    size_t need = 0;
    for (struct jvirt_barray_control *v = m->arrays; v; v = v->next)
        if (!v->rows)
            need += (size_t)v->blocks_per_row * v->row_count * sizeof(JBLOCK);
    if (!pp_image_budget_allows(m->arena->budget,
                                need)) /* all of it at once, so that the sentence has it all */
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 1);
    for (struct jvirt_barray_control *v = m->arrays; v; v = v->next) {
        if (!v->rows)
            v->rows = image_barray(cinfo, v->blocks_per_row, v->row_count, v->pre_zero);
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
    struct pp_jpeg_memory *m = memory_of(cinfo);
    m->original.free_pool(cinfo, pool);
    if (pool == JPOOL_IMAGE) {
        m->arrays = NULL;
        pp_image_arena_reset(m->arena);
    }
}

void pp_jpeg_memory_install(struct pp_jpeg_memory *m, j_decompress_ptr cinfo)
{
    struct jpeg_memory_mgr *mem = cinfo->mem;
    m->original = *mem;
    m->arrays = NULL;
    mem->alloc_small = alloc_small;
    mem->alloc_large = alloc_large;
    mem->alloc_sarray = alloc_sarray;
    mem->alloc_barray = alloc_barray;
    mem->request_virt_barray = request_virt_barray;
    mem->realize_virt_arrays = realize_virt_arrays;
    mem->access_virt_barray = access_virt_barray;
    mem->free_pool = free_pool;
}
