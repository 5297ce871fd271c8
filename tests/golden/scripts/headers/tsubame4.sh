#!/bin/bash
#$ -S /bin/bash
#$ -cwd
#$ -l node_f=2
#$ -l h_rt=00:10:00
#$ -j y
