#!/bin/bash
#PJM -L rscgrp=small
#PJM -L node=1
#PJM --mpi proc=1
#PJM -L elapse=00:10:00
#PJM -g pz0425
#PJM --no-check-directory
#PJM -j
