#!/bin/sh
# sbatch, squeue, scancel and the rest of a session: links to this file. The bridge on the node runs the command itself.
folder=${SIFLAB_DIR:-/run/siflab}
read -r python <"$folder/python" && exec "$python" -I -S "$folder/node.pyz" client "${0##*/}" "$@"
echo "siflab: $folder is damaged: Slurm commands are not available in this session; start a new one" >&2
echo "siflab: $folder 已损坏：本会话无法使用 Slurm 命令；请重新启动会话" >&2
exit 69
