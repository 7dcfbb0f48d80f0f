/* dataset/dataset_walk.h: lists directories of images as torchvision's ImageFolder does, without a stat per
 * file.
 *
 * A name ending in an image extension is a file unless the listing itself says otherwise:
 * on mounts that do not tell, and for symbolic links, looking would cost a round trip per image. Other links
 * and untold entries are looked at, for they may be directories. Nothing here is shared between threads. */
#pragma once

#include "probe/dataset/dataset.h"
#include "probe/dataset/format.h"
#include "probe/storage/storage.h"

#include <stdatomic.h>

/* Many names in one block: name i is bytes + at[i], zero-terminated. */
struct pp_names {
    char *bytes;
    uint32_t *at;
    size_t n, used, n_cap, cap;
};
void pp_names_free(struct pp_names *names);

/* Files that are no images, for the sentence that says what was found. */
struct pp_others {
    uint64_t n;
    char example[512]; /* one of them: that whose name says most */
    int tells; /* what its name says: 0 nothing, 1 what may lie beside the data, 2 what the data are */
};
/* Adds n files, of which one is called so in dir (NULL: the name is from the same place). */
void pp_others_add(struct pp_others *to, uint64_t n, const char *dir, const char *name, int tells);

struct pp_listing {
    struct pp_names images, subdirs; /* each in byte order, which for UTF-8 is Python's order by code point */
    struct pp_names others;          /* other files, in any order */
    struct pp_others found;          /* the same */
};
void pp_listing_free(struct pp_listing *l);

/* Lists an open directory. name is for error sentences. Images are added to *found as they are found, for a
 * progress line. */
pp_status pp_list(const struct pp_object *dir, const char *name, atomic_uint_least64_t *found,
                  struct pp_listing *out, struct pp_err *err);

/* Images of one directory below a class. */
struct pp_walk_dir {
    char *rel; /* path from the root; "" is the root itself */
    struct pp_names images;
};

struct pp_walk {
    struct pp_walk_dir *dir; /* those with images, in byte order of rel */
    size_t n;
    uint64_t images;
    struct pp_others others;     /* by their paths from the root */
    struct pp_warnings warnings; /* directories that could not be listed, links to themselves */
};
void pp_walk_free(struct pp_walk *w);

/* Walks top (relative to root) and everything below, following links: os.walk(top, followlinks=True)
 * sorted. A link to one of its own parents is left out with a warning, where Python would list its files
 * again until the 40th link. found: as above. */
pp_status pp_walk_tree(const struct pp_object *root, const char *top, atomic_uint_least64_t *found,
                       struct pp_walk *out, struct pp_err *err);

/* The first bytes of an object, at most size: how many; 0: it cannot be read, or is empty. dir as in struct
 * pp_open. */
size_t pp_read_head(const struct pp_storage *s, const struct pp_object *dir, const char *name, uint8_t *head,
                    size_t size);

/* Whether name ends in one of the words of suffixes: ".jpg .jpeg". ASCII case ignored. */
int pp_has_suffix(const char *name, const char *suffixes);

/* ---- every file, by several threads ----
 *
 * Start-up work shared out: many small pieces (list a class, index a shard, make an
 * image) done by up to eight threads while the opening thread reports progress. Threads help even on one
 * core, for on a slow mount the time goes into waiting. */

struct pp_each {
    uint64_t n;                                                    /* pieces */
    pp_status (*piece)(void *ctx, uint64_t i, struct pp_err *err); /* any thread; each i once */
    void *ctx;
    /* progress, as opts->progress wants it */
    const struct pp_dataset_opts *opts;
    const char *what;
    atomic_uint_least64_t *done; /* counted by piece; NULL: finished pieces are reported, of n */
};

/* Returns when every started piece has ended. The first failure, or a non-zero answer of progress
 * (PP_E_INTERRUPTED), stops the handing out; progress is not asked again. Pieces are handed out by rising i,
 * so of several failures the one with the lowest i is returned, whatever the timing. */
pp_status pp_each_run(const struct pp_each *each, struct pp_err *err);

/* How many files a data set may keep open: half of the descriptors the process may have, for the rest is for
 * the other code in the process. */
uint64_t pp_each_descriptors(void);
