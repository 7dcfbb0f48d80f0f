/* Written by tests/tools/stats_golden.py with SciPy 1.17.1 and NumPy 2.4.6: not to be edited. */
#pragma once

#include <stddef.h>

struct mann_whitney_row {
    size_t nx, ny;
    double x[40], y[40], u, p;
    int exact;
};
extern const struct mann_whitney_row mann_whitney_rows[49];

struct student_row {
    size_t nx, ny;
    double x[20], y[31], p;
};
extern const struct student_row student_rows[12];

struct beta_row {
    double a, b, x, value;
};
extern const struct beta_row beta_rows[8];

struct fisher_row {
    size_t a, n, b, m;
    double p;
};
extern const struct fisher_row fisher_rows[10];

struct quantile_row {
    size_t n;
    double x[25], median, q25, q75, q90;
};
extern const struct quantile_row quantile_rows[6];

struct sign_flip_row {
    size_t n;
    double a[12], b[12], p_one[2], p_all[2];
};
extern const struct sign_flip_row sign_flip_rows[15];

struct signed_rank_row {
    size_t n;
    double d[14], confidence, estimate, low, high;
};
extern const struct signed_rank_row signed_rank_rows[24];
