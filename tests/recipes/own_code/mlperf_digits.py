"""A classifier that keeps its log as MLPerf Training asks, with the mlperf-logging package."""

import argparse
import gc
import time

import torch
import torch.distributed as dist
import torch.distributed.nn  # before the process group: its default arguments would keep that one
from mlperf_logging import mllog
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

mllogger = mllog.get_mllogger()


def run(args):
    rank, world = dist.get_rank(), dist.get_world_size()

    def log(kind, key, value=None, metadata=None):
        if rank == 0:
            getattr(mllogger, kind)(key, value, metadata=metadata)

    torch.manual_seed(1)
    images, labels = load_digits(return_X_y=True)
    images, labels = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)
    train_set = TensorDataset(images[:1500], labels[:1500])
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_size=16, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    log("event", mllog.constants.GLOBAL_BATCH_SIZE, 16 * world)
    log("event", mllog.constants.TRAIN_SAMPLES, 1500)
    log("event", mllog.constants.EVAL_SAMPLES, 297)
    log("event", "opt_base_learning_rate", args.lr)
    log("start", mllog.constants.RUN_START)
    training = 0.0
    for epoch in range(1, 9):
        log("start", mllog.constants.EPOCH_START, metadata={"epoch_num": epoch})
        begin = time.perf_counter()
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        training += time.perf_counter() - begin
        log("end", mllog.constants.EPOCH_STOP, metadata={"epoch_num": epoch})
        log("event", "train_loss", loss.item(), metadata={"epoch_num": epoch})
        with torch.no_grad():
            accuracy = (model.module(images[1500:]).argmax(1) == labels[1500:]).float().mean().item()
        log("event", mllog.constants.EVAL_ACCURACY, accuracy, metadata={"epoch_num": epoch})
        if accuracy >= args.target and epoch >= 4:
            break
    log("end", mllog.constants.RUN_STOP, metadata={"status": "success"})
    if rank == 0:
        print(f"{1500 * epoch} samples in {training:.3f} seconds")
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--target", type=float, default=0.9)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    run(args)
    gc.collect()  # a DDP model that is still there keeps Gloo's threads (PyTorch issue 190489)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
