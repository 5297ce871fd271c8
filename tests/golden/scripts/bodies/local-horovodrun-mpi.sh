
# Values of this job, each quoted by hackathon. Edit them here: the rest of the script only reads them.
# shellcheck disable=SC2034,SC2154

# The folder of the submission, not that of $0, which may be the scheduler's copy of this script. hackathon.sh there
# defines what is called hk_... below: claim, log, events, signals, stop file.
HK_RUN=${HACKATHON_SUBMIT_DIR:-$PWD}
HK_JOB_ID=${HACKATHON_JOB_ID:-by-hand.$(hostname).$$}
cd -P "$HK_RUN" || exit 78
if [ ! -f hackathon.sh ] || [ ! -f rank.sh ]; then
  echo "hackathon: $HK_RUN has no hackathon.sh and rank.sh beside this script: use 'hackathon submit', submit from a folder" \
    "of 'hackathon render --to DIR', or take 'hackathon render --essence', whose script needs no other file" >&2
  exit 2
elif [ "$EUID" -ne 0 ] && ! { [ -O . ] && [ -O hackathon.sh ] && [ -O rank.sh ]; }; then # replaced while the job waited?
  echo "hackathon: $HK_RUN, its hackathon.sh or its rank.sh belongs to another account; nothing of it is run" >&2
  exit 78
fi
. ./hackathon.sh

# Begin. A second job of this run ends here. From now on output goes to logs/job.log, start and end to events/job.jsonl.
hk_begin
hk_hosts        # sets HK_HOSTS, MASTER_ADDR and MASTER_PORT; ends the job unless it got HK_NODES nodes
hk_check_source # warns if the program has changed since the submission

# Environment: the ranks get what these lines export. Module, conda and profile scripts fail under set -eu.
hk_before_environment
set +eu
GROUP=$HK_GROUP NODES=$HK_NODES USER=${USER:-$(id -un)}
export USER
for hk_line in "${HK_ENVIRONMENT[@]}"; do
  eval "$hk_line" || hk_warn environment "environment line ended with $?: $hk_line"
done
for hk_line in "${HK_VARIABLES[@]}"; do
  eval "export ${hk_line%%=*}=\"${hk_line#*=}\"" || hk_warn environment "variable not set: $hk_line"
done
hk_record_environment
hk_prepare_launch # ends the job if a command of the launch is missing

# Launch: horovodrun over mpirun runs rank.sh as each rank, and rank.sh runs HK_COMMAND. hk_horovodrun adds HK_MPI_OPTIONS.
hk_launch() {
  hk_horovodrun --mpi -np "$HK_PROCESSES" -H "$(hk_horovod_hosts)" --disable-cache \
    --start-timeout "${HOROVOD_START_TIMEOUT:-120}" bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" rank
}

# Run: start hk_launch, pass signals on to it, write the file stop before the walltime ends, and wait for the end.
hk_run
echo "hackathon: ended with $hk_code"
exit "$hk_code"
