"""Console: conversations, transcripts, takeover, stuck turns and reported replies."""
