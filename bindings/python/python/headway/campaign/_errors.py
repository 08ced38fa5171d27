"""What a campaign can fail with."""


class CampaignError(RuntimeError):
    """A campaign ended early; what it has is kept, and the same call goes on."""


class StoreError(CampaignError):
    """A store is not what it should be, or cannot be written."""
