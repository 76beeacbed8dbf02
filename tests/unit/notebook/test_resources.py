"""What a notebook does, against the GPUs, CPUs, time and network that the run asks for."""

import pytest

from siflab.notebook import Surroundings, preflight
from tests.unit.notebook.documents import found, notebook

CODES = ("no-such-gpu", "same-gpu", "gpu-not-asked", "gpu-not-used", "workers-over-cpus", "spawn-of-cell",
         "launcher-in-cell", "no-checkpoint", "no-seed", "needs-internet")  # fmt: skip
TORCH = "import torch, os\nmodel = torch.nn.Linear(1, 1)\n"
LOOP = (
    "import torch\nmodel = torch.nn.Linear(1, 1).to('cuda')\noptimizer = torch.optim.SGD(model.parameters(), lr=1)\n"
    "for step in range(9):\n    optimizer.zero_grad()\n    model(torch.rand(1)).backward()\n    optimizer.step()"
)


def of(folder, *cells, **around):
    return [(code, line) for code, _, line in found(folder, *cells, around=Surroundings(**around)) if code in CODES]


DEVICES = {
    "beyond": ("device = torch.device('cuda:1')", {"gpus": 1}, [("no-such-gpu", 3)]),
    "whether or not there is one": (
        "d = 'cuda:3' if torch.cuda.is_available() else 'cpu'", {"gpus": 2}, [("no-such-gpu", 3)]),
    "moved": ("model.cuda(1)", {"gpus": 1}, [("no-such-gpu", 3)]),
    "visible": ("os.environ['CUDA_VISIBLE_DEVICES'] = '0, 2'", {"gpus": 2}, [("no-such-gpu", 3)]),
    "hidden on purpose": ("os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", {"gpus": 1}, []),
    "within": ("model.to('cuda:1')", {"gpus": 2}, []),
    "counted": ("if torch.cuda.device_count() > 1:\n    model.to('cuda:1')", {"gpus": 1}, []),
    "a default": ("def f(device='cuda:1'):\n    model.to(device)", {"gpus": 1}, []),
    "words": ("print('use cuda:1')", {"gpus": 1}, []),
    "not known": ("model.to('cuda:1')", {}, []),
    "shared": ("model.to('cuda:0')", {"gpus": 2, "mode": "distributed"}, [("same-gpu", 3)]),
    "not shared": ("model.to('cuda:0')", {"gpus": 2}, []),
    "one process": ("model.to('cuda:0')", {"gpus": 1, "mode": "distributed"}, []),
    "each its own": (
        "rank = int(os.environ['LOCAL_RANK'])\nmodel.to('cuda:0')", {"gpus": 2, "mode": "distributed"}, []),
    "needed": ("model.cuda()", {"gpus": 0}, [("gpu-not-asked", 3)]),
    "needed by name": ("model.to('cuda')", {"gpus": 0}, [("gpu-not-asked", 3)]),
    "needed at once": ("x = torch.rand(1, device='cuda')\nmodel.cuda()", {"gpus": 0}, [("gpu-not-asked", 3)]),
    "asked first": ("if torch.cuda.is_available():\n    model.cuda()", {"gpus": 0}, []),
    "asked elsewhere": ("model.cuda() if torch.cuda.is_available() else 1\nmodel.cuda()", {"gpus": 0}, []),
    "perhaps": ("try:\n    model.cuda()\nexcept RuntimeError:\n    pass", {"gpus": 0}, []),
    "later": ("def f():\n    model.cuda()", {"gpus": 0}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", DEVICES)
def test_gpus_by_name(tmp_path, case):
    source, around, expected = DEVICES[case]
    assert of(tmp_path, TORCH + source, **around) == expected


def test_cuda_instead_of_a_number(tmp_path):
    around = Surroundings(gpus=1)
    for source, text in [
        ("d = torch.device('cuda:1')", "d = torch.device('cuda')"),
        ("ds = ['cuda:1', 'cuda:1']", None),
    ]:
        finding = preflight(notebook(tmp_path, f"import torch\n{source}"), around)[0]
        assert (finding.fix.text if finding.fix else None) == text


UNUSED = {
    "only numpy": (["import numpy as np\nnp.ones(3)"], True),
    "only a shell that installs": (["!pip install pandas\nimport pandas"], True),
    "torch on the CPU": ([TORCH], True),
    "torch on the GPU": ([TORCH + "model.to('cuda')"], False),
    "hardly anything": (["import os\nprint(1)"], False),
    "a device": ([TORCH + "device = pick()"], False),
    "a module that is not known": (["import mine"], False),
    "one that uses it by itself": (["import tensorflow as tf"], False),
    "a module beside": (["from .mine import x"], False),
    "a program": (["!./train"], False),
    "another notebook": (["%run other.ipynb"], False),
    "a cell that is no Python": (["import numpy", "x = ("], False),
    "a server": (["import requests\nrequests.get('http://localhost:11434')"], False),
}


@pytest.mark.parametrize("case", UNUSED)
def test_a_gpu_that_nothing_would_use(tmp_path, case):
    cells, unused = UNUSED[case]
    assert of(tmp_path, *cells, gpus=1) == ([("gpu-not-used", None)] if unused else [])
    assert [code for code, _ in of(tmp_path, *cells, gpus=0) if code == "gpu-not-used"] == []
    assert of(tmp_path, *cells) == []


LOADERS = {
    "more": ("DataLoader(d, num_workers=8)", {"cpus": 4}, True),
    "as many": ("DataLoader(d, num_workers=4)", {"cpus": 4}, False),
    "by name": ("N = 8\nDataLoader(d, num_workers=N)", {"cpus": 4}, True),
    "by a name of two values": ("N = 8\nN = 2\nDataLoader(d, num_workers=N)", {"cpus": 4}, False),
    "by a name that is counted": ("N = 2\nN += 7\nDataLoader(d, num_workers=N)", {"cpus": 1}, False),
    "by a loop's name": ("N = 8\nfor N in (1, 2):\n    DataLoader(d, num_workers=N)", {"cpus": 4}, False),
    "computed": ("DataLoader(d, num_workers=os.cpu_count())", {"cpus": 4}, False),
    "a trainer's": ("TrainingArguments('x', dataloader_num_workers=8)", {"cpus": 4}, True),
    "of something else": ("pool(num_workers=8)", {"cpus": 4}, False),
    "shared by processes": ("DataLoader(d, num_workers=4)", {"cpus": 4, "gpus": 2, "mode": "distributed"}, True),
    "not known": ("DataLoader(d, num_workers=8)", {}, False),
}


@pytest.mark.parametrize("case", LOADERS)
def test_workers_and_cpus(tmp_path, case):
    source, around, more = LOADERS[case]
    found_here = of(tmp_path, f"import os, mine\nd = 1\n{source}", **around)
    assert [code for code, _ in found_here] == (["workers-over-cpus"] if more else [])


def test_as_many_workers_as_there_are_cpus(tmp_path):
    for source, text in [
        ("x = DataLoader(d, num_workers=8, pin_memory=True)", "x = DataLoader(d, num_workers=4, pin_memory=True)"),
        ("x = DataLoader(a, num_workers=8), y(num_workers=8)", None),
        ("N = 16\nx = DataLoader(a, num_workers=N)", None),
    ]:
        findings = preflight(notebook(tmp_path, source), Surroundings(cpus=4))
        (finding,) = [one for one in findings if one.code == "workers-over-cpus"]
        assert (finding.fix.text if finding.fix else None) == text


SPAWNS = {
    "torch": ("import torch.multiprocessing as mp\ndef work(i): pass\nmp.spawn(work, nprocs=2)", True),
    "a method": (
        "import multiprocessing as mp\ndef work(): pass\nmp.set_start_method('spawn')\nmp.Process(target=work).start()",
        True,
    ),
    "a context": (
        "import multiprocessing\ndef work(i): pass\nctx = multiprocessing.get_context('forkserver')\n"
        "with ctx.Pool(2) as pool:\n    pool.map(work, [1])",
        True,
    ),
    "fork": ("import multiprocessing as mp\ndef work(): pass\nmp.Process(target=work).start()", False),
    "of a module": ("import torch.multiprocessing as mp\nfrom mine import work\nmp.spawn(work, nprocs=2)", False),
    "another spawn": ("def work(): pass\ngame.spawn(work)", False),
}


@pytest.mark.parametrize("case", SPAWNS)
def test_processes_that_do_not_find_the_cells(tmp_path, case):
    """R18"""
    source, fails = SPAWNS[case]
    assert [code for code, _ in of(tmp_path, source)] == (["spawn-of-cell"] if fails else [])


LAUNCHERS = {
    "a function": ("from accelerate import notebook_launcher\nnotebook_launcher(train)", True),
    "torchrun": ("!torchrun --nproc_per_node=2 train.py", True),
    "with a variable": ("!OMP_NUM_THREADS=1 accelerate launch train.py", True),
    "by module": ("%%bash\npython -m torch.distributed.run train.py", True),
    "only its help": ("!which torchrun", False),
    "never called": ("from accelerate import notebook_launcher\ndef f():\n    notebook_launcher(train)", False),
    "a script": ("!python train.py", False),
}


@pytest.mark.parametrize("case", LAUNCHERS)
def test_launchers_in_cells(tmp_path, case):
    """R18"""
    source, launches = LAUNCHERS[case]
    expected = ["launcher-in-cell"] if launches else []
    assert [code for code, _ in of(tmp_path, source, gpus=2, mode="distributed")] == expected
    assert [code for code, _ in of(tmp_path, source, gpus=2)] == expected
    assert [code for code, _ in of(tmp_path, source, gpus=1) if code == "launcher-in-cell"] == []


TRAINING = {
    "nothing saved, no seed": (LOOP, {"time_seconds": 4 * 3600}, ["no-checkpoint", "no-seed"]),
    "a short one": (LOOP, {"time_seconds": 3600}, ["no-seed"]),
    "saved": (LOOP + "\ntorch.save(model, 'x.pt')", {"time_seconds": 36000}, ["no-seed"]),
    "seeded": ("import torch\ntorch.manual_seed(0)\n" + LOOP, {"time_seconds": 3600}, []),
    "hidden in a module": ("import mine\n" + LOOP, {"time_seconds": 36000}, []),
    "no training": ("import torch\nx = torch.rand(1)\nx.backward()", {"time_seconds": 36000}, []),
}


@pytest.mark.parametrize("case", TRAINING)
def test_a_training(tmp_path, case):
    source, around, expected = TRAINING[case]
    assert [code for code, _ in of(tmp_path, source, **around)] == expected


DOWNLOADS = {
    "a command": ("!wget https://example.org/x", True),
    "if it is missing": ("try:\n    import mine\nexcept ImportError:\n    !git clone https://example.org/mine", False),
    "a clone": ("%%bash\ngit clone https://example.org/x", True),
    "a model": ("AutoModel.from_pretrained('org/name')", True),
    "a model that is written here": ("m.save_pretrained('org/name')\nAutoModel.from_pretrained('org/name')", False),
    "a folder": ("AutoModel.from_pretrained('./name')", False),
    "a name": ("AutoModel.from_pretrained(name)", False),
    "a data set": ("load_dataset('imdb')", True),
    "a local one": ("load_dataset('csv', data_files='x.csv')", False),
    "of torchvision": ("MNIST('data', download=True)", True),
    "already there": ("MNIST('data', download=False)", False),
    "a table": ("import pandas as pd\npd.read_csv('https://example.org/x.csv')", True),
    "a file": ("import pandas as pd\npd.read_csv('x.csv')", False),
    "later": ("def f():\n    requests.get(url)", False),
    "words": ("print('https://example.org')", False),
}


@pytest.mark.parametrize("case", DOWNLOADS)
def test_downloads(tmp_path, case):
    source, fetches = DOWNLOADS[case]
    codes = [code for code, _ in of(tmp_path, source, internet=False)]
    assert codes == (["needs-internet"] if fetches else [])
    assert of(tmp_path, source, internet=True) == [] == of(tmp_path, source)


def test_downloads_are_counted(tmp_path):
    findings = preflight(notebook(tmp_path, "!curl a\n!wget b", "!wget c"), Surroundings(internet=False))
    (finding,) = [one for one in findings if one.code == "needs-internet"]
    assert (finding.cell, finding.line) == (0, 1) and "2 more places" in finding.message.en
