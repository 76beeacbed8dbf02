"""A setting of batchspawner's that cannot keep its meaning, said at the Hub's start."""

from siflab.errors import SiflabError
from siflab.text import Text


class SettingRefused(SiflabError):
    """`setting` as in jupyterhub_config.py, e.g. ``c.SlurmSpawner.exec_prefix``."""

    code = "setting-refused"

    def __init__(self, setting: str, message: Text) -> None:
        super().__init__(Text(f"{setting}: {message.en}", f"{setting}：{message.zh}"))
        self.setting = setting
