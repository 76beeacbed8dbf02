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
