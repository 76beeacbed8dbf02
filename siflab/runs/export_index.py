"""The page that an export opens with: one file, no script, nothing from elsewhere."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from siflab.runs.diagnosing.case import tail
from siflab.runs.folder import RunFolder, read_json
from siflab.runs.run import Run
from siflab.slurm.memory import format_memory
from siflab.slurm.time import format_time
from siflab.text import Text

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1a1a1a;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse}
td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}
th{font-weight:600;color:#555;white-space:nowrap}pre{background:#f5f5f5;padding:.6rem;overflow:auto;
max-height:30rem}.cell{border-left:3px solid #ccc;padding-left:.6rem;margin:.8rem 0}
.failed,.killed{border-color:#b00020}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre{background:#222}th{color:#aaa}}"""
_CELLS, _OUTPUT, _LOG = 400, 4000, 20_000
"""Cells that are shown, and characters of a cell's output and of the log."""


def render(
    run: Run,
    told: dict[str, Any],
    folder: RunFolder,
    files: Sequence[tuple[str, int]],
    left_out: Sequence[str],
    cut: Sequence[str],
) -> str:
    """`files` are (name, bytes) in the archive; what is in them is text of the run and escaped."""
    last = max(folder.attempt_numbers(), default=0)
    attempt = folder.attempt(last) if last else None
    parts = [
        f"<h1>{escape(run.name)} <small>{escape(run.id)}</small></h1>",
        _both("p", run.state_text),
        _table(_facts(run, told)),
        _why(run),
        _section(Text("Attempts", "各次尝试"), _table([_attempt(one) for one in told.get("attempts") or []])),
        _notebook(read_json(attempt.output) if attempt is not None else None),
    ]
    if attempt is not None:
        log = tail(attempt.run_log, _LOG)
        parts.append(_section(Text("End of the log", "日志末尾"), f"<pre>{escape(log)}</pre>" if log else ""))
    parts.append(_section(Text("Files", "文件"), _files(files, cut)))
    if left_out:
        names = ", ".join(left_out)
        parts.append(_both("p", Text(f"Not in this archive: {names}.", f"未包含在此归档中：{names}。")))
    again = Text(
        "Unpacked on a cluster with Siflab, `siflab rerun FOLDER` repeats it.",
        "在装有 Siflab 的集群上解压后，可用 `siflab rerun 目录` 重新运行。",
    )
    parts.append(_both("p", again))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(run.name)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def _facts(run: Run, told: dict[str, Any]) -> list[tuple[Text, str]]:
    source, image = _mapping(told.get("source")), _mapping(told.get("image"))
    git = _mapping(source.get("git"))
    commit = str(git.get("commit") or "")
    if commit and git.get("changed_files"):
        commit += f" + {git['changed_files']} changed"
    facts = _mapping(next((one.get("facts") for one in reversed(told.get("attempts") or []) if one.get("facts")), {}))
    packages = _mapping(facts.get("packages"))
    versions = [f"Python {facts['python']}"] if facts.get("python") else []
    versions += [f"{name} {packages[name]}" for name in ("torch", "tensorflow", "jax", "numpy") if packages.get(name)]
    versions += [f"CUDA {facts['torch_cuda']}"] if facts.get("torch_cuda") else []
    versions += [f"driver {facts['driver']}"] if facts.get("driver") else []
    rows = [
        (Text("source", "来源"), run.source),
        (Text("sha256", "sha256"), str(source.get("sha256") or "")),
        (Text("git", "git"), " ".join(part for part in (str(git.get("branch") or ""), commit) if part)),
        (Text("image", "镜像"), f"{image.get('path') or ''} {image.get('digest') or ''}".strip()),
        (Text("versions", "版本"), ", ".join(versions)),
        (Text("parameters", "参数"), _json(told.get("parameters"))),
        (Text("arguments", "参数列表"), _json(told.get("arguments"))),
        (Text("seeds", "随机种子"), ", ".join(f"{s['call']}({s['value']})" for s in told.get("seeds") or [])),
        (Text("resources", "资源"), _resources(run.resources)),
        (Text("created", "创建时间"), run.created_at.isoformat(timespec="seconds")),
        (Text("started", "开始时间"), run.started_at.isoformat(timespec="seconds") if run.started_at else ""),
        (Text("ended", "结束时间"), run.ended_at.isoformat(timespec="seconds") if run.ended_at else ""),
        (Text("Siflab", "Siflab"), str(told.get("siflab_version") or "")),
    ]
    return [row for row in rows if row[1]]


def _resources(asked: dict[str, Any]) -> str:
    gpus = f"{asked.get('gpus')} x {asked.get('gpu_type') or 'GPU'}" if asked.get("gpus") else ""
    memory, seconds = asked.get("memory_mib"), asked.get("time_seconds")
    parts = [
        str(asked.get("partition") or ""),
        f"{asked.get('nodes')} nodes" if asked.get("nodes") else "",
        gpus,
        f"{asked.get('cpus')} CPU" if asked.get("cpus") else "",
        format_memory(memory) if isinstance(memory, int) and memory else "",
        format_time(seconds) if isinstance(seconds, int) and seconds else "",
        str(asked.get("image") or ""),
    ]
    return ", ".join(part for part in parts if part)


def _why(run: Run) -> str:
    if run.diagnosis is not None:
        said = f"<pre>{escape(run.diagnosis.said)}</pre>" if run.diagnosis.said else ""
        return _section(Text("Why it ended so", "结束原因"), _both("p", run.diagnosis.message) + said)
    return _both("p", run.reason) if run.reason is not None else ""


def _attempt(one: dict[str, Any]) -> tuple[Text, str]:
    shown = [one.get(name) for name in ("status", "node", "job_id", "started_at", "ended_at", "output_sha256")]
    return Text.plain(str(one.get("number"))), " · ".join(str(part) for part in shown if part)


def _notebook(notebook: dict[str, Any] | None) -> str:
    """Sources and texts of the executed notebook; pictures are in output.ipynb itself."""
    cells = notebook.get("cells") if notebook is not None else None
    if not isinstance(cells, list):
        return ""
    parts = []
    for cell in [cell for cell in cells if isinstance(cell, dict)][:_CELLS]:
        source = escape(_joined(cell.get("source"))[:_OUTPUT])
        if cell.get("cell_type") != "code":
            parts.append(f"<div class='cell'><pre>{source}</pre></div>")
            continue
        status = _mapping(_mapping(cell.get("metadata")).get("siflab")).get("status")
        kind = status if status in ("failed", "killed", "stopped") else "done"
        text = "".join(_output(output) for output in cell.get("outputs") or [] if isinstance(output, dict))
        shown = f"<pre>{escape(text[-_OUTPUT:])}</pre>" if text else ""
        parts.append(f"<div class='cell {kind}'><pre><code>{source}</code></pre>{shown}</div>")
    return _section(Text("The executed notebook", "执行后的 notebook"), "".join(parts))


def _output(output: dict[str, Any]) -> str:
    if output.get("output_type") == "stream":
        return _joined(output.get("text"))
    if output.get("output_type") == "error":
        return f"{output.get('ename')}: {output.get('evalue')}\n"
    text = _joined(_mapping(output.get("data")).get("text/plain"))
    return f"{text}\n" if text else ""


def _files(files: Sequence[tuple[str, int]], cut: Sequence[str]) -> str:
    rows = []
    for name, size in files:
        note = f"{size:,}" + (" (cut)" if name in cut else "")
        rows.append(f"<tr><td><a href='{quote(name)}'>{escape(name)}</a></td><td>{note}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _table(rows: Sequence[tuple[Text, str]]) -> str:
    lines = [f"<tr><th>{_words(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows]
    return f"<table>{''.join(lines)}</table>" if lines else ""


def _section(title: Text, content: str) -> str:
    return f"<h2>{_words(title)}</h2>\n{content}" if content else ""


def _both(tag: str, text: Text) -> str:
    zh = f"<br><span lang='zh-CN'>{escape(text.zh)}</span>" if text.zh != text.en else ""
    return f"<{tag}>{escape(text.en)}{zh}</{tag}>"


def _words(text: Text) -> str:
    return escape(text.en) if text.en == text.zh else f"{escape(text.en)} <span lang='zh-CN'>{escape(text.zh)}</span>"


def _joined(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
