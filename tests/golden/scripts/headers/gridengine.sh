#!/bin/bash
#$ -S /bin/bash
#$ -cwd
#$ -pe mpi 4
#$ -l h_rt=00:10:00
#$ -j y
