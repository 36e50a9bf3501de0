"""Campaign: runs a plan on a target and stores what comes."""

from hardstone.campaign.campaign import Campaign, Outcome
from hardstone.campaign.events import (
    CampaignEvent,
    Look,
    MeasuringFinished,
    MeasuringStarted,
    RunFinished,
    RunStarted,
    Tick,
    Warned,
)

__all__ = [
    "Campaign",
    "CampaignEvent",
    "Look",
    "MeasuringFinished",
    "MeasuringStarted",
    "Outcome",
    "RunFinished",
    "RunStarted",
    "Tick",
    "Warned",
]
