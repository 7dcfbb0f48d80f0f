/* Facts of iterations, and state that was saved, restored or set: blocks of the order file (order_file.h).
 * All of it under the interpreter's lock. */
#include "collectors/attach/python/record/record.h"
#include "collectors/attach/order_file.h"

enum {
    GOING_ON = 4,
    KEY_MAX = 80,
    STATE_MAX = sizeof(struct pp_state_times) + PP_STATE_TEXTS * (PP_STATE_TEXT_MAX + 1)
};

/* The text with its end, at most `most` bytes before it, into at; behind it. */
static char *put_text(char *at, const char *text, size_t most)
{
    size_t n = strnlen(text, most);
    memcpy(at, text, n);
    at[n] = '\0';
    return at + n + 1;
}

void record_fact(const struct record_iteration *it, const char *key, const char *value)
{
    char behind[KEY_MAX + PP_STATE_TEXT_MAX + 2];
    char *end = put_text(put_text(behind, key, KEY_MAX), value, PP_STATE_TEXT_MAX);
    struct pp_order_block head = {.loader = it->loader, .epoch = it->epoch, .first_batch = it->first_batch};
    if (it->session == record_session())
        record_order_block(PP_FACT_MAGIC, (size_t)(end - behind), &head, behind);
}

/* What has begun and not ended. */
static struct state {
    struct pp_state_times times; /* t_ns 0: none; the number, too */
    struct pp_order_block head;
    size_t bytes;
    char behind[STATE_MAX];
} states[GOING_ON];

uint64_t record_state_begin(const char *const text[PP_STATE_TEXTS], int lasts)
{
    static uint64_t newest_ns;
    static unsigned turn;
    struct state *s = &states[turn++ % GOING_ON];
    uint64_t now = pp_now_ns();
    if (!record_is_on())
        return 0;
    newest_ns = now > newest_ns ? now : newest_ns + 1; /* the key of its row */
    s->times = (struct pp_state_times){newest_ns, lasts ? UINT64_MAX : 0};
    s->head = (struct pp_order_block){.loader = record_uses.iterations,
                                      .first_batch = record_uses.newest,
                                      .flags = record_uses.trained};
    char *end = s->behind + sizeof(s->times);
    memcpy(s->behind, &s->times, sizeof(s->times));
    for (int i = 0; i + 1 < PP_STATE_TEXTS; i++)
        end = put_text(end, text[i], PP_STATE_TEXT_MAX);
    pthread_t self = pthread_self();
    const char *loader = record_use_at_end() ? "ended" : "going on";
    if (record_uses.trained && record_uses.newest != PP_NO_BATCH && self != record_uses.taker &&
        self != record_uses.trainer)
        loader = "later"; /* of a state that was copied before */
    end = put_text(end, strcmp(text[0], "save") == 0 ? loader : text[PP_STATE_TEXTS - 1], PP_STATE_TEXT_MAX);
    s->bytes = (size_t)(end - s->behind);
    record_order_block(PP_STATE_MAGIC, s->bytes, &s->head, s->behind);
    return lasts ? newest_ns : 0;
}

void record_state_end(uint64_t number)
{
    for (unsigned i = 0; number && i < GOING_ON; i++) {
        struct state *s = &states[i];
        if (s->times.t_ns != number || s->times.dur_ns != UINT64_MAX)
            continue;
        s->times.dur_ns = pp_now_ns() - number;
        memcpy(s->behind, &s->times, sizeof(s->times));
        record_order_block(PP_STATE_MAGIC, s->bytes, &s->head, s->behind); /* takes the place of the first */
    }
}
