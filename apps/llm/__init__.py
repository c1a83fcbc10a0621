"""The model at arm's length: requests, replies, prices and a stand-in to practise on; it holds no prompt or tool."""
