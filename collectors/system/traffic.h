/* collectors/system/traffic.h: bytes of the whole machine's disks and networks since boot, once a second:
 * what meters beside the CPU's are drawn from. One collector (collectors/collector.h), four counters:
 * machine_disk_read_bytes_total, machine_disk_write_bytes_total, machine_net_rx_bytes_total,
 * machine_net_tx_bytes_total. A source that is absent has no rows. In a container the network is that of its
 * namespace, the disks are those of the host. */
#ifndef PP_COLLECTORS_SYSTEM_TRAFFIC_H
#define PP_COLLECTORS_SYSTEM_TRAFFIC_H

#include "collectors/collector.h"

struct pp_traffic {
    double in_bytes, out_bytes; /* read or received; written or sent */
};

/* The sums of /proc/diskstats and /proc/net/dev; 0: no device is in the text. Of disks, whole devices count
 * that are no layer over others: not partitions, loop, ram, zram, device-mapper and md. Of networks, those
 * that are not lo and carry no other one (bridges, bonds, veth). */
int pp_traffic_of_disks(const char *text, struct pp_traffic *out);
int pp_traffic_of_networks(const char *text, struct pp_traffic *out);

extern const struct pp_collector pp_collector_traffic;

#endif
