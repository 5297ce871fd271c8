#!/bin/bash
#PJM -L rscgrp=b-batch
#PJM -L node=2
#PJM --mpi proc=8
#PJM -L elapse=00:10:00
#PJM -j
