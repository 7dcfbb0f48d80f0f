"""Writes tests/support/stats_golden.h and .c: what SciPy and NumPy say to fixed samples. Run it by hand when rows are added:
    python3 -m venv venv && venv/bin/pip install scipy && venv/bin/python tests/tools/stats_golden.py && make format
Mann-Whitney with ties is SciPy's exact permutation test of the U statistic, not our algorithm."""
import itertools
import numpy as np
import scipy
from scipy import special, stats

rng = np.random.default_rng(20261120)


def c_list(values):
    return "{" + ", ".join(repr(float(v)) for v in values) + "}"


header, source = [], []


def rows(name, fields, lines):
    header.append(f"struct {name} {{ {fields} }};\nextern const struct {name} {name}s[{len(lines)}];\n")
    source.append(f"const struct {name} {name}s[{len(lines)}] = {{\n" + "".join(f"    {{{line}}},\n" for line in lines) + "};\n")


def exact_p(x, y):
    """Every way to choose the first sample: twice the smaller tail."""
    pool = np.concatenate([x, y])
    ranks = stats.rankdata(pool)
    w = ranks[: len(x)].sum()
    sums = np.array([ranks[list(c)].sum() for c in itertools.combinations(range(len(pool)), len(x))])
    eps = 1e-9
    return min(1.0, 2 * min((sums <= w + eps).mean(), (sums >= w - eps).mean()))


def mann_whitney():
    out = []
    def add(x, y, how):
        r = stats.mannwhitneyu(x, y, method=how) if how != "enumerate" else None
        u = stats.mannwhitneyu(x, y, method="asymptotic").statistic
        p = r.pvalue if r is not None else exact_p(x, y)
        out.append(f"{len(x)}, {len(y)}, {c_list(x)}, {c_list(y)}, {float(u)!r}, {float(p)!r}, {int(how != 'asymptotic')}")
    for nx, ny in [(1, 1), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (4, 9), (10, 7), (20, 15), (30, 30)]:
        for shift in (0, 0.8, 3):
            add(np.round(rng.normal(shift, 1, nx), 6), np.round(rng.normal(0, 1, ny), 6), "exact")
    for nx, ny in [(3, 3), (5, 5), (7, 7), (4, 9), (10, 7)]:
        for spread in (1, 3, 6):
            add(rng.integers(0, spread + 1, nx) + 1.0, rng.integers(0, spread + 1, ny) + 0.0, "enumerate")
    for nx, ny in [(31, 30), (40, 40)]:
        add(np.round(rng.normal(0.3, 1, nx), 6), np.round(rng.normal(0, 1, ny), 6), "asymptotic")
        add(rng.integers(0, 5, nx) + 0.0, rng.integers(0, 6, ny) + 0.0, "asymptotic")
    rows("mann_whitney_row", "size_t nx, ny; double x[40], y[40], u, p; int exact;", out)


def student():
    out = []
    for nx, ny in [(2, 2), (3, 5), (7, 7), (20, 31)]:
        for shift in (0, 1, 4):
            x, y = np.round(rng.normal(shift, 1, nx), 6), np.round(rng.normal(0, 2, ny), 6)
            out.append(f"{nx}, {ny}, {c_list(x)}, {c_list(y)}, {float(stats.ttest_ind(x, y, equal_var=True).pvalue)!r}")
    rows("student_row", "size_t nx, ny; double x[20], y[31], p;", out)


def beta():
    points = [(0.5, 0.5, 0.1), (2, 3, 0.4), (10, 0.5, 0.99), (50, 0.5, 0.3), (0.5, 40, 0.02), (100, 100, 0.5), (3, 0.5, 1e-6), (500, 0.5, 0.999)]
    rows("beta_row", "double a, b, x, value;", [f"{a}, {b}, {x}, {float(special.betainc(a, b, x))!r}" for a, b, x in points])


def fisher():
    tables = [(0, 7, 7, 7), (0, 7, 6, 7), (1, 7, 6, 7), (3, 7, 4, 7), (0, 3, 3, 3), (2, 10, 9, 14), (0, 7, 0, 7), (7, 7, 7, 7), (5, 5, 0, 9), (12, 30, 25, 31)]
    rows("fisher_row", "size_t a, n, b, m; double p;",
         [f"{a}, {n}, {b}, {m}, {float(stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue)!r}" for a, n, b, m in tables])


def quantile():
    out = []
    for n in (1, 2, 4, 7, 8, 25):
        x = np.round(rng.lognormal(0, 1, n), 6)
        out.append(f"{n}, {c_list(x)}, {float(np.median(x))!r}, {float(np.quantile(x, 0.25))!r}, {float(np.quantile(x, 0.75))!r}, {float(np.quantile(x, 0.9))!r}")
    rows("quantile_row", "size_t n; double x[25], median, q25, q75, q90;", out)


def sign_flip():
    """Two questions about the same pairs: SciPy's exact permutation test for one, all ways by hand for the largest of both."""
    out = []
    def r(d):
        return d.mean(axis=-1) / np.sqrt((d ** 2).mean(axis=-1))
    for n in (1, 3, 7, 8, 12):
        for shift in (0, 0.6, 3):
            d = np.round(rng.normal([[shift], [0]], 1, (2, n)), 6)
            p_one = [stats.permutation_test((x,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", alternative="greater", n_resamples=np.inf, vectorized=True).pvalue
                     if n > 1 else (1.0 if x[0] <= 0 else 0.5) for x in d]
            ways = np.array(list(itertools.product((1, -1), repeat=n)))
            largest = np.max([r(ways * x) for x in d], axis=0)
            p_all = [(largest >= r(x) - 1e-12).mean() for x in d]
            out.append(f"{n}, {c_list(d[0])}, {c_list(d[1])}, {c_list(p_one)}, {c_list(p_all)}")
    rows("sign_flip_row", "size_t n; double a[12], b[12], p_one[2], p_all[2];", out)


def signed_rank():
    """The interval as what SciPy's exact Wilcoxon test does not reject: it is tried on both sides of every Walsh average."""
    out = []
    for n in (4, 6, 7, 7, 10, 14):
        for confidence in (0.9, 0.95, 0.96, 0.99):
            d = np.round(rng.normal(0.5, 1, n), 6)
            walsh = np.unique([(d[i] + d[k]) / 2 for i in range(n) for k in range(i, n)])
            middle = np.median([(d[i] + d[k]) / 2 for i in range(n) for k in range(i, n)])
            kept = lambda theta: stats.wilcoxon(d - theta, method="exact").pvalue > 1 - confidence + 1e-12
            low = next((w for w in walsh if kept(w + 1e-9)), np.nan) if not kept(walsh[0] - 1e-9) else np.nan
            high = next((w for w in walsh[::-1] if kept(w - 1e-9)), np.nan) if not kept(walsh[-1] + 1e-9) else np.nan
            text = ["NAN" if np.isnan(v) else repr(float(v)) for v in (middle, low, high)]
            out.append(f"{n}, {c_list(d)}, {confidence}, {', '.join(text)}")
    rows("signed_rank_row", "size_t n; double d[14], confidence, estimate, low, high;", out)


mann_whitney()
student()
beta()
fisher()
quantile()
sign_flip()
signed_rank()
written = f"/* Written by tests/tools/stats_golden.py with SciPy {scipy.__version__} and NumPy {np.__version__}: not to be edited. */\n"
guard = "PP_TESTS_SUPPORT_STATS_GOLDEN_H"
with open("tests/support/stats_golden.h", "w") as out:
    out.write(f"{written}#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n\n" + "\n".join(header) + "\n#endif\n")
with open("tests/support/stats_golden.c", "w") as out:
    out.write(f'{written}#include "tests/support/stats_golden.h"\n\n#include <math.h>\n\n' + "\n".join(source))
