make_data() { # the same over all attempts: large things go to the scratch file system, linked from the run's folder
  local name below=${place#"$run"}
  mkdir -p "$scratch$below" || no_data
  is_ours "${scratch%/*}" || fail 79 not-yours \
    "${scratch%/*} is not yours alone (its owner, or its mode): another user could change your checkpoints" \
    "${scratch%/*} 不是您独有的（所有者或权限）：其他用户可能改变您的检查点"
  for name in checkpoints outputs; do
    mkdir -p "$scratch$below/$name" || no_data
    [ -e "$place/$name" ] || ln -sfn "$scratch$below/$name" "$place/$name"
  done
  mkdir -p "$place/tensorboard"
  export CHECKPOINT_DIR="$scratch_inside$below/checkpoints" OUTPUT_DIR="$scratch_inside$below/outputs"
  export LOG_DIR="$place_inside/tensorboard"
}

no_data() {
  fail 71 no-attempt \
    "no folder can be made in $scratch: is the disk full, or the quota reached?" \
    "无法在 $scratch 中创建目录：磁盘是否已满，或已达到配额？"
}
