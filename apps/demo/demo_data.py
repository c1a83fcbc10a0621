"""The people of the demo, and the messages that its customers write."""

from dataclasses import dataclass
from typing import Final

TENANT: Final = "acme"
BUSINESS: Final = "Acme"
AGENT: Final = "support"
OPERATOR: Final = "operator@acme.example"
# An assistant: members talk to it in the console, and customers cannot reach it.
ASSISTANT: Final = "aide"
ASSISTANT_TITLE: Final = "Aide"
ASSISTANT_IDENTITY: Final = "I am Aide. I help the people of Acme to see what waits for them, and I say where I looked."
# The story signs in as another person, so that the login link printed at the terminal stays usable.
REVIEWER: Final = "reviewer@acme.example"


@dataclass(frozen=True, slots=True)
class CustomerRequest:
    """A request that two customers make, so that a skill learned from the first one can serve the second."""

    topics: tuple[str, ...]
    first_customer: str
    closing: str
    second_customer: str


# The requests share no words, so that a skill learned from one is not taken for another.
CUSTOMER_REQUESTS: Final = (
    CustomerRequest(
        ("change", "invoice"),
        "Hello, I would like to change how I get my invoice. Please always send it to me by email.",
        "Great, thank you. That is all I needed.",
        "Hi, can I change my invoice as well? I prefer paper by letter.",
    ),
    CustomerRequest(
        ("renew", "subscription"),
        "I am going to renew my subscription this year too. Please always remind me two weeks ahead.",
        "Perfect, that settles it. Thank you.",
        "Could you help me renew my subscription? I prefer a reminder in the last month.",
    ),
    CustomerRequest(
        ("return", "item"),
        "I have to return an item that does not fit. Please always collect at my office in the morning.",
        "Lovely, thanks for taking care of it.",
        "How do I return an item? Please never collect on a Friday.",
    ),
    CustomerRequest(
        ("reset", "password"),
        "I often have to reset my password. From now on, please call me before anybody does that for me.",
        "Thank you, that makes me feel safer.",
        "Hello, I want to reset my password. Please always ask for my secret word first.",
    ),
    CustomerRequest(
        ("extend", "trial"),
        "May I extend my trial? Please always tell me on the last day, not before.",
        "Very good, thank you.",
        "We would like to extend our trial by a week. Please always copy my colleague.",
    ),
    CustomerRequest(
        ("exchange", "size"),
        "I want to exchange my boots for another size. Please always leave them with my neighbour.",
        "Wonderful, thank you for noting it.",
        "Can I exchange a shirt for a larger size? Please never leave it outside.",
    ),
    CustomerRequest(
        ("refund", "voucher"),
        "I would like a refund for a voucher I did not use. Please always pay me back to my bank.",
        "Good, that is clear. Thank you.",
        "Is a refund for my voucher possible? I prefer money over another one.",
    ),
    CustomerRequest(
        ("upgrade", "seat"),
        "I would love to upgrade my seat when one is free. Please always offer me the window first.",
        "Thanks, that is exactly what I hoped for.",
        "Can you upgrade my seat? I prefer the aisle.",
    ),
)
