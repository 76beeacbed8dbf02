  # Where the nodes meet. Names are resolved here, since the image may know none of the cluster's.
  local first address
  first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
  address=$(scontrol --oneliner show node "$first" | sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p')
  master=$(getent ahosts "${address:-$first}" | awk 'NR == 1 { print $1 }')
  [ -n "$master" ] || fail 78 no-rendezvous \
    "the address of the first node, ${first:-unknown}, is not known on ${SLURMD_NODENAME:-this node}; tell your administrator" \
    "在 ${SLURMD_NODENAME:-本节点} 上无法解析首个节点 ${first:-未知} 的地址；请联系管理员"
  port=$((20000 + SLURM_JOB_ID % 10000)) # below the ports that the kernel gives away
  while (exec 3<> "/dev/tcp/$master/$port") 2> /dev/null; do # someone listens there
    port=$((20000 + (port - 19999) % 10000))
  done
  say "rendezvous at $master:$port"
