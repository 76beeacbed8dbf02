#!/bin/sh
# start-node.sh NODE HOSTS RESOLV_CONF - become the slurmd of NODE; runs inside the node's own network, UTS and mount namespaces.
# The name and the two files are the node's own; the machine's /etc/hosts and /etc/resolv.conf stay what they are.
set -eu
node=$1 hosts=$2 resolv=$3
hostname "$node"
mount --bind "$hosts" /etc/hosts
[ ! -f /etc/resolv.conf ] || mount --bind "$resolv" /etc/resolv.conf
exec slurmd -D -N "$node"
