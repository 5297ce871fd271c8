#!/bin/bash
#PJM -L rscgrp=debug-o
#PJM -L node=1
#PJM --mpi proc=1
#PJM -L elapse=00:10:00
#PJM -g pz0425
#PJM -j
