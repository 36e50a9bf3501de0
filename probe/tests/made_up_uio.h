/* A made-up machine with QEMU's edu as /dev/uio0, which /dev/zero stands for; files stand for its
 * registers and its config space. What the device says, and what is refused, the test chooses. */
#ifndef HS_MADE_UP_UIO_H
#define HS_MADE_UP_UIO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define UIO_FOLDER "/sys/class/uio/uio0"
#define UIO_REGISTERS UIO_FOLDER "/device/resource0"
#define UIO_CONFIG UIO_FOLDER "/device/config"
#define UIO_MEMORY_LINE "0x00000000fea00000 0x00000000fea00fff 0x0000000000040200\n"

enum { UIO_REGISTERS_BYTES = 8192, UIO_REGISTERS_FILL = 0xaa, UIO_CONFIG_BYTES = 64 };

struct made_up_uio {
    char root[64];
    const char *refused; /* end of the path whose open fails with `error` */
    int error;
    int map_error;
    int write_error; /* of irqcontrol; 0: the driver has it */
    int writes;
    int32_t written;
    int read_error;
    ssize_t read_bytes;
    uint32_t count; /* what a read gives */
};

extern struct made_up_uio machine;

void make_up(void);
void take_away(void);

/* Path of `path` in the machine, until the next call. */
char *below(const char *path);

/* Writes a file: a text, or `bytes` bytes that all are `value`. fetch: reads `count` bytes. */
void put(const char *path, const char *text);
void fill(const char *path, size_t bytes, int value);
void fetch(const char *path, unsigned char *bytes, size_t count);

#endif
