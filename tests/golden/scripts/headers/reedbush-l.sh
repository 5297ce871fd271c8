#!/bin/bash
#PBS -q l-small
#PBS -l select=2:mpiprocs=4:ompthreads=1
#PBS -l walltime=00:10:00
#PBS -W group_list=pz0425
#PBS -j oe
