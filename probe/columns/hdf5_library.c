#include "probe/columns/hdf5_library.h"
#include "probe/base/clock.h"
#include "probe/base/library.h"
#include "probe/columns/pages.h"

#include <pthread.h>
#include <stdio.h>

static struct pp_hdf5 hdf5;
static int loaded;
static unsigned version[3];

static void load(void)
{
    static const char *const names[] = {
        "libhdf5_serial.so.103", "libhdf5.so.103",    "libhdf5.so.200", "libhdf5_serial.so.310",
        "libhdf5.so.310",        "libhdf5_serial.so", "libhdf5.so",     NULL};
    static const struct pp_library_call calls[] = {
#define ROW(result, name, arguments) {#name, (void **)&hdf5.name},
        PP_H5_CALLS(ROW)
#undef ROW
    };
    static const char *const links[] = {"H5Lget_info2", "H5Lget_info1", "H5Lget_info"};
    if (!pp_library_open(names, calls, sizeof(calls) / sizeof(*calls)))
        return;
    for (size_t i = 0; i < sizeof(links) / sizeof(*links) && !hdf5.link_info; i++)
        pp_library_open(names, &(struct pp_library_call){links[i], (void **)&hdf5.link_info}, 1);
    hdf5.H5dont_atexit();
    loaded = hdf5.link_info && hdf5.H5open() >= 0 &&
             hdf5.H5get_libversion(&version[0], &version[1], &version[2]) >= 0 &&
             (version[0] > 1 || version[1] >= 10) && hdf5.H5Eset_auto2(0, NULL, NULL) >= 0;
}

const struct pp_hdf5 *pp_hdf5_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? &hdf5 : NULL;
}

int pp_hdf5_available(char *text, size_t size)
{
    if (!pp_hdf5_library()) {
        snprintf(text, size, "libhdf5 1.10 or later is not installed (Debian: libhdf5-103-1)");
        return 0;
    }
    snprintf(text, size, "libhdf5 %u.%u.%u", version[0], version[1], version[2]);
    return 1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t since_ns; /* under lock */

void pp_hdf5_lock(void)
{
    uint64_t asked_ns = pp_now_ns();
    pthread_mutex_lock(&lock);
    since_ns = pp_now_ns();
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_LOCK_NS, since_ns - asked_ns);
}

void pp_hdf5_unlock(void)
{
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_LOCK_HELD_NS, pp_now_ns() - since_ns);
    pthread_mutex_unlock(&lock);
}
