"""Data-parallel training, as a script: siflab promote ddp.py --mode distributed --nodes 2 -- --epochs 5"""

import argparse
import os

import torch
import torch.distributed as dist

import siflab
from siflab import checkpoint


class Points(torch.utils.data.Dataset):
    """A plane with a little noise."""

    def __init__(self, count: int = 512) -> None:
        generator = torch.Generator().manual_seed(1)
        self.x = torch.randn(count, 4, generator=generator)
        plane = torch.tensor([[1.0], [-2.0], [3.0], [0.5]])
        self.y = self.x @ plane + 0.01 * torch.randn(count, 1, generator=generator)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.x[index], self.y[index]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2, help="how often all data is seen")
    parser.add_argument("--rate", type=float, default=0.05, help="learning rate")
    options = parser.parse_args()

    gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpu else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world} on {os.environ.get('SLURMD_NODENAME', 'this machine')}")

    torch.manual_seed(0)
    data = Points()
    sampler = torch.utils.data.DistributedSampler(data, seed=0)
    loader = torch.utils.data.DataLoader(data, batch_size=32, sampler=sampler, num_workers=1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=options.rate)

    before = checkpoint.restore(model=model, optimizer=optimizer)
    for epoch in range(before["epoch"] + 1 if before else 0, options.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        mean /= world
        checkpoint.save(epoch=epoch, model=model, optimizer=optimizer)
        if rank == 0:
            siflab.record(epoch=epoch, loss=mean.item())
            print(f"epoch {epoch}: loss {mean.item():.4f}")
        if checkpoint.should_stop():
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
