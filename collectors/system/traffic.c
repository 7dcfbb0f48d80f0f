#include "collectors/system/counters.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"

#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

#define SECTOR_BYTES 512.0 /* of /proc/diskstats, whatever the device's own are */
enum { TEXT_MOST = 1 << 16, NAME = 64 };

static const char *const disk_layers[] = {"loop", "ram", "zram", "dm-", "md", "sr", "fd", NULL},
                         *const network_layers[] = {"lo",  "veth", "docker", "br-", "virbr",
                                                    "ifb", "bond", "team",   NULL};

static int is_layer(const char *name, const char *const *over)
{
    for (size_t i = 0; over[i]; i++)
        if (strncmp(name, over[i], strlen(over[i])) == 0)
            return 1;
    return 0;
}

int pp_traffic_of_disks(const char *text, struct pp_traffic *out)
{
    char name[NAME], device[NAME] = "";
    unsigned long long read, written;
    int any = 0;
    *out = (struct pp_traffic){0, 0};
    for (const char *p = text; p && *p; p = pp_text_next_line(p)) {
        if (sscanf(p, "%*u %*u %63s %*u %*u %llu %*u %*u %*u %llu", name, &read, &written) != 3 ||
            is_layer(name, disk_layers))
            continue;
        /* Partitions follow their device: sda, sda1; nvme0n1, nvme0n1p1. */
        size_t n = strlen(device);
        const char *rest = n && strncmp(name, device, n) == 0 ? name + n : "";
        if (n && isdigit((unsigned char)device[n - 1]))
            rest = *rest == 'p' ? rest + 1 : "";
        if (*rest && strspn(rest, "0123456789") == strlen(rest))
            continue;
        snprintf(device, sizeof(device), "%s", name);
        out->in_bytes += (double)read * SECTOR_BYTES;
        out->out_bytes += (double)written * SECTOR_BYTES;
        any = 1;
    }
    return any;
}

int pp_traffic_of_networks(const char *text, struct pp_traffic *out)
{
    char name[NAME];
    unsigned long long rx, tx;
    int any = 0;
    *out = (struct pp_traffic){0, 0};
    for (const char *p = text; p && *p; p = pp_text_next_line(p)) {
        if (sscanf(p, " %63[^: \n]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &rx, &tx) != 3 ||
            is_layer(name, network_layers))
            continue;
        out->in_bytes += (double)rx;
        out->out_bytes += (double)tx;
        any = 1;
    }
    return any;
}

/* ---- the collector ---- */

static const struct source {
    const char *path, *in, *out;
    int (*sum)(const char *text, struct pp_traffic *out);
} sources[] = {
    {"/proc/diskstats", "machine_disk_read_bytes_total", "machine_disk_write_bytes_total",
     pp_traffic_of_disks},
    {"/proc/net/dev", "machine_net_rx_bytes_total", "machine_net_tx_bytes_total", pp_traffic_of_networks},
};
enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };

struct state {
    struct pp_store *store;
    int fd[SOURCES]; /* -1: absent */
    char text[TEXT_MOST];
};

static pp_status traffic_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct state *s = malloc(sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read counters");
    s->store = opts->store;
    for (int i = 0; i < SOURCES; i++)
        s->fd[i] = open(sources[i].path, O_RDONLY | O_CLOEXEC);
    *out = s;
    return PP_OK;
}

static void traffic_poll(void *state)
{
    struct state *s = state;
    for (int i = 0; i < SOURCES; i++) {
        struct pp_traffic t;
        ssize_t n = s->fd[i] >= 0 ? pread(s->fd[i], s->text, sizeof(s->text) - 1, 0) : -1;
        s->text[n > 0 ? n : 0] = '\0';
        uint64_t now = pp_now_ns();
        if (!sources[i].sum(s->text, &t))
            continue;
        pp_store_counter(s->store, now, sources[i].in, t.in_bytes);
        pp_store_counter(s->store, now, sources[i].out, t.out_bytes);
    }
}

static void traffic_stop(void *state)
{
    struct state *s = state;
    for (int i = 0; i < SOURCES; i++)
        if (s->fd[i] >= 0)
            close(s->fd[i]);
    free(s);
}

static int traffic_available(char *text, size_t size)
{
    int n = 0;
    for (int i = 0; i < SOURCES; i++)
        n += access(sources[i].path, R_OK) == 0;
    snprintf(text, size, n ? "%d of %d sources are readable" : "%d of %d sources is readable", n, SOURCES);
    return n > 0;
}

const struct pp_collector pp_collector_traffic = {
    .name = "disk and network traffic",
    .available = traffic_available,
    .start = traffic_start,
    .poll = traffic_poll,
    .stop = traffic_stop,
};
