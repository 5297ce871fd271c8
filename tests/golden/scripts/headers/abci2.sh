#!/bin/bash
#$ -S /bin/bash
#$ -cwd
#$ -l rt_F=2
#$ -l h_rt=00:10:00
#$ -j y
