"""A short campaign, and what tests of campaigns do with it."""

from pathlib import Path

PLAN = {
    "title": "A short campaign",
    "seeds": 6,
    "hosts": ["client", "server"],
    "links": {"wan": {"between": ["client", "server"], "delay": "10ms", "loss": "1%"}},
    "flows": {"requests": {"from": "client", "to": "server", "transport": "tcp", "interval": "10ms"}},
    "stop": {"messages": 30},
    "factors": {"flows.requests.transport": ["tcp", "sctp:6"], "links.wan.loss": ["1%", 0.05]},
}
RUNS = 24


def octets(store):
    """Return all that a store has, but for the lock."""
    return {str(path.relative_to(store)): path.read_bytes() for path in Path(store).rglob("*") if path.is_file() and path.name != "_lock"}


def after(runs, act):
    """Return a progress that acts once, when some runs are there."""
    state = {"acted": False}

    def progress(done, all):
        if done >= runs and not state["acted"]:
            state["acted"] = True
            act()

    return progress
