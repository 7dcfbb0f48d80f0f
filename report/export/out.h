/* export/out.h: where an export goes, and buffered writing to it.
 *
 * A file is written under a temporary name beside its own, synced and renamed, so that the name never shows
 * half an export and a failure leaves what was there before. Standard output and devices are written as they
 * are. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_export_place {
    const char *out; /* as given */
    char *path;      /* the file to write: a temporary name, or out itself; NULL for standard output */
    int fd;          /* open for streams, else -1 */
    int temporary;
    int force;
};

/* PP_E_EXISTS without force; PP_E_USAGE when out is the input (same file), a directory, or a device and the
 * format does not stream. */
pp_status pp_place_open(struct pp_export_place *p, const char *out, const char *input, int force, int streams,
                        struct pp_err *err);
/* Syncs and renames. After a failure pp_place_discard is still due. */
pp_status pp_place_commit(struct pp_export_place *p, struct pp_err *err);
/* Removes what is temporary, closes, frees; to be called in any case. */
void pp_place_discard(struct pp_export_place *p);

/* For the formats that are written from front to back. Numbers are formatted here because at ten million
 * spans printf is most of the time. A failed write sticks: later calls do nothing, pp_out_end reports it. */
struct pp_out {
    int fd;
    int err_no;        /* of the first failed write */
    const char *label; /* what the sentence calls the output; borrowed */
    size_t used;
    uint8_t buf[1 << 16];
};

void pp_out_begin(struct pp_out *o, int fd, const char *label);
void pp_out_bytes(struct pp_out *o, const void *bytes, size_t n);
void pp_out_str(struct pp_out *o, const char *s);
void pp_out_char(struct pp_out *o, char c);
void pp_out_uint(struct pp_out *o, uint64_t v);
void pp_out_us(struct pp_out *o, uint64_t ns); /* nanoseconds as microseconds with three decimals */
/* PP_OK while every write has gone well; else the sentence. */
pp_status pp_out_check(const struct pp_out *o, struct pp_err *err);
/* PP_E_NO_MEMORY, with a sentence that names the label. */
pp_status pp_out_no_memory(const char *label, struct pp_err *err);
/* Writes what is left, and checks. */
pp_status pp_out_end(struct pp_out *o, struct pp_err *err);
