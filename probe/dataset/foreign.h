/* dataset/foreign.h: what files are that no format of formats.c took: Parquet, video, archives, shards in the
 * wrong place. One table gives the name and what to do, for the sentences of a place that cannot be opened.
 * Pure functions over bytes and names; any thread. */
#pragma once

#include "probe/storage/storage.h"

struct pp_foreign {
    const char *noun;   /* "Parquet", after "is" and before "files" */
    const char *advice; /* what to do, without a full stop: "record your own loader with ..." */
    struct {
        uint16_t at;
        uint8_t length; /* 0: told by its name alone */
        const char *bytes;
    } magic;
    const char *suffixes; /* ".h5 .hdf5", in lower case; "": told by its bytes alone */
    enum {
        PP_FOREIGN_DATA,
        PP_FOREIGN_BESIDE, /* often lies beside data that are something else: a list, a description */
        PP_FOREIGN_READ    /* a format reads it; advice says what to name */
    } role;
};

/* The first so many bytes are what pp_foreign_by_bytes wants; fewer are fine. */
enum { PP_FOREIGN_HEAD = 512 };

/* NULL: none of them. */
const struct pp_foreign *pp_foreign_by_bytes(const uint8_t *head, size_t size);
const struct pp_foreign *pp_foreign_by_name(const char *name);
/* By the first bytes of the file, and where these say nothing or cannot be read, by its name. dir as in
 * struct pp_open. */
const struct pp_foreign *pp_foreign_look(const struct pp_storage *s, const struct pp_object *dir,
                                         const char *name);

/* Formats of images, told by the suffix: those that torchvision's ImageFolder lists. */
enum pp_image_kind {
    PP_IMAGE_JPEG,
    PP_IMAGE_PNG,
    PP_IMAGE_WEBP,
    PP_IMAGE_BMP,
    PP_IMAGE_TIFF,
    PP_IMAGE_NETPBM,
    PP_IMAGE_KINDS
};
extern const struct pp_image_kind_info {
    const char *name; /* "WebP"; the decoder's where there is one */
    const char *suffixes;
} pp_image_kinds[PP_IMAGE_KINDS];
/* By torchvision's IMG_EXTENSIONS, in any case. PP_IMAGE_KINDS: not an image by its name. */
enum pp_image_kind pp_image_kind_by_name(const char *name);
