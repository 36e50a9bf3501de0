"""Published figures, and where a run holds the same figure."""

from hardstone.published.address import Address, parse_address
from hardstone.published.read_figures import (
    Figure,
    all_figures,
    figures_of,
    is_measurable,
    tables_of,
)
from hardstone.published.resolve import AddressError, Resolved, is_under, resolve
from hardstone.published.studies import Study, load_studies
from hardstone.published.value import is_of_kernel_time, length_of, value_of

__all__ = [
    "Address",
    "AddressError",
    "Figure",
    "Resolved",
    "Study",
    "all_figures",
    "figures_of",
    "is_measurable",
    "is_of_kernel_time",
    "is_under",
    "length_of",
    "load_studies",
    "parse_address",
    "resolve",
    "tables_of",
    "value_of",
]
