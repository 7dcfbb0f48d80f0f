#include "tui/cli/doctor/doctor_checks.h"

#include "collectors/store/reader.h"
#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "tui/cli/jobs/again.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define PATIENCE_NS 60000000000u /* an import of torch from a cold network file system */
#define LOOK_MS 20

/* Prints its version and path, then those of torch, then lets a worker read a file 64 times. fork: a class of
 * a program in -c cannot be sent to a worker in another way. */
static const char job[] =
    "import sys, os\n"
    "def tell(*words):\n"
    "    os.write(1, ('\\t'.join(words) + '\\n').encode())\n"
    "tell('python', '.'.join(map(str, sys.version_info[:3])), sys.executable)\n"
    "try:\n"
    "    import torch, torch.utils.data as data\n"
    "except ImportError as e:\n"
    "    tell('missing', str(e).split('\\n')[0])\n"
    "    sys.exit()\n"
    "tell('torch', torch.__version__, os.path.dirname(torch.__file__))\n"
    "class Reads(data.Dataset):\n"
    "    def __len__(self):\n"
    "        return 64\n"
    "    def __getitem__(self, i):\n"
    "        with open(os.path.realpath(data.__file__), 'rb') as f:\n"
    "            return len(f.read())\n"
    "for batch in data.DataLoader(Reads(), batch_size=8, num_workers=1, multiprocessing_context='fork'):\n"
    "    pass\n"
    "tell('done')\n";

const char *pp_doctor_python = "python3";

static struct probe {
    int made;
    char version[32], path[200], torch[32], torch_path[200], missing[200];
    int done;                 /* all batches came */
    char why[240], note[240]; /* why there are no hooks; what a hook could not be put into */
    int recorded, timed;      /* spans of the worker; its reads among them */
} probe;

static void read_word(char *to, size_t size, char **at)
{
    const char *word = strsep(at, "\t\n");
    snprintf(to, size, "%s", word ? word : "");
}

static void on_note(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    char *to = value && strcmp(key, "unhooked") == 0 ? probe.why : probe.note;
    if (value && !*to)
        snprintf(to, sizeof(probe.why), "%s", value);
}

static int on_spans(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        probe.recorded = 1;
        probe.timed |= spans[i].phase == PP_PHASE_READ;
    }
    return 0;
}

/* exec is this program itself. A job that does not end is ended. */
static void run_job(const char *file, const char *words)
{
    int ends[2], status = 0;
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    struct again a = {.in = AGAIN_NULL, .out = ends[1], .group = AGAIN_OWN_SESSION};
    a.errors = open(words, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    again_add(&a, "pipeprobe", "exec", "-o", file, "--", pp_doctor_python, "-c", job, NULL);
    int failed = a.errors < 0 || again_start(&a, &pid) != 0;
    if (a.errors >= 0)
        close(a.errors);
    close(ends[1]);
    uint64_t until_ns = pp_now_ns() + PATIENCE_NS;
    while (!failed && !again_has_ended(&pid, &status) && pp_now_ns() < until_ns)
        poll(NULL, 0, LOOK_MS);
    if (pid > 0) {
        kill(-pid, SIGKILL);
        again_wait(pid);
        snprintf(probe.why, sizeof(probe.why), "%.150s did not end within a minute", pp_doctor_python);
    }
    FILE *in = fdopen(ends[0], "r");
    if (in) {
        /* What the job said; a torch that prints while it is imported adds lines of its own. */
        char line[600];
        while (fgets(line, sizeof(line), in)) {
            char *at = line, word[16];
            read_word(word, sizeof(word), &at);
            if (strcmp(word, "python") == 0) {
                read_word(probe.version, sizeof(probe.version), &at);
                read_word(probe.path, sizeof(probe.path), &at);
            } else if (strcmp(word, "torch") == 0) {
                read_word(probe.torch, sizeof(probe.torch), &at);
                read_word(probe.torch_path, sizeof(probe.torch_path), &at);
            } else if (strcmp(word, "missing") == 0) {
                read_word(probe.missing, sizeof(probe.missing), &at);
            } else if (strcmp(word, "done") == 0) {
                probe.done = 1;
            }
        }
        fclose(in);
    }
}

static void probe_python(void)
{
    const char *tmp = getenv("TMPDIR");
    char dir[PATH_MAX - 32], file[PATH_MAX], words[PATH_MAX], line[400];
    if (probe.made++)
        return;
    snprintf(dir, sizeof(dir), "%s/pipeprobe-doctor-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) {
        snprintf(probe.why, sizeof(probe.why), "no directory for a recording can be made in %.150s", tmp);
        return;
    }
    snprintf(file, sizeof(file), "%s/probe.sqlite", dir);
    snprintf(words, sizeof(words), "%s/words", dir);
    run_job(file, words);
    struct pp_reader *r = NULL;
    struct pp_err err;
    if (pp_reader_open(file, &r, &err) == PP_OK) {
        pp_reader_each_chunk(r, on_spans, NULL, NULL, &err);
        pp_reader_each_meta(r, "process_note", on_note, NULL, &err);
        pp_reader_close(r);
    }
    if (!probe.recorded && !*probe.why && again_last_line(words, line, sizeof(line)))
        snprintf(probe.why, sizeof(probe.why), "%.239s",
                 strncmp(line, "pipeprobe exec: ", 16) == 0 ? line + 16 : line);
    unlink(file);
    unlink(words);
    rmdir(dir);
}

void pp_look_python(enum pp_python_look what, struct pp_finding *f)
{
    const char *said = NULL; /* what is found; NULL: in f already */
    char line[16];
    int minor = 0, scope = 0;
    probe_python();
    switch (what) {
    case PP_PYTHON_NONE: break;
    case PP_PYTHON_STARTS:
        f->answer = *probe.version ? PP_YES : PP_NO;
        if (*probe.version)
            snprintf(f->value, sizeof(f->value), "%s, %s", probe.version, probe.path);
        else
            snprintf(f->value, sizeof(f->value), "%.100s does not start", pp_doctor_python);
        break;
    case PP_PYTHON_TORCH:
        f->answer = *probe.torch ? PP_YES : PP_NO;
        if (*probe.torch)
            snprintf(f->value, sizeof(f->value), "%s, %s", probe.torch, probe.torch_path);
        else
            said = *probe.missing ? probe.missing : "not found: no Python was started";
        break;
    case PP_PYTHON_HOOKS:
        f->answer = !*probe.torch ? PP_CANNOT_TELL : probe.recorded && !*probe.note ? PP_YES : PP_NO;
        said = f->answer == PP_CANNOT_TELL ? "not tried: this Python has no torch"
               : f->answer == PP_YES       ? "a DataLoader with a worker was recorded"
               : *probe.note               ? probe.note
                                           : probe.why;
        break;
    case PP_PYTHON_READS:
        f->answer = !probe.recorded ? PP_CANNOT_TELL : probe.timed ? PP_YES : PP_NO;
        said = f->answer == PP_CANNOT_TELL ? "not tried: no DataLoader was recorded"
               : f->answer == PP_YES       ? "a worker's reads were timed"
                                           : "libpipeprobe_reads.so is not in the worker (missing, or "
                                             "LD_PRELOAD is not taken)";
        break;
    case PP_PYTHON_ATTACH:
        scope = pp_io_line(line, sizeof(line), "/proc/sys/kernel/yama/ptrace_scope") ? atoi(line) : 0;
        int known = sscanf(probe.version, "3.%d", &minor) == 1, takes = known && minor >= 14,
            allowed = geteuid() == 0 ? scope < 3 : scope < 1;
        f->answer = !known ? PP_CANNOT_TELL : takes && allowed ? PP_YES : PP_NO;
        if (!known)
            said = "no Python was started";
        else if (!takes)
            snprintf(f->value, sizeof(f->value), "Python 3.%d takes no hooks while it runs; 3.14 does",
                     minor);
        else if (!allowed)
            snprintf(f->value, sizeof(f->value), "kernel.yama.ptrace_scope is %d%s", scope,
                     scope < 3 ? ": only root may" : "");
        else
            snprintf(f->value, sizeof(f->value), "Python 3.%d takes hooks while it runs", minor);
        break;
    }
    if (said)
        snprintf(f->value, sizeof(f->value), "%s", said);
}
