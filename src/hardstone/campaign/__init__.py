"""Campaign: runs a plan on a target and stores what comes."""

from hardstone.campaign.campaign import Campaign, Outcome
from hardstone.campaign.events import (
    CampaignEvent,
    RunFinished,
    RunStarted,
    TestFinished,
    TestStarted,
    Tick,
    Warned,
)

__all__ = [
    "Campaign",
    "CampaignEvent",
    "Outcome",
    "RunFinished",
    "RunStarted",
    "TestFinished",
    "TestStarted",
    "Tick",
    "Warned",
]
