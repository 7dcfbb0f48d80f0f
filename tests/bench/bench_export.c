/* bench_export [--spans N] [--dir DIR]: what an export costs. A run of N spans (default 10 million) is
 * written through the store's own writer (tests/tools/make_run), then exported in every format, each in a
 * process of its own: seconds with the sync to disk, peak memory, bytes per span. Goal: 10 million spans in
 * the nsys shape in 10 s. Peak memory at a tenth of the spans stands beside: it must not grow with them. */
#include "probe/base/clock.h"
#include "probe/base/text.h"
#include "report/export/export.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct figures {
    double seconds, peak_mib, bytes_per_span;
};

/* The tool lies beside us in the build folder: .../tests/bench/bench_export, .../tests/tools/make_run. */
static int make_run(const char *argv0, const char *path, uint64_t spans)
{
    char tool[PATH_MAX], count[32];
    const char *slash = strrchr(argv0, '/');
    int status;
    snprintf(tool, sizeof(tool), "%.*s/../tools/make_run", slash ? (int)(slash - argv0) : 1,
             slash ? argv0 : ".");
    snprintf(count, sizeof(count), "%llu", (unsigned long long)spans);
    pid_t pid = fork();
    if (pid == 0) {
        execl(tool, "make_run", path, "--spans", count, "--device", "fake", (char *)NULL);
        perror(tool);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int export_once(const char *from, const struct pp_exporter *to, const char *out)
{
    struct pp_source source;
    struct pp_err err;
    pp_status st = pp_source_open(from, &source, &err);
    if (st == PP_OK)
        st = pp_export(&source, to, &(struct pp_export_opts){.out = out, .force = 1}, NULL, &err);
    pp_source_close(&source);
    if (st != PP_OK)
        fprintf(stderr, "bench_export: %s: %s\n", to->name, err.text);
    return st == PP_OK;
}

/* In a child, so that its peak memory is its own. */
static int measure(const char *from, const struct pp_exporter *to, const char *out, uint64_t spans,
                   struct figures *f)
{
    struct rusage use;
    struct stat st;
    int status;
    uint64_t start = pp_now_ns();
    pid_t pid = fork();
    if (pid == 0)
        _exit(!export_once(from, to, out));
    if (pid < 0 || wait4(pid, &status, 0, &use) != pid || !WIFEXITED(status) || WEXITSTATUS(status) ||
        stat(out, &st) != 0)
        return 0;
    f->seconds = (double)(pp_now_ns() - start) / 1e9;
    f->peak_mib = (double)use.ru_maxrss / 1024;
    f->bytes_per_span = (double)st.st_size / (double)spans;
    unlink(out);
    return 1;
}

static int measure_all(const char *argv0, const char *dir, uint64_t spans)
{
    char small[PATH_MAX + 32], large[PATH_MAX + 32], out[PATH_MAX + 32], text[32];
    int ok = 1;
    snprintf(small, sizeof(small), "%s/small.sqlite", dir);
    snprintf(large, sizeof(large), "%s/large.sqlite", dir);
    if (!make_run(argv0, small, spans / 10) || !make_run(argv0, large, spans))
        return 0;
    printf("export of %s spans   seconds   Mspan/s   B/span   peak MiB   at a tenth   goal\n",
           pp_text_count(text, sizeof(text), (double)spans));
    for (size_t i = 0; pp_exporters[i] && ok; i++) {
        struct figures tenth, f;
        snprintf(out, sizeof(out), "%s/out%s", dir, pp_exporters[i]->suffixes[0]);
        ok = measure(small, pp_exporters[i], out, spans / 10, &tenth) &&
             measure(large, pp_exporters[i], out, spans, &f);
        if (ok)
            printf("%-26s %9.2f %9.2f %8.1f %10.1f %12.1f   %s\n", pp_exporters[i]->name, f.seconds,
                   (double)spans / f.seconds / 1e6, f.bytes_per_span, f.peak_mib, tenth.peak_mib,
                   pp_exporters[i] == &pp_export_nsys ? "10 M in <= 10 s" : "");
        fflush(stdout);
    }
    unlink(small);
    unlink(large);
    return ok;
}

int main(int argc, char **argv)
{
    uint64_t spans = 10000000;
    const char *parent = "build";
    char dir[PATH_MAX];
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--spans") == 0)
            spans = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--dir") == 0)
            parent = argv[i + 1];
    }
    snprintf(dir, sizeof(dir), "%s/bench-export-XXXXXX", parent);
    if (!mkdtemp(dir)) {
        perror(dir);
        return 1;
    }
    int ok = measure_all(argv[0], dir, spans);
    rmdir(dir);
    return !ok;
}
