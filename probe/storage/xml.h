/* storage/xml.h: as much XML as object stores answer with: elements and text, without attributes' meaning,
 * entities of their own or processing instructions. What is more than that ends the walk with -1. Pure
 * functions over a bounded text, any thread; a stranger's bytes: depth and lengths are bounded, nothing is
 * allocated. */
#ifndef PP_STORAGE_XML_H
#define PP_STORAGE_XML_H

#include <stddef.h>

enum { PP_XML_TEXT = 4096, PP_XML_DEPTH = 16 };

/* An element without elements inside, when it ends. parent, name: without a prefix ("s3:Key" is "Key"); text:
 * decoded, NULL when it is longer than PP_XML_TEXT. Not 0 ends the walk, and is returned. */
typedef int pp_xml_leaf_fn(void *ctx, const char *parent, const char *name, const char *text);

/* 0: well-formed to the end of the outermost element. -1: not. */
int pp_xml_walk(const char *xml, size_t size, pp_xml_leaf_fn *leaf, void *ctx);

/* The text of the first leaf of that name; "" when there is none, or it is too long. */
void pp_xml_find(const char *xml, size_t size, const char *name, char *out, size_t out_size);

#endif
