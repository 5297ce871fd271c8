#!/bin/bash
#PJM -L rscgrp=short-a
#PJM -L node=2
#PJM --mpi proc=16
#PJM -L elapse=00:10:00
#PJM -g pz0425
#PJM -j
