#!/bin/bash
# A Siflab session: JupyterLab of one user, inside a Singularity image. Written by the Hub for one start. It holds no
# secret: the claim code below is good once, for this job, while it starts.
#
# Exit codes: the server's own if it is under 128; 31 no private folder, 32 no Singularity, 33 no image, 34 a bind is
# missing, 35 no Python in the image, 36 the container did not start, 37 its Python is too old, 41-48 see siflab/node/shim.py.

say() { printf 'siflab: %s\n' "$@" >&2; }

fail() { # exit code, English, Chinese
  say "$2" "$3"
  exit "$1"
}

started() { # pid: when this process started, in the kernel's ticks (proc(5), stat, field 22); nothing if there is none
  local line fields
  { read -r line < "/proc/$1/stat"; } 2> /dev/null || return 0
  read -ra fields <<< "${line##*) }"
  printf '%s' "${fields[19]}"
}

sweep() { # remove private folders that sessions of this user left behind on this node (a job that was killed)
  local old pid start node
  for old in "$parent"/siflab.*; do
    if [ ! -O "$old" ] || [ -L "$old" ] || [ ! -d "$old" ]; then continue; fi
    { read -r pid start node < "$old/shell"; } 2> /dev/null || continue
    [ "$node" = "$(uname -n)" ] || continue
    [ "$(started "$pid")" = "$start" ] || rm -rf -- "$old"
  done
}

write_folder() {
  printf '%s %s %s\n' "$$" "$(started "$$")" "$(uname -n)" > "$folder/shell" || return
  cat > "$folder/claim.json" << 'SIFLAB_END' || return
{"claim_url": "http://10.0.0.1:8081/hub/api/siflab", "ca": null, "user": "user1", "server": "", "code": "the-code-of-this-start", "boot_limit": 300}
SIFLAB_END
  cat > "$folder/bridge.json" << 'SIFLAB_END' || return
{"binds": [["/home", "/workspace"], ["/dataset", "/datasets"], ["/home/user1", "/workspace/user1"]], "slurm_bin": null, "home": "/home/user1"}
SIFLAB_END
  cat > "$folder/profile.sh" << 'SIFLAB_END' || return
# shellcheck shell=sh
# Bound into a session's container as /etc/profile.d/zz-siflab.sh. A login shell (JupyterLab's terminals are such) starts
# with an /etc/profile that sets PATH anew: the session's own comes back, and what other files here added stays behind it.
if [ -n "${SIFLAB_PATH:-}" ]; then
  _siflab_rest=$PATH: PATH=$SIFLAB_PATH
  while [ -n "$_siflab_rest" ]; do
    _siflab_entry=${_siflab_rest%%:*} _siflab_rest=${_siflab_rest#*:}
    case ":$PATH:" in
      *":$_siflab_entry:"*) ;;
      *) PATH=$PATH:$_siflab_entry ;;
    esac
  done
  unset _siflab_rest _siflab_entry
  export PATH
fi
SIFLAB_END
  if [ -f "$image" ]; then # which image this is: siflab/container/digest.py
    { head -c 65536 -- "$image" && tail -c 65536 -- "$image" && stat -L -c %s -- "$image"; } | sha256sum > "$folder/image"
  fi
  base64 -d << 'SIFLAB_END' | gzip -d > "$folder/node.pyz"
H4sIAAAAAAACA9MoyUhVSCxKzsgsS9UEAMHVk5INAAAA
SIFLAB_END
}

start_bridge() { # it runs Slurm's commands here, for the container
  local python node
  for python in /usr/bin/python3 /usr/libexec/platform-python python3; do
    python=$(command -v "$python") || continue
    "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2> /dev/null || continue
    "$python" -I -S "$folder/node.pyz" bridge "$folder" < /dev/null &
    bridge=$!
    return
  done
  local english chinese
  node=$(uname -n)
  english="Slurm commands are not available in this session: no Python 3.6 or later on node $node. Use a login node, or tell your administrator"
  chinese="本会话无法使用 Slurm 命令：节点 $node 上没有 Python 3.6 或更新版本。请使用登录节点，或联系管理员"
  printf '%s\n' "$english" "$chinese" > "$folder/no-bridge"
  say "$english" "$chinese"
}

# shellcheck disable=SC2317 # called by traps
clean_up() {
  [ -z "$bridge" ] || kill "$bridge" 2> /dev/null
  rm -rf -- "$folder"
}

# shellcheck disable=SC2317
pass_on() { # a signal, to the container or as soon as there is one
  early=$1
  [ -z "$container" ] || kill -s "$1" "$container" 2> /dev/null
}

main() {
  parent=/tmp
  local singularity=singularity image=/images/pytorch-2.7.sif image_python=/opt/jupyter/bin/python3
  local source code node
  bridge='' container='' early=''
  # the site's own
module load apptainer
  set -u
  umask 077
  node=$(uname -n)

  command -v "$singularity" > /dev/null || fail 32 \
    "Singularity is not installed on node $node (no command $singularity); tell your administrator (singularity.command in site.yaml)" \
    "节点 $node 上没有安装 Singularity（找不到命令 $singularity）；请联系管理员（site.yaml 中的 singularity.command）"
  [ -r "$image" ] || fail 33 \
    "the image $image cannot be read on node $node; tell your administrator (images in site.yaml)" \
    "节点 $node 上无法读取镜像 $image；请联系管理员（site.yaml 中的 images）"
  for source in /home /dataset; do
    [ -e "$source" ] || fail 34 \
      "$source, which the container needs, does not exist on node $node; tell your administrator (singularity.binds in site.yaml)" \
      "容器需要的 $source 在节点 $node 上不存在；请联系管理员（site.yaml 中的 singularity.binds）"
  done
  sweep
  if ! folder=$(mktemp -d "$parent/siflab.${SLURM_JOB_ID:-0}.XXXXXXXX"); then
    fail 31 "no folder can be made in $parent on node $node: is its disk full? Start the session again, or tell your administrator" \
      "节点 $node 上的 $parent 中无法创建目录：磁盘是否已满？请重新启动会话或联系管理员"
  fi
  trap clean_up EXIT
  write_folder || fail 31 \
    "$folder on node $node cannot be written: is its disk full? Start the session again, or tell your administrator" \
    "节点 $node 上的 $folder 无法写入：磁盘是否已满？请重新启动会话或联系管理员"

  export SLURM_CONF=/etc/slurm/slurm.conf
  start_bridge
  # shellcheck disable=SC2016 # the $ in it are for the shell inside
  local command=(
    singularity exec
    --nv
    --bind /home:/workspace
    --bind /dataset:/datasets:ro
    --bind "$folder":/run/siflab
    --bind "$folder"/profile.sh:/etc/profile.d/zz-siflab.sh:ro
    --home /home/user1:/workspace/user1
    --pwd /workspace/user1
    /images/pytorch-2.7.sif sh -c 'command -v "$1" > /dev/null || exit 97; exec "$@"' sh /opt/jupyter/bin/python3 -I /run/siflab/node.pyz shim /run/siflab
  )
  say "job ${SLURM_JOB_ID:-} on node $node"
  cd / # Singularity mounts the folder that it is started in
  trap 'pass_on TERM' TERM
  trap 'pass_on INT' INT
  trap 'pass_on HUP' HUP
  "${command[@]}" < /dev/null &
  container=$!
  [ -z "$early" ] || pass_on "$early"
  while :; do # a trapped signal ends wait early
    wait "$container"
    code=$?
    kill -0 "$container" 2> /dev/null || break
  done
  if [ -e "$folder/claim.json" ]; then # the shim takes it away first of all
    [ "$code" -ne 97 ] || fail 35 \
      "the image $image has no $image_python; tell your administrator (images in site.yaml: python)" \
      "镜像 $image 中没有 $image_python；请联系管理员（site.yaml 中 images 的 python）"
    [ "$code" -ne 98 ] || fail 37 \
      "$image_python in the image $image is older than Python 3.6; tell your administrator (images in site.yaml: python)" \
      "镜像 $image 中的 $image_python 早于 Python 3.6；请联系管理员（site.yaml 中 images 的 python）"
    fail 36 "the container did not start (exit code $code): the lines above say why; tell your administrator" \
      "容器没有启动（退出码 $code），原因见上面的输出；请联系管理员"
  fi
  if [ "$code" -ge 128 ]; then
    fail 46 "the session was ended by signal $((code - 128))" "会话被信号 $((code - 128)) 终止"
  fi
  exit "$code"
}

main "$@"
