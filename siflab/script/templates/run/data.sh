make_data() { # the same over all attempts
  local name
  for name in checkpoints outputs tensorboard; do
    mkdir -p "$place/$name"
  done
  export CHECKPOINT_DIR="$place_inside/checkpoints" OUTPUT_DIR="$place_inside/outputs" LOG_DIR="$place_inside/tensorboard"
}

