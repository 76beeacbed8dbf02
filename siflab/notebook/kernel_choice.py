"""Whether the image has a kernel for the notebook."""

from dataclasses import replace

from siflab.notebook.findings import Finding, Fix
from siflab.notebook.read import Notebook
from siflab.notebook.surroundings import Surroundings
from siflab.text import Text


def find_kernel(notebook: Notebook, around: Surroundings) -> list[Finding]:
    """The runner chooses (`siflab.inside.kernels.choose_kernel`): the kernel asked for, else the notebook's, else one
    of the same language. What it will come to is said here, as far as the image's kernels are known."""
    if around.own_kernel is not None:
        return list(around.own_kernel)
    if around.kernels is None:
        return _guess(notebook) if around.kernel is None else []
    languages = around.kernels.languages
    listed = ", ".join(sorted(languages)) or "-"
    if around.kernel is not None:
        if around.kernel.lower() in languages:
            return []
        return [
            Finding(
                "no-such-kernel",
                "error",
                Text(
                    f"the image has no kernel {around.kernel!r}; choose one of: {listed}",
                    f"镜像中没有内核 {around.kernel!r}；可选：{listed}",
                ),
            )
        ]
    if notebook.kernel is None or notebook.kernel.lower() in languages:
        return []
    instead = around.kernels.of_language(notebook.language)
    if instead is not None:
        title = Text(f"set the notebook's kernel to {instead}", f"将 notebook 的内核设为 {instead}")
        return [replace(_mapped(notebook.kernel, instead), fix=Fix("set-kernel", instead, title))]
    return [
        Finding(
            "no-such-kernel",
            "error",
            Text(
                f"the notebook's kernel {notebook.kernel!r} is not in the image, nor another for the language "
                f"{notebook.language or '?'!r}; choose one of: {listed}",
                f"镜像中没有此 notebook 的内核 {notebook.kernel!r}，"
                f"也没有 {notebook.language or '?'!r} 语言的内核；可选：{listed}",
            ),
        )
    ]


def has_this_python(notebook: Notebook, around: Surroundings) -> bool:
    """Whether the kernel that will be chosen has the modules of this process, as far as that is known."""
    if around.kernels is None or notebook.is_script:
        return True
    wanted = (around.kernel or notebook.kernel or "").lower()
    chosen = wanted if wanted in around.kernels.languages else around.kernels.of_language(notebook.language)
    return chosen is None or around.kernels.is_this_python(chosen)


def _guess(notebook: Notebook) -> list[Finding]:
    """Without knowing the image: every image has python3."""
    if notebook.kernel in (None, "python3") or notebook.language != "python":
        return []
    assert notebook.kernel is not None
    return [_mapped(notebook.kernel, "python3", " if the image does not have it", "（如果镜像中没有该内核）")]


def _mapped(kernel: str, instead: str, if_en: str = "", if_zh: str = "") -> Finding:
    return Finding(
        "kernel-mapped",
        "info",
        Text(
            f"the notebook was made with the kernel {kernel!r}; it runs with the image's {instead!r}{if_en}",
            f"此 notebook 使用内核 {kernel!r}；将使用镜像中的 {instead!r} 运行{if_zh}",
        ),
    )
