#include "tui/cli/digest_beside.h"
#include "probe/base/clock.h"
#include "report/ranks/digest.h"
#include "tui/cli/cli.h"
#include "tui/cli/jobs/again.h"
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_NS UINT64_C(60000000000)
#define LOOK_NS UINT64_C(10000000)

void digest_beside_start(struct digest_beside *b, const struct digest_opts *o, const char *recording,
                         int of_host, const char *label)
{
    int in[2] = {-1, -1}, rc;
    struct stat info;
    *b = (struct digest_beside){.names = -1, .label = label};
    if (!o->directory || !*o->directory)
        return;
    /* DIR/rank0003.digest of .../rank0003.sqlite. */
    const char *base = basename(recording);
    size_t d = strlen(o->directory);
    char host[HOST_NAME_MAX + 2] = "", every[32];
    if (of_host && gethostname(host, HOST_NAME_MAX) == 0)
        strcat(host, "-");
    snprintf(b->path, sizeof(b->path), "%s%s%s%.*s.digest", o->directory,
             d && o->directory[d - 1] == '/' ? "" : "/", host, pp_stem(base), base);
    rc = mkdir(o->directory, 0777) == 0 || errno == EEXIST ? 0 : errno;
    if (rc) {
        pp_cli_say(stderr, "%sno digest in %s: %s", label, o->directory, strerror(rc));
        return;
    }
    if (stat(b->path, &info) == 0 && !pp_digest_is_file(b->path)) {
        pp_cli_say(stderr, "%scannot write the digest: %s exists and is not a digest; move or rename it",
                   label, b->path);
        return;
    }
    /* a socket, as a pipe whose reader is gone would end the process that writes */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) {
        rc = errno;
    } else { /* Ctrl-C is for the job; the digest of its end is to be written */
        struct again a = {.in = in[0], .out = AGAIN_NULL, .group = AGAIN_OWN_GROUP};
        snprintf(every, sizeof(every), "%llums", (unsigned long long)(o->every_ns / 1000000));
        again_add(&a, "pipeprobe", "merge", "--beside", "--force", "--every", every, "-o", b->path, NULL);
        rc = again_start(&a, &b->pid);
        close(in[0]);
    }
    b->names = in[1];
    if (rc == 0)
        return;
    pp_cli_say(stderr, "%sno digest: its process cannot be started: %s", label, strerror(rc));
    if (b->names >= 0)
        close(b->names);
    b->names = -1;
}

void digest_beside_add(const struct digest_beside *b, const char *recording)
{
    char line[PATH_MAX + 2];
    char *whole = b->pid ? realpath(recording, NULL) : NULL;
    int n = whole ? snprintf(line, sizeof(line), "%s\n", whole) : 0;
    free(whole);
    if (n <= 0 || (size_t)n >= sizeof(line))
        return;
    while (send(b->names, line, (size_t)n, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

void digest_beside_finish(struct digest_beside *b)
{
    if (b->pid && b->names >= 0)
        close(b->names);
    if (b->pid)
        b->names = -1;
}

void digest_beside_end(struct digest_beside *b, int quiet)
{
    uint64_t deadline = pp_now_ns() + END_NS;
    int status = 0, ended = 0;
    if (!b->pid)
        return;
    digest_beside_finish(b);
    while (!(ended = again_has_ended(&b->pid, &status)) && pp_now_ns() <= deadline)
        pp_sleep_until_ns(pp_now_ns() + LOOK_NS);
    if (!ended)
        pp_cli_say(stderr, "%sthe digest %s is still being made", b->label, b->path);
    else if (!quiet && again_code(status) == 0)
        pp_cli_say(stderr, "%sthe digest of the ranks here is %s", b->label, b->path);
    *b = (struct digest_beside){.names = -1, .label = b->label};
}
