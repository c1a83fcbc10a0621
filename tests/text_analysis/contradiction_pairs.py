"""Pairs of lines that contradict each other, and pairs that only look so. Half were tuned on, half looked at once."""

from dataclasses import dataclass
from typing import Final

from apps.text_analysis.contradictions.detection import ContradictionKind, TextKind


@dataclass(frozen=True, slots=True)
class Pair:
    """Two lines, and in what they contradict each other, if they do."""

    one: str
    two: str
    kind: ContradictionKind | None = None
    part: TextKind = TextKind.MEMORY
    other: TextKind = TextKind.RULE


_A, _D, _O, _S, _V = (
    ContradictionKind.AMOUNT,
    ContradictionKind.DATE,
    ContradictionKind.OPPOSITE,
    ContradictionKind.STEPS,
    ContradictionKind.AVOIDED,
)
_AVOID, _SKILL = TextKind.AVOID, TextKind.SKILL

CONTRADICTING_PAIRS: Final = (
    Pair("Refunds are possible within 30 days.", "Customers get refunds within 14 days.", _A),
    Pair("Refunds within 30 days of purchase.", "We refund within two weeks of purchase.", _A),
    Pair("Delivery takes 3 to 5 days.", "Shipping takes 7 days.", _A),
    Pair("The default refund amount is $50.", "The default refund amount is $75.", _A),
    Pair("A subscription costs $99 a year.", "The subscription costs $89 per year.", _A),
    Pair("Gold members get a 10 % discount.", "Gold members get a discount of 15 percent.", _A),
    Pair("Customers must be at least 18 years old.", "The customer has to be at least 21 years old.", _A),
    Pair("An account is locked after 3 failed attempts.", "The account is locked after five failed attempts.", _A),
    Pair("The shop opens at 9 am.", "The shop opens at 10:00.", _A),
    Pair("If a parcel is lost, wait 10 days.", "When the parcel is lost, wait for 5 days.", _A),
    Pair("Vouchers are valid for 12 months.", "A voucher is valid for two years.", _A),
    Pair("Orders over $50 ship free.", "Orders over $75 ship free.", _A),
    Pair("Return shipping costs 4.90 euros.", "Return shipping costs €5.90.", _A),
    Pair("Never offer a discount over 10 %.", "Offer a 20 % discount.", _A),
    Pair("Rückerstattungen sind innerhalb von 30 Tagen möglich.", "Rückerstattung innerhalb von 14 Tagen.", _A),
    Pair("Please answer e-mails within 24 hours.", "Emails are answered within 2 days.", _A),
    Pair("The spring sale ends on 9 May 2026.", "The spring sale ends on May 16, 2026.", _D),
    Pair("Winter tyres are in stock from 1 October.", "From 15 October winter tyres are in stock.", _D),
    Pair("The contract ends on 2026-12-31.", "The contract ends on 30 June 2026.", _D),
    Pair("Der Aktionscode gilt bis 31.12.2026.", "Der Aktionscode gilt bis 30.11.2026.", _D),
    Pair("Always ask for the order number.", "Never ask for the order number.", _O),
    Pair("Tell the customer the name of the courier.", "Do not tell customers the name of the courier.", _O),
    Pair("You must not share the tracking link.", "Share the tracking link with the customer.", _O),
    Pair("We ship to Canada.", "We don't ship to Canada.", _O),
    Pair("Opened boxes are accepted.", "Opened boxes are refused.", _O),
    Pair("The store is open on Sundays.", "On Sundays the store is closed.", _O),
    Pair("A receipt is required for returns.", "A receipt is not required for returns.", _O),
    Pair("Never promise a delivery date.", "Promise a delivery date so that the customer calms down.", _O),
    Pair("If the item is used, refund it.", "If the item is used, do not refund it.", _O),
    Pair("Never refund without a receipt.", "Refund without a receipt.", _O),
    Pair("Gib niemals Rabatte auf Sonderangebote.", "Gib immer Rabatte auf Sonderangebote.", _O),
    Pair("Do not offer refunds for digital goods.", "Refunds for digital goods may be offered.", _O),
    Pair("We no longer accept checks.", "We accept checks.", _O),
    Pair("Avoid discussing competitors.", "Discuss competitors when it helps the sale.", _O),
    Pair("When a parcel is lost, open a trace with the carrier.", "If the parcel is lost, refund the order.", _S),
    Pair("If the payment fails twice, block the card.", "If the payment fails twice, send a new invoice.", _S),
    Pair("Once the warranty has expired, sell a repair.", "Once the warranty has expired, replace the device.", _S),
    Pair("Medical advice", "3. Give the customer medical advice about the dosage.", _V, _AVOID, _SKILL),
    Pair("Promising delivery dates", "Then promise a delivery date.", _V, _AVOID, _SKILL),
    Pair(
        "Never mention internal ticket numbers", "Mention the internal ticket number in the reply.", _V, _AVOID, _SKILL
    ),
    Pair("Discounts over 10 %", "Offer a discount of 25 %.", _V, _AVOID),
    Pair("Don't blame the carrier", "- Blame the carrier and apologise.", _V, _AVOID, _SKILL),
    Pair("Sharing other customers' data", "Share the data of other customers on request.", _V, _AVOID),
    Pair("Replacement parts arrive in 2 days.", "Replacement parts arrive in 6 days.", _A),
)
COMPATIBLE_PAIRS: Final = (
    # The same in other words.
    Pair("Refunds within two weeks.", "Refunds within 14 days."),
    Pair("The trial lasts a month.", "The trial lasts 30 days."),
    Pair("A year's guarantee: 12 months.", "The guarantee lasts one year."),
    Pair("Answer within 24 hours.", "Answer within a day."),
    Pair("The shop opens at 9 am.", "The shop opens at 9:00."),
    Pair("A dozen eggs cost $4.", "12 eggs cost $4.00."),
    Pair("The sale ends on 9 May 2026.", "The sale ends on 2026-05-09."),
    Pair("Never refund without a receipt.", "Always refund with a receipt."),
    Pair("Do not forget to ask for the order number.", "Always ask for the order number."),
    Pair("Never share the price before the check.", "Share the price after the check."),
    Pair("No refunds after 30 days.", "Refunds within 30 days."),
    # Another subject.
    Pair("Refunds are possible within 30 days.", "Exchanges are possible within 60 days."),
    Pair("Delivery takes 3 days.", "Repairs take 10 days."),
    Pair("Gold members get a 10 % discount.", "Silver members get a 5 % discount."),
    Pair("Standard shipping takes 5 days.", "Express shipping takes 1 day."),
    Pair("The shop opens at 9 am.", "The shop closes at 6 pm."),
    Pair("Return shipping costs $5.", "Gift wrapping costs $3."),
    Pair("Never promise a delivery date.", "Tell the customer the tracking number."),
    Pair("Do not share the internal notes.", "Share the tracking link with the customer."),
    Pair("Always ask for the order number.", "Never ask for the card number."),
    Pair("A chat lasts at most 20 minutes.", "Wait at least 2 minutes for an answer."),
    Pair("Do not call the customer.", "Call the warehouse."),
    # Another condition, or an exception from the rule.
    Pair("Refunds within 30 days.", "For sale items, refunds within 14 days."),
    Pair("Refunds are possible within 30 days.", "If the item is damaged, refunds are possible within 90 days."),
    Pair("Delivery takes 3 days.", "In December delivery takes 8 days."),
    Pair("Shipping takes 5 days.", "International shipping takes 12 days."),
    Pair("Products can be returned within 30 days.", "Digital products can be returned within 7 days."),
    Pair("Offer discounts.", "Never offer discounts to resellers."),
    Pair("Do not share the tracking link unless asked.", "If the customer asks, share the tracking link."),
    Pair("We do not ship to Canada.", "We ship to Mexico."),
    Pair("The store is open on Saturdays.", "The store is closed on Sundays."),
    Pair("If the item is used, do not refund it.", "If the item is new, refund it."),
    Pair("Bei Mitgliedern: Rückgabe innerhalb von 60 Tagen.", "Rückgabe innerhalb von 30 Tagen."),
    Pair("Orders over $50 ship free.", "Orders under $50 ship for $5."),
    Pair("You may offer a voucher.", "You do not have to offer a voucher."),
    # Bounds that leave room for each other.
    Pair("Delivery takes at most 5 days.", "Delivery takes 3 days."),
    Pair("A discount of at least 5 %.", "A discount of at most 10 %."),
    Pair("The offer is valid from 1 May.", "The offer is valid until 31 May."),
    Pair("Refund the fee of $10.", "The fee can be refunded within 10 days."),
    # The same trigger, and steps that go together.
    Pair("If the customer is upset, apologise.", "If the customer is upset, offer a voucher."),
    Pair("If the order is late, check the tracking.", "If the order is late, check the tracking number first."),
    # Near what is avoided.
    Pair("Medical advice", "Hand medical questions to a colleague.", None, _AVOID, _SKILL),
    Pair("Promising delivery dates", "Look up the delivery date and tell it.", None, _AVOID, _SKILL),
    Pair("Discounts over 10 %", "Offer a discount of 5 %.", None, _AVOID),
    Pair("Sarcasm", "Check the order before you answer.", None, _AVOID, _SKILL),
    Pair("Never mention competitors", "Do not mention competitors by name.", None, _AVOID),
)
# Written when the rules stood, and not changed for since.
HELD_OUT_PAIRS: Final = (
    Pair("Complaints are answered within 3 days.", "A complaint is answered within one week.", _A),
    Pair("The deposit is 200 euros.", "The deposit is €250.", _A),
    Pair("Bring at most two bags.", "Bring up to three bags.", _A),
    Pair("A repair takes 10 days.", "Repairs take no longer than a week.", _A),
    Pair("The cancellation fee is 15 %.", "The fee for cancellations is 20 %.", _A),
    Pair(
        "Tickets can be cancelled until 24 hours before departure.",
        "Tickets can be cancelled until 2 hours before departure.",
        _A,
    ),
    Pair("Registration closes on 3 June.", "Registration closes on 10 June.", _D),
    Pair("Always offer a replacement first.", "Never offer a replacement.", _O),
    Pair("Pets are allowed in the cabin.", "Pets are not allowed in the cabin.", _O),
    Pair("Please confirm the address before you ship.", "Don't confirm the address.", _O),
    Pair("You must record the call.", "You must not record the call.", _O),
    Pair("We never waive the late fee.", "Waive the late fee for loyal customers.", _O),
    Pair("An identity check is mandatory.", "The identity check is optional.", _O),
    Pair("Frage immer nach der Kundennummer.", "Frage nie nach der Kundennummer.", _O),
    Pair("If a flight is cancelled, rebook the passenger.", "When the flight is cancelled, pay a compensation.", _S),
    Pair("Speaking badly of former staff", "Speak badly of former staff if asked.", _V, _AVOID),
    Pair("Guessing prices", "2. Guess the price.", _V, _AVOID, _SKILL),
    Pair("Complaints are answered within 72 hours.", "A complaint is answered within three days."),
    Pair("The deposit is 200 euros.", "The cancellation fee is 50 euros."),
    Pair("Bring at most two bags.", "Bring two bags."),
    Pair("Repairs take 10 days.", "Repairs of watches take 20 days."),
    Pair("Business class tickets can be refunded.", "Economy class tickets cannot be refunded."),
    Pair("Never call a customer at night.", "Call the customer before noon."),
    Pair("You must not record the call.", "Ask whether you may record the call."),
    Pair("The desk is open from 8:00 to 18:00.", "The desk opens at 8 am."),
    Pair("Do not change the booking without consent.", "Change the booking with the customer's consent."),
    Pair("Registration closes on 3 June.", "The course begins on 10 June."),
    Pair("Never guess a price.", "Look up the price."),
    Pair("If a flight is cancelled, rebook the passenger.", "If a flight is late, wait."),
    Pair("Children under 12 travel free.", "Children over 12 pay the full fare."),
    Pair("Don't be afraid to say no.", "Say no politely."),
    Pair("Guessing prices", "Tell the price.", None, _AVOID),
    Pair("Waive the fee once a year.", "The fee is charged every month."),
)
PAIRS: Final = (*CONTRADICTING_PAIRS, *COMPATIBLE_PAIRS)
TUNING_PAIRS: Final = PAIRS[::2]
UNSEEN_PAIRS: Final = PAIRS[1::2]
