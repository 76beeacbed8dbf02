"""site.yaml: the models, reading it, and what a person's choice comes to."""

from siflab.config.load import SiteError, load_site, parse_site, site_path
from siflab.config.models import Bind, CountRange, Image, Profile, SingularitySite, Site
from siflab.config.resolve import Choice, Resources, resolve, usable_profiles

__all__ = [
    "Bind",
    "Choice",
    "CountRange",
    "Image",
    "Profile",
    "Resources",
    "SingularitySite",
    "Site",
    "SiteError",
    "load_site",
    "parse_site",
    "resolve",
    "site_path",
    "usable_profiles",
]
