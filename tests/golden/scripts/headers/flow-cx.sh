#!/bin/bash
#PJM -L rscunit=cx
#PJM -L rscgrp=cx-small
#PJM -L node=2
#PJM --mpi proc=8
#PJM -L elapse=00:10:00
#PJM -j
