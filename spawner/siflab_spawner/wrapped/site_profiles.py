"""For sites that mix spawners: one form, with the profiles of site.yaml as jobs and its `spawners` by other classes.

It is a `wrapspawner.ProfilesSpawner` with these of its faults mended: an unknown profile is refused, not started with
defaults; the child's own time limits rule; nothing that profiles share is changed; the child knows its server's name
and row, so that named servers, port and URL are right; progress is there from the first moment; a restarted Hub makes
the child that the state names, whatever the options or site.yaml say by then; form and REST API are validated alike;
the hooks for internal_ssl reach the child.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import wrapspawner
from jupyterhub.spawner import Spawner
from traitlets import Any as AnyTrait
from traitlets import Dict, default, directional_link

from siflab.config import Site
from siflab.config.models import OtherSpawner
from siflab.errors import FieldError, Invalid
from siflab.text import Text
from siflab_spawner import language
from siflab_spawner.accounts.groups import group_names
from siflab_spawner.page import links
from siflab_spawner.page.options import bad_request, read_form
from siflab_spawner.spawner import SingularitySlurmSpawner
from siflab_spawner.start import adoption
from siflab_spawner.wrapped.other_spawners import DEFAULT, render_others, spawner_class, usable_others

_JOB = "job"
_GIVEN = (
    "user", "orm_spawner", "hub", "authenticator", "config", "proxy_spec", "oauth_client_id", "cookie_options",
    "cookie_host_prefix_enabled", "trusted_alt_names", "internal_ssl", "internal_trust_bundles",
    "internal_certs_location", "public_url", "public_hub_url", "_deprecated_db_session",
)  # fmt: skip
_SHARED = (
    "user_options",
    "api_token",
    "admin_access",
    "oauth_access_scopes",
    "oauth_client_id",
    "cert_paths",
    "handler",
)
_HOOKS_MAY_CHANGE = (
    "args", "cmd", "cpu_guarantee", "cpu_limit", "debug", "default_url", "disable_user_config", "env_keep",
    "environment", "mem_guarantee", "mem_limit", "notebook_dir",
)  # fmt: skip
_THE_CHILDS = ("start_timeout", "http_timeout", "poll_interval")


class SiteProfilesSpawner(wrapspawner.ProfilesSpawner):
    """There is always a child: a session's (`slurm_child`), until somebody chooses another spawner's entry."""

    spawners = Dict(
        default_value=DEFAULT,
        help="The spawner classes that site.yaml may name under spawners.ID.spawner, by short names, as "
        "{'systemd': 'systemdspawner.SystemdSpawner'}. Their settings are as always: c.SystemdSpawner.mem_limit ...",
    ).tag(config=True)
    options_form = AnyTrait()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kind = ""
        self._links: list[directional_link] = []
        self._before = {name: getattr(self, name) for name in _HOOKS_MAY_CHANGE}
        self.slurm_child = self._child(SingularitySlurmSpawner)
        self._linked(self.slurm_child)
        self._use(_JOB)

    # ---- the child

    @property
    def site(self) -> Site:
        return self.slurm_child.site

    def _use(self, kind: str) -> Any:
        """Make the child one of this kind: ``job``, or a key of `spawners`. One that is there is kept."""
        if kind != self._kind:
            for link in self._links:
                link.unlink()
            child = self.slurm_child if kind == _JOB else self._child(spawner_class(self.spawners, kind))
            self._links = [] if kind == _JOB else self._linked(child)
            self._kind, self.child_spawner = kind, child
            for name in _THE_CHILDS:
                setattr(self, name, getattr(child, name))
        return self.child_spawner

    def _child(self, child_class: type[Spawner]) -> Any:
        return child_class(**{name: getattr(self, name) for name in _GIVEN if self.has_trait(name)})

    def _linked(self, child: Spawner) -> list[directional_link]:
        return [directional_link((self, name), (child, name)) for name in _SHARED]

    def construct_child(self) -> Any:
        return self.child_spawner

    # ---- options

    @default("options_form")
    def _options_form_default(self) -> Any:
        return SiteProfilesSpawner.render_options_form

    def options_from_form(self, form: dict[str, list[str]]) -> dict[str, str]:
        return read_form(form)

    def options_from_query(self, query: dict[str, list[str]]) -> Any:
        return self.slurm_child.options_from_query(query)

    async def run_auth_state_hook(self, auth_state: Any) -> None:
        self.slurm_child.link = links.take(self.slurm_child)
        await super().run_auth_state_hook(auth_state)

    @default("apply_user_options")
    def _apply_user_options_default(self) -> Any:
        return SiteProfilesSpawner.apply_choice

    async def render_options_form(self) -> str:
        session = self.slurm_child
        others = usable_others(session.site, await group_names(session))
        form = await session.render_options_form()
        spoken = language.language_of(self.user.name) or "en"
        return form + render_others(others, spoken, session.link or self.user_options)

    async def apply_choice(self, user_options: Mapping[str, Any]) -> None:
        """As of `SingularitySlurmSpawner`: raises web.HTTPError(400)."""
        session = self._use(_JOB)
        if adoption.waits(session):
            return
        options = dict(user_options)
        profile = options.get("profile")
        if not isinstance(profile, str) or profile not in session.site.spawners:
            await session.apply_choice(options)
            return
        others = usable_others(session.site, await group_names(session))
        try:
            self._use(_kind_of(others, profile, options, self.spawners))
        except Invalid as error:
            session.field_errors = error.errors
            raise bad_request(error, language.of_start(self)) from error

    # ---- state

    def load_state(self, state: dict[str, Any]) -> None:
        Spawner.load_state(self, state)
        kind = state.get("child_kind")
        self._use(kind if kind in self.spawners else _JOB).load_state(state.get("child_state") or {})

    def get_state(self) -> dict[str, Any]:
        child_state = self.child_spawner.get_state()
        state = Spawner.get_state(self)
        return {**state, "child_kind": self._kind, "child_state": child_state} if child_state else state

    def clear_state(self) -> None:
        Spawner.clear_state(self)
        self.child_spawner.clear_state()
        self._use(_JOB)

    # ---- JupyterHub's verbs

    async def start(self) -> Any:
        child = self.child_spawner
        for name, before in self._before.items():
            value = getattr(self, name)
            if value != before and child.has_trait(name):  # a hook or a group's override of this Hub changed it
                setattr(child, name, {**child.environment, **value} if name == "environment" else value)
        return await _awaited(child.start())

    async def stop(self, now: bool = False) -> None:
        await _awaited(self.child_spawner.stop(now))

    async def poll(self) -> int | None:
        return await _awaited(self.child_spawner.poll())

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        async for event in self.child_spawner.progress():
            yield event

    async def get_url(self) -> str:
        return str(await _awaited(self.child_spawner.get_url()))

    async def create_certs(self) -> Any:
        return await _awaited(self.child_spawner.create_certs())

    async def move_certs(self, paths: dict[str, str]) -> Any:
        return await _awaited(self.child_spawner.move_certs(paths))


async def _awaited(answer: Any) -> Any:
    return await answer if hasattr(answer, "__await__") else answer


def _kind_of(
    others: Mapping[str, OtherSpawner], profile: str, options: Mapping[str, Any], allowed: Mapping[str, Any]
) -> str:
    """The kind of an entry of `spawners`. Raises Invalid for one that is not for this user, or with more options."""
    if profile not in others:
        raise Invalid(
            [
                FieldError(
                    "profile",
                    "unknown-profile",
                    Text(f"there is no profile {profile!r} for you here", f"没有可用的资源配置 {profile!r}"),
                )
            ]
        )
    more = [name for name in options if name != "profile" and options[name] not in (None, "")]
    if more:
        raise Invalid(
            [
                FieldError(
                    str(name)[:64],
                    "unknown-option",
                    Text(f"cannot be chosen with profile {profile!r}", f"资源配置 {profile!r} 不能选择此项"),
                )
                for name in more
            ]
        )
    kind = others[profile].spawner
    if kind not in allowed:
        raise Invalid(
            [
                FieldError(
                    "profile",
                    "unknown-spawner",
                    Text(
                        f"the Hub has no spawner {kind!r} (c.SiteProfilesSpawner.spawners); tell your administrator",
                        f"Hub 没有 spawner {kind!r}（c.SiteProfilesSpawner.spawners）；请联系管理员",
                    ),
                )
            ]
        )
    return kind
