/* columns/hdf5_library.h: the calls of libhdf5 that hdf5.c makes, in a library that is opened when an HDF5
 * file is first met. The declarations are those of HDF5 1.10 and later (hid_t has 64 bits), and of no header:
 * nothing is needed to build. It reads for one thread at a time: every call is made under pp_hdf5_lock. */
#ifndef PP_COLUMNS_HDF5_LIBRARY_H
#define PP_COLUMNS_HDF5_LIBRARY_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef int64_t pp_h5; /* hid_t; negative: none */

enum { PP_H5_GROUP = 2, PP_H5_DATASET = 5 }; /* H5I_type_t */
enum {
    PP_H5_INTEGER = 0,
    PP_H5_FLOAT = 1,
    PP_H5_STRING = 3,
    PP_H5_OPAQUE = 5,
    PP_H5_VLEN = 9
};                                             /* H5T_class_t */
enum { PP_H5_CHUNKED = 2, PP_H5_VIRTUAL = 3 }; /* H5D_layout_t */
enum { PP_H5_DIMS = 32 };

struct pp_h5_vlen { /* hvl_t */
    size_t n;
    void *p;
};

struct pp_h5_group { /* H5G_info_t */
    int storage;
    unsigned long long links;
    int64_t most;
    _Bool mounted;
};

/* X(return type, name, arguments) */
#define PP_H5_CALLS(X) \
    X(int, H5open, (void)) \
    X(int, H5dont_atexit, (void)) \
    X(int, H5get_libversion, (unsigned *, unsigned *, unsigned *)) \
    X(int, H5Eset_auto2, (pp_h5, void *, void *)) \
    X(pp_h5, H5Fopen, (const char *, unsigned, pp_h5)) \
    X(int, H5Fclose, (pp_h5)) \
    X(int, H5Gget_info, (pp_h5, struct pp_h5_group *)) \
    X(ssize_t, H5Lget_name_by_idx, \
      (pp_h5, const char *, int, int, unsigned long long, char *, size_t, pp_h5)) \
    X(pp_h5, H5Oopen, (pp_h5, const char *, pp_h5)) \
    X(int, H5Oclose, (pp_h5)) \
    X(int, H5Iget_type, (pp_h5)) \
    X(pp_h5, H5Dget_type, (pp_h5)) \
    X(pp_h5, H5Dget_space, (pp_h5)) \
    X(pp_h5, H5Dget_create_plist, (pp_h5)) \
    X(int, H5Dread, (pp_h5, pp_h5, pp_h5, pp_h5, pp_h5, void *)) \
    X(int, H5Dvlen_reclaim, (pp_h5, pp_h5, pp_h5, void *)) \
    X(int, H5Pget_layout, (pp_h5)) \
    X(int, H5Pget_chunk, (pp_h5, int, unsigned long long *)) \
    X(int, H5Pget_external_count, (pp_h5)) \
    X(int, H5Pclose, (pp_h5)) \
    X(int, H5Sget_simple_extent_ndims, (pp_h5)) \
    X(int, H5Sget_simple_extent_dims, (pp_h5, unsigned long long *, unsigned long long *)) \
    X(pp_h5, H5Screate_simple, (int, const unsigned long long *, const unsigned long long *)) \
    X(int, H5Sselect_hyperslab, \
      (pp_h5, int, const unsigned long long *, const unsigned long long *, const unsigned long long *, \
       const unsigned long long *)) \
    X(int, H5Sclose, (pp_h5)) \
    X(int, H5Tget_class, (pp_h5)) \
    X(size_t, H5Tget_size, (pp_h5)) \
    X(int, H5Tget_order, (pp_h5)) \
    X(int, H5Tget_sign, (pp_h5)) \
    X(int, H5Tis_variable_str, (pp_h5)) \
    X(pp_h5, H5Tget_super, (pp_h5)) \
    X(int, H5Tclose, (pp_h5))

struct pp_hdf5 {
#define PP_H5_MEMBER(result, name, arguments) result(*name) arguments;
    PP_H5_CALLS(PP_H5_MEMBER)
#undef PP_H5_MEMBER
    /* What kind of link a name is (its first int: 0 hard, 1 soft, 64 external): H5Lget_info, of any version.
     */
    int (*link_info)(pp_h5 at, const char *name, void *info, pp_h5 access);
};

/* NULL: not installed, or before 1.10. */
const struct pp_hdf5 *pp_hdf5_library(void);
/* The version, or why there is none, for doctor. Returns whether there is one. */
int pp_hdf5_available(char *text, size_t size);

/* Around every call. The time waited for it and held is counted (pages.h). */
void pp_hdf5_lock(void);
void pp_hdf5_unlock(void);

#endif
