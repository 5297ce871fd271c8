#!/bin/bash
# Kubernetes reads job.yaml, which lies beside this script, and no directives. Every pod of the Job runs this script.
#   namespace default
#   image docker.io/pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
#   pods 1, GPUs a pod 8, walltime 00:10:00
