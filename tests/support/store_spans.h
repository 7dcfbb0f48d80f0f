/* Spans of one thread, each of which can be told from the others: written, and counted again. */
#pragma once

#include "tests/support/store_dir.h"
#include "collectors/store/reader.h"

/* At the test's path, as store_create_with. */
struct pp_store *store_create(uint64_t max_rows);
struct pp_reader *store_open_reader(void);
/* n spans of thread 0, the from-th first: 1 ms each from 100 s on; phases cycle, 16 spans make a batch. */
void spans_append(struct pp_store *s, uint64_t from, size_t n);

struct spans_seen {
    uint64_t n, next, wrong;
};

/* Callbacks of a reader: compares each span with what spans_append wrote. */
int spans_see(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n);
/* Spans that a reader gives. Fails when one is wrong and no chunk was bad. bad: may be NULL. */
uint64_t spans_count(struct pp_reader *r, uint64_t *bad);
