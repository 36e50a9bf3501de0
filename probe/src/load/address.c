#include "base/posix_source.h"

#include "load/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PORT = 65535, PORT_DIGITS = 5 };

static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
static const char of_numbers[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%";

static bool is_host(const char *host, bool is_bracketed)
{
    size_t length = strlen(host);
    if (is_bracketed)
        return strchr(host, ':') && strspn(host, of_numbers) == length;
    return length > 0 && strspn(host, of_names) == length && !strchr(".-_", host[0]);
}

static bool is_port(const char *port)
{
    size_t digits = strspn(port, "0123456789");
    long number = strtol(port, NULL, 10);
    return digits > 0 && digits <= PORT_DIGITS && port[digits] == '\0' && number > 0 &&
           number <= MOST_PORT;
}

static bool take(const char *from, const char *to, char *text, size_t bytes)
{
    if (to < from || (size_t)(to - from) >= bytes)
        return false;
    memcpy(text, from, (size_t)(to - from));
    text[to - from] = '\0';
    return true;
}

bool load_address_is_numeric(const struct load_address *address)
{
    struct in6_addr bytes;
    char number[LOAD_HOST_BYTES];
    size_t length = strcspn(address->host, "%");
    memcpy(number, address->host, length);
    number[length] = '\0';
    return inet_pton(AF_INET, address->host, &bytes) == 1 ||
           inet_pton(AF_INET6, number, &bytes) == 1;
}

bool load_address_parse(const char *text, size_t length, struct load_address *address)
{
    const char *end = text + length, *colon = end;
    while (colon > text && *colon != ':')
        colon--;
    bool is_bracketed = colon - text >= 2 && *text == '[' && colon[-1] == ']';
    const char *from = text + (is_bracketed ? 1 : 0), *to = colon - (is_bracketed ? 1 : 0);
    return colon > text && take(from, to, address->host, sizeof address->host) &&
           take(colon + 1, end, address->port, sizeof address->port) &&
           is_host(address->host, is_bracketed) && is_port(address->port);
}
