#!/bin/bash
#PBS -q debug-g
#PBS -l select=2:mpiprocs=1:ompthreads=72
#PBS -l walltime=00:10:00
#PBS -W group_list=pz0425
#PBS -j oe
