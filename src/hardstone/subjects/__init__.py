"""What can be compared, rated and gated: runs and published systems, by one small interface."""

from hardstone.subjects.amount import Amount, Missing
from hardstone.subjects.measured import CONTRADICTORY, MeasuredRun, MeasuredSeries, subjects_of
from hardstone.subjects.published_system import (
    PREFIX,
    PublishedSeries,
    PublishedSystem,
    amount_of,
    published_ids,
    published_system,
)
from hardstone.subjects.rows import FigureRow, figure_rows, other_numbers
from hardstone.subjects.subject import Held, Subject

__all__ = [
    "CONTRADICTORY",
    "PREFIX",
    "Amount",
    "FigureRow",
    "Held",
    "MeasuredRun",
    "MeasuredSeries",
    "Missing",
    "PublishedSeries",
    "PublishedSystem",
    "Subject",
    "amount_of",
    "figure_rows",
    "other_numbers",
    "published_ids",
    "published_system",
    "subjects_of",
]
