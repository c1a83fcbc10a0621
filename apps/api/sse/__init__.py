"""Server-sent events: streams of conversations and reviews, their limits, and the pub/sub behind them."""
