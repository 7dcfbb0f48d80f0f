/* The DataLoaders of a recorded Python job (loaders_file.h), stored as soon as
 * they are known: one row of section "loader" each, and under "config" the arguments of the loader that gave
 * most batches, as `run` stores its own. One collector (collectors/collector.h); a session in which no Python
 * process has a loader costs one look at its directory a second. */
#include "collectors/attach/session_files.h"
#include "collectors/collector.h"
#include "collectors/store/writer.h"

enum { PROCESSES = 64 }; /* more of them are recorded, their loaders' arguments are not */

/* What was stored last of one process: nothing is written twice. */
struct known {
    int64_t pid;
    unsigned n;
    struct pp_loader_row row[PP_LOADERS_MAX];
    struct pp_slow_table slow[PP_LOADERS_MAX];
};

struct loaders {
    struct pp_store *store;
    char dir[PATH_MAX];
    struct known known[PROCESSES];
    size_t n_known;
    struct pp_loader_row chosen; /* its arguments as stored under "config" */
    char chosen_key[48];
    int has_chosen;
};

/* ---- storing ---- */

static void row_key(char key[48], int64_t pid, unsigned number)
{
    snprintf(key, 48, "%lld.%u", (long long)pid, number);
}

static void store_row(struct pp_store *store, int64_t pid, unsigned number, const struct pp_loader_row *row)
{
    char key[48], text[640];
    row_key(key, pid, number);
    snprintf(
        text, sizeof(text),
        "dataset=%s samples=%llu sampler=%s num_workers=%u batch_size=%u prefetch_factor=%u pin_memory=%u "
        "persistent_workers=%u in_order=%u drop_last=%u timeout=%u start_method=%s epochs=%u batches=%llu "
        "data_wait_ms=%llu pickled_bytes=%llu",
        row->dataset, (unsigned long long)row->samples, row->sampler, row->workers, row->batch_size,
        row->prefetch, row->pin_memory, row->persistent_workers, row->in_order, row->drop_last,
        row->timeout_s, row->start_method, row->iterations, (unsigned long long)row->taken,
        (unsigned long long)(row->wait_ns / 1000000), (unsigned long long)row->pickled_bytes);
    pp_store_meta_text(store, "loader", key, text);
    if (row->place[0])
        pp_store_meta_text(store, "loader_place", key, row->place);
    if (row->source[0])
        pp_store_meta_text(store, "loader_source", key, row->source);
    if (row->name[0])
        pp_store_meta_text(store, "loader_name", key, row->name);
    if (row->code[0])
        pp_store_meta_text(store, "loader_code", key, row->code);
    if (row->held[0])
        pp_store_meta_text(store, "loader_holds", key, row->held);
}

/* What has no number is unknown, also where another loader had one. */
static void store_known(struct pp_store *store, const char *key, double value, const char *unit)
{
    pp_store_meta_num(store, "config", key, value > 0 ? value : NAN, unit);
}

/* As `run` stores its own. key: of its row. */
static void store_chosen(struct pp_store *store, const struct pp_loader_row *row, const char *key)
{
    pp_store_meta_text(store, "config", "dataloader", key);
    pp_store_meta_text(store, "config", "source", "pytorch");
    /* A loader without workers works in the training thread: one lane, and nothing is made ahead. */
    pp_store_meta_num(store, "config", "workers", row->workers ? row->workers : 1, "processes");
    pp_store_meta_num(store, "config", "num_workers", row->workers, NULL);
    store_known(store, "batch_size", row->batch_size, "samples");
    store_known(store, "prefetch", row->prefetch, "batches");
    pp_store_meta_text(store, "config", "dataset", row->dataset);
    if (row->code[0])
        pp_store_meta_text(store, "config", "dataset_code", row->code);
    if (row->held[0])
        pp_store_meta_text(store, "config", "dataset_holds", row->held);
    store_known(store, "dataset_samples", (double)row->samples, "samples");
    if (row->pickled_bytes)
        pp_store_meta_num(store, "config", "worker_pickle_bytes", (double)row->pickled_bytes, "bytes");
    if (row->sampler[0])
        pp_store_meta_text(store, "config", "sampler", row->sampler);
    pp_store_meta_num(store, "config", "pin_memory", row->pin_memory, NULL);
    pp_store_meta_num(store, "config", "persistent_workers", row->persistent_workers, NULL);
    if (row->made_again)
        pp_store_meta_num(store, "config", "loader_made_again", 1, NULL);
    pp_store_meta_num(store, "config", "in_order", row->in_order, NULL);
    pp_store_meta_num(store, "config", "drop_last", row->drop_last, NULL);
    pp_store_meta_num(store, "config", "with_replacement", strstr(row->sampler, PP_SAMPLER_REPLACES) != NULL,
                      NULL);
}

#define MUCH_WAIT_NS 1000000000u

static void take_file(void *ctx, const struct pp_loaders_file *now)
{
    struct loaders *l = ctx;
    size_t k = 0;
    while (k < l->n_known && l->known[k].pid != now->pid)
        k++;
    if (k == PROCESSES)
        return;
    struct known *before = &l->known[k];
    if (k == l->n_known) {
        *before = (struct known){.pid = now->pid};
        l->n_known++;
    }
    for (unsigned i = 0; i < now->n_loaders; i++) {
        char loader[48], key[64], text[64 + sizeof(now->slow->row->name)];
        row_key(loader, now->pid, i);
        /* By its place in the table, where another sample may have been before. */
        for (unsigned at = 0; at < PP_SLOW_MAX; at++) {
            const struct pp_slow_row *row = &now->slow[i].row[at], *old = &before->slow[i].row[at];
            if (row->sample == old->sample && row->batch == old->batch && strcmp(row->name, old->name) == 0)
                continue;
            snprintf(key, sizeof(key), "%s.%u", loader, at);
            snprintf(text, sizeof(text), "%llu %u %u %s", (unsigned long long)row->sample, row->batch,
                     row->place, row->name);
            if (row->name[0] || old->name[0])
                pp_store_meta_text(l->store, "slow_sample", key, text);
        }
        before->slow[i] = now->slow[i];
        if (i < before->n && memcmp(&before->row[i], &now->loader[i], sizeof(now->loader[i])) == 0)
            continue;
        store_row(l->store, now->pid, i, &now->loader[i]);
        before->row[i] = now->loader[i];
        before->n = i < before->n ? before->n : i + 1;
    }
}

/* ---- the collector ---- */

static void loaders_poll(void *state)
{
    struct loaders *l = state;
    const struct pp_loader_row *most = NULL, *slowest = NULL;
    char keys[2][48] = {"", ""}; /* of these two */
    double most_batches = 0;
    pp_loaders_files_take(l->dir, PP_FILES_STAY, take_file, l);
    /* The loader that a report is about: the one that has given most batches so far, unless the training
     * thread has waited for another one twice as long as for it, and for a second at least. */
    for (size_t k = 0; k < l->n_known; k++)
        for (unsigned i = 0; i < l->known[k].n; i++) {
            const struct pp_loader_row *row = &l->known[k].row[i];
            /* Of one that was begun and has given none yet: more than of one that was not. */
            double batches = row->taken ? (double)row->taken : row->iterations ? 0.5 : 0;
            if (batches > most_batches) {
                most = row;
                most_batches = batches;
                row_key(keys[0], l->known[k].pid, i);
            }
            if (!slowest || row->wait_ns > slowest->wait_ns) {
                slowest = row;
                row_key(keys[1], l->known[k].pid, i);
            }
        }
    int waits = most && slowest->wait_ns >= MUCH_WAIT_NS && slowest->wait_ns / 2 >= most->wait_ns;
    if (waits)
        most = slowest;
    if (!most)
        return;
    struct pp_loader_row arguments = *most; /* without what goes on */
    arguments.iterations = 0;
    arguments.taken = arguments.wait_ns = 0;
    if (l->has_chosen && memcmp(&arguments, &l->chosen, sizeof(arguments)) == 0 &&
        strcmp(keys[waits], l->chosen_key) == 0)
        return;
    l->chosen = arguments;
    l->has_chosen = 1;
    memcpy(l->chosen_key, keys[waits], sizeof(l->chosen_key));
    store_chosen(l->store, most, keys[waits]);
}

static pp_status loaders_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct loaders *l = calloc(1, sizeof(*l));
    if (!l)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to watch the job's DataLoaders");
    l->store = opts->store;
    snprintf(l->dir, sizeof(l->dir), "%s", opts->session_dir ? opts->session_dir : "");
    *out = l;
    return PP_OK;
}

const struct pp_collector pp_collector_loaders = {
    .name = "DataLoaders",
    .found = "the arguments of a Python job's DataLoaders are read from its session",
    .start = loaders_start,
    .poll = loaders_poll,
    .stop = free,
};
