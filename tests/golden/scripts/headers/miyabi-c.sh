#!/bin/bash
#PBS -q debug-c
#PBS -l select=2:mpiprocs=2:ompthreads=56
#PBS -l walltime=00:10:00
#PBS -W group_list=pz0425
#PBS -j oe
