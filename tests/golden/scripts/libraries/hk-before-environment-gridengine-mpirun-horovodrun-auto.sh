# ---- environment ----
hk_before_environment() {
  hk_private='^(SLURM|SBATCH|SRUN|SGE_TASK|SGE_JOB_SPOOL|SGE_BINDING|SGE_HGR|NSLOTS|QUEUE|REQNAME|REQUEST|RESTARTED|PE_HOSTFILE|PE$|T4TMPDIR|SGE_LOCALDIR|PMI|OMPI|PRTE|HYDRA|MPI_LOCAL|CUDA_VISIBLE|ROCR_VISIBLE|GPU_DEVICE|TMPDIR$)'
  hk_before=$(compgen -e | grep -E "$hk_private" | while read -r name; do declare -p "$name"; done)
}
# What ranks on other nodes must have: all exported variables but those that belong to one node or one task. Those are
# taken along only where the environment lines changed them. Keys and passwords may be among them: for the owner's eyes only.
hk_record() {
  compgen -e | grep -Ev "$hk_private|^(HOSTNAME|HOST|PWD|OLDPWD|SHLVL|_|DISPLAY|SSH_.*|XDG_.*|DBUS.*|BASH.*|RANK|WORLD_SIZE|LOCAL_RANK)$" |
    while read -r name; do declare -p "$name"; done
  compgen -e | grep -E "$hk_private" | while read -r name; do
    hk_value=$(declare -p "$name")
    case $'\n'"$hk_before"$'\n' in *$'\n'"$hk_value"$'\n'*) ;; *) printf '%s\n' "$hk_value" ;; esac
  done
  declare -p HK_COMMAND HK_SOURCE HK_NODES HK_PROCESSES HK_PROCESSES_PER_NODE HK_THREADS HK_MODE HK_SCRATCH HK_TELEMETRY
  declare -p HK_HOSTS HK_LAUNCHER
}
hk_record_environment() {
  cd "$HK_RUN" || exit 78
  if ! (umask 077 && hk_record >"env/.job-$HK_ATTEMPT.sh" && mv "env/.job-$HK_ATTEMPT.sh" "env/job-$HK_ATTEMPT.sh") 2>/dev/null; then
    hk_warn record "the environment could not be recorded (disk full?)"
  fi
}

