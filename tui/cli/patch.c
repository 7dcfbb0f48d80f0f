/* `pipeprobe patch`: a change of a report as a diff of the job's own file, on standard output. The file is
 * read, never written: what the recording says of its name is only followed below the directory given. */
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "report/build/build.h"
#include "report/replay/knobs.h"
#include "tui/cli/cli.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/recording_name.h"
#include "tui/cli/shipped.h"
#include "tui/cli/trace_report.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    const char *change, *loader, *directory, *source, *python;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "change", .type = PP_OPT_STRING, .offset = AT(change), .arg = "ID", .group = "Options",
     .help = "c1, c2, ... as `pipeprobe answer` numbers them, or an argument such as num_workers=4; without: the first that is advised"},
    {.name = "loader", .type = PP_OPT_STRING, .offset = AT(loader), .arg = "NAME",
     .help = "of several DataLoaders the one to change: its variable, or file:line"},
    {.name = "directory", .letter = 'C', .type = PP_OPT_STRING, .offset = AT(directory), .arg = "DIR", .dflt = ".",
     .help = "where the job was started; its file is looked for there and below"},
    {.name = "source", .type = PP_OPT_STRING, .offset = AT(source), .arg = "FILE",
     .help = "the job's file, where it is not below that directory"},
    {.name = "python", .type = PP_OPT_STRING, .offset = AT(python), .arg = "PROGRAM", .dflt = "python3",
     .help = "a Python from 3.9 on that can parse the file; nothing of the job is imported"},
    {.name = NULL},
};
/* clang-format on */

enum { TEXT = 4096, MOST_SOURCE = 4 << 20, REFUSED = 4 };

/* ---- which change, which file ---- */

/* What is set; NULL with a sentence. */
static const char *choose_set(const struct pp_report *r, const char *change, struct pp_err *err)
{
    const struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_fix *f = NULL;
    if (change && strchr(change, '=')) {
        const char *value = strchr(change, '=') + 1;
        const struct pp_knob *knob = pp_knob_is_argument(change)
                                         ? pp_knob_find(change, (size_t)(value - 1 - change))
                                         : NULL;
        if (knob &&
            (knob->kind == PP_KNOB_COUNT ? pp_knob_count(knob, value) != 0 : pp_knob_truth(knob, value) >= 0))
            return change;
        pp_fail(err, PP_E_USAGE,
                "--change %s: that is no argument of a DataLoader with a value that it can have", change);
        return NULL;
    }
    if (change)
        f = pp_report_change(r, change, err);
    for (size_t i = 0; !change && i < v->n_fixes && !f; i++)
        if (v->fixes[i].advice == PP_ADVICE_DO && v->fixes[i].is_argument)
            f = &v->fixes[i];
    if (!change && !f)
        pp_fail(err, PP_E_UNSUPPORTED,
                "%s: no argument of the DataLoader is advised; --change ID takes any change of `pipeprobe "
                "answer`",
                r->path);
    if (f && !f->is_argument)
        pp_fail(err, PP_E_UNSUPPORTED, "%s is no argument of a DataLoader, and no patch makes it",
                f->change ? f->change : f->set);
    return f && f->is_argument ? f->set : NULL;
}

/* A file that we may read: the one that was named to us, or what the recording names below the directory. */
static pp_status find_source(const struct options *o, const char *place, char path[PATH_MAX],
                             char name[PATH_MAX], struct pp_err *err)
{
    char directory[PATH_MAX], wanted[2 * PATH_MAX];
    struct stat st;
    int length = (int)(strrchr(place, ':') ? strrchr(place, ':') - place : (long)strlen(place));
    snprintf(name, PATH_MAX, "%.*s", o->source ? (int)strlen(o->source) : length,
             o->source ? o->source : place);
    if (!realpath(o->directory, directory))
        return pp_fail_errno(err, errno, "--directory %s", o->directory);
    size_t n = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    snprintf(wanted, sizeof(wanted), "%s%s%s", o->source || name[0] == '/' ? "" : directory,
             o->source || name[0] == '/' ? "" : "/", name);
    if (!realpath(wanted, path) || stat(path, &st) != 0)
        return pp_fail(
            err, PP_E_NOT_FOUND,
            "the DataLoader is made in %s, which is not in %s: start patch where the job was started, or "
            "name the file with --source",
            name, directory);
    if (!o->source && (strncmp(path, directory, n) != 0 || path[n] != '/'))
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "the recording says that the DataLoader is made in %s, outside %s: name the file with --source",
            name, directory);
    if (!o->source)
        memmove(name, path + n + 1, strlen(path + n + 1) + 1);
    return S_ISREG(st.st_mode) && st.st_size <= MOST_SOURCE
               ? PP_OK
               : pp_fail(err, PP_E_UNSUPPORTED, "%s is no source file of at most 4 MiB", name);
}

/* ---- what the script is asked ---- */

/* A file without a name, from its beginning; -1 with errno. */
static int question_of(const struct pp_report_loader *l, const char *path, const char *name, const char *set)
{
    int fd = memfd_create("pipeprobe-patch", MFD_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");
    if (!out)
        return -1;
    unsigned at[4] = {0};
    char sha256[65] = "", key[64], value[64];
    struct pp_json j;
    sscanf(l->source, "%u %u %u %u %64[0-9a-f]", &at[0], &at[1], &at[2], &at[3], sha256);
    static const char *const keys[] = {"line", "end_line", "column", "end_column"};
    pp_json_begin(&j, out, 0);
    pp_json_object(&j);
    pp_json_put_str(&j, "file", path);
    pp_json_put_str(&j, "name", name);
    for (size_t i = 0; i < 4; i++)
        pp_json_put_uint(&j, keys[i], at[i]);
    pp_json_put_str(&j, "sha256", sha256);
    pp_json_put_object(&j, "set");
    for (const char *p = set; sscanf(p, "%63[^= ]=%63[^ ]", key, value) == 2; p += strspn(p, " ")) {
        const struct pp_knob *knob = pp_knob_find(key, strlen(key));
        int truth = knob ? pp_knob_truth(knob, value) : -1;
        pp_json_key(&j, knob ? knob->name : key);
        if (truth >= 0 && knob->kind != PP_KNOB_COUNT)
            pp_json_bool(&j, truth);
        else
            pp_json_int(&j, strtoll(value, NULL, 10));
        p += strcspn(p, " ");
    }
    pp_json_object_end(&j);
    pp_json_put_object(&j, "made");
    pp_json_put_num(&j, "num_workers", isnan(l->num_workers) ? 0 : l->num_workers);
    pp_json_object_end(&j);
    pp_json_object_end(&j);
    pp_json_end(&j);
    return fclose(out) != 0 || lseek(fd, 0, SEEK_SET) != 0 ? -1 : fd;
}

static pp_status make_diff(const struct options *o, const struct pp_report_loader *l, const char *set,
                           struct pp_err *err)
{
    char path[PATH_MAX], name[PATH_MAX], script[PATH_MAX], text[TEXT];
    pid_t pid = 0;
    pp_status st = find_source(o, l->place, path, name, err);
    if (st == PP_OK)
        st = pp_shipped_find("patch", NULL, &pp_shipped_hooks, "pipeprobe_patch.py", script, err);
    if (st != PP_OK)
        return st;
    int asked = question_of(l, path, name, set), notes = memfd_create("pipeprobe-notes", MFD_CLOEXEC);
    struct again a = {.program = o->python, .in = asked, .errors = notes};
    again_add(&a, o->python, "-I", script, NULL);
    int failed = asked < 0 || notes < 0 ? errno : again_start(&a, &pid);
    if (failed) {
        st = pp_fail_errno(err, failed, "patch needs Python 3.9 or later, and %s cannot be started",
                           o->python);
    } else {
        /* What it has to say beside the diff: notes, or why it refuses. */
        int code = again_code(again_wait(pid));
        ssize_t n = pread(notes, text, sizeof(text) - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        if (code != 0)
            text[strcspn(text, "\n")] = '\0';
        if (code == REFUSED)
            st = pp_fail(err, PP_E_UNSUPPORTED, "%s", text);
        else if (code != 0)
            st = pp_fail(err, PP_E_UNSUPPORTED, "%s could not make the diff (exit code %d): %s", o->python,
                         code, text);
        for (char *rest = text, *line; st == PP_OK && (line = strsep(&rest, "\n"));)
            if (*line)
                pp_cli_note("note", line);
    }
    close(asked);
    close(notes);
    return st;
}

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    struct pp_report *report = NULL;
    const struct pp_report_loader *loader = NULL;
    const char *change = NULL;
    char path[TEXT];
    pp_status st = pp_choose_recording(operands, n, path, sizeof(path), err);
    if (st == PP_OK)
        st = pp_report_build_of(path, o->loader, &report, err);
    if (st == PP_OK)
        change = choose_set(report, o->change, err);
    for (size_t i = 0; change && i < report->n_loaders && !loader; i++) {
        const struct pp_report_loader *l = &report->loaders[i];
        if ((l->judged || report->n_loaders == 1) && l->place && l->source)
            loader = l;
    }
    if (change && !loader)
        pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s does not hold where the DataLoader is made: record the job again with this version's exec",
            report->path);
    if (st == PP_OK)
        st = loader ? make_diff(o, loader, change, err) : err->code;
    pp_report_free(report);
    return st;
}

const struct pp_command pp_cmd_patch = {
    .name = "patch",
    .summary = "print a change as a diff of the line that makes the DataLoader",
    .usage = "patch [FILE|DIR] [--change ID]",
    .opts = opts,
    .notes = "The diff goes to standard output, for patch -p1 or git apply.\n"
             "Exit code: 4 where the call cannot be changed safely, with code and reason:\n"
             "stale, two-calls, made-elsewhere, wrapped, needs-workers, form.",
    .examples = {"pipeprobe patch run.sqlite --change c1 | patch -p1",
                 "pipeprobe patch run.sqlite --change num_workers=4 > more-workers.diff"},
    .fields = sizeof(struct options),
    .act = act,
};
