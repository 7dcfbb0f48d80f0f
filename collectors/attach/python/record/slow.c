/* The slowest samples of each loader, with their names, in the file of the process that takes the batches
 * (loaders_file.h). Its workers write there, each under the lock of its own interpreter. */
#include "collectors/attach/python/record/record.h"

#define WORTH_A_NAME_NS 1000000u /* a faster sample holds no batch up that somebody waits for */

static struct pp_slow_row *fastest_of(struct pp_slow_table *t)
{
    struct pp_slow_row *least = &t->row[0];
    for (unsigned i = 1; i < PP_SLOW_MAX; i++)
        if (t->row[i].ns < least->ns)
            least = &t->row[i];
    return least;
}

int record_slow_is(struct record_local *l, uint64_t sample, struct record_slow *slow)
{
    const struct record_worker *w = &l->worker;
    if (w->sample_took_ns < WORTH_A_NAME_NS || (l->slot >= 0 ? !w->row : !w->making))
        return 0;
    struct pp_slow_table *t = record_slow_table(l->slot >= 0 ? w->row->loader : w->making->loader);
    if (!t)
        return 0;
    for (unsigned i = 0; i < PP_SLOW_MAX; i++) {
        if (t->row[i].ns && sample != PP_NO_SAMPLE && t->row[i].sample == sample) {
            t->row[i].ns = w->sample_took_ns > t->row[i].ns ? w->sample_took_ns : t->row[i].ns;
            return 0;
        }
    }
    slow->table = t;
    slow->row = (struct pp_slow_row){.sample = sample,
                                     .ns = w->sample_took_ns,
                                     .batch = w->batch,
                                     .place = w->place - 1};
    return w->sample_took_ns > fastest_of(t)->ns;
}

void record_slow_name(const struct record_slow *slow, const char *name)
{
    struct pp_slow_table *t = slow->table;
    /* The table is all workers'. One that finds it busy goes on: none waits. */
    if (__atomic_exchange_n(&t->busy, 1, __ATOMIC_ACQUIRE))
        return;
    struct pp_slow_row *to = fastest_of(t);
    if (to->ns < slow->row.ns) {
        *to = slow->row;
        snprintf(to->name, sizeof(to->name), "%s", name);
    }
    __atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}
