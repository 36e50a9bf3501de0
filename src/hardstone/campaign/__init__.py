"""Campaign: runs a plan on a target and stores what comes."""

from hardstone.campaign.campaign import Campaign, Outcome
from hardstone.campaign.events import (
    CampaignEvent,
    MeasuringFinished,
    MeasuringStarted,
    RunFinished,
    RunStarted,
    Snapshot,
    Tick,
    Warned,
)

__all__ = [
    "Campaign",
    "CampaignEvent",
    "MeasuringFinished",
    "MeasuringStarted",
    "Outcome",
    "RunFinished",
    "RunStarted",
    "Snapshot",
    "Tick",
    "Warned",
]
