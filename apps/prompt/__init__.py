"""What a model is told: plain values in, text out; it reads no database, no clock and no settings."""
