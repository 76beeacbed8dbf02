"""The spawner: JupyterHub's interface, with one room for each part of the work behind it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import batchspawner
from jupyterhub.traitlets import Command
from traitlets import Bool, Dict, Enum, Float, Integer, List, Unicode, default

from siflab.config import Resources, Site, load_site
from siflab.errors import FieldError, Invalid, SiflabError
from siflab.slurm.execute import Slurm
from siflab_spawner import language, metrics
from siflab_spawner.accounts.acting import PROGRAM, WAYS, choose_for, current_acting
from siflab_spawner.accounts.groups import group_names
from siflab_spawner.batchspawner_compat import DropIn
from siflab_spawner.batchspawner_compat.ignored_settings import tell_unused
from siflab_spawner.claims import claim_server
from siflab_spawner.claims.claim import Failure
from siflab_spawner.claims.nodes import server_url
from siflab_spawner.lifetime import idle
from siflab_spawner.lifetime.stopping import stop_job
from siflab_spawner.notices import drop_notice, last_notice
from siflab_spawner.page import links
from siflab_spawner.page.form import render_form
from siflab_spawner.page.limit_check import within_limits
from siflab_spawner.page.offer import offer_for
from siflab_spawner.page.options import bad_request, read_form, resources_of
from siflab_spawner.page.page_view import page_view
from siflab_spawner.page.progress import progress_events
from siflab_spawner.start import adoption
from siflab_spawner.start.admission import admit, turn
from siflab_spawner.start.failure import StartFailed, for_hub
from siflab_spawner.start.starting import start_session
from siflab_spawner.state import SessionState
from siflab_spawner.watch.bell import Bell
from siflab_spawner.watch.polling import poll_session
from siflab_spawner.watch.watcher import Watcher
from siflab_spawner.watch.watcher_settings import WatcherSettings, cluster_of, ours, watcher_of
from siflab_spawner.wrapped.inner import innermost

_LONG = 10 * 365 * 86400  # JupyterHub's own limit on a start must never strike: Siflab has its own two (site.yaml)


class SingularitySlurmSpawner(WatcherSettings, batchspawner.SlurmSpawner):
    """JupyterLab inside a Singularity image, in a Slurm job. What may be started stands in site.yaml."""

    site_file = Unicode("", help="Path of site.yaml; $SIFLAB_SITE, else /etc/siflab/site.yaml if empty.").tag(
        config=True
    )
    hub_sees_paths = Bool(
        True,
        help="Whether the Hub's machine has the images, the binds' sources and the homes at the same paths as the "
        "nodes. If so, what is missing is refused before a job is submitted; else the job checks it.",
    ).tag(config=True)
    fixed_choice = Dict(
        help="For use inside wrapspawner's profiles: the choice of this entry, e.g. {'profile': 'a100-1', 'gpus': 2}. "
        "The user's options are then the wrapper's and are not looked at.",
    ).tag(config=True)
    job_name = Unicode("siflab-session", help="Name of the jobs in squeue.").tag(config=True)
    admission_lag = Float(
        0.03,
        help="When many starts come at once, the next one is taken up when the Hub's event loop is late by no more "
        "than this (seconds).",
    ).tag(config=True)
    stop_limit = Integer(180, help="Seconds to wait for a cancelled job to be gone.").tag(config=True)

    cmd = Command(
        [],
        allow_none=True,
        minlen=0,
        help="The command in the image; empty: its Python (`python` of the image in site.yaml) with "
        "`-m jupyterhub.singleuser`.",
    ).tag(config=True)
    args = List(
        Unicode(),
        ["--KernelManager.transport=ipc"],
        help="Arguments of the server. By default kernels talk over Unix sockets in the session's private folder: "
        "other users of a node could reach TCP ports.",
    ).tag(config=True)
    start_timeout = Integer(_LONG, help="Not used: see session.queue_limit and session.boot_limit in site.yaml.").tag(
        config=True
    )
    http_timeout = Integer(120, help="Seconds for a server to answer when a restarted Hub looks for it.").tag(
        config=True
    )
    exec_prefix = Unicode("", help="Not used: see `acting`.").tag(config=True)
    acting = Enum(WAYS, "auto", help="How the Hub acts as users: root, launcher, self (its own account only).").tag(
        config=True
    )
    launcher = Unicode(PROGRAM, help="Path of the launcher, for a Hub that does not run as root.").tag(config=True)

    option_patterns = Dict(
        key_trait=Unicode(),
        value_trait=Unicode(),
        help="Only with batchspawner's settings instead of a site.yaml: what a user's options may set in batch_script, "
        "as {'partition': 'gpu|cpu', 'image': '[a-z]+'}; '' as pattern is a plain word. Empty: the req_ settings.",
    ).tag(config=True)

    page = page_view  # for the templates of the Hub's pages

    _sites: dict[str, Site] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.session = SessionState()
        self.bell = Bell()
        self.resources: Resources | None = None
        self.failure: Failure | None = None
        self.submission: asyncio.Future[None] | None = None
        self.claim_again = asyncio.Event()
        self.field_errors: list[FieldError] = []
        self._telling: asyncio.Future[Any] | None = None
        self.drop_in: DropIn | None = None
        self.link: dict[str, str] = {}  # the choice of the link by which the form is opened
        super().__init__(*args, **kwargs)
        self.drop_in = DropIn.of(self, kwargs)
        if self.drop_in is None:
            tell_unused(self.config, self.log)
        choose_for(self)
        claim_server.begin()

    # ---- the site and Slurm, one for all spawners of a Hub

    @property
    def site(self) -> Site:
        """site.yaml, read once a Hub; SiteError at the first use names the key that is wrong."""
        if self.drop_in is not None:
            return self.drop_in.site
        if self.site_file not in self._sites:
            self._sites[self.site_file] = load_site(self.site_file or None)
        return self._sites[self.site_file]

    @property
    def slurm(self) -> Slurm:
        through = current_acting().launcher
        return Slurm(self.site.slurm.bin, self.site.slurm.conf, cluster=cluster_of(self), through=through)

    @property
    def watcher(self) -> Watcher:
        return watcher_of(self)

    @property
    def owner(self) -> Any:
        """The spawner that JupyterHub knows: this one, or the one that wraps it."""
        known = self.user.spawners.get(self.name) if self.user is not None else None
        return known if known is not None and innermost(known) is self else self

    # ---- options

    @default("server_token_scopes")
    def _server_token_scopes_default(self) -> Any:
        return admit

    @default("options_form")
    def _options_form(self) -> Any:
        return SingularitySlurmSpawner.render_options_form if self.drop_in is None else ""

    @default("options_from_form")
    def _options_from_form_default(self) -> Any:
        return read_form

    @default("apply_user_options")
    def _apply_user_options(self) -> Any:
        return SingularitySlurmSpawner.apply_choice

    async def render_options_form(self) -> str:
        language.remember(self.user.name, self.handler)
        words = language.language_of(self.user.name) or "en"
        notice = last_notice(self.user.name, self.name)
        last, errors = (self.link, []) if self.link else (self.user_options, self.field_errors)
        return render_form(
            self.site, words, await group_names(self), last, errors, notice, await offer_for(self, last),
            base_url=self.hub.base_url, user=self.user.name,
        )  # fmt: skip

    async def run_auth_state_hook(self, auth_state: Any) -> None:
        self.link = links.take(self)
        await super().run_auth_state_hook(auth_state)

    def options_from_query(self, query_data: dict[str, Any]) -> Any:
        return links.from_query(self, query_data)

    async def apply_choice(self, user_options: Mapping[str, Any]) -> None:
        """JupyterHub's hook, for the form, for links and for the REST API alike. Raises web.HTTPError(400)."""
        language.remember(self.user.name, self.handler)
        self.field_errors = []
        if adoption.waits(self):
            return  # a job that is there already is taken up as it is
        try:
            self.resources = await self.choose_resources(dict(user_options))
        except Invalid as error:
            self.field_errors = error.errors
            raise bad_request(error, language.of_start(self)) from error

    async def choose_resources(self, user_options: Any = None) -> Resources:
        options = self.fixed_choice or (self.user_options if user_options is None else user_options)
        if self.drop_in is not None:
            return self.drop_in.resources(options)
        return await within_limits(self, resources_of(self.site, options, await group_names(self)), options)

    # ---- state

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        self.session = SessionState.from_dict(state)

    def get_state(self) -> dict[str, Any]:
        kept = adoption.kept_state(self) if self.user is not None else None
        self.job_id = (kept or self.session).job_id
        self.job_status = ""
        return {**super().get_state(), **(kept or self.session).as_dict()}

    def clear_state(self) -> None:
        if self.session.job_id:
            self.watcher.forget(self.session.job_id)
        super().clear_state()
        self.session = SessionState()
        self.failure = None

    def persist(self) -> None:
        """Commit this session's state now; a Hub may be killed at any moment."""
        owner = self.owner
        owner.orm_spawner.state = owner.get_state()
        self._deprecated_db_session.commit()

    def follow(self, starting: bool | None = None) -> None:
        """Have the watcher look at this session's job."""
        begins = self.session.phase != "ready" if starting is None else starting
        anew = starting is True
        self.watcher.follow(self.session.job_id, self._ring, starting=begins, ours=ours(self), anew=anew)

    def _ring(self) -> None:
        self.bell.ring()
        kind = self.watcher.reading(self.session.job_id).kind
        over = self.session.phase == "ready" and kind in ("ended", "pending")
        if over and self.owner._poll_callback is not None:  # JupyterHub polls every 30 s; here it is told at once
            self._telling = asyncio.ensure_future(self.owner.poll_and_notify())

    def can_answer_claims(self) -> bool:
        """There is a token to hand out. After a restart there is none: the session must be spawned again first."""
        if self.api_token:
            return True
        self.claim_again.set()
        self.bell.ring()
        return False

    # ---- JupyterHub's verbs

    async def start(self) -> str:
        self.failure, self.ip, self.port = None, "0.0.0.0", 0  # noqa: S104 (the address in the job, not of the Hub)
        try:
            url = await start_session(self)
        except Invalid as error:
            metrics.failed(self, error)
            self.field_errors = error.errors
            raise bad_request(error, language.of_start(self)) from error
        except (StartFailed, SiflabError) as error:
            metrics.failed(self, error)
            raise for_hub(error, language.of_start(self)) from error
        self.follow()
        metrics.started(self)
        idle.began(self)
        drop_notice(self.user.name, self.name)
        await turn(self, "ready for the Hub")
        return url

    async def create_certs(self) -> dict[str, str]:
        return {}  # they are made at the claim, when the node is known

    async def move_certs(self, paths: dict[str, str]) -> dict[str, str]:
        return paths

    async def stop(self, now: bool = False) -> None:
        with idle.told(self):
            await stop_job(self, now)

    async def poll(self) -> int | None:
        return await poll_session(self)

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        async for event in progress_events(self):
            yield event

    async def get_url(self) -> str:
        if self.session.port and self.server is not None:
            return f"{server_url(self.session.host, self.session.port, self.session.tls)}{self.server.base_url}"
        return str(await super().get_url())

    # ---- batchspawner's ways, closed: no shell, no template, no sudo

    async def run_command(self, cmd: str, input: str | None = None, env: Any = None) -> str:
        raise NotImplementedError("Siflab runs no shell commands")

    async def submit_batch_script(self) -> str:
        raise NotImplementedError("see siflab_spawner.start.starting")
