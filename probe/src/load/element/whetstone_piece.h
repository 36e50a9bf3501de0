/* Pieces of Whetstone, as RSP-P-FIX does them; for cpu and storm. */
#ifndef HS_LOAD_WHETSTONE_H
#define HS_LOAD_WHETSTONE_H

#include "load/element.h"

/* Allocates loader->own and finds how many turns are a piece of about 0.1 ms. */
int whetstone_prepare(struct loader *loader);
void whetstone_piece(struct loader *loader);

#endif
