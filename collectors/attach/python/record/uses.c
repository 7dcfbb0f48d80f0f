/* Which batches the training thread took, and which of them it trained on: a block per run of batches between
 * which no other loader's is taken, whose head is brought up to date with every batch (order_file.h). All of
 * it under the interpreter's lock. */
#include "collectors/attach/python/record/record.h"
#include "collectors/attach/order_file.h"

enum { LOADERS = 8 /* that are iterated by turns */, LOOKED_AT = 1, TAKEN };

struct record_uses record_uses = {.newest = PP_NO_BATCH};

/* The run of a loader's iteration that is going on. */
struct run {
    struct pp_order_block head; /* batches 0: none */
    void *at;                   /* of the head in the file; NULL: not yet */
    unsigned since;             /* batches of it that were taken since the last backward */
    int pending, ended;         /* how the newest, which may still be trained on, was taken; it had no more */
    int trains;                 /* one of the loader's batches was trained on */
};
static struct run runs[LOADERS], *newest; /* newest: of the batch that was taken last */
static unsigned turn;
static uint64_t forks; /* of the process whose runs they are */
static int takes;      /* a batch that was trained on was TAKEN: those that are LOOKED_AT are not */

static void put_head(struct run *r)
{
    if (r->at)
        memcpy(r->at, &r->head, sizeof(r->head));
    else
        r->at = record_order_block(PP_USE_MAGIC, 0, &r->head, NULL);
}

/* Its newest batch begins another run, which is not written yet. */
static void split_off(struct run *r)
{
    r->head.batches--;
    put_head(r);
    r->at = NULL;
    r->head.first_batch += r->head.batches;
    r->head.batches = 1;
    r->head.samples = 0;
    r->head.flags = record_uses.trained;
}

/* What may still become of a batch is written into the next window. */
static void leave_window(int goes_on)
{
    for (unsigned i = 0; i < LOADERS; i++) {
        if (goes_on && runs[i].pending && runs[i].at)
            split_off(&runs[i]);
        else if (!goes_on || !runs[i].pending)
            runs[i].head.batches = 0;
        runs[i].at = NULL;
    }
}

/* A loader that has come to its end, or was left behind several batches or behind one that was looked at (for
 * validation), has no part in the next backward; one whose batches are taken by turns with another's has, and
 * one whose first batches were dropped on the way to an old place. */
static void give_up_others(const struct run *asked)
{
    for (unsigned i = 0; i < LOADERS; i++) {
        struct run *r = &runs[i];
        int left = r->since > 1 || (r->pending == LOOKED_AT && !r->trains);
        if (r != asked && (r->ended || (left && asked->trains)))
            r->pending = 0;
    }
}

void record_use_taken(const struct record_about *about)
{
    struct run *r = NULL; /* of the loader */
    if (forks != record_forks()) {
        memset(runs, 0, sizeof(runs));
        takes = 0;
        forks = record_forks();
    }
    record_order_before_unmap(leave_window); /* else a head would be written into the window that follows */
    for (unsigned i = 0; i < LOADERS && !r; i++)
        r = runs[i].head.batches && runs[i].head.loader == about->loader ? &runs[i] : NULL;
    if (!r)
        r = memset(&runs[turn++ % LOADERS], 0, sizeof(*runs));
    record_uses.newest = about->batch;
    record_uses.taker = pthread_self();
    /* Blocks lie in the order of takes. */
    if (newest != r || !r->head.batches || r->head.epoch != about->epoch ||
        r->head.first_batch + r->head.batches != about->batch)
        *r = (struct run){.head = {.magic = PP_USE_MAGIC,
                                   .loader = about->loader,
                                   .epoch = about->epoch,
                                   .first_batch = about->batch,
                                   .flags = record_uses.trained},
                          .trains = r->trains};
    newest = r;
    r->head.batches++;
    r->since++;
    r->pending = about->looked_at ? LOOKED_AT : TAKEN;
    put_head(r);
    give_up_others(r);
}

/* A prefetcher may take all batches where no gradient is wanted: they count where no others do. */
void record_use_trained(void)
{
    if (forks != record_forks())
        return;
    record_uses.trainer = pthread_self();
    for (unsigned i = 0; i < LOADERS; i++)
        takes |= runs[i].pending == TAKEN;
    for (unsigned i = 0; i < LOADERS; i++) {
        struct run *r = &runs[i];
        r->since = 0;
        if (r->pending < (takes ? TAKEN : LOOKED_AT))
            continue;
        r->pending = 0;
        r->trains = 1;
        if (r->head.samples + 1 < r->head.batches) /* those before it were not */
            split_off(r);
        r->head.samples = r->head.batches;
        put_head(r);
        record_uses.trained++;
    }
}

void record_use_ended(uint32_t loader)
{
    for (unsigned i = 0; i < LOADERS; i++)
        if ((runs[i].head.batches || runs[i].head.samples) && runs[i].head.loader == loader) {
            runs[i].ended = 1;
            give_up_others(&runs[i]);
        }
}

int record_use_at_end(void)
{
    const struct run *last = NULL;
    for (unsigned i = 0; i < LOADERS && forks == record_forks(); i++)
        if (runs[i].head.samples &&
            (!last || runs[i].head.flags + runs[i].head.samples > last->head.flags + last->head.samples))
            last = &runs[i];
    return last && last->ended;
}
