#include "collectors/attach/elf_section.h"

#include "probe/base/io.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX (1u << 20) /* bytes of section names */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif

static int read_at(int fd, void *buf, size_t size, uint64_t at)
{
    return at < INT64_MAX - size && pp_io_pread_full(fd, buf, size, (int64_t)at) == (ssize_t)size;
}

int pp_elf_section(int fd, const char *name, uint64_t *distance)
{
    Elf64_Ehdr h;
    Elf64_Shdr *section = NULL, names;
    char *text = NULL;
    Elf64_Phdr part = {.p_type = PT_NULL};
    int found = 0;
    if (!read_at(fd, &h, sizeof(h), 0) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != OWN_ORDER ||
        h.e_shentsize != sizeof(Elf64_Shdr) || h.e_phentsize != sizeof(Elf64_Phdr) || !h.e_shnum ||
        h.e_shstrndx >= h.e_shnum)
        return 0;
    for (unsigned i = 0; i < h.e_phnum && part.p_type != PT_LOAD; i++)
        if (!read_at(fd, &part, sizeof(part), h.e_phoff + i * sizeof(part)))
            return 0;
    if (part.p_type != PT_LOAD)
        return 0;
    /* The address for which the first loaded part was linked, on its page. */
    uint64_t first = part.p_align ? part.p_vaddr - part.p_vaddr % part.p_align : part.p_vaddr;
    section = calloc(h.e_shnum, sizeof(*section));
    if (!section || !read_at(fd, section, h.e_shnum * sizeof(*section), h.e_shoff))
        goto out;
    names = section[h.e_shstrndx];
    text = names.sh_size && names.sh_size <= NAMES_MAX ? malloc(names.sh_size) : NULL;
    if (!text || !read_at(fd, text, names.sh_size, names.sh_offset))
        goto out;
    text[names.sh_size - 1] = '\0';
    for (unsigned i = 0; i < h.e_shnum && !found; i++) {
        const Elf64_Shdr *s = &section[i];
        found = s->sh_name < names.sh_size && strcmp(text + s->sh_name, name) == 0 && s->sh_addr >= first;
        if (found)
            *distance = s->sh_addr - first;
    }
out:
    free(text);
    free(section);
    return found;
}
