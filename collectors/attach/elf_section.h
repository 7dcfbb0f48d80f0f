/* collectors/attach/elf_section.h: where a section or a symbol of a program or
 * library lies once it is mapped. The file
 * is another program's: what does not fit is refused, and no more than a few MiB of it are read. 64-bit files
 * of this machine's byte order. */
#ifndef PP_COLLECTORS_ATTACH_ELF_SECTION_H
#define PP_COLLECTORS_ATTACH_ELF_SECTION_H

#include <stdint.h>

/* How far behind the file's first mapping the section begins. 0: there is no such section in it. */
int pp_elf_section(int fd, const char *name, uint64_t *distance, uint64_t *size);
/* The same of what a symbol names, that is exported or was not stripped. */
int pp_elf_symbol(int fd, const char *name, uint64_t *distance, uint64_t *size);

#endif
