#!/bin/sh
# Stands for sbatch, squeue, scancel, sacct, sinfo and scontrol in a session's container (one file, linked by those names).
folder=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$(cat "$folder/python")" -I -S "$folder/node.pyz" client "${0##*/}" "$@"
