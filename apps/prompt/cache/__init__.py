"""The provider's prompt cache: where its marks are set, and what a change of the prompt costs."""
