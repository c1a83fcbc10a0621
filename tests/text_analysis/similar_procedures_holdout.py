"""Couples of procedures on which likeness is measured; nothing was tuned on them."""

from typing import Final

from tests.text_analysis.procedure_drafts import ProcedureCouple, make_procedure

HELD_OUT_COUPLES: Final[tuple[ProcedureCouple, ...]] = (
    (
        (
            make_procedure(
                "Refund a damaged item",
                "A product arrived broken and the customer wants the money back.",
                "Find the order; ask for a photo; refund the item; say when the money arrives",
                "get_order create_refund",
            ),
            make_procedure(
                "Money back for broken goods",
                "Somebody received a defective article.",
                "Look the purchase up; have a picture sent; reimburse the price with `create_refund`",
                "get_user get_order create_refund",
            ),
            make_procedure(
                "Reimbursement of faulty products",
                "Use when an item does not work on arrival and no other one is wanted.",
                "Read the order; see the picture of the fault; return the amount to the card",
                "get_order get_payment create_refund",
            ),
        ),
        (
            make_procedure(
                "Replace a damaged item",
                "A product arrived broken and the customer wants a new one.",
                "Find the order; ask for a photo; check the stock; send a replacement",
                "get_order get_stock create_replacement",
            ),
            make_procedure(
                "New article for a broken one",
                "Somebody received a defective article and still needs it.",
                "Look the purchase up; have a picture sent; order another one with `create_replacement`",
                "get_user get_order create_replacement",
            ),
            make_procedure(
                "Exchange of faulty products",
                "Use when an item does not work on arrival and the same one is wanted again.",
                "Read the order; see the picture of the fault; ship the same product free of charge",
                "get_order create_replacement",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Cancel a flight reservation",
                "A passenger does not want to fly any more.",
                "Look up user and reservation; read the reason; see whether it may be cancelled; cancel after a yes",
                "get_user_details get_reservation_details cancel_reservation",
            ),
            make_procedure(
                "Trip called off",
                "Somebody's travel plans fell through.",
                "Find the booking; check insurance and cabin; call it off; say when the refund arrives",
                "get_reservation_details think cancel_reservation",
            ),
            make_procedure(
                "Terminate a booking within a day",
                "Use when a traveller regrets a booking made within 24 hours.",
                "Read when it was made; call `cancel_reservation`; name the days until the money is back",
                "get_reservation_details cancel_reservation",
            ),
        ),
        (
            make_procedure(
                "Change the flights of a reservation",
                "A passenger wants to fly on another day.",
                "Look up user and reservation; search flights; name the difference in price; change after a yes",
                "get_user_details get_reservation_details search_direct_flight update_reservation_flights",
            ),
            make_procedure(
                "Earlier or later flight",
                "Somebody's travel plans moved.",
                "Find the booking; look for connections; work out what is to pay; rebook",
                "get_reservation_details search_onestop_flight calculate update_reservation_flights",
            ),
            make_procedure(
                "Rebook a trip",
                "Use when a traveller keeps the route and changes the date.",
                "Read the booking; offer flights; call `update_reservation_flights` with the card chosen",
                "get_reservation_details search_direct_flight update_reservation_flights",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Say where a late parcel is",
                "A delivery is overdue and the customer asks about it.",
                "Find the order; read the tracking; say where the parcel is and when it comes",
                "get_order get_tracking",
            ),
            make_procedure(
                "Delayed shipment",
                "Somebody waits longer than promised.",
                "Look the purchase up; open the tracking; pass on the new day; apologise",
                "get_user get_order get_tracking",
            ),
            make_procedure(
                "Where is my parcel",
                "Use when a buyer asks for the state of a delivery.",
                "Call `get_order`; call `get_tracking`; tell the last scan in plain words",
                "get_order get_tracking",
            ),
        ),
        (
            make_procedure(
                "Open a claim for a lost parcel",
                "A delivery is missing and the tracking stands still.",
                "Find the order; read the tracking; open a claim with the carrier; give the claim number",
                "get_order get_tracking open_carrier_claim",
            ),
            make_procedure(
                "Vanished shipment",
                "Somebody's goods never came although they were sent.",
                "Look the purchase up; see that nothing was scanned for ten days; claim it with the carrier",
                "get_user get_order get_tracking open_carrier_claim",
            ),
            make_procedure(
                "Carrier lost the package",
                "Use when a parcel has not moved for over a week.",
                "Call `get_tracking`; ask neighbours and address; call `open_carrier_claim`",
                "get_tracking open_carrier_claim",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Send a copy of an invoice",
                "A customer lost an invoice.",
                "List the invoices; ask for the month; send it by mail",
                "get_invoices send_invoice",
            ),
            make_procedure(
                "Invoice needed again",
                "Somebody's accountant asks for a bill.",
                "Look the bills up; choose the right one; mail it to the address on file",
                "get_user get_invoices send_invoice",
            ),
            make_procedure(
                "Duplicate bills",
                "Use when a bill did not arrive or was deleted.",
                "Call `get_invoices`; call `send_invoice`; mention the download page",
                "get_invoices send_invoice",
            ),
        ),
        (
            make_procedure(
                "Correct the address on an invoice",
                "A customer needs the company's name on an invoice.",
                "List the invoices; take the right name and address; issue it anew; send the corrected one",
                "get_invoices reissue_invoice",
            ),
            make_procedure(
                "Bill made out to the wrong company",
                "Somebody's accountant refuses a bill.",
                "Look the bills up; ask for the tax number; make the bill out again",
                "get_user get_invoices reissue_invoice",
            ),
            make_procedure(
                "Invoices with a mistake",
                "Use when name, address or tax number are wrong.",
                "Call `get_invoices`; write the correction down; call `reissue_invoice`",
                "get_invoices reissue_invoice",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Promo code does not work",
                "A customer cannot redeem a code at checkout.",
                "Check the code; read its conditions; apply it by hand if they are met",
                "check_coupon apply_coupon",
            ),
            make_procedure(
                "Coupon refused",
                "Somebody's voucher is not accepted.",
                "Look the voucher up; see whether it ran out; enter it with `apply_coupon`",
                "get_user check_coupon apply_coupon",
            ),
            make_procedure(
                "Discount code missing from an order",
                "Use when a code was forgotten or refused.",
                "Call `check_coupon`; say why it failed; redeem it for the open order",
                "get_order check_coupon apply_coupon",
            ),
        ),
        (
            make_procedure(
                "Match a lower price",
                "A customer found the product cheaper elsewhere.",
                "Ask for the offer; compare it; credit the difference",
                "compare_price issue_credit",
            ),
            make_procedure(
                "Competitor is cheaper",
                "Somebody asks for the price of another shop.",
                "See that article and stock are the same; give the difference back with `issue_credit`",
                "get_order compare_price issue_credit",
            ),
            make_procedure(
                "Price guarantee",
                "Use when a price dropped within 14 days of the order.",
                "Call `compare_price`; work out the difference; credit it to the account",
                "get_order compare_price calculate issue_credit",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Explain returns of opened goods",
                "A customer asks whether opened goods can be sent back.",
                "Ask what it is; hygiene goods stay with the customer once opened; all else goes back within 30 days",
            ),
            make_procedure(
                "May I return it unpacked",
                "Somebody unpacked an item and does not like it.",
                "Say that unpacked items are taken back for 30 days; except hygiene goods",
            ),
            make_procedure(
                "Return policy for used packaging",
                "Use when a box was opened before a return.",
                "Tell the 30 days; name the exception for hygiene goods; no return label is made here",
            ),
        ),
        (
            make_procedure(
                "Explain the warranty",
                "A customer asks how long goods are covered.",
                "Ask what it is and when it was bought; say two years; batteries have six months",
            ),
            make_procedure(
                "Is it still covered",
                "Somebody's item failed after a year.",
                "Say that the warranty lasts two years from the purchase; except batteries with six months",
            ),
            make_procedure(
                "Warranty terms",
                "Use when a buyer asks what the guarantee covers.",
                "Tell the two years; name the exception for batteries; no repair is booked here",
            ),
        ),
    ),
)
