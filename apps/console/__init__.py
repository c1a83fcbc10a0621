"""The operators' admin site: pages that declare what they show and which act a button is; it decides nothing."""
