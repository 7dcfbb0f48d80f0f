#include "tui/cli/exec/exec_python.h"

#include "collectors/attach/session_files.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKED_AT_MAX (64 << 20)

/* ---- where they lie: beside the program, where a build leaves them, or where an installation puts them ----
 */

static void find(const char *const *places, size_t n, const char *probe, char *out, size_t size)
{
    char self[PATH_MAX], path[PATH_MAX], whole[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[len > 0 ? len : 0] = '\0';
    const char *dir = dirname(self);
    *out = '\0';
    for (size_t i = 0; i < n && !*out; i++)
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, places[i]) < sizeof(path) &&
            (size_t)snprintf(whole, sizeof(whole), "%s%s", path, probe) < sizeof(whole) &&
            access(whole, R_OK) == 0 && realpath(path, whole) && strlen(whole) < size)
            memcpy(out, whole, strlen(whole) + 1);
}

/* A program built with AddressSanitizer refuses to start behind another preloaded library. */
static int wants_to_be_first(const char *program)
{
    char path[PATH_MAX];
    struct stat st;
    int found = 0;
    const char *dirs = getenv("PATH");
    snprintf(path, sizeof(path), "%s", program);
    for (const char *end; !strchr(program, '/') && dirs && access(path, X_OK) != 0;
         dirs = *end ? end + 1 : NULL) {
        end = strchrnul(dirs, ':');
        snprintf(path, sizeof(path), "%.*s/%s", (int)(end - dirs), dirs, program);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        size_t size = st.st_size < LOOKED_AT_MAX ? (size_t)st.st_size : LOOKED_AT_MAX;
        void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            found = memmem(p, size, "libasan.so", 10) != NULL;
            munmap(p, size);
        }
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* The loader splits LD_PRELOAD at spaces and colons. */
static int can_be_preloaded(const char *path)
{
    return *path && !strpbrk(path, " :");
}

void exec_python_prepare(struct exec_python *p, const char *program, int with_reads)
{
    static const char *const hooks[] = {"python/attach", "../lib/pipeprobe/python/attach",
                                        "../lib64/pipeprobe/python/attach"};
    static const char *const reads[] = {"libpipeprobe_reads.so", "../lib/libpipeprobe_reads.so",
                                        "../lib64/libpipeprobe_reads.so"};
    const char *path = getenv("PYTHONPATH"), *preload = getenv("LD_PRELOAD");
    *p = (struct exec_python){0};
    find(hooks, sizeof(hooks) / sizeof(hooks[0]), "/_pipeprobe.abi3.so", p->hooks, sizeof(p->hooks));
    if (!*p->hooks)
        return;
    if (with_reads && !wants_to_be_first(program))
        find(reads, sizeof(reads) / sizeof(reads[0]), "", p->reads, sizeof(p->reads));
    if (!can_be_preloaded(p->reads))
        p->reads[0] = '\0';
    snprintf(p->set_path, sizeof(p->set_path), "PYTHONPATH=%s%s%s", p->hooks, path && *path ? ":" : "",
             path ? path : "");
    /* Behind what the user preloads. */
    if (*p->reads)
        snprintf(p->set_preload, sizeof(p->set_preload), "LD_PRELOAD=%s%s%s", preload ? preload : "",
                 preload && *preload ? ":" : "", p->reads);
}

void exec_python_store_config(struct pp_store *store, const struct exec_python *p)
{
    pp_store_meta_text(store, "config", "python_hooks",
                       !*p->hooks  ? "none"
                       : *p->reads ? "hooks and reads"
                                   : "hooks");
}

/* ---- what the processes said ---- */

static void store_loader(struct pp_store *store, int64_t pid, unsigned number,
                         const struct pp_loader_row *row)
{
    char key[48], text[512];
    snprintf(key, sizeof(key), "%lld.%u", (long long)pid, number);
    snprintf(
        text, sizeof(text),
        "dataset=%s samples=%llu sampler=%s num_workers=%u batch_size=%u prefetch_factor=%u pin_memory=%u "
        "persistent_workers=%u in_order=%u drop_last=%u start_method=%s epochs=%u",
        row->dataset, (unsigned long long)row->samples, row->sampler, row->workers, row->batch_size,
        row->prefetch, row->pin_memory, row->persistent_workers, row->in_order, row->drop_last,
        row->start_method, row->iterations);
    pp_store_meta_text(store, "loader", key, text);
}

/* The loader that gave most batches is the one that a report is about. */
struct taking {
    struct exec_python *python;
    struct pp_store *store;
    double batches;
    struct pp_loader_row best;
};

static void take_loaders(void *ctx, const struct pp_loaders_file *f)
{
    struct taking *t = ctx;
    for (unsigned i = 0; i < f->n_loaders; i++) {
        const struct pp_loader_row *row = &f->loader[i];
        double batches = (double)row->iterations * (row->batches ? (double)row->batches : 1);
        store_loader(t->store, f->pid, i, row);
        t->python->loaders++;
        if (batches > t->batches) {
            t->batches = batches;
            t->best = *row;
        }
    }
}

void exec_python_take(struct exec_python *p, struct pp_store *store, const char *session_dir)
{
    struct taking t = {.python = p, .store = store};
    struct pp_session_taken files = pp_loaders_files_take(session_dir, store ? take_loaders : NULL, &t);
    if (files.unsound)
        pp_store_loss(store, "loaders", files.unsound,
                      "their files in the session directory are incomplete or damaged");
    if (files.too_many)
        pp_store_loss(store, "loaders", files.too_many,
                      "they belong to more processes than the 16,384 that are listed");
    if (!t.batches)
        return;
    p->workers = t.best.workers;
    p->batch_size = t.best.batch_size;
    pp_store_meta_text(store, "config", "source", "pytorch");
    /* A loader without workers works in the training thread: one lane, and nothing is made ahead. */
    pp_store_meta_num(store, "config", "workers", t.best.workers ? t.best.workers : 1, "processes");
    if (t.best.batch_size)
        pp_store_meta_num(store, "config", "batch_size", t.best.batch_size, "samples");
    if (t.best.prefetch)
        pp_store_meta_num(store, "config", "prefetch", t.best.prefetch, "batches");
    pp_store_meta_text(store, "config", "dataset", t.best.dataset);
    if (t.best.samples)
        pp_store_meta_num(store, "config", "dataset_samples", (double)t.best.samples, "samples");
    pp_store_meta_num(store, "config", "pin_memory", t.best.pin_memory, NULL);
    pp_store_meta_num(store, "config", "persistent_workers", t.best.persistent_workers, NULL);
    pp_store_meta_num(store, "config", "in_order", t.best.in_order, NULL);
}
