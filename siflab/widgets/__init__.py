"""Runs in a notebook, by ipywidgets: a form to promote one, and a live view of it.

::

    from siflab.widgets import Monitor, PromoteForm
    PromoteForm("train.ipynb")      # choose, check, submit; then it becomes the monitor of its run
    Monitor(siflab.get_run("ab12cd34"))

They work in JupyterLab and Notebook 7, in English or Chinese (`language`, else as the terminal's), without the siflab
extension. What they do is what `siflab.promote` does.
"""

from siflab.widgets.form import PromoteForm
from siflab.widgets.monitor import Monitor

__all__ = ["Monitor", "PromoteForm"]
