/* Fuzz target: the program file of another process, in which a section is looked for. */
#include "tests/fuzz/fuzz.h"

#include "collectors/attach/python_runtime.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t distance = 0, section = 0;
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    (void)pp_elf_section(fd, ".PyRuntime", &distance, &section);
    (void)pp_elf_section(fd, "", &distance, &section);
    close(fd);
    return 0;
}

struct small {
    Elf64_Ehdr head;
    Elf64_Phdr part[2];
    Elf64_Shdr section[3];
    char names[32];
};

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    static const char names[] = "\0.shstrtab\0.PyRuntime";
    if (i >= 3)
        return 0;
    struct small *s = calloc(1, sizeof(*s));
    if (!s)
        abort();
    memcpy(s->head.e_ident, ELFMAG, SELFMAG);
    s->head.e_ident[EI_CLASS] = ELFCLASS64;
    s->head.e_ident[EI_DATA] = ELFDATA2LSB;
    s->head.e_phoff = offsetof(struct small, part);
    s->head.e_shoff = offsetof(struct small, section);
    s->head.e_phentsize = sizeof(s->part[0]);
    s->head.e_shentsize = sizeof(s->section[0]);
    s->head.e_phnum = 2;
    s->head.e_shnum = i == 1 ? 60000 : 3; /* beyond the end */
    s->head.e_shstrndx = 1;
    s->part[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x400010, .p_align = 0x1000};
    s->section[1] = (Elf64_Shdr){.sh_name = 1,
                                 .sh_offset = offsetof(struct small, names),
                                 .sh_size = sizeof(names)};
    s->section[2] = (Elf64_Shdr){.sh_name = i == 2 ? 4000 : 11, .sh_addr = 0x5000};
    memcpy(s->names, names, sizeof(names));
    *data = (uint8_t *)s;
    *size = sizeof(*s);
    return 1;
}
