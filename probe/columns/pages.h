/* columns/pages.h: pages that were decoded, kept while they may be of use: the one least recently used goes
 * first when their bytes pass the limit. One thread decodes a page, others that want the same one wait for
 * it. Any thread. */
#ifndef PP_COLUMNS_PAGES_H
#define PP_COLUMNS_PAGES_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

struct pp_pages;

struct pp_page_key {
    const void *table;
    uint32_t chunk, page; /* the table's own numbers */
};

/* The first member of what a table keeps. It is plain memory of malloc, with what else it holds freed by
 * free. */
struct pp_page {
    uint64_t bytes; /* of memory, its own included */
    void (*free)(struct pp_page *p);
    /* the cache's */
    struct pp_page_key key;
    unsigned users;
    struct pp_page *next, *newer, *older;
};

/* Makes one: bytes and free are set. */
typedef pp_status pp_page_maker(void *ctx, struct pp_page **out, struct pp_err *err);

pp_status pp_pages_create(uint64_t limit, struct pp_pages **out, struct pp_err *err);
void pp_pages_destroy(struct pp_pages *c); /* all pages were given back; NULL is fine */
/* The page of that key, made by this call where there is none yet. Give it back with pp_pages_put. */
pp_status pp_pages_get(struct pp_pages *c, const struct pp_page_key *key, pp_page_maker *make, void *ctx,
                       struct pp_page **out, struct pp_err *err);
void pp_pages_put(struct pp_pages *c, struct pp_page *p);
uint64_t pp_pages_footprint(struct pp_pages *c);

#endif
