#include "tui/cli/exec/exec_python.h"

#include "collectors/attach/loaders_file.h"
#include "probe/base/io.h"

#include <pipeprobe/ring.h>

#include <dirent.h>
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

static const char *text_of(char *text, size_t size)
{
    text[size - 1] = '\0';
    return text;
}

static void store_loader(struct pp_store *store, int64_t pid, unsigned number, struct pp_loader_row *row)
{
    char key[48], text[512];
    snprintf(key, sizeof(key), "%lld.%u", (long long)pid, number);
    snprintf(
        text, sizeof(text),
        "dataset=%s samples=%llu sampler=%s num_workers=%u batch_size=%u prefetch_factor=%u pin_memory=%u "
        "persistent_workers=%u in_order=%u drop_last=%u start_method=%s epochs=%u",
        text_of(row->dataset, sizeof(row->dataset)), (unsigned long long)row->samples,
        text_of(row->sampler, sizeof(row->sampler)), row->workers, row->batch_size, row->prefetch,
        row->pin_memory, row->persistent_workers, row->in_order, row->drop_last,
        text_of(row->start_method, sizeof(row->start_method)), row->iterations);
    pp_store_meta_text(store, "loader", key, text);
}

/* The loader that gave most batches is the one that a report is about. */
struct chosen {
    double batches;
    struct pp_loader_row row;
};

static void take_file(struct exec_python *p, struct pp_store *store, const char *path, struct chosen *best)
{
    static struct pp_loaders_file f; /* 20 KiB */
    int fd = pp_io_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (pp_io_pread_full(fd, &f, sizeof(f), 0) == (ssize_t)sizeof(f) &&
        memcmp(f.magic, PP_LOADERS_MAGIC, sizeof(f.magic)) == 0) {
        unsigned n = f.n_loaders < PP_LOADERS_MAX ? f.n_loaders : PP_LOADERS_MAX;
        for (unsigned i = 0; i < n; i++) {
            struct pp_loader_row *row = &f.loader[i];
            double batches = (double)row->iterations * (row->batches ? (double)row->batches : 1);
            store_loader(store, f.pid, i, row);
            p->loaders++;
            if (batches > best->batches)
                *best = (struct chosen){.batches = batches, .row = *row};
        }
    }
    close(fd);
}

void exec_python_take(struct exec_python *p, struct pp_store *store, const char *session_dir)
{
    char path[PATH_MAX];
    struct chosen best = {0};
    DIR *d = opendir(session_dir);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (strncmp(e->d_name, PP_LOADERS_FILE_PREFIX, strlen(PP_LOADERS_FILE_PREFIX)) != 0 ||
            (size_t)snprintf(path, sizeof(path), "%s/%s", session_dir, e->d_name) >= sizeof(path))
            continue;
        if (store)
            take_file(p, store, path, &best);
        unlink(path);
    }
    closedir(d);
    if (!best.batches)
        return;
    p->workers = best.row.workers;
    p->batch_size = best.row.batch_size;
    pp_store_meta_text(store, "config", "source", "pytorch");
    /* A loader without workers works in the training thread: one lane, and nothing is made ahead. */
    pp_store_meta_num(store, "config", "workers", best.row.workers ? best.row.workers : 1, "processes");
    if (best.row.batch_size)
        pp_store_meta_num(store, "config", "batch_size", best.row.batch_size, "samples");
    if (best.row.prefetch)
        pp_store_meta_num(store, "config", "prefetch", best.row.prefetch, "batches");
    pp_store_meta_text(store, "config", "dataset", text_of(best.row.dataset, sizeof(best.row.dataset)));
    if (best.row.samples)
        pp_store_meta_num(store, "config", "dataset_samples", (double)best.row.samples, "samples");
    pp_store_meta_num(store, "config", "pin_memory", best.row.pin_memory, NULL);
    pp_store_meta_num(store, "config", "persistent_workers", best.row.persistent_workers, NULL);
    pp_store_meta_num(store, "config", "in_order", best.row.in_order, NULL);
}
