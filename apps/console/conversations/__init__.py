"""Console: conversations, transcripts, takeover, stuck turns and reports of replies."""
