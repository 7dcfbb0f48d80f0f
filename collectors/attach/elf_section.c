#include "collectors/attach/elf_section.h"

#include "probe/base/io.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

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
