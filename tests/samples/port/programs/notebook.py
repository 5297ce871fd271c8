#!/usr/bin/env python
# coding: utf-8

# # Clusters
# A first try.

# In[1]:


get_ipython().run_line_magic('matplotlib', 'inline')
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


# In[2]:


torch.manual_seed(2)
device = 'cuda' if torch.cuda.is_available() else 'cpu'
centres = torch.randn(4, 8) * 3
labels = torch.arange(512) % 4
images = centres[labels] + torch.randn(512, 8)


# In[3]:


train_loader = DataLoader(TensorDataset(images[:384], labels[:384]), 16, True)
print('steps', len(train_loader))


# In[4]:


net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
history = []
for epoch in range(4):
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        history.append(loss.item())
print(history)


# In[5]:


def accuracy(x, y):
    with torch.no_grad():
        return (net(x.to(device)).argmax(1).cpu() == y).float().mean().item()


# In[6]:


get_ipython().system('nvidia-smi')
print('accuracy', accuracy(images[384:], labels[384:]))
