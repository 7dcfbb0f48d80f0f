/* `pipeprobe merge`: the recordings of ranks, or digests of them, as one digest. */
#include "tui/cli/cli.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/output.h"
#include "tui/cli/rank_files.h"
#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include <poll.h>
#include <unistd.h>

struct options {
    const char *output;
    uint64_t every_ns;
    int force, beside;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .group = "Options", .help = "the digest; call it NAME.digest, as directories are searched for"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force), .dflt = "0",
     .help = "replace FILE"},
    {.name = "every", .type = PP_OPT_DURATION, .offset = AT(every_ns), .arg = "TIME", .min = 1e8, .max = 86400e9,
     .help = "while they are recorded: write it anew each TIME, until all have ended"},
    {.name = "beside", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(beside), .dflt = "0",
     .help = "for run and exec: names of recordings come by standard input, until it ends"},
    {.name = NULL},
};
/* clang-format on */

/* ---- --every TIME: the digest of recordings that are still written, anew each TIME until all of them have
 * ended, and then once more with what a complete recording tells. Each look costs what came since the one
 * before; where that is more than a 1,000th of the time between looks, the looks are further apart. ---- */

#define LEAST_REST 1000 /* times the CPU time of a look: at most 0.1 % of a CPU */
#define WAKE_MS 1000
#define BEGINS_WITHIN_NS 10000000000u /* from its file to what can be read of a recording */

struct file {
    char *path;
    struct pp_digest_follow *follow; /* NULL: it is a digest */
    struct pp_digest last;           /* rows 0: none yet */
    int ended;
    uint64_t strange_since_ns; /* of no rank, or not to be read, and not being written; 0: it is not so */
    int apart;                 /* of no rank, damaged, or of another job: said, and left out */
};

struct follow {
    const struct options *o;
    struct file *file;
    size_t n, room;
    struct stat output; /* which is none of the files; st_ino 0: it is not there */
    char line[PATH_MAX];
    size_t n_line;
    int words_ended; /* of standard input */
    int is_told;     /* that it could not be written */
};

static pp_status add_file(void *ctx, const char *path, int named, struct pp_err *err)
{
    struct follow *g = ctx;
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->file[i].path, path) == 0)
            return PP_OK;
    if (pp_output_is(&g->output, path))
        return PP_OK;
    if (!pp_grow(&g->file, &g->room, g->n + 1, sizeof(*g->file)))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu recordings", g->n + 1);
    int is_digest = pp_digest_is_file(path);
    struct file f = {.path = strdup(path), .follow = is_digest ? NULL : pp_digest_follow_new(path)};
    if (!f.path || (!is_digest && !f.follow)) {
        free(f.path);
        pp_digest_follow_free(f.follow);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to follow %s", path);
    }
    g->file[g->n++] = f;
    return PP_OK;
}

/* ---- a look ---- */

/* What is there by now. A file that cannot be read at the moment keeps what was read before. complete: it is
 * the last look, which has time for a whole report. */
static pp_status read_files(struct follow *g, int complete, struct pp_err *err)
{
    for (size_t k = 0; k < g->n; k++) {
        struct file *f = &g->file[k];
        struct pp_digest d = {0};
        if (f->apart || (!complete && f->ended))
            continue;
        pp_status st = !f->follow ? pp_digest_load(f->path, &d, err)
                       : complete ? pp_digest_read(f->path, 1, &d, err)
                                  : pp_digest_follow_look(f->follow, UINT64_MAX, pp_clock_of(CLOCK_REALTIME),
                                                          &d, &f->ended, err);
        if (st == PP_OK) {
            pp_digest_free(&f->last);
            f->last = d;
            f->ended = f->follow ? f->ended : 1;
            for (size_t i = 0; !f->follow && i < d.n_rows; i++)
                f->ended &= !d.rows[i].running;
            f->strange_since_ns = 0;
            continue;
        }
        pp_digest_free(&d);
        if (st == PP_E_NO_MEMORY)
            return st;
        /* One that has just begun is not locked yet by who writes it, and does not say yet which rank it is
         * of. */
        uint64_t now = pp_now_ns();
        int unwritten = complete || f->ended || !f->follow;
        f->strange_since_ns = !unwritten ? 0 : f->strange_since_ns ? f->strange_since_ns : now;
        f->ended = complete || (unwritten && now - f->strange_since_ns >= BEGINS_WITHIN_NS);
        if (f->ended && (st == PP_E_USAGE || !f->last.n_rows)) {
            pp_cli_note("left out", err->text);
            f->apart = 1;
        }
    }
    return PP_OK;
}

/* ---- the digest of all ---- */

/* A job that was started again numbers its ranks anew: its last attempt counts. */
static int is_part(const struct file *f, int64_t attempt)
{
    return !f->apart && f->last.n_rows && (f->last.rows[0].attempt < 0 || f->last.rows[0].attempt == attempt);
}

/* A disk that is full for a while is said once; the job goes on. */
static pp_status write_out(struct follow *g, struct pp_err *err)
{
    struct pp_digest all = {0};
    struct pp_digest_pile pile = {.n = 0};
    int64_t attempt = -1;
    pp_status st = PP_OK;
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->file[i].last.n_rows && !g->file[i].apart; k++)
            if (g->file[i].last.rows[k].attempt > attempt)
                attempt = g->file[i].last.rows[k].attempt;
    for (size_t i = 0; st == PP_OK && i < g->n; i++) {
        struct pp_digest copy = {0};
        if (!is_part(&g->file[i], attempt))
            continue;
        st = pp_digest_merge(&copy, &g->file[i].last, err);
        if (st == PP_OK)
            st = pp_pile_add(&pile, &copy, err);
        else
            pp_digest_free(&copy);
    }
    if (st == PP_OK)
        st = pp_pile_end(&pile, &all, err);
    pp_pile_free(&pile);
    if (st == PP_E_USAGE) {
        st = PP_OK; /* one by one: what does not belong to those before it is left out */
        for (size_t i = 0; st == PP_OK && i < g->n; i++) {
            if (!is_part(&g->file[i], attempt))
                continue;
            st = pp_digest_merge(&all, &g->file[i].last, err);
            if (st == PP_E_USAGE) {
                pp_cli_note("left out", err->text);
                g->file[i].apart = 1;
                st = PP_OK;
            }
        }
    }
    if (st == PP_OK && all.n_rows) {
        st = pp_digest_store(&all, g->o->output, err);
        if (stat(g->o->output, &g->output) != 0)
            g->output = (struct stat){0};
        if (st != PP_OK && !g->is_told)
            pp_cli_note("digest", err->text);
        g->is_told |= st != PP_OK;
    }
    pp_digest_free(&all);
    return st;
}

/* ---- the time between ---- */

/* Until then, or the end. */
static pp_status wait_until(struct follow *g, uint64_t until_ns, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (uint64_t now;
         st == PP_OK && !interrupt_asked() && !g->words_ended && (now = pp_now_ns()) < until_ns;) {
        struct pollfd fd = {.fd = g->o->beside ? STDIN_FILENO : -1, .events = POLLIN};
        uint64_t left_ms = (until_ns - now) / 1000000 + 1;
        if (poll(&fd, 1, left_ms < WAKE_MS ? (int)left_ms : WAKE_MS) > 0) {
            char text[4096];
            ssize_t n = read(STDIN_FILENO, text, sizeof(text));
            g->words_ended |= n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
            for (ssize_t i = 0; i < n && st == PP_OK; i++) {
                if (text[i] != '\n' && g->n_line < sizeof(g->line) - 1)
                    g->line[g->n_line++] = text[i];
                if (text[i] != '\n')
                    continue;
                g->line[g->n_line] = '\0';
                g->n_line = 0;
                st = add_file(g, g->line, 1, err);
            }
        }
    }
    return st;
}

/* operands: recordings and directories of them. Signals end it after a last look; beside another command, its
 * end. PP_E_USAGE: nothing of a rank came. */
static pp_status follow_ranks(const struct options *o, const char *const *operands, int n, struct pp_err *err)
{
    struct follow g = {.o = o};
    int first = 1, ended = 0;
    interrupt_catch(o->beside ? INTERRUPT_BESIDE : INTERRUPT_WAKES, NULL);
    interrupt_ignore_pipe();
    pp_status st = PP_OK, written = PP_OK;
    while (st == PP_OK && !ended) {
        uint64_t began = pp_now_ns(), cpu = pp_clock_of(CLOCK_PROCESS_CPUTIME_ID);
        struct stat info;
        if (first && !o->beside && !n)
            st = pp_fail(err, PP_E_USAGE, "no recordings given: name the directory that they are in");
        /* A directory is looked through again: a rank may have begun. */
        for (int i = 0; st == PP_OK && !o->beside && i < n; i++) {
            if (stat(operands[i], &info) != 0)
                st = first ? pp_fail_errno(err, errno, "reading %s failed", operands[i]) : PP_OK;
            else if ((st = pp_rank_files_each(&operands[i], 1, add_file, &g, err)) == PP_E_USAGE)
                st = PP_OK; /* an empty directory: a rank is going to begin */
        }
        if (st == PP_OK)
            st = read_files(&g, 0, err);
        if (st == PP_OK)
            written = write_out(&g, err);
        cpu = pp_clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        uint64_t apart = cpu * LEAST_REST > o->every_ns ? cpu * LEAST_REST : o->every_ns;
        size_t parts = 0, running = 0;
        for (size_t i = 0; i < g.n; i++) {
            parts += !g.file[i].apart;
            running += !g.file[i].apart && !g.file[i].ended;
        }
        ended = !o->beside && parts && !running;
        if (st == PP_OK && !ended)
            st = wait_until(&g, began + apart, err);
        ended |= interrupt_asked() || g.words_ended;
        first = 0;
    }
    if (st == PP_OK)
        st = read_files(&g, 0, err); /* quick, in case that there is no time for the next one */
    if (st == PP_OK)
        written = write_out(&g, err);
    if (st == PP_OK && !interrupt_asked())
        st = read_files(&g, 1, err);
    if (st == PP_OK && !interrupt_asked())
        written = write_out(&g, err);
    st = st == PP_OK ? written : st;
    if (st == PP_OK && !g.output.st_ino)
        st = pp_fail(err, PP_E_USAGE, "no rank was recorded, so that there is no digest %s", o->output);
    for (size_t i = 0; i < g.n; i++) {
        free(g.file[i].path);
        pp_digest_follow_free(g.file[i].follow);
        pp_digest_free(&g.file[i].last);
    }
    free(g.file);
    return st;
}

/* ---- the command ---- */

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    struct pp_digest all = {0};
    pp_status st = pp_output_is_stdout(o->output)
                       ? pp_fail(err, PP_E_USAGE, "give the digest a name: --output FILE")
                       : pp_output_check(o->output, o->force, err);
    if (st == PP_OK && o->every_ns)
        st = follow_ranks(o, operands, n, err);
    else if (st == PP_OK)
        st = pp_rank_files_read(operands, n, o->output, &all, err);
    if (st == PP_OK && !o->every_ns)
        st = pp_digest_store(&all, o->output, err);
    pp_digest_free(&all);
    return st;
}

const struct pp_command pp_cmd_merge = {
    .name = "merge",
    .summary = "make one small digest of the recordings of many ranks",
    .usage = "merge FILE|DIRECTORY... -o DIGEST",
    .opts = opts,
    .notes = "Takes recordings and digests in any order and any tree: the result is the same\n"
             "file, byte by byte. Merge per machine first, then what the machines gave.\n"
             "pipeprobe ranks reads digests as it reads recordings. --every is for a job that\n"
             "runs: the digest is then at most TIME old when a machine is lost. Started with\n"
             "run or exec, that is --digest-to DIR.",
    .examples = {"pipeprobe merge /scratch/job -o $(hostname).digest",
                 "pipeprobe merge *.digest -o job.digest"},
    .fields = sizeof(struct options),
    .act = act,
};
