#!/bin/bash
#PBS -q SQUID
#PBS --group=pz0425
#PBS -b 2
#PBS -T openmpi
#PBS -v NQSV_MPI_MODULE=BaseGPU/2025
#PBS -l cpunum_job=72
#PBS -l gpunum_job=8
#PBS -l elapstim_req=00:10:00
