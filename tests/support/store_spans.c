#include "tests/support/store_spans.h"

struct pp_store *store_create(uint64_t max_rows)
{
    return store_create_with((struct pp_store_opts){.max_rows = max_rows});
}

struct pp_reader *store_open_reader(void)
{
    struct pp_reader *r = NULL;
    struct pp_err err;
    if (pp_reader_open(store_path, &r, &err))
        fail_msg("%s", err.text);
    return r;
}

/* n spans of thread 0 from 100 s on, 1 ms apart: phases cycle through read, decode, transform, step; 16 spans
 * make a batch. */
static void fill(struct pp_span *s, uint64_t from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t k = from + i;
        static const uint8_t phases[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_STEP};
        s[i] = (struct pp_span){
            .start_ns = 100000000000u + k * 1000000,
            .dur_ns = 1000000,
            .sample = k / 4,
            .bytes = 10,
            .cpu_ns = 600000,
            .run_delay_ns = 100000,
            .batch = (uint32_t)(k / 16),
            .epoch = 1,
            .phase = phases[k % 4],
            .flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY,
        };
    }
}

void spans_append(struct pp_store *s, uint64_t from, size_t n)
{
    struct pp_span *spans = malloc(n * sizeof(*spans));
    fill(spans, from, n);
    assert_int_equal(pp_store_append(s, 0, spans, n), PP_OK);
    free(spans);
}

int spans_see(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct spans_seen *seen = ctx;
    for (size_t i = 0; i < n; i++) {
        struct pp_span want;
        fill(&want, seen->next++, 1);
        seen->wrong += thread != 0 || memcmp(&want, &spans[i], sizeof(want)) != 0;
    }
    seen->n += n;
    return 0;
}

uint64_t spans_count(struct pp_reader *r, uint64_t *bad)
{
    struct spans_seen seen = {0};
    struct pp_err err;
    if (pp_reader_each_chunk(r, spans_see, &seen, bad, &err))
        fail_msg("%s", err.text);
    if (!bad || !*bad)
        assert_int_equal(seen.wrong, 0);
    return seen.n;
}
