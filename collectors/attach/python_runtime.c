#include "collectors/attach/python_runtime.h"

#include "probe/base/io.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *pp_python_map_line(char *line, uint64_t *start)
{
    unsigned long long from, offset;
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%*x %*s %llx %*s %*s %n", &from, &offset, &at) != 2 || !at || offset)
        return NULL;
    char *path = line + at;
    const char *slash = strrchr(path, '/');
    if (path[0] != '/' || !strstr(slash, "python"))
        return NULL;
    *start = from;
    return path;
}

struct pp_python_runtime pp_python_runtime_find(int64_t pid)
{
    struct pp_python_runtime r = {.at = 0};
    char path[64], line[PATH_MAX + 128], inside[PATH_MAX + 64];
    uint64_t start, distance;
    snprintf(path, sizeof(path), "/proc/%lld/maps", (long long)pid);
    FILE *f = fopen(path, "re");
    r.is_denied = !f && (errno == EACCES || errno == EPERM);
    while (f && !r.at && fgets(line, sizeof(line), f)) {
        const char *of = pp_python_map_line(line, &start);
        int fd = -1;
        if (of) { /* seen as the process sees it, which may have another root */
            snprintf(inside, sizeof(inside), "/proc/%lld/root%s", (long long)pid, of);
            fd = pp_io_open(inside, O_RDONLY | O_NONBLOCK, 0);
            fd = fd >= 0 ? fd : pp_io_open(of, O_RDONLY | O_NONBLOCK, 0);
        }
        const char *found = of ? strstr(strrchr(of, '/'), "python3.") : NULL; /* "python3.11" */
        const char *digits = found ? found + strlen("python3.") : "";
        char *rest;
        unsigned long minor = strtoul(digits, &rest, 10);
        int is_told = rest > digits && minor < 1000;
        if (is_told) {
            r.minor = (unsigned)minor;
            r.is_debug = *rest == 'd';
        }
        if (fd >= 0 && (pp_elf_section(fd, ".PyRuntime", &distance, &r.size) ||
                        (is_told && minor < 10 && pp_elf_symbol(fd, "_PyRuntime", &distance, &r.size))))
            r.at = start + distance;
        if (fd >= 0)
            close(fd);
    }
    r.is_denied |= f && ferror(f) && (errno == EACCES || errno == EPERM);
    if (f)
        fclose(f);
    return r;
}

int pp_python_denied(int64_t pid, char *why, size_t size)
{
    char text[16], path[64];
    struct stat st;
    pp_io_text(text, sizeof(text), "/proc/sys/kernel/yama/ptrace_scope");
    int scope = atoi(text);
    /* The kernel gives what a process that must not be looked into has in /proc to root. */
    snprintf(path, sizeof(path), "/proc/%lld", (long long)pid);
    int is_others = stat(path, &st) == 0 && st.st_uid != geteuid();
    snprintf(why, size, "%s",
             scope >= 3   ? "kernel.yama.ptrace_scope is 3: no process may"
             : scope == 2 ? "kernel.yama.ptrace_scope is 2: only root may"
             : scope == 1 ? "kernel.yama.ptrace_scope is 1: only root and its own parent may"
             : is_others  ? "it is another user's, or has forbidden that others read its memory"
                          : "the right to trace it, CAP_SYS_PTRACE in a container, is missing");
    return scope;
}

#define NAMES_MAX (1u << 20) /* bytes of section names */
#define TABLE_MAX (8u << 20) /* bytes of symbols, and of their names */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif

static int read_at(int fd, void *buf, size_t size, uint64_t at)
{
    return at < INT64_MAX - size && pp_io_pread_full(fd, buf, size, (int64_t)at) == (ssize_t)size;
}

/* A file's sections; section is NULL where it is no such file. To be freed. */
struct elf {
    Elf64_Ehdr h;
    Elf64_Shdr *section;
    uint64_t first; /* the address for which the first loaded part was linked, on its page */
};

static struct elf read_elf(int fd)
{
    struct elf e = {.section = NULL};
    Elf64_Ehdr *h = &e.h;
    Elf64_Phdr part = {.p_type = PT_NULL};
    if (!read_at(fd, h, sizeof(*h), 0) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != OWN_ORDER ||
        h->e_shentsize != sizeof(Elf64_Shdr) || h->e_phentsize != sizeof(Elf64_Phdr) || !h->e_shnum ||
        h->e_shstrndx >= h->e_shnum)
        return e;
    for (unsigned i = 0; i < h->e_phnum && part.p_type != PT_LOAD; i++)
        if (!read_at(fd, &part, sizeof(part), h->e_phoff + i * sizeof(part)))
            return e;
    if (part.p_type != PT_LOAD)
        return e;
    e.first = part.p_align ? part.p_vaddr - part.p_vaddr % part.p_align : part.p_vaddr;
    e.section = calloc(h->e_shnum, sizeof(*e.section));
    if (e.section && !read_at(fd, e.section, h->e_shnum * sizeof(*e.section), h->e_shoff)) {
        free(e.section);
        e.section = NULL;
    }
    return e;
}

/* The content of a section, ended by a 0; NULL: none, or more than most bytes. */
static char *read_section(int fd, const Elf64_Shdr *s, size_t most)
{
    char *text = s->sh_size && s->sh_size <= most ? malloc(s->sh_size + 1) : NULL;
    if (text && !read_at(fd, text, s->sh_size, s->sh_offset)) {
        free(text);
        text = NULL;
    }
    if (text)
        text[s->sh_size] = '\0';
    return text;
}

int pp_elf_section(int fd, const char *name, uint64_t *distance, uint64_t *size)
{
    struct elf e = read_elf(fd);
    int found = 0;
    if (!e.section)
        return 0;
    const Elf64_Shdr names = e.section[e.h.e_shstrndx];
    char *text = read_section(fd, &names, NAMES_MAX);
    for (unsigned i = 0; text && i < e.h.e_shnum && !found; i++) {
        const Elf64_Shdr *s = &e.section[i];
        found = s->sh_name < names.sh_size && strcmp(text + s->sh_name, name) == 0 && s->sh_addr >= e.first;
        if (found)
            *distance = s->sh_addr - e.first, *size = s->sh_size;
    }
    free(text);
    free(e.section);
    return found;
}

int pp_elf_symbol(int fd, const char *name, uint64_t *distance, uint64_t *size)
{
    struct elf e = read_elf(fd);
    int found = 0;
    for (unsigned i = 0; e.section && i < e.h.e_shnum && !found; i++) {
        const Elf64_Shdr *s = &e.section[i];
        if ((s->sh_type != SHT_DYNSYM && s->sh_type != SHT_SYMTAB) || s->sh_link >= e.h.e_shnum)
            continue;
        const Elf64_Shdr *strings = &e.section[s->sh_link];
        char *table = read_section(fd, s, TABLE_MAX), *text = read_section(fd, strings, TABLE_MAX);
        for (size_t k = 0; table && text && k < s->sh_size / sizeof(Elf64_Sym) && !found; k++) {
            Elf64_Sym symbol;
            memcpy(&symbol, table + k * sizeof(symbol), sizeof(symbol));
            found = symbol.st_name < strings->sh_size && symbol.st_shndx != SHN_UNDEF &&
                    strcmp(text + symbol.st_name, name) == 0 && symbol.st_value >= e.first;
            if (found)
                *distance = symbol.st_value - e.first, *size = symbol.st_size;
        }
        free(table);
        free(text);
    }
    free(e.section);
    return found;
}
