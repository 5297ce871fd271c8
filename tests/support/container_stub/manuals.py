"""The options of each tool, as its manual has them: with a value, or without."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Manual:
    """One command line."""

    source: str
    """Where the options were read."""
    valued: frozenset[str]
    flags: frozenset[str]
    before: tuple[str, ...] = ()
    """Words before the options."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_APPTAINER = Manual(
    "apptainer-exec(1) of Apptainer 1.4; user guide: environment_and_metadata, bind_paths_and_mounts, gpu",
    _words(
        "--add-caps --app --apply-cgroups --authfile -B --bind --blkio-weight --cpus --cpu-shares --cwd --pwd --dns "
        "--drop-caps --env --env-file --fusemount -H --home --hostname --memory --mount --network --network-args "
        "--no-mount -o --overlay --pem-path --pids-limit -S --scratch --security -W --workdir"
    ),
    _words(
        "--allow-setuid -e --cleanenv --compat -c --contain -C --containall -f --fakeroot -i --ipc --keep-privs --net "
        "--no-eval --no-home --no-init --no-pid --no-privs --no-umask --nv --nvccli -p --pid --rocm --sharens -u "
        "--userns --uts -w --writable --writable-tmpfs"
    ),
    ("exec",),
)
_PODMAN = Manual(
    "podman-run(1) of Podman 4; podman-hpc: `run --help` and etc/modules.d of NERSC/podman-hpc",
    _words(
        "--annotation --cgroups --cgroupns --cpus --cpuset-cpus --device --entrypoint -e --env --env-file -h "
        "--hostname --ipc -l --label --log-driver -m --memory --mount --name --network --pid --pids-limit --pull "
        "--security-opt --shm-size --stop-signal --tmpfs --ulimit --umask -u --user --userns --uts -v --volume -w "
        "--workdir"
    ),
    _words("--init -i --interactive --privileged -q --quiet --read-only --rm --rootfs -t --tty"),
    ("run",),
)
MANUALS = {
    "apptainer": _APPTAINER,
    "singularity": _APPTAINER,
    "podman": _PODMAN,
    "podman-hpc": Manual(
        _PODMAN.source, _PODMAN.valued, _PODMAN.flags | _words("--gpu --mpi --cuda-mpi --openmpi-pmix --nccl"), ("run",)
    ),
    "shifter": Manual(
        "`shifter --help` in src/shifter.c of NERSC/shifter",
        _words("-i --image -V --volume -m --module -e --env --env-file --workdir"),
        _words("-h --help -v --verbose -E --clearenv --entrypoint"),
    ),
    "sarus": Manual(
        "sarus user guide; src/cli/CommandRun.hpp of eth-cscs/sarus",
        _words("--annotation --device --entrypoint -e --env --mount --mpi-type -n --name --pid -w --workdir"),
        _words("--centralized-repository --glibc --init -m --mpi --ssh -t --tty"),
        ("run",),
    ),
    "srun": Manual(
        "srun(1) of Slurm 22.05 and the options of pyxis: args.c of NVIDIA/pyxis",
        _words(
            "--nodes --ntasks --ntasks-per-node --cpus-per-task --kill-on-bad-exit --export --cpu-bind --mem-bind "
            "--container-image --container-mounts --container-workdir --container-name --container-save --container-env"
        ),
        _words(
            "--container-mount-home --no-container-mount-home --container-remap-root --no-container-remap-root "
            "--container-entrypoint --no-container-entrypoint --container-entrypoint-log --container-writable "
            "--container-readonly"
        ),
    ),
}
