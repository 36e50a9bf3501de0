/* Counters of the element kernel: one for each class of operations. */
#ifndef HS_LOAD_ELEMENT_KERNEL_H
#define HS_LOAD_ELEMENT_KERNEL_H

#include "load/map.h"
#include "work/kernel_operations.h"

enum { KERNEL_FIRST_CLASS = COUNTER_OWN }; /* counter of the first class; the others follow */

#endif
