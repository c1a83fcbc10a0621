"""`python -m tests.proofs.crowded_inbox`: a thousand proposals of four agents over shared targets, and the inbox they leave.

Two of five are asked for again in nearly the same words, people change what is asked about in between, and a month passes
twice. It prints how short the inbox ends, and ends with an error if a proposal is at a dead end or any words were lost.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from time import monotonic

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from apps.governance.models import Proposal  # noqa: E402  # after Django's set-up
from tests.random_acts.crowded_inbox import CrowdedInbox, fill_inbox, open_inbox  # noqa: E402
from tests.random_acts.proposal_liveness import lost_requests, stale_proposals, stuck_proposals  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import clone_database  # noqa: E402
from tests.support.database.migrated_cluster import TEMPLATE, ready_server  # noqa: E402

WHOLE, QUICK = 1000, 100
SHOWN_FLAWS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.crowded_inbox")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} proposals instead of {WHOLE}")
    parser.add_argument("--seed", type=int, default=1, help="another seed asks for other things")
    options = parser.parse_args(arguments)
    proposals = QUICK if options.quick else WHOLE
    with ready_server() as server:
        clone_database(server, TEMPLATE, PREFIX)
        begun = monotonic()
        inbox = open_inbox(proposals)
        fill_inbox(inbox, proposals, options.seed)
        return report(inbox, begun)


def report(inbox: CrowdedInbox, begun: float) -> int:
    """The table, what the agents were told, and whatever is dead or lost."""
    rows = inbox.rows(Proposal)
    states = {state: sum(row.state == state for row in rows) for state in Proposal.State}
    stale = stale_proposals(inbox)
    flaws = [*stuck_proposals(inbox), *lost_requests(inbox)]
    counted = inbox.counted
    figures = {
        "asked for": len(inbox.asked),
        "in nearly the same words as before": counted["similar"],
        "changed by a person afterwards": counted["changed"],
        "merged into an open proposal": counted["merged"],
        "opened": counted["opened"],
        **{f"{name} (told to the agent)": number for name, number in sorted(counted.items()) if "refused" in name},
        "rejected": states[Proposal.State.REJECTED],
        "expired": states[Proposal.State.EXPIRED],
        "open at the end": states[Proposal.State.OPEN],
        "of these to be rebased": len(stale),
        "most conversations behind one": max((row.support_count for row in rows), default=0),
        "dead or lost": len(flaws),
        "seconds": round(monotonic() - begun),
    }
    for name, number in figures.items():
        print(f"{name:44} {number:6}")
    for code, sentence in sorted(inbox.told.items()):
        print(f"An agent was told ({code}): {sentence}")
    print("\n".join(flaws[:SHOWN_FLAWS]))
    print(f"The inbox ends short: {states[Proposal.State.OPEN]} wait of {len(inbox.asked)} that were asked for.")
    return int(bool(flaws) or not inbox.asked)


if __name__ == "__main__":
    sys.exit(main())
