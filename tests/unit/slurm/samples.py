"""What Slurm printed. The rows of 22.05 are those of a real cluster with a job, a drained node and reservations (names
changed); `newer` makes of them what 24.11 was found to say: other spellings, keys that came, keys that went."""


def newer(text):
    for old, new in (
        (" GresDrain=N/A", ""),
        ("GresUsed=gpu:0", "GresUsed=(null)"),
        ("(IDX:N/A)", ""),
        (
            " CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s",
            " CurrentWatts=0 AveWatts=0",
        ),
        ("ExclusiveUser=NO", "ExclusiveUser=NO ExclusiveTopo=NO"),
        ("MaxCPUsPerNode=UNLIMITED", "MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=UNLIMITED"),
        ("Version=22.05.8", "Version=24.11.5"),
    ):
        text = text.replace(old, new)
    return text


_NODES = """\
NodeName=cpu01 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.83 AvailableFeatures=cpu ActiveFeatures=cpu Gres=(null) GresDrain=N/A GresUsed=gpu:0 NodeAddr=10.77.1.14 NodeHostName=cpu01 Port=27221 Version=22.05.8 OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian  RealMemory=256000 AllocMem=0 FreeMem=18387 Sockets=64 Boards=1 State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=cpu,interactive  BootTime=2026-12-01T01:05:03 SlurmdStartTime=2026-12-01T04:53:48 LastBusyTime=2026-12-01T05:07:19 CfgTRES=cpu=64,mem=250G,billing=64 AllocTRES= CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
NodeName=gpu01 Arch=x86_64 CoresPerSocket=1  CPUAlloc=4 CPUEfctv=32 CPUTot=32 CPULoad=0.83 AvailableFeatures=a100 ActiveFeatures=a100 Gres=gpu:a100:4 GresDrain=N/A GresUsed=gpu:a100:1(IDX:0) NodeAddr=10.77.1.11 NodeHostName=gpu01 Port=27221 Version=22.05.8 OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian  RealMemory=256000 AllocMem=2000 FreeMem=18387 Sockets=32 Boards=1 State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu-a100,interactive  BootTime=2026-12-01T01:05:03 SlurmdStartTime=2026-12-01T04:53:48 LastBusyTime=2026-12-01T04:53:48 CfgTRES=cpu=32,mem=250G,billing=32,gres/gpu=4,gres/gpu:a100=4 AllocTRES=cpu=4,mem=2000M,gres/gpu=1,gres/gpu:a100=1 CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
NodeName=gpu02 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=32 CPUTot=32 CPULoad=0.83 AvailableFeatures=a100 ActiveFeatures=a100 Gres=gpu:a100:4 GresDrain=N/A GresUsed=gpu:a100:0(IDX:N/A) NodeAddr=10.77.1.12 NodeHostName=gpu02 Port=27221 Version=22.05.8 OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian  RealMemory=256000 AllocMem=0 FreeMem=18387 Sockets=32 Boards=1 State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu-a100,interactive  BootTime=2026-12-01T01:05:03 SlurmdStartTime=2026-12-01T04:53:48 LastBusyTime=2026-12-01T04:53:48 CfgTRES=cpu=32,mem=250G,billing=32,gres/gpu=4,gres/gpu:a100=4 AllocTRES= CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s Reason=kernel update, ask root [root@2026-12-01T05:10:36]
NodeName=gpu03 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=16 CPUTot=16 CPULoad=0.83 AvailableFeatures=v100 ActiveFeatures=v100 Gres=gpu:v100:2 GresDrain=N/A GresUsed=gpu:v100:0(IDX:N/A) NodeAddr=10.77.1.13 NodeHostName=gpu03 Port=27221 Version=22.05.8 OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian  RealMemory=128000 AllocMem=0 FreeMem=18387 Sockets=16 Boards=1 State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu-v100,interactive  BootTime=2026-12-01T01:05:03 SlurmdStartTime=2026-12-01T04:53:48 LastBusyTime=2026-12-01T05:07:32 CfgTRES=cpu=16,mem=125G,billing=16,gres/gpu=2,gres/gpu:v100=2 AllocTRES= CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
"""
NODES = {"22.05": _NODES, "24.11": newer(_NODES)}
_PARTITIONS = """\
PartitionName=gpu-a100 AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=08:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=gpu[01-02] PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=64 TotalNodes=2 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=cpu=64,mem=500G,node=2,billing=64,gres/gpu=8,gres/gpu:a100=8
PartitionName=gpu-v100 AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=08:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=gpu03 PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=16 TotalNodes=1 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=cpu=16,mem=125G,node=1,billing=16,gres/gpu=2,gres/gpu:v100=2
PartitionName=cpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=cpu01 PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=YES:4 OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=64 TotalNodes=1 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=cpu=64,mem=250G,node=1,billing=64
PartitionName=interactive AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A DefaultTime=00:30:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=04:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=cpu01,gpu[01-03] PriorityJobFactor=10 PriorityTier=10 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=144 TotalNodes=4 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=cpu=144,mem=875G,node=4,billing=144,gres/gpu=10,gres/gpu:a100=8,gres/gpu:v100=2
"""
PARTITIONS = {"22.05": _PARTITIONS, "24.11": newer(_PARTITIONS)}
_RESERVATIONS = """\
ReservationName=lab1 StartTime=2026-12-01T05:10:36 EndTime=2026-12-01T06:10:36 Duration=01:00:00 Nodes=gpu03 NodeCnt=1 CoreCnt=16 Features=(null) PartitionName=(null) Flags=SPEC_NODES,MAGNETIC TRES=cpu=16 Users=user3 Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)
ReservationName=maint1 StartTime=2026-12-01T07:10:36 EndTime=2026-12-01T08:10:36 Duration=01:00:00 Nodes=gpu01 NodeCnt=1 CoreCnt=32 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES TRES=cpu=32 Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)
ReservationName=cs StartTime=2026-12-01T06:10:36 EndTime=2026-12-01T07:10:36 Duration=01:00:00 Nodes=cpu01 NodeCnt=1 CoreCnt=64 Features=(null) PartitionName=cpu Flags= TRES=cpu=64 Users=(null) Groups=(null) Accounts=cs101 Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)
"""
RESERVATIONS = {"22.05": _RESERVATIONS, "24.11": newer(_RESERVATIONS)}
ASSOCIATIONS = """\
main|root||||normal|||||
main|root|root|||normal|||||
main|cs101|||root|normal||||gres/gpu=3|
main|cs101|user3|||course,normal|course||||
main|research|||root|normal|||||
main|research|user1|||gpu-basic,gpu-large,normal|normal||||
main|research|user2|||gpu-basic,gpu-large,normal|normal||||
"""
QOS = """\
normal|||||||
gpu-basic||||gres/gpu=2||04:00:00|4
gpu-large||||gres/gpu=8|||
course||||gres/gpu=1|||
"""
