"""`siflab site check`."""

import argparse

from siflab.cli.terminal import in_words, pick, say, warn
from siflab.config import Image, load_site, site_path
from siflab.container.checks import check_binds
from siflab.container.digest import sha256_of
from siflab.container.image import check_image


def _digest(image: Image) -> str | None:
    """Of the whole file, which takes seconds: environments and runs go by what site.yaml states, so it must be true."""
    try:
        return sha256_of(image.path)
    except OSError:  # a sandbox folder
        return None


def check(options: argparse.Namespace) -> int:
    """0 when the file can be used and all that it names is here; 2 when something is missing. A file that cannot be
    used raises SiteError."""
    path = site_path(options.file)
    site = load_site(path)
    problems = [f"singularity.binds: {in_words(error.message)}" for error in check_binds(site.singularity.binds)]
    for name, image in site.images.items():
        problem = check_image(image.path)
        if problem is not None:
            problems.append(f"images.{name}.path: {in_words(problem)}")
        elif image.digest is not None and (found := _digest(image)) not in (None, image.digest):
            problems.append(f"images.{name}.digest: {pick('the file has', '文件实际为')} {found}")
    for problem_words in problems:
        warn(f"{path}: {problem_words}")
    counts = len(site.images), len(site.profiles)
    if problems:
        say(
            pick(
                f"{path} can be read, but {len(problems)} thing(s) that it names cannot be used on this machine",
                f"{path} 可以读取，但其中 {len(problems)} 项在本机无法使用",
            )
        )
        return 2
    say(
        pick(
            f"{path}: good; {counts[0]} image(s), {counts[1]} profile(s)",
            f"{path}：正确；{counts[0]} 个镜像，{counts[1]} 个资源配置",
        )
    )
    return 0
