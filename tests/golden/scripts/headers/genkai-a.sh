#!/bin/bash
#PJM -L rscgrp=a-batch
#PJM -L node=2
#PJM --mpi proc=4
#PJM -L elapse=00:10:00
#PJM -j
