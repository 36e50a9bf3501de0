/* A shield on the made-up kernel: what it said last, and what the last undo did. */
#ifndef HS_MADE_UP_SHIELD_H
#define HS_MADE_UP_SHIELD_H

#include "made_up_kernel.h"
#include "shield/shield.h"
#include "tap.h"

static char text[SHIELD_TEXT_BYTES];
static int counts[MADE_UP_UNDO_KINDS];

static inline int apply(enum shield_setting setting)
{
    text[0] = '\0';
    return port_shield_apply(&made_up.shield, setting, text, sizeof text);
}

#endif
