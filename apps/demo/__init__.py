"""The demo: seeds, imports and a story played against the running product over HTTP; production images do not contain it."""
