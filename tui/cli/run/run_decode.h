/* tui/cli/run/run_decode.h: --decode: the device's decoder, and what is said and stored of it. */
#ifndef PP_TUI_CLI_RUN_RUN_DECODE_H
#define PP_TUI_CLI_RUN_RUN_DECODE_H

#include <pipeprobe/status.h>

#include <stddef.h>

struct pp_loader_decode;
struct pp_store;
struct run_opts;
struct run_parts;

/* After batch size and workers are known. Under auto a decoder that cannot be had is said in
 * parts->not_decoding; under nvjpeg it is a failure. */
pp_status run_decode_open(struct run_parts *parts, const struct run_opts *o, struct pp_err *err);
/* What decodes, in a line; NULL: the CPU, and nobody asked for more. */
const char *run_decode_text(const struct run_parts *parts, char *buf, size_t size);
/* Lines on stderr after the run. */
void run_decode_note_result(const struct pp_loader_decode *result);
/* Section "decode" of meta, and config.decode. */
void run_decode_store(struct pp_store *s, const struct run_parts *parts);
void run_decode_store_result(struct pp_store *s, const struct pp_loader_decode *result);

#endif
