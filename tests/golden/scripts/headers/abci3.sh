#!/bin/bash
#PBS -q rt_HF
#PBS -l select=2:mpiprocs=8:ompthreads=12
#PBS -l walltime=00:10:00
#PBS -P pz0425
#PBS -v USE_SSH=1
#PBS -j oe
