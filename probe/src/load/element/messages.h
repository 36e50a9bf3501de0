/* Counters of the element messages: what its members received, and whether its group is whole. */
#ifndef HS_LOAD_ELEMENT_MESSAGES_H
#define HS_LOAD_ELEMENT_MESSAGES_H

#include "load/element.h"

enum {
    MESSAGES_BY_SOCKET = COUNTER_OWN,
    MESSAGES_BY_PIPE,
    MESSAGES_BYTES,
    MESSAGES_FAILED, /* groups that could not be started, or broke */
    /* 1 while all members of the group exist and none is stopped, else 0; it also decreases. */
    MESSAGES_WHOLE,
};

#endif
