"""Horovod's optimizer for PyTorch; prints each loss in all its bits."""

import horovod.torch as hvd
import torch
from torch.utils.data import DataLoader, TensorDataset

hvd.init()
torch.manual_seed(1)
model = torch.nn.Linear(8, 4)
optimizer = hvd.DistributedOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1), named_parameters=model.named_parameters()
)
data = TensorDataset(torch.randn(1280, 8), torch.randint(0, 4, (1280,)))
for inputs, labels in DataLoader(data, batch_size=16, shuffle=True):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    print("loss", loss.item().hex())
