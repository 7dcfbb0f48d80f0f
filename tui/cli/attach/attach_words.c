#include "tui/cli/attach/attach_words.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/rules/looks_rules.h"
#include "tui/cli/exec/exec_words.h"
#include "tui/cli/cli.h"

#include <ctype.h>
#include <unistd.h>

/* ---- the table ---- */

static const char *share(char *buf, size_t size, double part_s, double s)
{
    if (!(s > 0) || isnan(part_s))
        return "-";
    snprintf(buf, size, "%.0f %%", 100 * part_s / s);
    return buf;
}

void attach_print_table(const struct attach_rows *r, const struct attach_gpu *gpu, const struct pp_page *page)
{
    FILE *out = page->out;
    char name[40], pid[32], states[96], cpu[24], delay[24], read[32], storage[32];
    fprintf(out, "%-16s %8s %7s %10s %10s %10s  %s\n", "process", "pid", "CPU", "CPU wait", "read/s",
            "storage/s", "states");
    for (size_t i = 0; i < r->n; i++) {
        const struct attach_row *row = &r->row[i];
        const struct {
            char letter;
            unsigned looks;
        } looks[] = {{'R', row->running}, {'S', row->sleeping}, {'D', row->blocked}};
        char *plain = row->kind == ATTACH_OTHER ? pp_text_plain(row->last.name) : NULL;
        size_t n = 0;
        if (row->kind == ATTACH_WORKER)
            snprintf(name, sizeof(name), "worker %d", row->number);
        else
            snprintf(name, sizeof(name), "%s", row->kind == ATTACH_JOB ? "job" : plain ? plain : "child");
        free(plain);
        *states = '\0'; /* "R 80 % S 20 % (futex_wait)" */
        for (size_t k = 0; k < 3 && row->looks; k++)
            if (looks[k].looks && n < sizeof(states))
                n += (size_t)snprintf(states + n, sizeof(states) - n, "%s%c %.0f %%", n ? " " : "",
                                      looks[k].letter, 100.0 * looks[k].looks / row->looks);
        if (*row->waits_in && n < sizeof(states))
            snprintf(states + n, sizeof(states) - n, " (%.32s)", row->waits_in);
        snprintf(pid, sizeof(pid), "%lld", (long long)row->last.pid);
        fprintf(out, "%-16.16s %8s %7s %10s %10s %10s  %s", name, row->alive ? pid : "ended",
                share(cpu, sizeof(cpu), row->cpu_s, row->alive_s),
                share(delay, sizeof(delay), row->delay_s, row->alive_s),
                pp_text_bytes(read, sizeof(read), row->alive_s > 0 ? row->read_bytes / row->alive_s : NAN),
                pp_text_bytes(storage, sizeof(storage),
                              row->alive_s > 0 ? row->storage_bytes / row->alive_s : NAN),
                states);
        if (row->processes > 1)
            fprintf(out, ", %u processes", row->processes);
        fputc('\n', out);
    }
    if (r->left_out)
        fprintf(out, "%u more children are not listed\n", r->left_out);
    fputc('\n', out);
    if (!gpu->looks)
        return;
    char text[300], memory[32];
    double busy = gpu->busy_percent / gpu->looks;
    int n = snprintf(
        text, sizeof(text),
        "idle %.0f %% of the time, running kernels %.0f %% (NVML, the machine's first GPU, all its "
        "programs)",
        100 - busy, busy);
    if (!isnan(gpu->memory_bytes))
        snprintf(text + n, sizeof(text) - (size_t)n, "; %s of its memory are in use",
                 pp_text_bytes(memory, sizeof(memory), gpu->memory_bytes));
    pp_page_text(page, PP_TONE_PLAIN, "GPU:", ATTACH_INDENT, 0, text);
}

/* ---- the hint ---- */

#define BUSY 0.75    /* of a CPU: more is busy */
#define IDLE 0.25    /* less is idle */
#define DELAYED 0.15 /* of the time: a CPU was missing */
#define BLOCKED 0.25 /* of the looks: in waits that only I/O ends */

char *attach_hint(const struct attach_workers *w, const struct attach_machine *m, char *text, size_t size)
{
    const double cpu = 100 * w->cpu, delay = 100 * w->delay;
    double blocked = w->looks ? (double)w->blocked / w->looks : 0;
    char read[32], storage[32];
    if (!w->n)
        snprintf(
            text, size,
            "No DataLoader worker was seen: the loader may have none (num_workers=0), be between two epochs, be "
            "another program's, or none of PyTorch's. What of other loaders is recorded: pipeprobe help other-loaders.");
    else if (!w->looks || isnan(w->cpu))
        snprintf(text, size, "The workers were not seen for long enough to say anything.");
    else if (w->delay >= DELAYED)
        snprintf(
            text, size,
            "Workers are ready but without a CPU %.0f %% of the time, and run %.0f %%: there are more busy "
            "threads than CPUs (%.1f usable), or a quota.",
            delay, cpu, m->usable_cpus);
    else if (blocked >= BLOCKED)
        snprintf(
            text, size,
            "Workers are in waits that only I/O ends at %.0f %% of the looks; they read %s/s, of which %s/s came "
            "from storage",
            100 * blocked, pp_text_bytes(read, sizeof(read), w->read_per_s),
            pp_text_bytes(storage, sizeof(storage), w->storage_per_s));
    else if (w->cpu >= BUSY && m->busy_cpus < m->usable_cpus - 0.5)
        snprintf(text, size, "Workers are busy: %.0f %% of a CPU each; of %.1f usable CPUs %.1f were busy.",
                 cpu, m->usable_cpus, m->busy_cpus);
    else if (w->cpu >= BUSY)
        snprintf(text, size,
                 "Workers are busy: %.0f %% of a CPU each; the %.1f usable CPUs are busy as well.", cpu,
                 m->usable_cpus);
    else if (w->cpu <= IDLE)
        snprintf(
            text, size,
            "Workers run only %.0f %% of the time each: they wait, for storage, for a lock or for the trainer; "
            "from outside these look the same.",
            cpu);
    else
        snprintf(text, size, "Workers run %.0f %% of the time each and are without a CPU %.0f %%.", cpu,
                 delay);
    return text;
}

/* ---- the verdict by stacks ---- */

#define ENOUGH_LOOKS 50 /* at a line, to be named */

static void set_facts(double number[PP_LOOKS_FACT_COUNT], const struct pp_looks *seen,
                      const struct attach_rows *r, const struct attach_machine *m)
{
    const struct attach_workers w = attach_rows_workers(r);
    const struct attach_row *maker = &r->row[0];
    double own = 0;
    for (size_t i = 0; i < r->n; i++)
        own += isnan(r->row[i].cpu_s) ? 0 : r->row[i].cpu_s;
    for (int i = 0; i < PP_LOOKS_FACT_COUNT; i++)
        number[i] = NAN;
    number[PP_LOOKS_FACT_LOOKS] = seen->looks;
    number[PP_LOOKS_FACT_WAIT] = seen->wait;
    number[PP_LOOKS_FACT_WAIT_LOW] = seen->wait_low;
    number[PP_LOOKS_FACT_WAIT_HIGH] = seen->wait_high;
    number[PP_LOOKS_FACT_MAKES] = seen->wait > 0 ? seen->makes / seen->wait : NAN;
    number[PP_LOOKS_FACT_CPUS] = m->usable_cpus;
    number[PP_LOOKS_FACT_ON_CPU] = seen->on_cpu;
    number[PP_LOOKS_FACT_IN_READ] = seen->in_read;
    number[PP_LOOKS_FACT_IDLE_CPUS] = 1 - m->busy_cpus / m->usable_cpus;
    if (r->watched_s > 0) /* CPUs that other programs than the job used */
        number[PP_LOOKS_FACT_OTHERS] = fmax(m->busy_cpus - own / r->watched_s, 0) / m->usable_cpus;
    number[PP_LOOKS_FACT_DELAY] = maker->alive_s > 0 ? maker->delay_s / maker->alive_s : NAN;
    if (!w.n)
        return;
    number[PP_LOOKS_FACT_WORKERS] = w.alive ? w.alive : w.n;
    number[PP_LOOKS_FACT_WORKERS_PER_CPU] = number[PP_LOOKS_FACT_WORKERS] / m->usable_cpus;
    number[PP_LOOKS_FACT_BUSY] = seen->busy;
    number[PP_LOOKS_FACT_DELAY] = w.delay;
}

int attach_print_looks(const struct pp_looks *seen, const struct attach_rows *r,
                       const struct attach_machine *m, const struct pp_page *page)
{
    double number[PP_LOOKS_FACT_COUNT];
    const char *words[PP_LOOKS_FACT_COUNT] = {NULL};
    char text[900], class[32] = "";
    struct pp_arena arena = {0};
    enum { LINE = 400 };
    /* The line that takes most of the making of batches, where it was seen often enough. */
    const struct pp_op *op = seen->ops.n_ops && seen->ops.ops[0].n >= ENOUGH_LOOKS ? &seen->ops.ops[0] : NULL;
    const struct pp_op_step *step = seen->ops.n_steps ? &seen->ops.steps[0] : NULL;
    const struct pp_values v = {pp_looks_facts, PP_LOOKS_FACT_COUNT, number, words};
    set_facts(number, seen, r, m);
    words[PP_LOOKS_FACT_OWNER] = op ? op->name : "the making of samples";
    const struct pp_rule *rule = pp_rules_first(pp_looks_rules, pp_looks_rules_n, &v);
    const char *said = rule ? pp_rules_fill(rule->said, &v, &arena) : NULL;
    if (said) {
        if (!rule->not_shown) {
            snprintf(
                text, sizeof(text),
                "Training waits for data %.0f %% of the time (%.0f to %.0f %%), by %.0f looks at its stack.",
                100 * seen->wait, 100 * seen->wait_low, 100 * seen->wait_high, seen->looks);
            pp_page_text(page, PP_TONE_STRONG, "", 0, 0, text);
        }
        /* "there are too few workers. ... [LOADER-BOUND (under-parallel), likely]" */
        for (size_t i = 0; rule->l1 && rule->l1[i] && i + 1 < sizeof(class); i++)
            class[i] = (char)toupper((unsigned char)rule->l1[i]);
        if (rule->says == PP_SAYS_UNKNOWN)
            snprintf(text, sizeof(text), "not known: %s.", said);
        else if (!rule->l1)
            snprintf(text, sizeof(text), "%s. [NOT input-bound, likely]", said);
        else
            snprintf(text, sizeof(text), "%s. [%s-BOUND%s%s%s, likely]", said, class, rule->l2 ? " (" : "",
                     rule->l2 ? rule->l2 : "", rule->l2 ? ")" : "");
        pp_page_text(page, rule->says == PP_SAYS_SO ? PP_TONE_BAD : PP_TONE_PLAIN, "Cause:", ATTACH_INDENT, 0,
                     text);
        *text = '\0';
        if (rule->says == PP_SAYS_SO && op && op->place)
            snprintf(
                text, LINE,
                "%s, %s, has %.0f %% of the making of batches (%.0f to %.0f %%), %.0f %% of that on a CPU.",
                op->place, op->name, 100 * op->share, 100 * op->share_low, 100 * op->share_high,
                100 * op->cpu / op->n);
        else if (rule->says != PP_SAYS_SO && step && step->n >= ENOUGH_LOOKS)
            snprintf(text, LINE,
                     "%s%s%s has %.0f %% of the looks at the training thread outside of the DataLoader.",
                     step->place, step->callee ? ", " : "", step->callee ? step->callee : "",
                     100 * step->share);
        if (*text)
            pp_page_text(page, PP_TONE_PLAIN, "Line:", ATTACH_INDENT, 0, text);
        const char *advice = rule->says == PP_SAYS_SO
                                 ? pp_rules_fill(pp_remedies[rule->remedy].sentence, &v, &arena)
                                 : NULL;
        if (advice)
            pp_page_text(page, PP_TONE_GOOD, "Do:", ATTACH_INDENT, 0, advice);
    }
    pp_arena_free(&arena);
    return said && !rule->not_shown;
}

/* ---- what cannot be known ---- */

void attach_print_rest(const struct attach_rows *r, const struct attach_gpu *gpu, int has_verdict,
                       const char *why, const struct pp_page *page)
{
    static const char lead[] = "pipeprobe exec -- ";
    char line[8192] = "", path[64], dir[PATH_MAX], own[PATH_MAX], text[PATH_MAX + 64];
    const char *none;
    snprintf(path, sizeof(path), "/proc/%lld/cwd", (long long)r->pid);
    ssize_t n = readlink(path, dir, sizeof(dir) - 1);
    dir[n > 0 ? n : 0] = '\0';
    char *plain = *dir && (!getcwd(own, sizeof(own)) || strcmp(own, dir) != 0) ? pp_text_plain(dir) : NULL;
    snprintf(text, sizeof(text),
             "%s, and which part of a sample (read, decode, transform, collate) takes the time.%s",
             has_verdict ? "What a change gains" : "How long the training waits for data",
             gpu->looks ? ""
             : gpu->why.code == PP_E_NOT_FOUND
                 ? " Whether a GPU idles: NVML, which comes with NVIDIA's driver, is not installed."
                 : " Whether a GPU idles: NVML does not tell.");
    pp_page_text(page, PP_TONE_PLAIN, "Not known:", ATTACH_INDENT, 0, text);
    pp_page_text(page, PP_TONE_PLAIN, "Why:", ATTACH_INDENT, 0,
                 why ? why : "With --outside nothing is put into the job.");
    snprintf(text, sizeof(text), "Start the job so%s%s:", plain ? ", in " : "", plain ? plain : "");
    pp_page_text(page, PP_TONE_PLAIN, "To know it:", ATTACH_INDENT, 0, text);
    /* The job's command line under pipeprobe exec; without one, an example of it. */
    char **words = attach_rows_command(r);
    if (words && words[0] && !exec_words_advice(words, line, sizeof(line), &none) && !*line) {
        memcpy(line, lead, sizeof(lead));
        pp_shell_words(words, line + sizeof(lead) - 1, sizeof(line) - sizeof(lead) + 1);
    }
    if (!*line)
        snprintf(line, sizeof(line), "%spython3 train.py", lead);
    free(words);
    fprintf(page->out, "\n    %s\n", line);
    free(plain);
}

void attach_print_inside(const struct attach_rows *r, const struct attach_enter *e,
                         const struct pp_page *page)
{
    char text[600], after[32];
    size_t n = (size_t)snprintf(text, sizeof(text), "Process %lld took the hooks ", (long long)r->pid);
    if (e->since_s < 1)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "at once");
    else
        n += (size_t)snprintf(text + n, sizeof(text) - n, "after %s",
                              pp_text_duration(after, sizeof(after), 1e9 * e->since_s));
    if (e->workers)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "; so did %u of the %u workers that ran already",
                              e->entered, e->workers);
    snprintf(text + n, sizeof(text) - n,
             ". Reads count as decoding, except in workers that are spawned anew.");
    pp_page_text(page, PP_TONE_PLAIN, "Recorded:", ATTACH_INDENT, 0, text);
}
