"""The policy table: every act, who may do it, its risk and the fields it writes."""
