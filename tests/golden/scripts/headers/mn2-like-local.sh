#!/bin/bash
# Kubernetes reads job.yaml, which lies beside this script, and no directives. Every pod of the Job runs this script.
#   namespace team-a
#   image registry.example.com/research/torch:2.5
#   pods 1, GPUs a pod 8, walltime 01:00:00
