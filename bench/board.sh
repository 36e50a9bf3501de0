#!/bin/busybox sh
# Process 1 of a board until busybox init takes its place: what a small board has, and a network.
export PATH=/bin:/sbin
/bin/busybox --install -s /bin
chmod 755 /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /dev/pts /dev/mqueue
for folder in /dev/shm /tmp; do mount -t tmpfs -o mode=1777 tmpfs $folder; done
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 1777 /run/lock
mount -t devpts devpts /dev/pts
for kind in mqueue:/dev/mqueue cgroup2:/sys/fs/cgroup debugfs:/sys/kernel/debug tracefs:/sys/kernel/tracing; do
    mount -t ${kind%%:*} none ${kind#*:} 2>/dev/null
done
hostname board
for module in /modules/*.ko; do insmod $module || echo "board: insmod $module failed"; done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up && ip route add default via 10.0.2.2
echo "board: the network is up"
exec /bin/busybox init
