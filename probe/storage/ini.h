/* storage/ini.h: the profile files of AWS (~/.aws/credentials, ~/.aws/config), of which a value is wanted:
 * lines
 * "[NAME]" and "key = value", comments from "#" or ";". Pure function over a bounded text, any thread. */
#ifndef PP_STORAGE_INI_H
#define PP_STORAGE_INI_H

#include <stddef.h>

/* The value of key in the sections called name, or, as ~/.aws/config has them, "profile NAME". 1: found; 0:
 * not there, or longer than the room for it, or with a control character. */
int pp_ini_get(const char *text, size_t size, const char *name, const char *key, char *out, size_t out_size);
/* 1: there is such a section */
int pp_ini_has(const char *text, size_t size, const char *name);

#endif
