import os, sys, argparse
a=argparse.ArgumentParser(); a.add_argument("--lr",type=float); n=a.parse_args()
size=int(os.environ.get("WORLD_SIZE",os.environ.get("SIZE","1")))
if int(os.environ.get("RANK","0"))==0:
    print("throughput: %f" % (100*size**0.9*(1+n.lr)))
    print("test accuracy %f" % (0.9+n.lr/10))
    print("ENVX=[%s]" % os.environ.get("X"))
