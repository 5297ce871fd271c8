#!/usr/bin/env bash
# The core of the tests as on a machine with nothing but Python: no MPI, Slurm, Grid Engine, Chromium, Java, compiler, fonts
# or network, not root, every other folder read-only, the usual folders of sites there. Nothing outside is changed.
#   tests/bare.sh                        the core
#   tests/bare.sh tests/unit -x          pytest with these arguments
#   BARE_COMMAND='command -v mpirun' tests/bare.sh    a command of bash instead of pytest
# Needs user namespaces, or root: everything happens in a mount namespace of its own.
set -eu
if [ -z "${BARE_ROOT-}" ]; then
  checkout=$(cd "$(dirname "$0")/.." && pwd)
  [ -x "$checkout/.venv/bin/python" ] || { echo "bare.sh: no .venv here: make test makes it" >&2 && exit 2; }
  BARE_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/hackathon-bare-XXXXXX")
  export BARE_ROOT BARE_CHECKOUT=$checkout
  trap 'rm -rf "$BARE_ROOT" 2>/dev/null || :' EXIT
  [ "$#" -gt 0 ] || set -- -q -n 2 --dist loadgroup --no-loadscope-reorder -m 'not slow'
  namespaces=(--mount --uts --net)
  [ "$(id -u)" -eq 0 ] || namespaces+=(--user --map-root-user)
  unshare "${namespaces[@]}" bash "$checkout/tests/bare.sh" "$@"
  exit
fi

# what is hidden where a PATH looks for commands, and where a linker looks for libraries
commands=(
  'mpi*' 'ompi*' 'orte*' 'prte*' 'prun*' 'opal*' 'hydra*' 'horovodrun' # MPI
  srun sbatch squeue sacct sacctmgr scancel scontrol sinfo salloc sstat sprio sshare sattach sbcast sdiag scrontab 'slurm*' 'munge*' \
  'mysqld*' 'mariadbd*' qsub qstat qdel qacct qhost qconf qrsh qlogin qselect qalter qmod qhold qrls qping 'sge*' pbsnodes
  'chromium*' 'google-chrome*' java keytool shellcheck kubectl ssh sshd scp sftp 'ssh-*' docker podman apptainer singularity
  gcc 'gcc-*' cc 'g++*' 'c++*' 'x86_64-linux-gnu-*' 'clang*' cmake make nvcc nvidia-smi msgfmt node npm gdb strace
  ip ping git vim emacs nano less man fc-list fc-match convert module
)
root=$BARE_ROOT/root
mkdir -p "$BARE_ROOT/tmp" "$BARE_ROOT/vartmp" "$BARE_ROOT/empty" "$root"
chmod 1777 "$BARE_ROOT/tmp" "$BARE_ROOT/vartmp"
ip link set lo up
hostname bare.example.org # a name with dots that nothing resolves
mount -t tmpfs -o mode=755 tmpfs "$root"
for path in /* /.[!.]*; do
  here=$root$path
  if [ -L "$path" ]; then
    cp -P "$path" "$here"
  elif [ -d "$path" ]; then
    mkdir "$here"
    case $path in
      /tmp) mount --bind "$BARE_ROOT/tmp" "$here" ;;
      *) mount --rbind "$path" "$here" ;;
    esac
    case $path in
      /tmp | /dev | /proc | /sys) ;;
      *) mount -o remount,bind,ro "$here" 2>/dev/null || : ;;
    esac
  fi
done
mkdir -p "$root/var/tmp" && mount --bind "$BARE_ROOT/vartmp" "$root/var/tmp"
mkdir -p "$root$BARE_CHECKOUT" && mount --rbind "$BARE_CHECKOUT" "$root$BARE_CHECKOUT"

# folders that sites have, and one that a test may believe to be nowhere
for path in lustre scratch work group gpfs data fast home shared fs nonexistent nonexistent/file.txt "no/such/folder" missing; do
  mkdir -p "$root/$path" 2>/dev/null || :
done

over() { # over FOLDER: a layer of its own above a folder, from which the names can go; returns 1 where there is no such folder
  [ -d "$root$1" ] || return 1
  layer=$(mktemp -d "$BARE_ROOT/layer-XXXX")
  mount -t tmpfs tmpfs "$layer" && mkdir "$layer/upper" "$layer/work" && chmod 755 "$layer/upper"
  mount -t overlay -o "lowerdir=$root$1,upperdir=$layer/upper,workdir=$layer/work" overlay "$root$1"
}
IFS=: read -ra folders <<<"$PATH:/usr/sbin:/sbin:/usr/local/sbin:$BARE_CHECKOUT/.venv/bin"
declare -A visited=()
for folder in "${folders[@]}"; do
  folder=$(readlink -m "$folder")
  [ -z "${visited[$folder]-}" ] || continue
  visited[$folder]=1
  over "$folder" || continue
  for name in "${commands[@]}"; do
    # shellcheck disable=SC2086 # the names are patterns
    (cd "$root$folder" && rm -f -- $name) || :
  done
done
python=$BARE_CHECKOUT/.venv/bin/python
libraries=$("$python" -c 'import sys, pathlib; print(*sorted({str(pathlib.Path(path).parents[1]) for path in sys.path if path.endswith("site-packages")}), sep="\n")')
while read -r folder; do
  [ "$(echo "$root$folder"/libmpi*)" != "$root$folder/libmpi*" ] || continue
  if over "$folder"; then rm -f "$root$folder"/libmpi*; fi
done < <(printf '%s\n' "$libraries" /usr/lib /usr/lib64 /usr/local/lib "/usr/lib/$(uname -m)-linux-gnu")
# an account with a group of its own
{ grep -v '^[^:]*:[^:]*:1000:' /etc/passwd && echo 'bare:x:1000:1000::/tmp/home:/bin/bash'; } >"$BARE_ROOT/passwd"
{ grep -v '^[^:]*:[^:]*:1000:' /etc/group && echo 'bare:x:1000:'; } >"$BARE_ROOT/group"
# not mounted on the files: a mount ends when somebody outside replaces the file below it, as useradd does
over /etc
cp "$BARE_ROOT/passwd" "$BARE_ROOT/group" "$root/etc/"
for folder in /usr/lib/chromium /usr/share/fonts /usr/local/share/fonts /etc/slurm /etc/munge /var/lib/gridengine /etc/gridengine /usr/share/modules; do
  [ ! -d "$root$folder" ] || mount --bind "$BARE_ROOT/empty" "$root$folder"
done

mkdir -p "$BARE_ROOT/tmp/home"
cat >"$BARE_ROOT/tmp/.enter" <<'ENTER'
cd "$1" && shift
umask 077
if [ -n "${BARE_COMMAND-}" ]; then
  exec bash -c "$BARE_COMMAND"
fi
exec .venv/bin/python -m pytest -p no:cacheprovider "$@"
ENTER
# not chroot alone: who has another root than the namespace's makes no namespace of users
mkdir "$root/.before"
cd "$root" && pivot_root . .before && cd /
umount -l /.before && rmdir /.before
exec env -i HOME=/tmp/home PATH="$BARE_CHECKOUT/.venv/bin:/usr/local/bin:/usr/bin:/bin" \
  TZ=America/St_Johns BARE_COMMAND="${BARE_COMMAND-}" ${CI:+CI=$CI} \
  unshare --user --map-user=1000 --map-group=1000 bash /tmp/.enter "$BARE_CHECKOUT" "$@"
