#!/bin/bash
# A Siflab session: a single-user Jupyter server inside a Singularity image. Made by the Hub; holds no secret.
# Exit codes: 31 no private folder, 32 no Singularity, 33 image not readable, 34 a bind is missing; else the server's.

say() { printf 'siflab: %s\n' "$$*" >&2; }
fail() { local code=$$1; shift; say "$$*"; exit "$$code"; }

sweep() { # private folders of this user's jobs that are over
  local old
  for old in "$$1"/siflab-"$$(id -u)".*; do
    if [ ! -O "$$old" ] || [ ! -d "$$old" ] || [ -L "$$old" ]; then continue; fi
    kill -0 "$$(cat "$$old/pid" 2>/dev/null)" 2>/dev/null || rm -rf -- "$$old"
  done
}

start_bridge() {
  local candidate
  for candidate in $host_pythons; do
    candidate=$$(command -v "$$candidate") || continue
    "$$candidate" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null || continue
    "$$candidate" -I -S "$$D/node.pyz" bridge "$$D" &
    bridge=$$!
    return
  done
  say "no Python 3.6 or later on node $$(hostname): Slurm commands are not available inside this session"
}

# shellcheck disable=SC2317 # called by the trap
end() {
  [ -n "$${bridge:-}" ] && kill "$$bridge" 2>/dev/null
  rm -rf -- "$$D"
}

main() {
  umask 077
  sweep $folder
  D=$$(mktemp -d $folder/siflab-"$$(id -u)".XXXXXXXX) || fail 31 "no private folder can be made in" $folder "on node $$(hostname): is it full?"
  echo $$$$ > "$$D/pid"
  trap end EXIT
  command -v $singularity > /dev/null || fail 32 $singularity "is not installed on node $$(hostname); tell your administrator"
  [ -r $image ] || fail 33 "the image" $image "cannot be read on node $$(hostname); tell your administrator"
  local source
  for source in $sources; do
    [ -e "$$source" ] || fail 34 "$$source, which the container needs, does not exist on node $$(hostname); tell your administrator"
  done

  mkdir "$$D/bin"
  base64 -d > "$$D/claim.json" << 'SIFLAB'
$claim
SIFLAB
  base64 -d > "$$D/bridge.json" << 'SIFLAB'
$bridge
SIFLAB
  base64 -d > "$$D/node.pyz" << 'SIFLAB'
$node
SIFLAB
  base64 -d > "$$D/bin/sbatch" << 'SIFLAB'
$client
SIFLAB
  chmod 700 "$$D/bin/sbatch"
  local name
  for name in squeue scancel sacct sinfo scontrol sstat sprio sshare srun salloc; do ln -s sbatch "$$D/bin/$$name"; done
  # a login shell's /etc/profile resets PATH; this puts it back
  # shellcheck disable=SC2016 # for the shell that reads it
  printf '%s\n' 'if [ -n "$${SIFLAB_PATH:-}" ]; then PATH=$$SIFLAB_PATH; export PATH; fi' > "$$D/profile.sh"

  start_bridge
  say "job $$SLURM_JOB_ID on node $$(hostname): starting the container"
  $command &
  local child=$$! code
  trap 'kill -TERM "$$child" 2>/dev/null' TERM INT HUP
  while :; do # a trapped signal ends wait early
    wait "$$child"
    code=$$?
    kill -0 "$$child" 2>/dev/null || break
  done
  [ "$$code" -lt 128 ] || code=$$((code - 128))
  say "the session ended with exit code $$code"
  exit "$$code"
}

main "$$@"
