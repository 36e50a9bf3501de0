#!/bin/busybox sh
# Process 1 of a guest, until hardstone-guest takes its place.
export PATH=/bin HOME=/tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /dev/pts /dev/mqueue
for folder in /dev/shm /tmp /run; do mount -t tmpfs -o mode=1777 tmpfs $folder; done
mount -t devpts devpts /dev/pts
for kind in mqueue:/dev/mqueue cgroup2:/sys/fs/cgroup debugfs:/sys/kernel/debug tracefs:/sys/kernel/tracing; do
    mount -t ${kind%%:*} none ${kind#*:} 2>/dev/null # what the kernel lacks, the probe tells
done
hostname lab
ip link set lo up
for module in /modules/*.ko; do
    [ -e $module ] && { insmod $module || echo "hardstone-lab: insmod $module failed"; }
done

clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
for try in 1 2 3 4 5 6 7 8 9 10; do # the kernel still checks the TSC: no run begins before it is done
    [ "$(cat $clock 2>/dev/null)" = tsc-early ] || break
    sleep 0.5
done

devices=/sys/bus/pci/devices
echo 1 >$devices/0000:00:10.0/enable
recording=$devices/0000:00:10.0/resource2
[ -e ${recording}_wc ] && recording=${recording}_wc
ln -s $recording /run/recording

for word in $(cat /proc/cmdline); do
    case $word in
    hardstone.uio=*:*)
        id=${word#*=}
        echo "${id%:*} ${id#*:}" >/sys/bus/pci/drivers/uio_pci_generic/new_id
        [ -e /dev/uio0 ] || { echo "hardstone-lab: no driver for the device $id"; reboot -f; }
        ;;
    esac
done

case "$(cat /proc/cmdline)" in
*hardstone.lab=icount*)
    exec hardstone-guest turns $devices/0000:00:11.0 $devices/0000:00:12.0
    ;;
esac
for port in /sys/class/virtio-ports/*; do
    [ "$(cat $port/name 2>/dev/null)" = hardstone ] && exec hardstone-guest port /dev/${port##*/}
done
echo "hardstone-lab: no port of virtio-serial"
reboot -f
