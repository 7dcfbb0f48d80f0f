#include "collectors/stacks/members.h"

#include "probe/base/array.h"
#include "probe/base/io.h"
#include "probe/base/text.h"

#include <pipeprobe/ring.h> /* PP_OPS_FILE_PREFIX */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES (256u << 10)
#define TEXT_BYTES 256 /* of a path, a class, arguments */

/* Who runs members one after the other, and in which local the one is that runs. */
static const struct {
    const char *file, *function, *local; /* ends of the file's path and of the function's name */
} locals[] = {
    {"torchvision/transforms/transforms.py", "__call__", "t"},
    {"torchvision/transforms/transforms.py", "forward", "t"},
    {"torchvision/transforms/v2/_container.py", "forward", "transform"},
    {"torchvision/transforms/_presets.py", "forward", "t"},
    {"albumentations/core/composition.py", "__call__", "t"},
    {"albumentations/core/composition.py", "_apply_transforms", "t"},
    {"monai/transforms/compose.py", "execute_compose", "_transform"},
    {"monai/transforms/compose.py", "__call__", "_transform"},
    {"monai/transforms/transform.py", "apply_transform", "transform"},
    {"torch/nn/modules/container.py", "forward", "module"},
    {"kornia/augmentation/container/augment.py", "forward", "module"},
    {"audiomentations/core/composition.py", "__call__", "augmentation"},
    {"torch_geometric/transforms/compose.py", "forward", "transform"},
};

const char *pp_members_local(const char *name, const char *file)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof(locals) / sizeof(*locals); i++)
        if (strcmp(dot ? dot + 1 : name, locals[i].function) == 0 && pp_text_ends_in(file, locals[i].file))
            return locals[i].local;
    return NULL;
}

PP_BY(by_address, struct pp_member, at)

/* Cuts the next field off *line, plain and not too long; NULL: there is none. */
static const char *take_field(char **line, char text[TEXT_BYTES])
{
    char *field = strsep(line, "\t");
    if (!field)
        return NULL;
    snprintf(text, TEXT_BYTES, "%s", field);
    for (char *c = text; *c && !pp_text_is_plain(text); c++)
        if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
            *c = '?';
    return text;
}

void pp_members_read(struct pp_members *m, struct pp_stack_tree *tree, const char *session_dir, int64_t pid)
{
    char path[PATH_MAX + 64], *text = NULL, *line;
    struct stat st;
    snprintf(path, sizeof(path), "%s/" PP_OPS_FILE_PREFIX "%lld", session_dir, (long long)pid);
    int fd = pp_io_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_BYTES &&
        (st.st_mtim.tv_sec != m->read.tv_sec || st.st_mtim.tv_nsec != m->read.tv_nsec) &&
        (m->row || (m->row = calloc(PP_MEMBERS_MAX, sizeof(*m->row)))) &&
        (text = calloc(1, (size_t)st.st_size + 1)) &&
        pp_io_pread_full(fd, text, (size_t)st.st_size, 0) == st.st_size) {
        char *rest = text;
        m->read = st.st_mtim;
        m->n = 0;
        while ((line = strsep(&rest, "\n"))) {
            char address[TEXT_BYTES], file[TEXT_BYTES], class[TEXT_BYTES], arguments[TEXT_BYTES], *end;
            if (!take_field(&line, address) || !take_field(&line, file) || !take_field(&line, class) ||
                !take_field(&line, arguments) || m->n == PP_MEMBERS_MAX)
                continue;
            uint64_t at = strtoull(address, &end, 16);
            uint32_t op = at && !*end ? pp_stack_tree_op(tree, file, class, arguments) : 0;
            if (op)
                m->row[m->n++] = (struct pp_member){at, op};
        }
        qsort(m->row, m->n, sizeof(*m->row), by_address);
    }
    free(text);
    close(fd);
}

uint32_t pp_members_op(const struct pp_members *m, uint64_t at)
{
    const struct pp_member key = {.at = at},
                           *found = at && m->n ? bsearch(&key, m->row, m->n, sizeof(key), by_address) : NULL;
    return found ? found->op : 0;
}

void pp_members_free(struct pp_members *m)
{
    free(m->row);
    *m = (struct pp_members){0};
}

void pp_members_files_remove(const char *session_dir)
{
    DIR *d = opendir(session_dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, PP_OPS_FILE_PREFIX, strlen(PP_OPS_FILE_PREFIX)) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}
