/* dataset/options.h: the options of all formats in one block, so that a command's option table can hold their
 * rows without knowing the formats. A format finds its own struct in the block by its place in the table of
 * formats. */
#ifndef PP_DATASET_OPTIONS_H
#define PP_DATASET_OPTIONS_H

#include "probe/base/opts.h"

struct pp_dataset_format;

struct pp_dataset_options {
    _Alignas(16) unsigned char bytes[256]; /* zeroed: defaults */
};

/* Where in the block the options of f are; f is in the table or registered. */
void *pp_dataset_options_of(const struct pp_dataset_options *o, const struct pp_dataset_format *f);

/* Appends to a command's table at `to` the formats' rows: those of the formats first to last (by their number
 * in the table), with the rows for streaming when streaming is not 0. offset: of the block in the command's
 * option struct. Returns the end, where the next row goes. */
struct pp_opt *pp_dataset_options_rows(struct pp_opt *to, size_t first, size_t last, int streaming,
                                       size_t offset);

/* What no single row can check. PP_E_USAGE. */
pp_status pp_dataset_options_check(const struct pp_dataset_options *o, struct pp_err *err);

/* The spec of a data set that is made and not found (--synthetic SPEC), and its format's name; NULL: none was
 * asked for. */
const char *pp_dataset_options_made(const struct pp_dataset_options *o, const char **format);

#endif
