/* `pipeprobe skill`: the shipped instructions by which a coding assistant records, changes and verifies a
 * job. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/cli.h"
#include "tui/cli/shipped.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    const char *install;
    int force;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "install", .type = PP_OPT_STRING, .offset = AT(install), .arg = "DIR", .group = "Options",
     .help = "copy the folder into DIR (.claude/skills, .agents/skills, ...), as DIR/pipeprobe"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force),
     .help = "replace what is there"},
    {.name = NULL},
};
static const struct pp_shipped_places skills = {{"../share/pipeprobe/skills/pipeprobe", "../../samples/skills/pipeprobe"}};
static const char *const files[] = {"SKILL.md", "references/causes.md", "references/measuring.md"};
/* clang-format on */

enum { FILE_MOST = 1 << 20 };

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    char folder[2][PATH_MAX], path[PATH_MAX];
    pp_status st = PP_OK;
    if (n)
        return pp_fail(err, PP_E_USAGE, "skill takes no %s; --install DIR copies the folder", operands[0]);
    if (o->install && ((size_t)snprintf(folder[0], PATH_MAX, "%s/pipeprobe", o->install) >= PATH_MAX ||
                       (size_t)snprintf(folder[1], PATH_MAX, "%s/references", folder[0]) >= PATH_MAX))
        return pp_fail(err, PP_E_USAGE, "--install: the path is too long");
    if (o->install && access(o->install, F_OK) != 0)
        st = pp_fail(err, PP_E_NOT_FOUND, "--install %s: there is no such directory; make it first",
                     o->install);
    for (int i = 0; st == PP_OK && o->install && i < 2; i++)
        if (mkdir(folder[i], 0777) != 0 && errno != EEXIST)
            st = pp_fail_errno(err, errno, "cannot make %s", folder[i]);
    for (size_t i = 0; st == PP_OK && i < (o->install ? sizeof(files) / sizeof(*files) : 1); i++) {
        struct pp_io_file f = {.limit = FILE_MOST};
        int fd = -1;
        st = pp_shipped_find("skill", NULL, &skills, files[i], path, err);
        if (st == PP_OK)
            st = pp_io_read_file(AT_FDCWD, path, &f, err);
        if (st == PP_OK && !o->install && (fwrite(f.buf, 1, f.size, stdout) != f.size || fflush(stdout) != 0))
            st = pp_fail_errno(err, errno, "cannot write to standard output");
        int copies = st == PP_OK && o->install;
        if (copies && (size_t)snprintf(path, sizeof(path), "%s/%s", folder[0], files[i]) >= sizeof(path))
            st = pp_fail(err, PP_E_USAGE, "--install: the path is too long");
        else if (copies)
            fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (o->force ? O_TRUNC : O_EXCL), 0666);
        if (copies && st == PP_OK && fd < 0)
            st = errno == EEXIST ? pp_fail(err, PP_E_EXISTS, "%s exists; --force replaces it", path)
                                 : pp_fail_errno(err, errno, "cannot write %s", path);
        if (fd >= 0 && (write(fd, f.buf, f.size) != (ssize_t)f.size || close(fd) != 0))
            st = pp_fail_errno(err, errno, "cannot write %s", path);
        free(f.buf);
    }
    if (st == PP_OK && o->install)
        pp_cli_note("installed", folder[0]);
    return st;
}

const struct pp_command pp_cmd_skill = {
    .name = "skill",
    .summary = "instructions for a coding assistant: record, change, verify",
    .usage = "skill [--install DIR]",
    .opts = opts,
    .notes = "A folder in the form of Agent Skills (SKILL.md and references). Without\n"
             "--install SKILL.md is printed.\n"
             "Exit codes: 0 success, 2 usage, or files that exist.",
    .examples = {"pipeprobe skill --install .claude/skills", "pipeprobe skill | less"},
    .fields = sizeof(struct options),
    .act = act,
};
