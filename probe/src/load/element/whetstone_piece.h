/* Pieces of Whetstone, the work of RSP-P-FIX, for the elements cpu and storm. */
#ifndef HS_LOAD_ELEMENT_WHETSTONE_PIECE_H
#define HS_LOAD_ELEMENT_WHETSTONE_PIECE_H

#include "load/element.h"

/* Allocates worker->own and measures how many turns make a piece of about 0.1 ms. 0, or ENOMEM. */
int whetstone_prepare(struct worker *worker);
/* Does one piece. */
void whetstone_piece(struct worker *worker);

#endif
