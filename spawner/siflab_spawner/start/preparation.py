"""Before a job is submitted: the image and the binds are there for this user, and the job's log has a folder."""

from dataclasses import dataclass

from siflab.config import Resources, Site
from siflab.container.checks import bind_problem
from siflab.container.image import image_problem
from siflab.errors import FieldError, Invalid
from siflab.slurm.execute import PosixUser, Slurm
from siflab.text import Text
from siflab_spawner.accounts.as_user import run_task

LOG_FOLDER = ".siflab/sessions"
_KEEP_DAYS = 30
_SETTING = Text(
    " If only the nodes see it, set c.SingularitySlurmSpawner.hub_sees_paths = False.",
    "若只有计算节点能看到它，请设置 c.SingularitySlurmSpawner.hub_sees_paths = False。",
)


@dataclass(frozen=True)
class Preparation:
    """`log_pattern` is for sbatch's --output: Slurm puts the job id in for %j."""

    log_pattern: str

    def log_path(self, job_id: str) -> str:
        return self.log_pattern.replace("%j", job_id).replace("%%", "%")


def escaped(path: str) -> str:
    """A path in a filename pattern of sbatch, where % begins a replacement."""
    return path.replace("%", "%%")


async def prepare(
    slurm: Slurm, user: PosixUser, site: Site, resources: Resources, hub_sees_paths: bool = True
) -> Preparation:
    """Raises Invalid with one error for each thing that is missing, Internal when it cannot be told."""
    folder = f"{user.home}/{LOG_FOLDER}"
    answer = await run_task(
        slurm,
        user,
        "prepare",
        log_folder=folder,
        image=resources.image.path,
        sources=[bind.source for bind in site.singularity.binds],
        keep_days=_KEEP_DAYS,
    )
    if hub_sees_paths:
        errors = _errors(answer, site, resources)
        if errors:
            raise Invalid(errors)
    if answer["log_folder"]["ok"]:
        return Preparation(f"{escaped(folder)}/%j.log")
    if hub_sees_paths:
        raise Invalid([_no_log_folder(folder, str(answer["log_folder"]["words"]))])
    return Preparation(f"{escaped(user.home)}/.siflab-session-%j.log")  # made on the node, where the home is


def _errors(answer: dict[str, object], site: Site, resources: Resources) -> list[FieldError]:
    errors = []
    image = answer["image"]
    assert isinstance(image, dict)
    if image["problem"]:
        message = image_problem(resources.image.path, image["problem"], image["words"])
        errors.append(FieldError("image", f"image-{image['problem']}", message + _SETTING))
    missing = answer["missing"]
    assert isinstance(missing, list)
    for bind in site.singularity.binds:
        if bind.source in missing:
            error = bind_problem(bind)
            errors.append(FieldError(error.field, error.code, error.message + _SETTING))
    return errors


def _no_log_folder(folder: str, words: str) -> FieldError:
    return FieldError(
        "home",
        "home-not-writable",
        Text(
            f"{folder} cannot be made in your home ({words}); is the disk full or your quota used up? Make room "
            "and start again",
            f"无法在您的主目录中创建 {folder}（{words}）；磁盘或配额是否已满？请清理空间后重新启动",
        ),
    )
