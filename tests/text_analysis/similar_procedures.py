"""Couples of procedures on which the thresholds of likeness were tuned."""

from typing import Final

from tests.text_analysis.procedure_drafts import ProcedureCouple, make_procedure

TUNING_COUPLES: Final[tuple[ProcedureCouple, ...]] = (
    (
        (
            make_procedure(
                "Cancel an order before dispatch",
                "A customer no longer wants an order that has not left the warehouse.",
                "Look the order up; see that it is not packed yet; cancel it; refund what was paid",
                "get_order cancel_order refund_payment",
            ),
            make_procedure(
                "Order called off in time",
                "Somebody changed their mind and the goods are still with us.",
                "Find the purchase with `get_order`; stop if it is on its way; call `cancel_order`; give the money back",
                "get_user get_order cancel_order refund_payment",
            ),
            make_procedure(
                "Cancelling unshipped purchases",
                "Use when a buyer asks to cancel and nothing was shipped.",
                "Check the status of the order; cancel with the reason the customer gave; tell when the refund arrives",
                "get_order cancel_order",
            ),
        ),
        (
            make_procedure(
                "Change the delivery address before dispatch",
                "A customer wants an order sent to another address and it has not left the warehouse.",
                "Look the order up; see that it is not packed yet; enter the new address; read it back",
                "get_order update_order_address",
            ),
            make_procedure(
                "Wrong shipping address on an order",
                "The buyer mistyped where the parcel should go.",
                "Ask for the right street and town; check that the order is not shipped; correct the address; confirm it",
                "get_user get_order update_order_address",
            ),
            make_procedure(
                "Customer moved after ordering",
                "Use when somebody moved house and the goods are still with us.",
                "Find the purchase with `get_order`; put the new home in with `update_order_address`; repeat it to them",
                "get_order update_order_address",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Reset a forgotten password",
                "A customer cannot log in because they forgot the password.",
                "Find the user by e-mail; check who they are; send the reset link; ask whether it came",
                "find_user send_password_reset",
            ),
            make_procedure(
                "Password lost",
                "Somebody does not remember their password any more.",
                "Verify the identity; send a link to choose a new password; wait until they are logged in",
                "find_user verify_identity send_password_reset",
            ),
            make_procedure(
                "Sending reset links",
                "Use for users who want a new password for their account.",
                "Look the account up; send the mail with `send_password_reset`; mention the spam folder",
                "find_user send_password_reset",
            ),
        ),
        (
            make_procedure(
                "Unlock an account after failed logins",
                "A customer cannot log in because the account is locked.",
                "Find the user by e-mail; check who they are; unlock the account; ask them to try again",
                "find_user unlock_account",
            ),
            make_procedure(
                "Too many wrong passwords",
                "Somebody typed the password wrongly until they were shut out.",
                "Verify the identity; lift the lock with `unlock_account`; warn about the limit of attempts",
                "find_user verify_identity unlock_account",
            ),
            make_procedure(
                "Locked out users",
                "Use when the log-in page says that the account is blocked.",
                "Look the account up; read why it was blocked; release it unless there was fraud",
                "find_user get_login_history unlock_account",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Add checked bags to a reservation",
                "A passenger wants to take more baggage.",
                "Look the reservation up; count the free bags; name the fee; add the bags after a yes",
                "get_user_details get_reservation_details update_reservation_baggages",
            ),
            make_procedure(
                "Extra luggage",
                "Somebody travels with one suitcase more than booked.",
                "Find the booking; work out what each further bag costs; add it and charge the card on file",
                "get_reservation_details calculate update_reservation_baggages",
            ),
            make_procedure(
                "More bags on a booked flight",
                "Use when baggage is to be added after booking.",
                "Read membership and cabin; say how many bags are free; call `update_reservation_baggages`",
                "get_user_details get_reservation_details think update_reservation_baggages",
            ),
        ),
        (
            make_procedure(
                "Report lost baggage",
                "A passenger arrived and a bag did not.",
                "Look the reservation up; take a description of the bag; open a claim; give the claim number",
                "get_user_details get_reservation_details create_baggage_claim",
            ),
            make_procedure(
                "Missing suitcase after landing",
                "Somebody's luggage is not on the belt.",
                "Find the booking; ask for the bag tag; file the claim with `create_baggage_claim`",
                "get_reservation_details create_baggage_claim",
            ),
            make_procedure(
                "Bag left behind by the airline",
                "Use when checked baggage was not delivered at the destination.",
                "Read the flights; write down colour and size of the bag; register the loss",
                "get_reservation_details think create_baggage_claim",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Change the card of a subscription",
                "A subscriber wants to pay with another card.",
                "Find the subscription; send a secure link for the new card; see that the next payment uses it",
                "get_subscription update_payment_method",
            ),
            make_procedure(
                "Expired payment card",
                "The monthly payment failed since the card ran out.",
                "Look up the plan; replace the payment method; charge the open month again",
                "get_subscription update_payment_method retry_payment",
            ),
            make_procedure(
                "New billing method for a plan",
                "Use when somebody asks to be billed another way.",
                "Open the subscription; call `update_payment_method`; confirm the last four digits",
                "get_user get_subscription update_payment_method",
            ),
        ),
        (
            make_procedure(
                "Cancel a subscription",
                "A subscriber does not want to pay any longer.",
                "Find the subscription; say until when it is paid; cancel it; confirm the last day",
                "get_subscription cancel_subscription",
            ),
            make_procedure(
                "End a monthly plan",
                "Somebody wants out of their plan.",
                "Look up the plan; ask for the reason once; terminate it at the end of the month",
                "get_subscription cancel_subscription",
            ),
            make_procedure(
                "Members who want to leave",
                "Use when a customer asks to stop their membership.",
                "Open the subscription; mention what is lost; call `cancel_subscription`; send the confirmation",
                "get_user get_subscription cancel_subscription send_email",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Book an appointment",
                "A customer wants a date with a technician.",
                "Ask for the days that suit; search free slots; offer three; book the one chosen",
                "search_slots book_slot",
            ),
            make_procedure(
                "Arrange a technician's visit",
                "Somebody needs a repair at home.",
                "Collect postcode and preferred times; look for openings; reserve one; repeat day and hour",
                "get_user search_slots book_slot",
            ),
            make_procedure(
                "First visit",
                "Use when no appointment exists yet.",
                "Call `search_slots` for the region; let the customer choose; call `book_slot`",
                "search_slots book_slot",
            ),
        ),
        (
            make_procedure(
                "Move an appointment",
                "A customer cannot keep the date with a technician.",
                "Find the appointment; ask for the days that suit; search free slots; move it to the one chosen",
                "get_appointment search_slots move_appointment",
            ),
            make_procedure(
                "Reschedule a technician's visit",
                "Somebody is not at home on the day of the repair.",
                "Open the existing visit; look for openings; shift it; repeat the new day and hour",
                "get_user get_appointment search_slots move_appointment",
            ),
            make_procedure(
                "Another day for a booked visit",
                "Use when an appointment exists and the day no longer fits.",
                "Read the appointment; offer other times; call `move_appointment`",
                "get_appointment search_slots move_appointment",
            ),
        ),
    ),
    (
        (
            make_procedure(
                "Change the quantity in an order",
                "A customer wants more or fewer pieces of an item.",
                "Look the order up; check the stock; set the new quantity; name the new total",
                "get_order update_order",
            ),
            make_procedure(
                "Ordered too many",
                "Somebody entered the wrong number of pieces.",
                "Find the order; lower the number of pieces; say what is refunded",
                "get_order update_order",
            ),
            make_procedure(
                "More pieces of the same item",
                "Use when a buyer wants a larger quantity than ordered.",
                "Read the order; see whether enough is in stock; raise the quantity with `update_order`",
                "get_user get_order get_stock update_order",
            ),
        ),
        (
            make_procedure(
                "Change the delivery day of an order",
                "A customer wants the goods on another day.",
                "Look the order up; read which days are possible; set the new delivery day; confirm it",
                "get_order update_order",
            ),
            make_procedure(
                "Not at home on delivery day",
                "Somebody is away when the parcel should come.",
                "Find the order; offer later days; put the chosen day in; repeat it",
                "get_order update_order",
            ),
            make_procedure(
                "Later delivery wished",
                "Use when a buyer asks to postpone the delivery.",
                "Read the order; postpone with `update_order`; say that the carrier sends a message",
                "get_user get_order update_order",
            ),
        ),
    ),
)
