"""The policy table: every act, the roles that may do it, its risk and the fields it writes."""
