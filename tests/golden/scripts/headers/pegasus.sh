#!/bin/bash
#PBS -q gen_S
#PBS -A pz0425
#PBS -b 2
#PBS -T openmpi
#PBS -v NQSV_MPI_VER=5.0.10/gcc11.4.0-cuda12.6.3
#PBS -l elapstim_req=00:10:00
