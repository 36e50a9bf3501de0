/* Whether the processor is emulated, by CPUID and by the names of firmware that are made up. */
#include "base/posix_source.h"

#include "linux_machine.h"
#include "port/linux/facts.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void names(enum linux_emulated is, const char *reason)
{
    struct linux_emulation emulation = {0};
    linux_emulation_by_names(&emulation);
    CHECK_SAME(emulation.is, is);
    CHECK_HOLDS(emulation.reason, reason);
}

static void cpuid(const char *vendor, const char *hypervisor, enum linux_emulated is,
                  const char *reason)
{
    struct linux_emulation emulation = {0};
    linux_emulation_by_cpuid(vendor, hypervisor, &emulation);
    CHECK_SAME(emulation.is, is);
    CHECK_TEXT(emulation.reason, reason);
}

/* The files of one machine: a path and its text, one after the other. */
static void look_at(const char *const *files, enum linux_emulated is, const char *reason)
{
    machine_open();
    for (int i = 0; files[i]; i += 2)
        machine_put(files[i], files[i + 1]);
    names(is, reason);
    machine_close();
}

#define LOOK_AT(is, reason, ...) look_at((const char *const[]){__VA_ARGS__, NULL}, is, reason)

static void make_user_mode(const char *program)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)getpid());
    machine_put(path, "");
    snprintf(path, sizeof path, "%s/proc/self/task/%ld/exe", machine_root, (long)getpid());
    if (!CHECK_SAME(symlink(program, path), 0))
        abort();
}

#define MACHINE_TEST(what) TEST_IN((machine_open(), true), machine_close(), what)

MACHINE_TEST(cpuid)
{
    cpuid("GenuineIntel", "TCGTCGTCGTCG", LINUX_EMULATED, "CPUID names QEMU's emulator, TCG");
    cpuid("AuthenticAMD", "KVMKVMKVM", LINUX_NOT_EMULATED, "CPUID names the hypervisor KVMKVMKVM");
    cpuid("GenuineIntel", "Microsoft Hv", LINUX_NOT_EMULATED,
          "CPUID names the hypervisor Microsoft Hv");
    cpuid("GenuineIntel", "VMwareVMware", LINUX_NOT_EMULATED,
          "CPUID names the hypervisor VMwareVMware");
    cpuid("GenuineIntel", "XenVMMXenVMM", LINUX_NOT_EMULATED,
          "CPUID names the hypervisor XenVMMXenVMM");
    cpuid("GenuineIntel", "SomethingNew", LINUX_EMULATED_UNKNOWN,
          "CPUID names an unknown hypervisor, SomethingNew");
    cpuid("GenuineIntel", "unnamed", LINUX_EMULATED_UNKNOWN,
          "CPUID names an unknown hypervisor, unnamed");
    cpuid("VirtualApple", "", LINUX_EMULATED, "CPUID names the translator VirtualApple");
    cpuid("GenuineIntel", "", LINUX_NOT_EMULATED, "CPUID names no hypervisor");
}

/* QEMU can hide the flag of a hypervisor. */
MACHINE_TEST(cpuid_that_hides_the_hypervisor)
{
    machine_put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
    cpuid("GenuineIntel", "", LINUX_EMULATED_UNKNOWN,
          "/sys/class/dmi/id/sys_vendor names QEMU's machine QEMU: it may be run by KVM, or "
          "emulated");
    cpuid("GenuineIntel", "KVMKVMKVM", LINUX_NOT_EMULATED, "CPUID names the hypervisor KVMKVMKVM");
}

TEST(user_mode)
{
    machine_open();
    make_user_mode("/usr/bin/qemu-aarch64-static");
    names(LINUX_EMULATED, "qemu-aarch64-static runs this process");
    cpuid("GenuineIntel", "", LINUX_EMULATED, "qemu-aarch64-static runs this process");
    machine_close();
    machine_open();
    make_user_mode("/usr/bin/hardstone-probe");
    names(LINUX_EMULATED_UNKNOWN, "nothing names a hypervisor");
    machine_close();
}

TEST(names)
{
    LOOK_AT(LINUX_NOT_EMULATED, "names the hypervisor linux,kvm",
            "/proc/device-tree/hypervisor/compatible", "linux,kvm", "/proc/device-tree/compatible",
            "linux,dummy-virt");
    LOOK_AT(LINUX_NOT_EMULATED, "names the hypervisor xen",
            "/proc/device-tree/hypervisor/compatible", "xen");
    LOOK_AT(LINUX_NOT_EMULATED, "/sys/hypervisor/type names the hypervisor xen",
            "/sys/hypervisor/type", "xen\n");
    LOOK_AT(LINUX_NOT_EMULATED, "names the hypervisor KVM Virtual Machine",
            "/sys/class/dmi/id/sys_vendor", "QEMU\n", "/sys/class/dmi/id/product_name",
            "KVM Virtual Machine\n");
    LOOK_AT(LINUX_NOT_EMULATED, "names the hypervisor VMware, Inc.", "/sys/class/dmi/id/sys_vendor",
            "VMware, Inc.\n");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "QEMU Virtual Machine: it may be run by KVM, or emulated",
            "/sys/class/dmi/id/sys_vendor", "QEMU\n", "/sys/class/dmi/id/product_name",
            "QEMU Virtual Machine\n");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "linux,dummy-virt: it may be", "/proc/device-tree/compatible",
            "linux,dummy-virt");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "riscv-virtio: it may be", "/proc/device-tree/compatible",
            "riscv-virtio");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "nothing names a hypervisor, and none is excluded",
            "/proc/device-tree/compatible", "raspberrypi,4-model-b");
}

TEST(the_model_of_the_emulator)
{
    LOOK_AT(LINUX_EMULATED, "the processor is QEMU's own model", "/proc/cpuinfo",
            "processor\t: 0\nCPU implementer\t: 0x00\nCPU part\t: 0x051\n",
            "/proc/device-tree/compatible", "linux,dummy-virt");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "it may be run by KVM", "/proc/cpuinfo",
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd07\n",
            "/proc/device-tree/compatible", "linux,dummy-virt");
}

static void lab(const char *line, enum linux_emulated before, enum linux_emulated after)
{
    struct linux_emulation emulation = {before, false, "as before"};
    machine_put("/proc/cmdline", line);
    linux_emulation_by_lab(&emulation);
    CHECK_SAME(emulation.is, after);
    if (before != after)
        CHECK_HOLDS(emulation.reason, "hardstone.lab=");
}

MACHINE_TEST(the_word_of_the_lab)
{
    lab("quiet hardstone.lab=tcg\n", LINUX_EMULATED_UNKNOWN, LINUX_EMULATED);
    lab("hardstone.lab=icount nokaslr\n", LINUX_EMULATED_UNKNOWN, LINUX_EMULATED);
    lab("hardstone.lab=tcg\n", LINUX_NOT_EMULATED, LINUX_EMULATED);
    lab("hardstone.lab=kvm\n", LINUX_EMULATED_UNKNOWN, LINUX_NOT_EMULATED);
    lab("hardstone.lab=kvm\n", LINUX_EMULATED, LINUX_EMULATED);
    lab("hardstone.lab=other\n", LINUX_EMULATED_UNKNOWN, LINUX_EMULATED_UNKNOWN);
    lab("quiet xhardstone.lab=tcg -- hardstone.lab=tcg\n", LINUX_EMULATED_UNKNOWN,
        LINUX_EMULATED_UNKNOWN);
}

static void names_hypervisor(const char *path, const char *text, const char *name)
{
    char found[64] = "";
    machine_open();
    machine_put(path, text);
    CHECK_SAME(linux_hypervisor_by_names(found, sizeof found), name != NULL);
    if (name)
        CHECK_TEXT(found, name);
    machine_close();
}

TEST(names_of_hypervisors)
{
    names_hypervisor("/sys/hypervisor/type", "xen\n", "xen");
    names_hypervisor("/proc/device-tree/hypervisor/compatible", "linux,kvm", "linux,kvm");
    names_hypervisor("/sys/class/dmi/id/sys_vendor", "QEMU\n", "QEMU");
    names_hypervisor("/proc/device-tree/compatible", "linux,dummy-virt", "QEMU virt");
    names_hypervisor("/proc/device-tree/fw-cfg@9020000/compatible", "qemu,fw-cfg-mmio", "QEMU");
    names_hypervisor("/proc/device-tree/fw-cfg@9020000/compatible", "other,fw-cfg", NULL);
    names_hypervisor("/proc/device-tree/compatible", "raspberrypi,4-model-b", NULL);
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "QEMU's fw-cfg: it may be run by KVM, or emulated",
            "/proc/device-tree/fw-cfg@9020000/compatible", "qemu,fw-cfg-mmio");
}
