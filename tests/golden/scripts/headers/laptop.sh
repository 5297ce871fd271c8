#!/bin/bash
#HK walltime=600
#HK processes=4 threads=1
