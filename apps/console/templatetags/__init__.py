"""Template filters that format values on console pages; they run no queries."""
