/* The requests that a sample was made of: from the preloaded library to the session's file, at its end. */
#include "collectors/attach/python/record/record.h"
#include "collectors/attach/requests_file.h"
#include "probe/base/guard.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_ONCE = 32 };

/* Of the process; a child of a fork has its parent's. */
static struct {
    pp_reads_requests *take; /* NULL: the library is not there */
    struct pp_requests_file *file;
    uint32_t session; /* that was looked for it; 0: none yet */
} requests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while the file is looked for; a child may
                                                          * have it held for good, and records no requests */

/* NULL: there is none. A file of a session that was left stays mapped: another thread may be writing. */
static struct pp_requests_file *file_here(void)
{
    char path[PATH_MAX + sizeof("/" PP_REQUESTS_FILE_NAME)];
    struct stat st;
    if (requests.session == record_session())
        return requests.file;
    if (pthread_mutex_trylock(&lock) != 0)
        return NULL;
    if (requests.session != record_session()) {
        requests.take = (pp_reads_requests *)dlsym(RTLD_DEFAULT, PP_READS_REQUESTS);
        snprintf(path, sizeof(path), "%s/" PP_REQUESTS_FILE_NAME, record_dir());
        int fd = requests.take ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
        int sound = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                    st.st_size == sizeof(*requests.file);
        void *file = sound ? mmap(NULL, sizeof(*requests.file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                           : MAP_FAILED;
        if (fd >= 0)
            close(fd);
        requests.file = file == MAP_FAILED ? NULL : file;
        if (requests.file)
            pp_guard_add(file, sizeof(*requests.file));
        requests.session = record_session();
    }
    pthread_mutex_unlock(&lock);
    return requests.file;
}

void record_requests(uint64_t sample, uint64_t epoch)
{
    struct pp_read_request taken[AT_ONCE];
    struct pp_requests_file *f = record_is_on() ? file_here() : NULL;
    uint64_t lost;
    size_t n;
    if (!f)
        return;
    do {
        n = requests.take(taken, AT_ONCE, &lost);
        for (size_t i = 0; i < n; i++) {
            uint64_t head = __atomic_load_n(&f->head, __ATOMIC_RELAXED);
            int has_room;
            do { /* pairs with the release in take_rows of requests.c */
                has_room = head - __atomic_load_n(&f->tail, __ATOMIC_ACQUIRE) < PP_REQUESTS_ROWS;
            } while (has_room && !__atomic_compare_exchange_n(&f->head, &head, head + 1, 1, __ATOMIC_RELAXED,
                                                              __ATOMIC_RELAXED));
            if (!has_room) {
                __atomic_fetch_add(&f->lost, 1, __ATOMIC_RELAXED);
                continue;
            }
            struct pp_requests_row *row = &f->row[head % PP_REQUESTS_ROWS];
            row->sample = sample;
            row->epoch = epoch;
            row->request = taken[i];
            /* pairs with the acquire in take_rows */
            __atomic_store_n(&row->number, head + 1, __ATOMIC_RELEASE);
        }
        if (lost)
            __atomic_fetch_add(&f->lost, lost, __ATOMIC_RELAXED);
    } while (n == AT_ONCE);
}
