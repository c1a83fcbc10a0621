"""What people say to each other about a proposal; not what they tell its agent, which is the request to say it otherwise."""
