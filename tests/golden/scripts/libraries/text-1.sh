# shellcheck shell=bash disable=SC2034
# hackathon.sh: what surrounds the program of every job. job.sh reads this file and calls its functions in this order:
# hk_begin, hk_hosts, hk_check_source, hk_before_environment, hk_record_environment, hk_prepare_launch, hk_run. hk_run
# starts hk_launch, which job.sh defines. No value stands here: they are all in job.sh, in variables HK_...

