#!/usr/bin/env bash
# apptainer.sh - real Apptainer (Debian sid's package) on Debian 12 (bookworm) or 13 (trixie).
#
#  * never adds sid to the machine's own apt sources: the .deb is fetched with a private apt state;
#  * where the machine's glibc is new enough (trixie) the unchanged .deb is installed with apt-get;
#  * where it is not (bookworm) the .deb is repacked: the two ELF programs get a private loader + C
#    library (sid's libc6, libseccomp2, libsqlite3-0) in /usr/lib/apptainer-rt through an ELF
#    interpreter and a DT_RPATH; the machine's own libc is not touched. Nothing else in it changes.
#  * installs the SIF mount helpers (squashfuse, fuse-overlayfs, fuse2fs) and makes /dev/fuse 0666.
#
# Env: APPTAINER_SUITE (sid), APPTAINER_MIRROR (the mirror this machine's own apt uses),
#      APPTAINER_CACHE (/var/cache/siflab/apptainer), FORCE_REPACK=1, NO_FUSE=1
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
SUITE=${APPTAINER_SUITE:-sid}
# shellcheck source=/dev/null
CODENAME=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # $(...) is apt's own notation
MIRROR=${APPTAINER_MIRROR:-$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' | awk -v c="$CODENAME" '$1==c{print $2; exit}')}
[ -n "$MIRROR" ] || { echo "no Debian mirror in this machine's apt sources; set APPTAINER_MIRROR" >&2; exit 1; }
CACHE=${APPTAINER_CACHE:-/var/cache/siflab/apptainer}
RT=/usr/lib/apptainer-rt
APT="apt-get -o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends"
log() { echo "[apptainer] $*" >&2; }
[ "$(id -u)" = 0 ] || { log "must run as root"; exit 1; }

after_install() {
    if [ "${NO_FUSE:-0}" != 1 ] && [ -e /dev/fuse ]; then
        chmod 0666 /dev/fuse || log "warning: cannot chmod /dev/fuse; SIF images will be extracted at each start"
    fi
    [ "$(cat /proc/sys/user/max_user_namespaces 2>/dev/null || echo 0)" -gt 0 ] ||
        log "warning: user namespaces are off (user.max_user_namespaces=0); apptainer cannot start containers"
    if [ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2>/dev/null || echo 0)" = 1 ]; then
        log "warning: AppArmor restricts unprivileged user namespaces"
    fi
    # root here may lack a capability (some VMs: CAP_SYS_RESOURCE); apptainer asks for all of them for root and dies:
    # "ERROR: Requesting capability set 0x... while permitted capability set is 0x..."
    local last full bnd
    last=$(cat /proc/sys/kernel/cap_last_cap); full=$(( (1 << (last + 1)) - 1 ))
    bnd=$(( 16#$(awk '/^CapBnd/{print $2}' /proc/self/status) ))
    if [ $(( bnd & full )) -ne "$full" ]; then
        log "root's capability bounding set is not full: setting 'root default capabilities = no'"
        apptainer config global --set "root default capabilities" no
    fi
    apptainer --version >&2 && singularity --version >&2
}

if command -v apptainer >/dev/null && apptainer --version >/dev/null 2>&1; then
    log "already installed"; after_install; exit 0
fi

$APT update >&2
helpers=(ca-certificates squashfs-tools uidmap tzdata)
[ "${NO_FUSE:-0}" = 1 ] || helpers+=(squashfuse fuse-overlayfs fuse2fs gocryptfs)  # gocryptfs only silences an INFO line
$APT install "${helpers[@]}" >&2

# --- fetch from sid with a private apt state -------------------------------------------------
P=$CACHE/apt; mkdir -p "$P/lists/partial" "$P/cache/archives/partial" "$CACHE/debs"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $MIRROR $SUITE main" > "$P/sources.list"
SID=(-o Dir::State::Lists="$P/lists" -o Dir::Etc::sourcelist="$P/sources.list" -o Dir::Etc::sourceparts=/dev/null
     -o Dir::Cache="$P/cache" -o Dir::State::status=/dev/null -o Acquire::Languages=none
     -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null)
apt-get "${SID[@]}" -qq update >&2
( cd "$CACHE/debs" && rm -f ./*.deb && apt-get "${SID[@]}" -qq download apptainer libc6 libseccomp2 libsqlite3-0 >&2 )
DEB=$(ls "$CACHE"/debs/apptainer_*.deb)

# --- can this machine install it as it is? ---------------------------------------------------
if [ "${FORCE_REPACK:-0}" != 1 ] && $APT --no-remove -s install "$DEB" >/dev/null 2>&1; then
    log "installing $(basename "$DEB") unchanged"
    $APT --no-remove install "$DEB" >&2
    after_install; exit 0
fi

# --- repack with a private C library ---------------------------------------------------------
log "repacking $(basename "$DEB") with a private C library in $RT"
command -v patchelf >/dev/null || $APT install patchelf >&2
W=$(mktemp -d); trap 'rm -rf "$W"' EXIT
dpkg-deb -R "$DEB" "$W/pkg"
for d in libc6 libseccomp2 libsqlite3-0; do dpkg -x "$CACHE"/debs/${d}_*.deb "$W/rt"; done
mkdir -p "$W/pkg$RT"
# every shared library, from /lib or /usr/lib, flat; gconv modules are not needed
find "$W/rt" \( -path '*/gconv' -o -path '*/ld.so.conf.d' -o -path '*/share' \) -prune -o \
     \( -name '*.so' -o -name '*.so.*' \) -path '*-linux-gnu/*' -print0 | xargs -0 cp -a -t "$W/pkg$RT"
LD=$(cd "$W/pkg$RT" && ls ld-linux-*.so.*)
for f in usr/bin/apptainer usr/lib/*/apptainer/bin/starter; do
    for e in "$W"/pkg/$f; do
        patchelf --force-rpath --set-interpreter "$RT/$LD" --set-rpath "$RT" "$e"
    done
done
sed -i -E -e 's/^Version: (.*)$/Version: \1+privatelibc1/' \
          -e 's/libc6 \(>= [^)]*\)(, )?//; s/libseccomp2 \(>= [^)]*\)(, )?//; s/libsqlite3-0 \(>= [^)]*\)(, )?//' \
          -e '/^Depends:/s/, *$//' -e '/^(Static-)?Built-Using:/d' "$W/pkg/DEBIAN/control"
( cd "$W/pkg" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum > DEBIAN/md5sums )
OUT=$CACHE/$(basename "${DEB%.deb}")-privatelibc.deb
dpkg-deb --root-owner-group -Zgzip -z1 -b "$W/pkg" "$OUT" >&2
$APT --no-remove install "$OUT" >&2
after_install
