/* tests/fake/fake_sms.h: who has the multiprocessors of the fake device, and when. Work on them is done at
 * full speed while nothing else is there, and at 1 - share of it while a decoder takes that share.
 *
 * One piece of work at a time, as there is one step. Times are CLOCK_MONOTONIC; the caller has the lock. */
#pragma once

#include <stdint.h>
#include <string.h>

enum { FAKE_SMS_KEPT = 64 };

struct fake_sms {
    struct {
        uint64_t from_ns, to_ns;
    } taken[FAKE_SMS_KEPT]; /* rising, apart from each other; the newest are kept */
    int n;
    double share;
    void *stream; /* of the work; NULL: there is none */
    uint64_t from_ns, work_ns, end_ns;
};

static inline uint64_t fake_sms_end(const struct fake_sms *s)
{
    uint64_t t = s->from_ns;
    double left = (double)s->work_ns, speed = 1 - s->share;
    for (int i = 0; i < s->n; i++) {
        if (s->taken[i].to_ns <= t)
            continue;
        double apart = s->taken[i].from_ns > t ? (double)(s->taken[i].from_ns - t) : 0;
        if (left <= apart)
            break;
        left -= apart;
        t += (uint64_t)apart;
        double beside = (double)(s->taken[i].to_ns - t);
        if (left <= beside * speed)
            return t + (uint64_t)(left / speed);
        left -= beside * speed;
        t = s->taken[i].to_ns;
    }
    return t + (uint64_t)left;
}

static inline uint64_t fake_sms_work(struct fake_sms *s, void *stream, uint64_t from_ns, uint64_t work_ns)
{
    if (s->stream == stream && from_ns == s->end_ns) { /* right behind the last */
        s->work_ns += work_ns;
    } else {
        s->stream = stream;
        s->from_ns = from_ns;
        s->work_ns = work_ns;
    }
    return s->end_ns = fake_sms_end(s);
}

/* A decoder takes the share from now on until to_ns. Returns by how much the end of the work moves. */
static inline uint64_t fake_sms_take(struct fake_sms *s, uint64_t now_ns, uint64_t to_ns, double share)
{
    uint64_t before = s->end_ns;
    s->share = share;
    if (s->n && s->taken[s->n - 1].to_ns >= now_ns) {
        if (s->taken[s->n - 1].to_ns < to_ns)
            s->taken[s->n - 1].to_ns = to_ns;
    } else {
        if (s->n == FAKE_SMS_KEPT)
            memmove(s->taken, s->taken + 1, (size_t)--s->n * sizeof(s->taken[0]));
        s->taken[s->n].from_ns = now_ns;
        s->taken[s->n++].to_ns = to_ns;
    }
    if (!s->stream || before <= now_ns)
        return 0;
    s->end_ns = fake_sms_end(s);
    return s->end_ns - before;
}
