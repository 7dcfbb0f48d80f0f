#include "tui/cli/exec/exec_python.h"
#include "tui/cli/shipped.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKED_AT_MAX (64 << 20)

void exec_python_prepare(struct exec_python *p, const char *program, int with_reads)
{
    const char *path = getenv("PYTHONPATH"), *preload = getenv("LD_PRELOAD");
    char extension[PATH_MAX], library[PATH_MAX];
    *p = (struct exec_python){0};
    if (pp_shipped_find("hooks", NULL, &pp_shipped_hooks, "_pipeprobe.abi3.so", extension, NULL) != PP_OK)
        return;
    snprintf(p->hooks, sizeof(p->hooks), "%.*s", (int)(strrchr(extension, '/') - extension), extension);
    /* A program built with AddressSanitizer refuses to start behind another preloaded library. */
    char found[PATH_MAX];
    struct stat st;
    int wants_to_be_first = 0;
    const char *dirs = getenv("PATH");
    snprintf(found, sizeof(found), "%s", program);
    for (const char *end; with_reads && !strchr(program, '/') && dirs && access(found, X_OK) != 0;
         dirs = *end ? end + 1 : NULL) {
        end = strchrnul(dirs, ':');
        snprintf(found, sizeof(found), "%.*s/%s", (int)(end - dirs), dirs, program);
    }
    int fd = with_reads ? open(found, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        size_t size = st.st_size < LOOKED_AT_MAX ? (size_t)st.st_size : LOOKED_AT_MAX;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            wants_to_be_first = memmem(bytes, size, "libasan.so", 10) != NULL;
            munmap(bytes, size);
        }
    }
    if (fd >= 0)
        close(fd);
    if (with_reads && !wants_to_be_first &&
        pp_shipped_find("reads", NULL, &pp_shipped_libraries, "libpipeprobe_reads.so", library, NULL) ==
            PP_OK &&
        !strpbrk(library, " :")) /* where the loader splits LD_PRELOAD */
        memcpy(p->reads, library, sizeof(library));
    if (asprintf(&p->set_path, "PYTHONPATH=%s%s%s", p->hooks, path && *path ? ":" : "", path ? path : "") < 0)
        p->set_path = NULL;
    /* Behind what the user preloads. */
    if (*p->reads && asprintf(&p->set_preload, "LD_PRELOAD=%s%s%s", preload ? preload : "",
                              preload && *preload ? ":" : "", p->reads) < 0)
        p->set_preload = NULL;
}

void exec_python_free(struct exec_python *p)
{
    free(p->set_path);
    free(p->set_preload);
    p->set_path = p->set_preload = NULL;
}

void exec_python_store_config(struct pp_store *store, const struct exec_python *p, int served)
{
    pp_store_meta_text(store, "config", "python_hooks",
                       !*p->hooks   ? "none"
                       : !*p->reads ? "hooks"
                       : served     ? "hooks, and reads of spawned workers"
                                    : "hooks and reads");
}
