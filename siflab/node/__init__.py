"""What a session's job carries along to its node, as one archive in the job's script: the shim and the bridge.

Standard library only, Python 3.6 or later: the shim runs with the image's Python, the bridge with the node's own. The
modules import nothing of the rest of Siflab and each other relatively; `archive.build_archive` makes the archive.

In the session's private folder (0700, on the node; ``/run/siflab`` inside the container) lie:

============== =======================================================================================================
node.pyz       the archive                                                                   (job script)
claim.json     where to claim, for whom, with which code; removed by the shim as soon as it is read  (job script)
bridge.json    `bridge.Settings`: binds, folder of Slurm's commands, home                      (job script)
profile.sh     bound over /etc/profile.d/zz-siflab.sh: puts PATH back in login shells            (job script)
no-bridge      why there is no bridge: a line in English, one in Chinese                       (job script)
shell          pid, start time and node of the batch shell: who is gone is swept               (job script)
image          what sha256sum says of the image's ends and size: which image this is         (job script)
bridge.sock    the bridge's socket                                                                 (bridge)
scripts/       job scripts on their way to sbatch, each for as long as its sbatch runs             (bridge)
session.json   facts of this session                                                                 (shim)
site.json      the public part of site.yaml                                                            (shim)
python         path of the image's Python, for the clients                                             (shim)
environments   `siflab env` for images without Siflab                                                  (shim)
bin/           sbatch, squeue, ..., siflab: client.sh under these names                                (shim)
============== =======================================================================================================
"""
