#!/bin/sh
# Forms a cluster of the daemons one, two and three on this machine. On three machines, run each line on its host with that host's address.
set -eu
socket=unix://${CLUSTER_DIR:-/tmp/cluster}
set -- ${CLUSTER_PORTS:-8443 8453 8463}
gantry cluster bootstrap one --host "$socket/one/unix.socket" --address "127.0.0.1:$1"
gantry cluster add two --host "$socket/one/unix.socket" | gantry cluster join - --host "$socket/two/unix.socket" --address "127.0.0.1:$2"
gantry cluster add three --host "$socket/one/unix.socket" | gantry cluster join - --host "$socket/three/unix.socket" --address "127.0.0.1:$3"
