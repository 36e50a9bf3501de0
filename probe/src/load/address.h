/* The address of a host as text: HOST:PORT, or [IPV6]:PORT. */
#ifndef HS_LOAD_ADDRESS_H
#define HS_LOAD_ADDRESS_H

#include "load/element.h"

/* Parses the first `length` bytes of `text`. Accepts names and numeric addresses of letters,
 * digits, '.', '-' and '_', in brackets also ':' and '%', and ports from 1 to 65535. False if it is
 * none of these, or too long. */
bool load_address_parse(const char *text, size_t length, struct load_address *address);

/* Whether the host is an address, IPv4 or IPv6 (that with a link after '%'), and not a name. */
bool load_address_is_numeric(const struct load_address *address);

#endif
