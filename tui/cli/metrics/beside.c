#include "tui/cli/metrics/beside.h"

#include "probe/base/clock.h"
#include "probe/base/text.h"
#include "tui/cli/jobs/again.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define START_NS UINT64_C(5000000000)
#define END_NS UINT64_C(8000000000)
enum { TARGETS_MOST = 8 };

const char *const metrics_beside_none[] = {
    "--metrics",     "", "--metrics-textfile", "", "--metrics-push", "", "--otlp", "",
    "--tensorboard", "", "--mlflow",           "", "--digest-to",    "", NULL};

static void put_words(const struct metrics_beside *b, const char *text)
{
    char *plain = pp_text_plain(text);
    fprintf(stderr, "%s%s\n", b->label, plain ? plain : text);
    free(plain);
}

/* ---- its words ---- */

/* Until it has begun, its end, or the time; 1: neither came. */
static int listen_until(struct metrics_beside *b, int until_ready, uint64_t deadline_ns)
{
    char text[512];
    for (;;) {
        struct pollfd fd = {.fd = b->words, .events = POLLIN};
        uint64_t now = pp_now_ns();
        int ready = 0;
        if (now >= deadline_ns)
            return 1;
        if (poll(&fd, 1, (int)((deadline_ns - now) / 1000000) + 1) <= 0)
            continue;
        ssize_t n = read(b->words, text, sizeof(text));
        if (n < 0 && errno == EINTR)
            continue;
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] != '\n') {
                if (b->n < sizeof(b->line) - 1)
                    b->line[b->n++] = text[i];
                continue;
            }
            b->line[b->n] = '\0';
            b->n = 0;
            if (b->line[0] == METRICS_TROUBLE || (b->line[0] == METRICS_DOES && !b->quiet))
                put_words(b, b->line + 1);
            ready |= b->line[0] == METRICS_READY;
        }
        if (n <= 0 || (ready && until_ready))
            return 0;
    }
}

/* ---- its life ---- */

/* Our environment with what was asked for in it, as the variables of the options: a URL may hold a password,
 * and what is on a command line every user can read. */
struct environment {
    char **all; /* the caller frees, as */
    char *own[TARGETS_MOST];
};

static int make_environment(struct environment *e, const struct metrics_opts *o)
{
    char name[64];
    size_t n = 0, k = 0;
    *e = (struct environment){0};
    for (int i = 0; pp_sink_kinds[i]; i++) {
        const char *target = metrics_opts_target(o, pp_sink_kinds[i]);
        pp_opt_variable(name, sizeof(name), pp_sink_kinds[i]->option);
        if (asprintf(&e->own[i], "%s=%s", name, target ? target : "") < 0) {
            e->own[i] = NULL;
            return ENOMEM;
        }
    }
    while (environ[n])
        n++;
    e->all = malloc((n + TARGETS_MOST + 1) * sizeof(*e->all));
    if (!e->all)
        return ENOMEM;
    for (size_t i = 0; i < n; i++) {
        size_t length = strcspn(environ[i], "=") + 1;
        int own = 0;
        for (int t = 0; t < TARGETS_MOST && e->own[t]; t++)
            own |= strncmp(e->own[t], environ[i], length) == 0;
        if (!own)
            e->all[k++] = environ[i];
    }
    for (int i = 0; i < TARGETS_MOST && e->own[i]; i++)
        e->all[k++] = e->own[i];
    e->all[k] = NULL;
    return 0;
}

void metrics_beside_start(struct metrics_beside *b, const struct metrics_opts *o, const char *path,
                          const char *label, int quiet)
{
    char text[128], interval[32], price[32];
    struct environment environment;
    /* Ctrl-C is for the run; the metrics of its end are still to be sent. */
    struct again a = {.out = AGAIN_NULL, .group = AGAIN_OWN_GROUP};
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    *b = (struct metrics_beside){.life = -1, .words = -1, .label = label, .quiet = quiet};
    if (!metrics_opts_any(o))
        return;
    snprintf(interval, sizeof(interval), "%llums", (unsigned long long)(o->interval_ns / 1000000));
    again_add(&a, "pipeprobe", "metrics", "--beside", "--metrics-interval", interval, NULL);
    for (int i = 0; i < o->labels.n; i++)
        again_add(&a, "--metrics-label", o->labels.item[i], NULL);
    if (o->gpu_hour > 0) {
        snprintf(price, sizeof(price), "%.10g", o->gpu_hour);
        again_add(&a, "--gpu-hour", price, NULL);
    }
    if (o->all)
        again_add(&a, "--metrics-all", NULL);
    again_add(&a, "--", path, NULL);
    a.failed = make_environment(&environment, o);
    if (!a.failed && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0))
        a.failed = errno;
    a.environment = environment.all;
    a.in = in[0];
    a.errors = out[1];
    int rc = again_start(&a, &b->pid);
    for (int i = 0; i < TARGETS_MOST; i++)
        free(environment.own[i]);
    free(environment.all);
    if (in[0] >= 0)
        close(in[0]);
    if (out[1] >= 0)
        close(out[1]);
    b->life = in[1];
    b->words = out[0];
    if (rc != 0) {
        snprintf(text, sizeof(text), "no metrics: their process cannot be started: %s", strerror(rc));
        put_words(b, text);
        metrics_beside_end(b);
    } else if (listen_until(b, 1, pp_now_ns() + START_NS)) {
        put_words(b, "the metrics take longer than 5 s to begin; the run goes on");
    }
}

void metrics_beside_finish(struct metrics_beside *b)
{
    if (b->pid && b->life >= 0)
        close(b->life);
    if (b->pid)
        b->life = -1;
}

void metrics_beside_end(struct metrics_beside *b)
{
    metrics_beside_finish(b);
    if (b->pid && listen_until(b, 0, pp_now_ns() + END_NS)) {
        kill(b->pid, SIGKILL);
        put_words(b, "the metrics of the end were not sent within 8 s");
    }
    if (b->pid)
        again_wait(b->pid);
    if (b->life > 0)
        close(b->life);
    if (b->words > 0)
        close(b->words);
    *b = (struct metrics_beside){.life = -1, .words = -1};
}
