/* dataset/picture.h: synthetic photographs: gradients, a 1/f texture, soft-edged objects, lettering and
 * sensor noise, so that a JPEG of one costs a decoder what a real photograph costs (about 4 bits per pixel at
 * the qualities of plan.c). */
#pragma once

#include <stdint.h>

struct picture_field; /* the precomputed texture and noise; immutable, shared by all threads */

struct picture_field *picture_field_create(uint64_t seed); /* NULL: no memory */
void picture_field_destroy(struct picture_field *f);

/* Draws sample index into rgb (width * height * 3 bytes). Any thread. */
void picture_draw(const struct picture_field *f, uint64_t seed, uint64_t index, int width, int height,
                  uint8_t *rgb);
