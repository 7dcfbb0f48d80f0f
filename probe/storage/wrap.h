/* probe/storage/wrap.h: what a storage over another one passes on: all but reads, which are its own. An
 * object of the wrapper is the inner one with the wrapper as its storage: nothing is allocated. The functions
 * are those of pp_storage_ops, of a storage that begins with a pp_wrapper. */
#ifndef PP_STORAGE_WRAP_H
#define PP_STORAGE_WRAP_H

#include "probe/storage/storage.h"

struct pp_wrapper {
    struct pp_storage base;
    struct pp_storage *inner; /* owned */
};

/* The inner storage's own object. o: one of the wrapper. */
struct pp_object pp_wrapped_object(const struct pp_object *o);

/* Frees s, which came from malloc, too. */
void pp_wrapped_detach(struct pp_storage *s);
pp_status pp_wrapped_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                          const char *attempt, struct pp_place_info *out, struct pp_err *err);
pp_status pp_wrapped_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                          struct pp_err *err);
void pp_wrapped_close(struct pp_object *o);
pp_status pp_wrapped_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                          struct pp_err *err);
pp_status pp_wrapped_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                          struct pp_err *err);
pp_status pp_wrapped_match(const struct pp_storage *s, const char *pattern, pp_entry_fn *each, void *ctx,
                           struct pp_err *err);
/* dir: NULL, or an object of the wrapper. */
pp_status pp_wrapped_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                struct pp_err *err);

#endif
