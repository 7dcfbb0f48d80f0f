#include "tests/support/inject_fixture.h"

#include "tests/tools/ring_peek.h"

#include <dirent.h>
#include <fcntl.h>

_Noreturn void inject_become(const char *scenario)
{
    execl("/proc/self/exe", "scenario", "--scenario", scenario, (char *)NULL);
    _exit(127);
}

static void read_rings(struct inject_result *r)
{
    static struct pp_span piece[4096];
    for (uint32_t t = 0; t < pp_session_threads(r->session); t++) {
        struct pp_ring_info info;
        size_t n;
        pp_session_ring_info(r->session, t, &info);
        while ((n = ring_peek(r->session, t, piece, 4096))) {
            r->seen = realloc(r->seen, (r->n + n) * sizeof(*r->seen));
            assert_non_null(r->seen);
            for (size_t i = 0; i < n; i++) {
                struct inject_seen *s = &r->seen[r->n++];
                char name[PP_NAME_BYTES];
                pp_session_name(r->session, piece[i].name, name);
                *s = (struct inject_seen){.span = piece[i], .thread = info};
                snprintf(s->name, sizeof(s->name), "%s", name);
            }
        }
    }
}

/* Reads the process files, and removes what the session itself does not know of. */
static void read_processes(struct inject_result *r)
{
    char path[PATH_MAX];
    DIR *d = opendir(r->dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof(path), "%s/%s", r->dir, e->d_name);
        if (strncmp(e->d_name, PP_PROCESS_FILE_PREFIX, strlen(PP_PROCESS_FILE_PREFIX)) == 0) {
            int fd = open(path, O_RDONLY);
            assert_true(r->processes < 64);
            assert_int_equal(read(fd, &r->process[r->processes], sizeof(r->process[0])),
                             sizeof(r->process[0]));
            r->processes++;
            close(fd);
            unlink(path);
        } else if (strcmp(e->d_name, PP_MAP_FILE_NAME) == 0) {
            unlink(path);
        }
    }
    closedir(d);
}

struct inject_result *inject_run_with(const char *scenario, const char *map, const char *next,
                                      size_t ring_spans)
{
    struct pp_err err;
    char path[128];
    struct inject_result *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    strcpy(r->dir, "/tmp/pp-inject-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    pp_err_clear(&err);
    if (pp_session_open(&(struct pp_session_opts){.dir = r->dir, .ring_spans = ring_spans}, &r->session,
                        &err) != PP_OK)
        fail_msg("%s", err.text);
    if (map) {
        snprintf(path, sizeof(path), "%s/%s", r->dir, PP_MAP_FILE_NAME);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(map, out);
        fclose(out);
    }
    pid_t pid = fork();
    if (pid == 0) {
        alarm(120);
        setenv("NVTX_INJECTION64_PATH", built("libpipeprobe_inject.so"), 1);
        setenv("PIPEPROBE_SESSION", r->dir, 1);
        if (next)
            setenv("PIPEPROBE_NEXT_INJECTION", next, 1);
        inject_become(scenario);
    }
    assert_int_equal(waitpid(pid, &r->status, 0), pid);
    read_rings(r);
    read_processes(r);
    return r;
}

struct inject_result *inject_run(const char *scenario)
{
    struct inject_result *r = inject_run_with(scenario, NULL, NULL, 65536);
    if (r->status)
        fail_msg("scenario %s: wait status %x", scenario, r->status);
    return r;
}

void inject_done(struct inject_result *r)
{
    pp_session_close(r->session, 0);
    assert_int_equal(access(r->dir, F_OK), -1);
    free(r->seen);
    free(r);
}

size_t inject_count(const struct inject_result *r, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += strcmp(r->seen[i].name, name) == 0;
    return n;
}

const struct inject_seen *inject_find(const struct inject_result *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->seen[i].name, name) == 0)
            return &r->seen[i];
    fail_msg("no span called \"%s\" among %zu", name, r->n);
    return NULL;
}

int inject_inside(const struct inject_seen *inner, const struct inject_seen *outer)
{
    return inner->span.start_ns >= outer->span.start_ns &&
           inner->span.start_ns + inner->span.dur_ns <= outer->span.start_ns + outer->span.dur_ns;
}
