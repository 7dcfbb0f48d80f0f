/* columns/parquet_values.h: the values of a page in each encoding, without their nulls. For parquet_page.c.
 */
#ifndef PP_COLUMNS_PARQUET_VALUES_H
#define PP_COLUMNS_PARQUET_VALUES_H

#include "probe/columns/parquet_page.h"

struct pp_parquet_values {
    const struct pp_parquet_body *body;
    const uint8_t *at; /* in page->raw */
    size_t left;
    uint32_t n;    /* values */
    uint32_t room; /* made for so many, nulls included */
};

/* Fills page->span and page->bytes, or page->number, with v->n values. NULL, or why not. */
const char *pp_parquet_values_take(const struct pp_parquet_values *v, struct pp_parquet_page *page,
                                   pp_status *status);
/* Finds the values of a dictionary whose raw, bytes and n are set. */
const char *pp_parquet_dictionary_index(const struct pp_parquet_body *in, struct pp_parquet_dictionary *d,
                                        pp_status *status);

#endif
