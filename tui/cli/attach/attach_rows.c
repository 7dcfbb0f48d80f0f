#include "tui/cli/attach/attach_words.h"

#include "probe/base/clock.h"

#include <unistd.h>

pp_status attach_rows_begin(struct attach_rows *r, int64_t pid, struct pp_err *err)
{
    memset(r, 0, sizeof(*r));
    r->pid = pid;
    r->row[0] = (struct attach_row){.kind = ATTACH_JOB, .alive = 1, .processes = 1};
    r->n = 1;
    if (!pp_watch_look(pid, &r->row[0].last))
        return pp_fail(err, PP_E_NOT_FOUND, "process %lld has ended", (long long)pid);
    r->command_bytes = pp_watch_command(pid, r->command, sizeof(r->command));
    r->last_ns = pp_now_ns();
    return PP_OK;
}

/* ---- one process ---- */

/* Threads end and take their counts with them: a total that shrinks adds nothing. */
static void add_growth(double *sum, double before, double now)
{
    *sum += now < before ? 0 : now - before; /* NAN stays */
}

static void add_look(struct attach_row *row, const struct pp_watch_look *now, double passed_s)
{
    const struct pp_watch_look *before = &row->last;
    row->alive_s += passed_s;
    add_growth(&row->cpu_s, before->cpu_s, now->cpu_s);
    add_growth(&row->delay_s, before->delay_s, now->delay_s);
    add_growth(&row->read_bytes, before->read_bytes, now->read_bytes);
    add_growth(&row->storage_bytes, before->storage_bytes, now->storage_bytes);
    row->looks++;
    row->running += now->state == 'R';
    row->sleeping += now->state == 'S' || now->state == 'I';
    row->blocked += now->state == 'D';
    if (*now->wait)
        memcpy(row->waits_in, now->wait, sizeof(row->waits_in));
    row->last = *now;
    row->alive = 1;
}

/* ---- the children ---- */

/* One that started while we watch has used all it has used meanwhile. */
static void add_child(struct attach_rows *r, const struct pp_watch_look *now, enum attach_row_kind kind,
                      double passed_s)
{
    struct attach_row *row = NULL;
    int number = 0;
    double up_s = (double)pp_clock_of(CLOCK_BOOTTIME) / 1e9,
           age_s = fmax(up_s - (double)now->started / (double)sysconf(_SC_CLK_TCK), 0);
    /* A worker that is started anew takes the number of one that has ended. */
    for (size_t i = 1; i < r->n && !row; i++) {
        struct attach_row *old = &r->row[i];
        if (old->kind == kind && !old->alive && (kind == ATTACH_WORKER || r->n == ATTACH_ROWS_MAX))
            row = old;
        number += old->kind == kind;
    }
    if (!row && r->n == ATTACH_ROWS_MAX) {
        r->left_out++;
        return;
    }
    if (!row) {
        row = &r->row[r->n++];
        *row = (struct attach_row){.kind = kind, .number = number};
    }
    row->processes++;
    row->last = *now;
    if (r->looks && age_s < passed_s + 0.1) {
        row->last.cpu_s = row->last.delay_s = row->last.read_bytes = row->last.storage_bytes = 0;
        add_look(row, now, fmin(passed_s, age_s));
    }
    row->alive = 1;
}

struct level {
    int64_t parent[ATTACH_ROWS_MAX];
    size_t n;
    const char *command;
    size_t command_bytes;
};

/* Children of one level; fills servers with those whose children are workers. */
static void look_at_level(struct attach_rows *r, const struct level *level, double passed_s,
                          struct level *servers)
{
    static char command[ATTACH_COMMAND_MAX]; /* one thread: the command's */
    int64_t pid[2 * ATTACH_ROWS_MAX];
    struct pp_watch_look now;
    size_t n = pp_watch_children(level->parent, level->n, pid, 2 * ATTACH_ROWS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!pp_watch_look(pid[i], &now) || now.state == 'Z')
            continue;
        size_t bytes = pp_watch_command(pid[i], command, sizeof(command));
        enum pp_watch_kind kind = pp_watch_kind_of(&now, command, bytes, level->command,
                                                   level->command_bytes);
        size_t known = 1;
        while (known < r->n &&
               (r->row[known].last.pid != now.pid || r->row[known].last.started != now.started))
            known++;
        if (kind == PP_WATCH_SERVER && servers->n < ATTACH_ROWS_MAX)
            servers->parent[servers->n++] = pid[i];
        if (kind == PP_WATCH_SERVER || kind == PP_WATCH_HELPER)
            continue;
        if (known < r->n)
            add_look(&r->row[known], &now, passed_s);
        else
            add_child(r, &now, kind == PP_WATCH_WORKER ? ATTACH_WORKER : ATTACH_OTHER, passed_s);
    }
}

int attach_rows_look(struct attach_rows *r)
{
    static const char server[] = "multiprocessing.forkserver"; /* the words of its children are its own */
    struct pp_watch_look now;
    uint64_t at = pp_now_ns();
    double passed_s = (double)(at - r->last_ns) / 1e9;
    struct level job = {.parent = {r->pid}, .n = 1, .command = r->command, .command_bytes = r->command_bytes},
                 servers = {.n = 0, .command = server, .command_bytes = sizeof(server)}, none = {.n = 0};
    if (!pp_watch_look(r->pid, &now) || now.started != r->row[0].last.started || now.state == 'Z')
        return 0;
    r->left_out = 0;
    /* The ones known first: a number is free only when its process has gone. */
    for (size_t i = 1; i < r->n; i++) {
        struct pp_watch_look known;
        r->row[i].alive = pp_watch_look(r->row[i].last.pid, &known) &&
                          known.started == r->row[i].last.started && known.state != 'Z';
    }
    look_at_level(r, &job, passed_s, &servers);
    if (servers.n)
        look_at_level(r, &servers, passed_s, &none);
    r->n_servers = servers.n < ATTACH_SERVERS_MAX ? servers.n : ATTACH_SERVERS_MAX;
    memcpy(r->server, servers.parent, r->n_servers * sizeof(r->server[0]));
    if (r->looks)
        add_look(&r->row[0], &now, passed_s);
    else
        r->row[0].last = now;
    r->watched_s += r->looks ? passed_s : 0;
    r->last_ns = at;
    r->looks++;
    return 1;
}

struct attach_workers attach_rows_workers(const struct attach_rows *r)
{
    struct attach_workers w = {0};
    double alive_s = 0, cpu_s = 0, delay_s = 0, read = 0, storage = 0;
    for (size_t i = 1; i < r->n; i++) {
        const struct attach_row *row = &r->row[i];
        if (row->kind != ATTACH_WORKER)
            continue;
        w.n++;
        w.alive += (unsigned)row->alive;
        w.looks += row->looks;
        w.running += row->running;
        w.blocked += row->blocked;
        alive_s += row->alive_s;
        cpu_s += row->cpu_s;
        delay_s += row->delay_s;
        read += row->read_bytes;
        storage += row->storage_bytes;
    }
    w.cpu = alive_s > 0 ? cpu_s / alive_s : NAN;
    w.delay = alive_s > 0 ? delay_s / alive_s : NAN;
    w.read_per_s = r->watched_s > 0 ? read / r->watched_s : NAN;
    w.storage_per_s = r->watched_s > 0 ? storage / r->watched_s : NAN;
    return w;
}

char **attach_rows_command(const struct attach_rows *r)
{
    size_t words = 1, k = 0;
    for (size_t i = 0; i < r->command_bytes; i++)
        words += r->command[i] == '\0';
    char **out = calloc(1, (words + 1) * sizeof(*out) + r->command_bytes + 1),
         *text = (char *)(out + words + 1);
    if (!out)
        return NULL;
    memcpy(text, r->command, r->command_bytes);
    for (size_t at = 0; at < r->command_bytes && k < words; at += strlen(text + at) + 1)
        out[k++] = text + at;
    return out;
}
