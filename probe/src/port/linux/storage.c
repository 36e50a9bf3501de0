/* What a file is stored on, by the kind of its file system (statfs). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include <sys/vfs.h>

enum port_storage port_storage(int descriptor)
{
    static const struct {
        unsigned long magic;
        enum port_storage storage;
    } known[] = {
        {0x01021994, PORT_STORAGE_MEMORY},  /* tmpfs */
        {0x858458f6, PORT_STORAGE_MEMORY},  /* ramfs */
        {0x958458f6, PORT_STORAGE_MEMORY},  /* hugetlbfs */
        {0x6969, PORT_STORAGE_NETWORK},     /* nfs */
        {0xff534d42, PORT_STORAGE_NETWORK}, /* cifs */
        {0xfe534d42, PORT_STORAGE_NETWORK}, /* smb2 */
        {0x517b, PORT_STORAGE_NETWORK},     /* smb */
        {0x01021997, PORT_STORAGE_NETWORK}, /* 9p */
        {0x00c36400, PORT_STORAGE_NETWORK}, /* ceph */
        {0x5346414f, PORT_STORAGE_NETWORK}, /* afs */
        {0x65735546, PORT_STORAGE_NETWORK}, /* fuse: may be remote */
        {0x0187, PORT_STORAGE_NETWORK},     /* autofs: a look-up may mount */
        {0x9fa0, PORT_STORAGE_KERNEL},      /* proc */
        {0x62656572, PORT_STORAGE_KERNEL},  /* sysfs */
        {0x27e0eb, PORT_STORAGE_KERNEL},    /* cgroup */
        {0x63677270, PORT_STORAGE_KERNEL},  /* cgroup2 */
        {0x64626720, PORT_STORAGE_KERNEL},  /* debugfs */
        {0x74726163, PORT_STORAGE_KERNEL},  /* tracefs */
        {0x1cd1, PORT_STORAGE_KERNEL},      /* devpts */
        {0xcafe4a11, PORT_STORAGE_KERNEL},  /* bpf */
        {0x73636673, PORT_STORAGE_KERNEL},  /* securityfs */
        {0xde5e81e4, PORT_STORAGE_KERNEL},  /* efivarfs */
    };
    struct statfs facts;
    if (fstatfs(descriptor, &facts) != 0)
        return PORT_STORAGE_UNKNOWN;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (((unsigned long)facts.f_type & 0xffffffffUL) == known[i].magic)
            return known[i].storage;
    return PORT_STORAGE_DISK;
}
