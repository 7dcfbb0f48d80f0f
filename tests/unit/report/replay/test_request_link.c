/* A link that all transfers share, and connections of a rate of their own: each is told from the other where
 * the number of transfers changes, and neither is claimed where it does not. */
#include "report/replay/link.h"

#include "probe/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { N = 400, WORKERS = 4 };

/* Each worker waits 15 ms or so, then transfers 50 to 100 kB: by steps of 0.1 ms on a link of 1 MB/s, or at
 * 0.3 MB/s each. waits 0: without a pause. */
static void run(struct pp_transfer *t, int shared, double waits)
{
    struct pp_rng rng = pp_rng_key(3, 1, 4, 1);
    struct {
        double until, left;
        size_t at;
        int running;
    } w[WORKERS] = {{0}};
    size_t n = 0, ended = 0;
    for (double now = 0; ended < N; now += 1e5) {
        int running = 0;
        for (int i = 0; i < WORKERS; i++)
            running += w[i].running;
        for (int i = 0; i < WORKERS; i++) {
            if (w[i].running && (w[i].left -= shared ? 100.0 / running : 30) <= 0) {
                t[w[i].at].end_ns = now;
                ended++;
                w[i].running = 0;
                w[i].until = now + waits * (10e6 + 10e6 * pp_rng_unit(&rng));
            }
            if (!w[i].running && now >= w[i].until && n < N) {
                w[i].left = 50000 + 50000 * pp_rng_unit(&rng);
                t[n] = (struct pp_transfer){now, now, w[i].left};
                w[i].at = n++;
                w[i].running = 1;
            }
        }
    }
}

static void a_link_is_told_from_streams(void **state)
{
    static struct pp_transfer t[N];
    run(t, 1, 1);
    double link = pp_request_link(t, N);
    if (fabs(link / 1e6 - 1) > 0.05)
        fail_msg("%g bytes/s", link);
    run(t, 0, 1);
    assert_true(pp_request_link(t, N) == 0);
}

/* Where all transfer all the time, both explain it. */
static void what_cannot_be_told_is_not_claimed(void **state)
{
    static struct pp_transfer t[N];
    run(t, 0, 0);
    assert_true(pp_request_link(t, N) == 0);
    run(t, 1, 1);
    assert_true(pp_request_link(t, 10) == 0); /* too few */
    assert_true(pp_request_link(t, 0) == 0);
}

static void odd_times_harm_nothing(void **state)
{
    struct pp_transfer t[64];
    for (size_t i = 0; i < 64; i++)
        t[i] = (struct pp_transfer){(double)(i % 7) * -1e18, i % 3 ? 1e18 : -1e18, i % 5 ? 0 : 1e19};
    double link = pp_request_link(t, 64);
    assert_true(link >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_told_from_streams),
        cmocka_unit_test(what_cannot_be_told_is_not_claimed),
        cmocka_unit_test(odd_times_harm_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
