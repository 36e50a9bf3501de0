# 00:00:03 (in-kernel periodic task, 10000 us period, priority 80)
# ----lat min|----lat avg|----lat max|-overrun|---msw|
#       2.107|      4.879|     19.136|       0|     0|
# Xenomai version: Xenomai/cobalt v3.2.4
# Linux board 5.15.133-xeno #1 SMP PREEMPT Mon Jun 3 10:00:00 UTC 2024 x86_64 GNU/Linux
# Kernel parameters: console=ttyS0,115200 isolcpus=1
# Cobalt core 3.2.4 detected
2 1
2.25 40
2.75 42
3.25 33
3.75 35
4.25 29
4.75 25
5.25 15
5.75 13
6.25 17
6.75 11
7.25 12
7.75 7
8.25 8
8.75 3
9.25 5
9.75 3
10.25 2
10.75 6
11.25 2
11.75 6
12.25 1
12.75 1
13.25 2
13.75 1
14.25 3
14.75 1
15.25 1
15.75 1
16.25 1
16.75 1
17.25 2
17.75 1
18.25 2
18.75 1
19.25 2
19.5 1
