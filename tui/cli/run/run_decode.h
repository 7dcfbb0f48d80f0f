/* tui/cli/run/run_decode.h: --decode: the device's decoder, and what is said and stored of it. */
#ifndef PP_TUI_CLI_RUN_RUN_DECODE_H
#define PP_TUI_CLI_RUN_RUN_DECODE_H

#include <pipeprobe/status.h>

struct pp_loader_decode;
struct pp_store;
struct run_opts;
struct run_parts;

/* After batch size and workers are known. Under auto a decoder that cannot be had is said in
 * parts->not_decoding; under nvjpeg it is a failure. */
pp_status run_decode_open(struct run_parts *parts, const struct run_opts *o, struct pp_err *err);
/* Lines on stderr: before the run, and after it. */
void run_decode_note(const struct run_parts *parts);
void run_decode_note_result(const struct pp_loader_decode *result);
/* Section "decode" of meta, and config.decode. */
void run_decode_store(struct pp_store *s, const struct run_parts *parts);
void run_decode_store_result(struct pp_store *s, const struct pp_loader_decode *result);

#endif
