"""Runs in an image with torch, alone or under torchrun: trains ten steps, in one go or broken off and resumed, and says
what came of it. Argument: where to break off, or 0. Prints one line of JSON on rank 0."""

import collections
import hashlib
import json
import os
import random
import sys
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

sys.path.insert(0, os.environ["ARCHIVE"])
from siflab import checkpoint

WORLD = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
break_at = int(sys.argv[1])
if WORLD > 1:
    torch.distributed.init_process_group("gloo")
torch.manual_seed(99 if checkpoint.saved() else RANK)  # in the second part only what is restored may count
random.seed(RANK)
data = TensorDataset(torch.arange(64.0).reshape(16, 4))
sampler = DistributedSampler(data, WORLD, RANK, shuffle=True, seed=1)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 4], 0.5)
scaler = torch.amp.GradScaler("cpu", enabled=True)
wrapped = nn.parallel.DistributedDataParallel(model) if WORLD > 1 else torch.compile(model, backend="eager")
parts = {"model": wrapped, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, "sampler": sampler}
state = checkpoint.restore(**parts) or {"epoch": -1, "seen": []}
if state["epoch"] < 0:
    torch.manual_seed(RANK)
    numpy.random.seed(RANK)
    random.seed(RANK)
seen = list(state["seen"])
for epoch in range(state["epoch"] + 1, 6):
    sampler.set_epoch(epoch)
    for (rows,) in DataLoader(data, 4, sampler=sampler):
        optimizer.zero_grad()
        scaler.scale((wrapped(rows + random.random() + numpy.random.rand()) ** 2).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
    scheduler.step()
    seen.append(sampler.epoch)
    path = checkpoint.save(
        epoch=epoch, rng=True, seen=seen, array=numpy.ones((2, 0, 3)), number=numpy.float32(0.5), **parts
    )
    if checkpoint.should_stop() or epoch + 1 == break_at:
        break
if WORLD > 1:
    torch.distributed.barrier()
raw = torch.load(path, weights_only=True)  # without Siflab, too
loaded = checkpoint.load(map_location="meta" if RANK else "cpu")
array = None if RANK else loaded["array"]
by_hand = checkpoint.save({"any": collections.deque([torch.ones(2)])}, 100, 9) if WORLD == 1 and not break_at else None
if by_hand:
    assert checkpoint.load()["any"][0].sum() == 2
    assert checkpoint.load(weights_only=True)["epoch"] == 5
    by_hand.unlink()
if RANK == 0:
    weights = hashlib.sha256(b"".join(value.numpy().tobytes() for value in model.state_dict().values())).hexdigest()
    print(json.dumps({
        "weights": weights, "random": [random.random(), numpy.random.rand(), torch.rand(1).item()], "seen": seen,
        "names": sorted(path.name for path in checkpoint.folder().iterdir()), "step": raw["step"],
        "array": list(array.shape), "kind": type(array).__name__, "number": loaded["number"],
        "keys": sorted(raw["model"])[:1], "rate": scheduler.get_last_lr(), "torn": Path(path).stat().st_size,
    }))  # fmt: skip
