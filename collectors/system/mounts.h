/* collectors/system/mounts.h: which mount a path lives on, from the text of /proc/self/mountinfo (proc(5)).
 */
#ifndef PP_COLLECTORS_SYSTEM_MOUNTS_H
#define PP_COLLECTORS_SYSTEM_MOUNTS_H

#include <stddef.h>

struct pp_mount {
    char point[512], type[64], source[256], options[256];
};

/* The last mount whose point is the longest prefix of the absolute, resolved path; 0 when the text has none.
 */
int pp_mount_find(const char *mountinfo, const char *path, struct pp_mount *out);
/* The same for an existing path of this machine; 0 when it cannot be told. */
int pp_mount_of(const char *path, struct pp_mount *out);
/* "254:0": the disk (of a partition, the whole one) that holds the path: where the block layer counts and
 * limits reads. 0: it is on no block device, as on NFS, FUSE and overlayfs. At least 24 bytes. */
int pp_disk_of(const char *path, char *device, size_t size);

#endif
