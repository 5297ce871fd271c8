#!/bin/bash
#$ -S /bin/bash
#$ -cwd
#$ -l f_node=2
#$ -l h_rt=00:10:00
#$ -j y
