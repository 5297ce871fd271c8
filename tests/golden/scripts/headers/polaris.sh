#!/bin/bash
#PBS -q debug
#PBS -l select=2:mpiprocs=4:ompthreads=8
#PBS -l place=scatter
#PBS -l walltime=00:10:00
#PBS -A pz0425
#PBS -l filesystems=home:eagle
#PBS -j oe
