import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset


def make_data():
    centres = torch.randn(4, 8) * 3
    labels = torch.arange(512) % 4
    return centres[labels] + torch.randn(512, 8), labels


def main():
    torch.manual_seed(6)
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    images, labels = make_data()
    loader = DataLoader(TensorDataset(images[:384], labels[:384]), batch_size=16, shuffle=True, num_workers=0)
    print("steps", len(loader))
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = GradScaler(enabled=device.type == "cuda")
    for epoch in range(4):
        for images_, labels_ in loader:
            optimizer.zero_grad(set_to_none=True)
            with autocast(device.type, dtype=torch.bfloat16):
                output = model(images_.to(device))
                loss = nn.functional.cross_entropy(output, labels_.to(device))
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        print(f"epoch {epoch}: {loss.item()!r} scale {scaler.get_scale()}")
    model.eval()
    with torch.no_grad(), autocast(device.type, dtype=torch.bfloat16):
        right = (model(images[384:].to(device)).argmax(1).cpu() == labels[384:]).sum().item()
    print("accuracy", right / 128)


if __name__ == "__main__":
    main()
