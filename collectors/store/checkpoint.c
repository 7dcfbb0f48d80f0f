#include "collectors/store/checkpoint.h"

#include "probe/base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct pp_checkpoint {
    struct pp_checkpoint_opts opts;
    char *path;
    pthread_t thread;
    int made;             /* the thread; only the committing thread asks */
    pthread_mutex_t lock; /* of the next three */
    pthread_cond_t changed;
    int wanted, failed, stop;
    uint64_t cpu_ns; /* __atomic */
};

static void *checkpoint_main(void *arg)
{
    struct pp_checkpoint *c = arg;
    pthread_setname_np(pthread_self(), "pp-checkpoint");
    sqlite3 *db = NULL;
    int failed = sqlite3_open_v2(c->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
                     SQLITE_OK ||
                 sqlite3_exec(db, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0", NULL, NULL,
                              NULL) != SQLITE_OK;
    pthread_mutex_lock(&c->lock);
    c->failed = failed;
    while (!c->stop && !c->failed) {
        if (!c->wanted) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        c->wanted = 0;
        pthread_mutex_unlock(&c->lock);
        sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        __atomic_store_n(&c->cpu_ns, pp_thread_cpu_ns(), __ATOMIC_RELAXED);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    sqlite3_close(db);
    return NULL;
}

/* Of the thread, which is made the first time. 0: it cannot do it. */
static int ask_thread(struct pp_checkpoint *c)
{
    sigset_t all, before;
    pthread_mutex_lock(&c->lock);
    int asked = !c->failed;
    c->wanted = asked;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (!asked || c->made)
        return asked;
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    c->made = pthread_create(&c->thread, NULL, checkpoint_main, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return c->made;
}

static int on_commit(void *ctx, sqlite3 *db, const char *name, int pages)
{
    struct pp_checkpoint *c = ctx;
    if (pages < c->opts.from)
        return SQLITE_OK;
    if (pages >= c->opts.most || !ask_thread(c)) /* a thread that was asked as well would be in the way */
        sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK; /* the commit succeeded, whatever became of its log */
}

struct pp_checkpoint *pp_checkpoint_new(const struct pp_checkpoint_opts *opts)
{
    struct pp_checkpoint *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->opts = *opts;
    c->path = strdup(opts->path);
    if (!c->path) {
        free(c);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    sqlite3_wal_hook(opts->db, on_commit, c);
    return c;
}

uint64_t pp_checkpoint_cpu_ns(const struct pp_checkpoint *c)
{
    return c ? __atomic_load_n(&c->cpu_ns, __ATOMIC_RELAXED) : 0;
}

void pp_checkpoint_free(struct pp_checkpoint *c)
{
    if (!c)
        return;
    sqlite3_wal_autocheckpoint(c->opts.db, c->opts.from); /* takes the place of the hook */
    if (c->made) {
        pthread_mutex_lock(&c->lock);
        c->stop = 1;
        pthread_cond_signal(&c->changed);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
    }
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->path);
    free(c);
}
