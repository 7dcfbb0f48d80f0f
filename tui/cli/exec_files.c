#include "tui/cli/exec_files.h"
#include "collectors/attach/order_files.h"
#include "collectors/attach/session_files.h"
#include "probe/base/io.h"
#include <fcntl.h>
#include <unistd.h>

void exec_files_unhooked(const char *dir, char text[EXEC_UNHOOKED])
{
    char path[PATH_MAX + sizeof(PP_UNHOOKED_FILE_NAME)];
    snprintf(path, sizeof(path), "%s/" PP_UNHOOKED_FILE_NAME, dir);
    int fd = pp_io_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    ssize_t n = pp_io_pread_full(fd, text, EXEC_UNHOOKED - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    unlink(path);
}

struct taking {
    struct pp_store *store;
    struct exec_totals *totals;
};

static void take_process(void *ctx, const struct pp_process_file *f)
{
    const struct taking *g = ctx;
    struct pp_store *store = g->store;
    const struct {
        const char *what, *why;
        uint64_t count;
    } losses[] = {
        {"ranges", "pushed deeper than the 128 levels kept per thread", f->too_deep},
        {"ranges", "started while 4,096 start/end ranges were open", f->too_many},
        {"names", "the table of names was full: their spans are recorded without a name", f->unnamed},
        {"events", "their thread got no ring", f->unthreaded},
        {"events", "called inside the recorder, from a signal handler or an annotated allocator",
         f->reentrant},
    };
    char pid[24], text[sizeof(f->command) + 40];
    snprintf(pid, sizeof(pid), "%lld", (long long)f->pid);
    snprintf(text, sizeof(text), "%s (child of %lld)", f->command, (long long)f->parent_pid);
    pp_store_meta_text(store, "process", pid, text);
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
        if (losses[i].count)
            pp_store_loss(store, losses[i].what, losses[i].count, losses[i].why);
    if (f->ended[0])
        pp_store_meta_text(store, "process_end", pid, f->ended);
    if (f->note[0])
        pp_store_meta_text(store, "process_note", pid, f->note);
    if (f->note[0] && !g->totals->note[0])
        snprintf(g->totals->note, sizeof(g->totals->note), "%s", f->note);
    if (f->versions[0])
        pp_store_meta_text(store, "run", "made_of", f->versions);
    if (f->data[0] && !g->totals->data[0])
        snprintf(g->totals->data, sizeof(g->totals->data), "%s", f->data);
    if (f->seen[0] && !g->totals->seen[0])
        snprintf(g->totals->seen, sizeof(g->totals->seen), "%s", f->seen);
    if (f->mixed[0])
        pp_store_meta_text(store, "config", "loaders_mixed", f->mixed);
    g->totals->own_loop |= f->own_loop != 0;
    g->totals->files++;
    unsigned k = 0;
    while (k < g->totals->n_pids && g->totals->pids[k] != f->pid)
        k++;
    g->totals->processes += k == g->totals->n_pids;
    g->totals->hooked += f->python != 0;
    g->totals->with_loader += f->python == PP_PROCESS_LOADER;
    if (f->chained == 1 || f->chained == 2)
        g->totals->chained = (int)f->chained;
}

static void lose_files(struct pp_store *store, const char *what, struct pp_session_taken t)
{
    if (t.unsound)
        pp_store_loss(store, what, t.unsound,
                      "their files in the session directory are incomplete or damaged");
    if (t.too_many)
        pp_store_loss(store, what, t.too_many, "there were more of them than the 16,384 that are listed");
}

/* They are stored already (collectors/attach/loaders.c); damage is counted here, once. */
static void stored_already(void *ctx, const struct pp_loaders_file *f)
{
}

static void take_state(struct pp_store *store, int64_t pid, const struct pp_order_block *b,
                       const uint8_t *behind)
{
    struct pp_state_times times;
    const char *text[PP_STATE_TEXTS], *at = (const char *)behind + sizeof(times);
    memcpy(&times, behind, sizeof(times));
    for (int i = 0; i < PP_STATE_TEXTS; i++, at += strlen(at) + 1)
        text[i] = i < 2 || *at ? at : NULL;
    pp_store_state(store, &(struct pp_state_row){.pid = pid,
                                                 .t_ns = times.t_ns,
                                                 .dur_ns = times.dur_ns,
                                                 .action = text[0],
                                                 .via = text[1],
                                                 .path = text[2],
                                                 .place = text[3],
                                                 .value = text[4],
                                                 .iterations = b->loader,
                                                 .batch = b->first_batch,
                                                 .step = b->flags});
}

static void take_block(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *behind)
{
    struct pp_store *store = ((const struct taking *)ctx)->store;
    const char *key = (const char *)behind;
    switch (b->magic) {
    case PP_ORDER_MAGIC:
        pp_store_order(store, &(struct pp_order_row){.pid = pid,
                                                     .loader = b->loader,
                                                     .epoch = b->epoch,
                                                     .first_batch = b->first_batch,
                                                     .batches = b->batches,
                                                     .samples = b->samples,
                                                     .ended = (b->flags & PP_ORDER_ENDED) != 0,
                                                     .list = behind,
                                                     .list_bytes = b->bytes});
        break;
    case PP_USE_MAGIC: { /* those that were trained on come first */
        struct pp_use_row u = {.pid = pid,
                               .loader = b->loader,
                               .epoch = b->epoch,
                               .first_batch = b->first_batch,
                               .batches = b->samples,
                               .trained = 1,
                               .step = b->flags};
        if (u.batches)
            pp_store_use(store, &u);
        u.first_batch += b->samples;
        u.batches = b->batches - b->samples;
        u.trained = 0;
        u.step += b->samples;
        if (u.batches)
            pp_store_use(store, &u);
        break;
    }
    case PP_STATE_MAGIC: take_state(store, pid, b, behind); break;
    case PP_FACT_MAGIC:
        pp_store_fact(store, &(struct pp_fact_row){.pid = pid,
                                                   .loader = b->loader,
                                                   .epoch = b->epoch,
                                                   .key = key,
                                                   .value = key + strlen(key) + 1});
        break;
    case PP_CONTENT_MAGIC:
        pp_store_content(store, &(struct pp_content_row){.pid = b->loader,
                                                         .batch = b->first_batch,
                                                         .samples = b->samples,
                                                         .content = behind,
                                                         .files = behind + 8 * (size_t)b->samples});
        break;
    }
}

void exec_files_take(struct pp_store *store, const char *dir, struct exec_totals *totals)
{
    struct taking g = {store, totals};
    lose_files(store, "processes", pp_process_files_take(dir, take_process, &g));
    struct pp_session_taken loaders = pp_loaders_files_take(dir, PP_FILES_GO, stored_already, NULL);
    lose_files(store, "loaders", loaders);
    totals->loading = loaders.taken;
    lose_files(store, "sample lists", pp_order_files_take(dir, PP_FILES_GO, take_block, &g));
}

void exec_files_recover(struct pp_store *store, const char *dir)
{
    struct exec_totals totals = {0};
    char unhooked[EXEC_UNHOOKED] = "";
    exec_files_take(store, dir, &totals);
    exec_files_unhooked(dir, unhooked);
    if (*unhooked)
        pp_store_meta_text(store, "process_note", PP_UNHOOKED_FILE_NAME, unhooked);
    if (totals.files)
        pp_store_meta_num(store, "result", "processes", totals.files, "processes");
}
