/* store/columns.h: the fields of a span as the columns of a chunk, one bit each: what a walk over the spans
 * says it needs, so that the others are not decoded. */
#pragma once

enum pp_column {
    PP_COLUMN_PHASE = 1 << 0,
    PP_COLUMN_DUR = 1 << 1,
    PP_COLUMN_START = 1 << 2,
    PP_COLUMN_BATCH = 1 << 3,
    PP_COLUMN_SAMPLE = 1 << 4,
    PP_COLUMN_EPOCH = 1 << 5,
    PP_COLUMN_BYTES = 1 << 6,
    PP_COLUMN_CPU = 1 << 7,
    PP_COLUMN_RUN_DELAY = 1 << 8,
    PP_COLUMN_CACHE_HIT = 1 << 9,
    PP_COLUMN_NAME = 1 << 10,
    PP_COLUMN_FLAGS = 1 << 11,
    PP_COLUMNS_TIMES = PP_COLUMN_PHASE | PP_COLUMN_DUR | PP_COLUMN_START,
    PP_COLUMNS_ALL = (1 << 12) - 1,
};
